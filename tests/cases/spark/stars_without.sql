select p.* except (age), o.* except (person, kind) from people p left join orders o on o.person = p.id and o.amount > 2
