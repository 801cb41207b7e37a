"""Names in statements that are no assets: what a text reads and writes without them, as dbt's adapters, a catalog's readers and loaders write it."""

import json

import pytest

from headwater.columns import Session
from headwater.pipeline.query_log.reading import understood


def touched(text: str, dialect: str = "postgres", schema: str = "public") -> tuple[list[str], list[str], bool]:
    """Return the names that a text reads, those that it writes, and whether those are temporary."""
    found = understood(text, dialect, "db", Session("d", schema))
    return [name for _, name in found.reads], [name for _, name in found.writes], found.temporary


@pytest.mark.parametrize(
    ("text", "reads", "writes"),
    [
        ('create table "d"."m"."x__dbt_tmp" as (select a from s.y)', ["d.s.y"], ["d.m.x"]),
        ('create view "d"."m"."x__dbt_tmp" as (select a from s.y)', ["d.s.y"], ["d.m.x"]),
        ('alter table "d"."m"."x" rename to "x__dbt_backup"', [], []),
        ('alter table "d"."m"."x__dbt_tmp" rename to "x"', [], []),
        ('drop table if exists "d"."m"."x__dbt_backup" cascade', [], []),
        ('insert into m.x (a) (select a from "x__dbt_tmp203500632811")', [], ["d.m.x"]),
        ('delete from m.x where a in (select a from "x__dbt_tmp203500632811")', [], ["d.m.x"]),
        # Another table's rows, whatever it is called.
        ("insert into m.z select a from m.x__dbt_tmp", ["d.m.x"], ["d.m.z"]),
        ("create table m.x__dbt_tmpfile as select a from s.y", ["d.s.y"], ["d.m.x__dbt_tmpfile"]),
        ("alter table m.x rename to z", ["d.m.x"], ["d.m.z"]),
    ],
)
def test_what_dbt_builds_under_another_name_is_the_model(text: str, reads: list[str], writes: list[str]) -> None:
    assert touched(text) == (reads, writes, False)


def test_the_renaming_and_dropping_of_standins_is_nothing() -> None:
    for text in ('alter table m.x__dbt_tmp rename to "x"', "drop table m.x__dbt_backup"):
        assert json.loads(understood(text, "postgres", "db", Session("d", "public")).outputs) == []
    dropped = json.loads(understood("drop table m.x", "postgres", "db", Session("d", "public")).outputs)
    assert [one["name"] for one in dropped] == ["d.m.x"]


def test_columns_go_to_the_model() -> None:
    found = understood("create table m.x__dbt_tmp as select a as b from s.y", "postgres", "db", Session("d", "public"))
    (output,) = json.loads(found.outputs)
    (source,) = output["facets"]["columnLineage"]["fields"]["b"]["inputFields"]
    assert (output["name"], source["name"], source["field"]) == ("d.m.x", "d.s.y", "a")


def test_an_incremental_models_view_under_way_is_the_model() -> None:
    """Snowflake and BigQuery: what the rows are merged from has the schema of the model."""
    view = "create or replace temporary view D.M.X__DBT_TMP as (select a from D.S.Y)"
    assert touched(view, "snowflake") == (["D.S.Y"], ["D.M.X"], False)
    merge = "merge into d.m.x as t using d.m.x__dbt_tmp as s on s.a = t.a when not matched then insert (a) values (s.a)"
    assert touched(merge, "snowflake") == ([], ["D.M.X"], False)


def test_a_sessions_table_under_way_stays_one_of_the_session() -> None:
    reads, writes, temporary = touched('create temporary table "x__dbt_tmp203500632811" as (select a from s.y)')
    assert (reads, temporary) == (["d.s.y"], True)
    assert writes == ["d.public.x__dbt_tmp203500632811"]


@pytest.mark.parametrize(
    "text",
    [
        "select relname from pg_class",
        "select c.relname from pg_catalog.pg_class as c join pg_namespace as n on n.oid = c.relnamespace",
        'select column_name from "d".INFORMATION_SCHEMA.columns',
    ],
)
def test_who_asks_the_catalog_looks_at_no_data(text: str) -> None:
    assert touched(text) == ([], [], False)


def test_a_table_that_is_made_of_the_catalog_is_one() -> None:
    assert touched("create table m.z as select table_name, a from information_schema.tables, s.y") == (
        ["d.s.y"],
        ["d.m.z"],
        False,
    )
    assert touched("select * from m.pg_things") == (["d.m.pg_things"], [], False)


def test_rows_from_the_client_come_from_nothing_that_has_a_name() -> None:
    assert touched("copy m.x (a, b) from stdin with (format csv)") == ([], ["d.m.x"], False)
    assert understood("copy m.x (a, b) from stdin", "postgres", "db", Session("d", "public")).unresolved == 0
    # Unloading a table reads it, and writes nothing.
    assert touched("copy m.x to stdout") == (["d.m.x"], [], False)
    assert touched("copy (select a from m.x) to stdout with (format csv)") == (["d.m.x"], [], False)


def test_a_sessions_table_is_called_as_its_readers_call_it() -> None:
    """Another statement reads it, and takes it for a table of the schema."""
    assert touched("create temp table wet as select a from s.y") == (["d.s.y"], ["d.public.wet"], True)
    assert touched("select a from wet") == (["d.public.wet"], [], False)
    found = understood(
        "create temp table wet as select 1 as a", "postgres", "db", Session("d", "", ("marts", "public"))
    )
    assert (found.writes, found.temporary) == ((("db", "d.marts.wet"),), True)
    assert touched("create table #wet (a int)", "tsql", "dbo")[1:] == (["#wet"], True)
    assert touched("create temp table wet as select 1 as a; insert into m.x select a from wet") == (
        [],
        ["d.m.x"],
        False,
    )
