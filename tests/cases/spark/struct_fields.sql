select info.x as x, info.deep.y as y, info.deep as deep from parquet.`{land}/nested`
