select id, v.pos, v.key, variant_get(v.value, '$', 'string') as value, doc:b::string as b
from (select id, parse_json(concat('{"a":', age, ',"b":"', city, '"}')) as doc from people), lateral variant_explode(doc) v
