select p.name from people p left semi join orders o on p.id = o.person
