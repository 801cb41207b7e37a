select sha2(name, 256) as h, md5(city) as m, xxhash64(id) as x, mask(name) as k, upper(md5(name)) as u from people
