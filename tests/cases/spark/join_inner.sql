select p.name, o.amount from people p join orders o on p.id = o.person
