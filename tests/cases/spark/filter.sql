select id from people where age > 30 and city = 'north'
