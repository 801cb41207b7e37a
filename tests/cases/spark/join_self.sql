select a.name, b.name as other from people a join people b on a.id = b.age
