select transform(words, w -> concat(w, cast(id as string))) as t from parquet.`{land}/nested`
