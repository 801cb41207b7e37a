select id, inline(pairs) from parquet.`{land}/nested`
