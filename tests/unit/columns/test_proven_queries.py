"""Queries without what proven facts of their tables make needless, each beside one that looks alike and may return something else."""

import pytest

from headwater.columns.shape.proofs import ProvenQuery, TableProofs
from headwater.columns.shape.same_result import is_reordered, written_result
from headwater.columns.shape.writing import WrittenQuery

ORDERS = TableProofs(
    frozenset({frozenset({"id"}), frozenset({"code"})}),
    frozenset({"id", "customer", "status"}),
    frozenset({("customer", ("shop", "customers"), "id"), ("courier", ("shop", "couriers"), "id")}),
    frozenset({("status", frozenset({("new", True), ("sent", True)})), ("level", frozenset({("1", False)}))}),
)
CUSTOMERS = TableProofs(frozenset({frozenset({"id"})}), frozenset({"name"}))
FACTS: dict[tuple[str, ...], TableProofs] = {("shop", "orders"): ORDERS, ("shop", "customers"): CUSTOMERS}

LEFT = "select o.id, c.name from shop.orders as o left join shop.customers as c on {}"
INNER = "select o.id, c.name from shop.orders as o join shop.customers as c on {}"
ON = "o.customer = c.id"
SAME = [
    (LEFT.format(ON), INNER.format(ON)),
    (LEFT.format("c.id = o.customer"), INNER.format(ON)),
    ("select coalesce(status, 'x') as s from shop.orders", "select status as s from shop.orders"),
    ("select upper(coalesce(o.status, 'x')) as s from shop.orders as o", "select upper(status) as s from shop.orders"),
    ("select coalesce(customer, 0) as c from shop.orders", "select customer as c from shop.orders"),
    ("select id from shop.orders where status is not null", "select id from shop.orders"),
    ("select id from shop.orders where not status is null and a > 1", "select id from shop.orders where a > 1"),
    ("select id from shop.orders where status in ('new', 'sent', 'old')", "select id from shop.orders"),
    ("select id from shop.orders where status <> 'old'", "select id from shop.orders"),
    ("select count(distinct id) as n from shop.orders", "select count(id) as n from shop.orders"),
    ("select count(distinct code) as n from shop.orders", "select count(code) as n from shop.orders"),
    (
        LEFT.format(ON) + " where c.name is not null",
        INNER.format(ON),
    ),
]
"""The first has what is needless; taking it out changes nothing."""
OTHERS = [
    (LEFT.format("o.courier = c.id"), INNER.format("o.courier = c.id")),
    (LEFT.format("o.id = c.id"), INNER.format("o.id = c.id")),
    (LEFT.format("o.customer = c.number"), INNER.format("o.customer = c.number")),
    (LEFT.format(f"{ON} and c.is_new"), INNER.format(f"{ON} and c.is_new")),
    (LEFT.format("o.customer <= c.id"), INNER.format("o.customer <= c.id")),
    (
        "select o.id, k.name from shop.orders as o left join shop.couriers as k on o.courier = k.id",
        "select o.id, k.name from shop.orders as o join shop.couriers as k on o.courier = k.id",
    ),
    (
        "select o.id from shop.orders as o left join (select * from shop.customers where is_new) as c on o.customer = c.id",
        "select o.id from shop.orders as o join (select * from shop.customers where is_new) as c on o.customer = c.id",
    ),
    (
        "select x.id, c.name from x left join shop.orders as o on x.o = o.id left join shop.customers as c on o.customer = c.id",
        "select x.id, c.name from x left join shop.orders as o on x.o = o.id join shop.customers as c on o.customer = c.id",
    ),
    ("select coalesce(code, 'x') as s from shop.orders", "select code as s from shop.orders"),
    ("select coalesce(customer, 0.5) as c from shop.orders", "select customer as c from shop.orders"),
    ("select coalesce(status, other) as s from shop.orders", "select status as s from shop.orders"),
    ("select coalesce(status, 'x') from shop.orders", "select status from shop.orders"),
    (
        "select coalesce(status, 'all') as s, count(*) as n from shop.orders group by rollup(status)",
        "select status as s, count(*) as n from shop.orders group by rollup(status)",
    ),
    (
        "select x.id, coalesce(o.status, 'none') as s from x left join shop.orders as o on x.o = o.id",
        "select x.id, o.status as s from x left join shop.orders as o on x.o = o.id",
    ),
    (
        "select x.id from x left join shop.orders as o on x.o = o.id where o.status is not null",
        "select x.id from x left join shop.orders as o on x.o = o.id",
    ),
    (
        "select a as status, id from shop.orders order by coalesce(status, 'x')",
        "select a as status, id from shop.orders order by status",
    ),
    ("select id from shop.orders where code is not null", "select id from shop.orders"),
    ("select id from shop.orders where status in ('new', 'old')", "select id from shop.orders"),
    ("select id from shop.orders where status in ('NEW', 'SENT')", "select id from shop.orders"),
    ("select id from shop.orders where status <> 'sent'", "select id from shop.orders"),
    ("select id from shop.orders where status not in ('new', 'sent')", "select id from shop.orders"),
    ("select id from shop.orders where level in (1, 2)", "select id from shop.orders"),
    ("select count(distinct customer) as n from shop.orders", "select count(customer) as n from shop.orders"),
    (
        "select count(distinct o.id) as n from shop.orders as o join x on x.o = o.id",
        "select count(o.id) as n from shop.orders as o join x on x.o = o.id",
    ),
    ("select count(distinct id) as n from other.orders", "select count(id) as n from other.orders"),
    ("select count(distinct id) as n from orders", "select count(id) as n from orders"),
    ('select count(distinct "ID") as n from shop.orders', 'select count("ID") as n from shop.orders'),
    ('select id from shop.orders where "Status" is not null', "select id from shop.orders"),
]
"""The counterexamples: a fact is missing, or holds of something else."""
DISTINCT = "select distinct id, a from shop.orders"


def write_with_facts(text: str) -> tuple[WrittenQuery, ProvenQuery]:
    proven = ProvenQuery(FACTS)
    found = written_result(text, "postgres", proven=proven)
    assert found is not None
    return found, proven


@pytest.mark.parametrize("pair", SAME, ids=[one for one, _ in SAME])
def test_a_needless_part_changes_nothing(pair: tuple[str, str]) -> None:
    (first, _), (second, _) = map(write_with_facts, pair)
    assert first == second
    before, now = (written_result(one, "postgres") for one in pair)
    assert before != now, "without the facts it may"


@pytest.mark.parametrize("pair", OTHERS, ids=[one for one, _ in OTHERS])
def test_what_no_fact_proves_is_another_result(pair: tuple[str, str]) -> None:
    (first, _), (second, _) = map(write_with_facts, pair)
    assert first != second


def test_distinct_of_a_key_only_sorts() -> None:
    (first, _), (second, _) = map(write_with_facts, (DISTINCT, DISTINCT.replace("distinct ", "")))
    assert first != second
    assert is_reordered(first, second)


@pytest.mark.parametrize(
    "text",
    [
        "select distinct a from shop.orders",
        "select distinct code, a from shop.orders",  # Several rows may have no code.
        "select distinct id, a from shop.orders limit 3",
        "select distinct id, unnest(parts) as part from shop.orders",
        "select distinct id, made(parts) as part from shop.orders",
        "select distinct o.id, x.a from shop.orders as o join x on x.o = o.id",
        "select count(*) as n from (select distinct id, a from shop.orders limit 5) as o",
        "select distinct on (id) id, a from shop.orders",
    ],
)
def test_another_distinct_may_drop_rows(text: str) -> None:
    (first, _), (second, _) = map(
        write_with_facts, (text, text.replace("distinct on (id) ", "").replace("distinct ", ""))
    )
    assert not is_reordered(first, second)


def test_parts_that_a_type_may_refuse_are_named() -> None:
    _, proven = write_with_facts("select coalesce(status, 0) as s from shop.orders where status in ('new', 'sent')")
    assert len(proven.refusable) == 2
    assert write_with_facts("select status as s from shop.orders where status is not null")[1].refusable == set()
