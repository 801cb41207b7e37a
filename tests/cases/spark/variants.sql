select try_parse_json(name):a.b::string as a, variant_get(to_variant_object(named_struct('x', id, 'y', city)), '$.x', 'int') as x, t.value as v
from people, lateral variant_explode_outer(try_parse_json(city)) t
