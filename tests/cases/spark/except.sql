select id from people except select person from orders
