"""Texts that are analysed together: their order, what they share, and what stays their own."""

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.columns import Catalog, Level, Session, Statement, analyse
from headwater.columns.project import AnalysedText, Project, Text

SCRIPT = (
    "create table stg.a as select id, x from raw.src",
    "create table stg.b as select id, y from raw.other",
    "create view mid.c as select a.*, b.y from stg.a join stg.b on a.id = b.id",
    "create temp table h as select * from mid.c; create table mart.d as select * from h",
    "insert into mart.d select * from mid.c",
    "create table mart.e as select *, d.x + 1 as z from mart.d as d",
)


def outcome(statement: Statement) -> tuple[object, ...]:
    return statement.level, statement.reads, statement.writes, statement.flows, statement.unresolved


def analysed(texts: Sequence[Text], dialect: str = "postgres") -> dict[str, AnalysedText]:
    return {one.text.place: one for one in Project(dialect).analyse(texts)}


def columns(found: AnalysedText) -> list[str]:
    return [one.name for one in found.statements[-1].flows[0].columns]


@given(st.permutations(range(len(SCRIPT))))
def test_the_order_of_files_does_not_matter(order: list[int]) -> None:
    texts = [Text(f"{place}.sql", SCRIPT[place]) for place in order]
    found = analysed(texts)
    expected = {place: analyse_after(place) for place in range(len(SCRIPT))}
    assert {place: [*map(outcome, found[f"{place}.sql"].statements)] for place in order} == expected


def analyse_after(place: int) -> list[tuple[object, ...]]:
    """Analyse one part of the script as it is when the parts before it, which are in order, were one text with it."""
    session = Session()
    catalog = Catalog(dialect="postgres")
    for before in SCRIPT[:place]:
        analyse(before, "postgres", catalog, session)
    return [outcome(one) for one in analyse(SCRIPT[place], "postgres", catalog, session)]


def test_temporary_tables_end_with_their_text() -> None:
    found = analysed(
        [Text("a", "create temp table h as select id from t"), Text("b", "create table u as select * from h")]
    )
    assert columns(found["b"]) == ["*"]


def test_a_text_follows_what_others_change() -> None:
    texts = [
        Text("1.sql", "create table t (a int, b int)"),
        Text("2.sql", "alter table t drop column b"),
        Text("3.sql", "alter table t add column c int"),
        Text("4.sql", "create table u as select * from t"),
    ]
    assert columns(analysed(texts)["4.sql"]) == ["a", "c"]


def test_a_dropped_table_is_unknown() -> None:
    texts = [
        Text("1", "create table t (a int)"),
        Text("2", "drop table t"),
        Text("3", "create table u as select * from t"),
    ]
    assert columns(analysed(texts)["3"]) == ["*"]


def test_what_rests_on_a_guess_is_no_promise() -> None:
    texts = [
        Text("m", "select id, 1 as one from t {{ my_macro() }}", ("db", "s", "m")),
        Text("n", "select * from db.s.m", ("db", "s", "n")),
        Text("o", "select id from db.s.m", ("db", "s", "o")),
    ]
    found = analysed(texts)
    assert [found[place].statements[0].level for place in "mno"] == [Level.PARTIAL, Level.PARTIAL, Level.FULL]
    assert "m:1 makes it and is understood in part" in " ".join(found["n"].statements[0].warnings)


def test_a_query_gets_its_target() -> None:
    (made,) = Project("snowflake").analyse([Text("m.sql", "select 1 as a", ("DB", "S", "M"), view="view")])
    (statement,) = made.statements
    assert (statement.kind, statement.writes) == ("CREATE VIEW", (("DB", "S", "M"),))
    assert statement.flows[0].columns[0].name == "A"


def test_a_target_is_shown_as_it_is_spelled() -> None:
    texts = [
        Text("n", "select * from Dev.Main.Orders", ("Dev", "Main", "n")),
        Text("m", "select 1 as Id", ("Dev", "Main", "Orders")),
    ]
    found = analysed(texts, "duckdb")
    assert found["m"].statements[0].writes == found["n"].statements[0].reads == (("Dev", "Main", "Orders"),)
    assert [one.field for one in found["n"].statements[0].flows[0].columns[0].inputs] == ["Id"]


def test_an_ephemeral_target_is_read_as_its_query() -> None:
    texts = [
        Text("e", "select id, amount * 2 as twice from raw.orders where paid", ("e",), view="ephemeral"),
        Text("m", "select twice from e", ("s", "m")),
    ]
    (statement,) = analysed(texts)["m"].statements
    assert statement.reads == (("raw", "orders"),)
    assert [one.field for one in statement.flows[0].columns[0].inputs] == ["amount"]


def test_a_cycle_is_named_and_the_rest_goes_on() -> None:
    texts = [
        Text("z", "select * from s.b", ("s", "a")),
        Text("y", "select * from s.a", ("s", "b")),
        Text("x", "select 1 as c", ("s", "c")),
        Text("w", "select * from s.c join s.a on true", ("s", "d")),
    ]
    project = Project("postgres")
    order = [one.text.place for one in project.analyse(texts)]
    assert project.cycles == [("z", "y")]
    assert order == ["x", "z", "y", "w"] or order.index("x") < order.index("w")
    assert sorted(order) == sorted("zyxw")


def test_a_text_that_changed_is_analysed_like_a_new_project() -> None:
    texts = [Text(f"{place}.sql", text) for place, text in enumerate(SCRIPT)]
    project = Project("postgres")
    list(project.analyse(texts))
    parsed: list[int] = []
    texts[0] = msgspec.structs.replace(texts[0], text="create table stg.a as select id, x, w from raw.src")
    again = {one.text.place: one for one in project.analyse(texts, lambda: parsed.append(1))}
    assert {place: [*map(outcome, one.statements)] for place, one in again.items()} == {
        place: [*map(outcome, one.statements)] for place, one in analysed(texts).items()
    }
    assert columns(again["5.sql"]) == ["id", "x", "w", "y", "z"]


def test_two_texts_of_one_place_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="two texts are called a"):
        list(Project().analyse([Text("a", "select 1"), Text("a", "select 2")]))
