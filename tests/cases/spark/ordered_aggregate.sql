select listagg(name, ",") within group (order by age) as names, percentile_cont(0.5) within group (order by id) as middle from people
