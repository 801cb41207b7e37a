select transform(name, age) using 'cat' as (a string, b string) from people where id > 0
