select nullif(id, age) as differs, nvl2(name, city, "nowhere") as place from people
