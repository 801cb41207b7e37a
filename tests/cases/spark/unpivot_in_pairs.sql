select * from (select no, person, amount, kind, cast(no as double) as other from orders)
unpivot ((value, label) for what in ((amount, kind) as first, (other, kind) as second))
