"""Statements over the generator's tables, worked out by hand: text, each output's inputs, what decides about rows.

The oracle must get them right, and so must the engine.
"""

BY_HAND: list[tuple[str, list[dict[str, str]], dict[str, str]]] = [
    (
        "select name, (select max(budget) from teams t where t.team = p.team and t.city = 'a') from people p",
        [
            {"people.name": "IDENTITY"},
            {"teams.budget": "AGGREGATION", "teams.team": "FILTER", "people.team": "FILTER", "teams.city": "FILTER"},
        ],
        {},
    ),
    (
        "select team, count(*) from people where exists (select 1 from orders where person = people.id) group by rollup (team)",
        [{"people.team": "IDENTITY"}, {}],
        {"people.team": "GROUP_BY", "orders.person": "FILTER", "people.id": "FILTER"},
    ),
    (
        "select case when age > 3 then nullif(team, id) end, coalesce(name, city), md5(name) from people",
        [
            {"people.age": "CONDITIONAL", "people.team": "TRANSFORMATION CONDITIONAL", "people.id": "CONDITIONAL"},
            {"people.name": "TRANSFORMATION", "people.city": "TRANSFORMATION"},
            {"people.name": "TRANSFORMATION masked"},
        ],
        {},
    ),
    (
        "select team, rank() over (partition by city order by age), sum(age) over w from people window w as (order by id)",
        [
            {"people.team": "IDENTITY"},
            {"people.city": "WINDOW", "people.age": "WINDOW"},
            {"people.age": "AGGREGATION", "people.id": "WINDOW"},
        ],
        {},
    ),
    (
        "select * from people full join teams using (team)",
        [
            {"people.team": "TRANSFORMATION", "teams.team": "TRANSFORMATION"},
            *({f"people.{name}": "IDENTITY"} for name in ("id", "age", "name", "city")),
            *({f"teams.{name}": "IDENTITY"} for name in ("boss", "budget", "city", "tags")),
        ],
        {"people.team": "JOIN", "teams.team": "JOIN"},
    ),
    (
        "select id from people except select person from orders where kind = 'a' order by 1",
        [{"people.id": "IDENTITY"}],
        {"orders.person": "FILTER", "orders.kind": "FILTER", "people.id": "FILTER SORT"},
    ),
    (
        "select x1 from (select id, kind, amount from orders) pivot (sum(amount) for kind in ('a' as x1))",
        [{"orders.amount": "AGGREGATION", "orders.kind": "CONDITIONAL"}],
        {"orders.id": "GROUP_BY", "orders.kind": "GROUP_BY"},
    ),
    (
        "select n3 from (select id n1, age n2, name from people) unpivot (n3 for t in (n1, n2))",
        [{"people.id": "IDENTITY", "people.age": "IDENTITY"}],
        {"people.id": "FILTER", "people.age": "FILTER"},  # nulls are left out
    ),
    (
        "merge into target t using orders o on t.id = o.id when matched and o.kind = 'a' then update set amount = t.amount + o.amount "
        "when not matched then insert (id, name) values (o.id, upper(o.name))",
        [
            {"target.amount": "TRANSFORMATION", "orders.amount": "TRANSFORMATION"},
            {"orders.id": "IDENTITY"},
            {"orders.name": "TRANSFORMATION"},
        ],
        {"target.id": "JOIN", "orders.id": "JOIN", "orders.kind": "FILTER"},
    ),
    (
        "with people as (select team as id, name from people) select p.id from people p where name in (select name from people)",
        [{"people.team": "IDENTITY"}],
        {"people.name": "FILTER"},
    ),
    (
        "select * from people p join orders o using (id) join visits v on v.person = p.id",
        [
            {"people.id": "IDENTITY"},
            *({f"people.{name}": "IDENTITY"} for name in ("age", "team", "name", "city")),
            *({f"orders.{name}": "IDENTITY"} for name in ("person", "amount", "name", "kind", "info")),
            *({f"visits.{name}": "IDENTITY"} for name in ("id", "person", "team", "kind", "pairs")),
        ],
        {"people.id": "JOIN", "orders.id": "JOIN", "visits.person": "JOIN"},
    ),
    (
        "select o.kind, count(*) from orders o join visits v on v.id = o.id group by v.kind, o.kind having o.kind = 'a'",
        [{"orders.kind": "IDENTITY"}, {}],
        {"visits.kind": "GROUP_BY", "orders.kind": "FILTER GROUP_BY", "visits.id": "JOIN", "orders.id": "JOIN"},
    ),
    (
        "select v.kind from orders o join visits v on v.id = o.id group by v.kind having kind = 'a'",
        [{"visits.kind": "IDENTITY"}],
        {"visits.kind": "FILTER GROUP_BY", "visits.id": "JOIN", "orders.id": "JOIN"},
    ),
]
