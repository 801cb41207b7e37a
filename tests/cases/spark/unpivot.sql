select * from (select no, person, amount from orders) unpivot (value for what in (person, amount))
