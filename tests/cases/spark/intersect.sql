select id from people intersect select person from orders
