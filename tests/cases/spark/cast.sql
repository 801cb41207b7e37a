select cast(age as bigint) as age, upper(name) as name from people
