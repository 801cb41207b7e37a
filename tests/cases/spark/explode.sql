select id, word from parquet.`{land}/nested` lateral view explode(words) t as word
