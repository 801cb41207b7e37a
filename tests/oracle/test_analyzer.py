"""Spark's analyzer, asked again: the kept TPC edges are still what it says, and the engine agrees about fresh statements."""

from typing import Any

import pytest

from tests.oracle import generated, tpc
from tests.oracle.analyzer import Analyzer
from tests.oracle.generate import SCHEMAS

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:pyspark"),
]
FIRST, COUNT = 1_000_000, 300
# Worked out by hand: what the oracle itself must get right. Text, each output's inputs, what decides about rows.
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
]


@pytest.mark.parametrize("suite", tpc.SUITES)
def test_the_kept_edges_are_what_the_analyzer_says(suite: str, session: Any) -> None:
    analyzer = Analyzer(session, tpc.schemas(suite), suite.replace("-", ""))
    assert {name: analyzer.edges(text) for name, text in tpc.texts(suite).items()} == tpc.expected(suite)


@pytest.mark.parametrize(("text", "columns", "rows"), BY_HAND, ids=range(len(BY_HAND)))
def test_what_a_reader_of_the_statement_would_say(
    text: str, columns: list[dict[str, str]], rows: dict[str, str], session: Any
) -> None:
    found = Analyzer(session, SCHEMAS, "generated").edges(text)
    assert [inputs for _, inputs in found.columns] == columns
    assert found.rows == rows


def test_the_engine_and_the_analyzer_agree_about_statements_nobody_wrote(session: Any) -> None:
    analyzer = Analyzer(session, SCHEMAS, "generated")
    assert generated.differing(FIRST, COUNT, analyzer) == []
