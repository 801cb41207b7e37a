select id, name as who, 1 as one from parquet.`{land}/people`
