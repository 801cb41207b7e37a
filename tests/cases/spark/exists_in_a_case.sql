select case when exists (select 1 from orders o where o.person = p.id and kind = 'b') then name else city end as x from people p
