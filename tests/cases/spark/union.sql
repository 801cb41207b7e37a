select id, name from people union all select no, kind from orders
