"""The schema `lineage`: its contract, who may read it, and what odd events do to it."""

import datetime as dt
import json
import random
import uuid
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from tests.api.lineage.test_parsed_sql import statement as sql_statement
from tests.events import columns, dataset, facet, run_event
from tests.scale import full
from tests.store.serve.test_schema import fresh

from headwater.entities.time.calendar import Calendar
from headwater.errors import InvalidQuestion
from headwater.intake.events.accept import Intake
from headwater.store import migrate
from headwater.store.database import Database
from headwater.store.embedded import EmbeddedPostgres
from headwater.store.export import parquet, views

CONTRACT = Path(__file__).parents[2] / "cases/lineage_views/views.yaml"
REFERENCE = Path(__file__).parents[3] / "docs/reference/lineage-views.md"
CHANGED = "a change of a view is a breaking change: add columns at the end, and do not rename, retype or remove one"


@pytest.fixture
def described(database: Database, run: Any) -> list[views.ViewColumn]:
    async def ask() -> list[views.ViewColumn]:
        async with database.connection() as connection:
            return await views.columns(connection)

    return list(run(ask()))


def test_the_views_keep_their_contract(described: list[views.ViewColumn]) -> None:
    made: dict[str, list[str]] = {}
    for each in described:
        made.setdefault(each.view, []).append(f"{each.name} {each.type}")
    assert made == yaml.safe_load(CONTRACT.read_text(encoding="utf-8")), CHANGED


def test_the_reference_describes_every_column(described: list[views.ViewColumn]) -> None:
    page = REFERENCE.read_text(encoding="utf-8")
    for each in described:
        assert each.description
        assert f"| `{each.name}` | {each.type} | {each.description} |" in page.partition(f"## {each.view}\n")[2]


def test_the_reader_reads_the_views_and_nothing_else(
    database: Database, postgres: EmbeddedPostgres, run: Any, described: Any
) -> None:
    """With edges of every origin, and whatever schemas names are looked for in."""
    declared = run_event(
        None,
        2,
        "above",
        ["declared/in"],
        [dataset("declared/out", **columns({"x": [("declared/in", "y", "DIRECT:IDENTITY")]}))],
    )
    del declared["run"]
    below = run_event("COMPLETE", 3, "below", ["declared/in"], ["declared/out"], run_facets={
        "parent": facet(run={"runId": str(uuid.UUID(int=4))}, job={"namespace": "test", "name": "above"})})  # fmt: skip
    for event in (sql_statement(1), declared, below):
        run(Intake(database).accept(json.dumps(event).encode()))
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("set role headwater_reader")
        for path in ("lineage", "public"):
            connection.execute(f"set search_path = {path}".encode())
            for view in {each.view for each in described}:
                connection.execute(f"select * from lineage.{view}".encode()).fetchall()
        found = connection.execute("select count(*) from lineage.edges where origin = 'PARSED_SQL'").fetchone()
        assert found == (2,)
        found = connection.execute(
            "select count(distinct job_name) from lineage.edges where dataset_name = 'declared/out'"
        ).fetchone()
        assert found == (2,)
        tables = connection.execute(
            "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v')"
        ).fetchall()
        assert len(tables) > 50
        for (table,) in tables:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f'select * from "{table}"'.encode())
        for statement in (
            "create table lineage.mine (a int)",
            "create table public.mine (a int)",
            "delete from lineage.edges",
        ):
            with pytest.raises(psycopg.Error):
                connection.execute(statement.encode())


def test_views_are_made_again_where_their_text_changed(postgres: EmbeddedPostgres, run: Any) -> None:
    async def work(url: str) -> list[bool]:
        async with Database(url, pool_size=2) as base:
            await migrate.migrate(base)
            async with base.connection() as connection:
                same = await views.replace(connection)
                await connection.execute("comment on schema lineage is 'older'")
                older = await views.replace(connection)
                await connection.execute("drop schema lineage cascade")
            await migrate.migrate(base)
            async with base.connection() as connection:
                return [same, older, bool(await views.columns(connection))]

    with fresh(postgres.url) as url:
        assert run(work(url)) == [False, True, True]


def test_facets_that_postgresql_cannot_hold_end_no_query(database: Database, run: Any, tmp_path: Path) -> None:
    odd = [
        r'{"fields":[{"name":"a\u0000b","type":"t"}]}',
        r'{"fields":[{"name":"\ud800x"},{"name":"\udc00"},{"name":"\ud83d\ude00"}]}',
        '{"fields":{"name":"a"}}',
        '{"fields":[1,null,"x",{"name":3},{"name":"kept","type":7}]}',
        '{"fields":[{"name":"big","extra":1e999999}]}',
        "[]",
        "null",
    ]

    async def work() -> list[tuple[Any, ...]]:
        intake = Intake(database)
        for number, text in enumerate(odd):
            event = run_event(
                "COMPLETE",
                number,
                f"job{number}",
                [],
                [dataset(f"odd{number}", schema="HERE", tags=facet(tags={"no": "list"}))],
            )
            await intake.accept_batch(b"[" + json.dumps(event).replace('"HERE"', text).encode() + b"]")
        async with database.connection() as connection:
            found = await connection.execute("select dataset_name, name from lineage.columns order by 1, position")
            return list(await found.fetchall())

    found = run(work())
    assert ("odd3", "kept") in found
    assert ("odd1", "\N{GRINNING FACE}") in found
    assert [name for name, _ in found].count("odd1") == 3
    assert run(parquet.export(database, tmp_path, ["columns"]))[0].rows == len(found)


ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/Havana",
    "America/Sao_Paulo",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "Asia/Beirut",
    "America/St_Johns",
)


@pytest.mark.parametrize("seed", range(full(6, 2)))
def test_periods_begin_when_the_calendar_says(database: Database, run: Any, seed: int) -> None:
    chance = random.Random(seed)
    asked: list[tuple[dict[str, Any], int, dt.datetime]] = []
    for _ in range(60):
        every = chance.choice(
            ["minute", "15m", "hour", "6h", "day", "3d", "week", "2w", "month", "3mo", "quarter", "year"]
        )
        given: dict[str, Any] = {}
        if every.endswith(("week", "w")) and chance.random() < 0.5:
            given["week_start"] = chance.choice(["sunday", "wednesday"])
        zone = chance.choice(ZONES)
        calendar = Calendar.every(every, zone, **given)
        body = {"tz": zone, "every": calendar.every_text} | ({"starts": given["week_start"]} if given else {})
        for _ in range(20):
            ordinal = chance.randrange(
                max(calendar.first, -500), min(calendar.end, 40_000_000 if every == "minute" else 500_000)
            )
            begins = dt.datetime.fromtimestamp(int(calendar.begins([ordinal])[0]), dt.UTC)
            asked.append((body, ordinal, begins))

    async def work() -> list[dt.datetime]:
        async with database.connection() as connection:
            found = await connection.execute(
                "select lineage.period_start(u.body::jsonb, u.ordinal) from unnest(%s::text[], %s::int8[]) with ordinality u (body, ordinal, place) order by place",
                ([json.dumps(body) for body, _, _ in asked], [ordinal for _, ordinal, _ in asked]),
            )
            return [row[0] for row in await found.fetchall()]

    wrong = [
        (body, ordinal, begins, found)
        for (body, ordinal, begins), found in zip(asked, run(work()), strict=True)
        if begins != found
    ]
    assert not wrong, wrong[:3]


def test_what_sql_cannot_compute_is_null(database: Database, run: Any) -> None:
    async def work() -> list[Any]:
        async with database.connection() as connection:
            bodies = [
                '{"tz":"UTC","cron":"0 6 * * *"}',
                '{"tz":"Pacific/Apia","every":"day"}',
                "{}",
                '{"tz":"UTC","table":[]}',
            ]
            return [
                (await (await connection.execute("select lineage.period_start(%s::jsonb, 5)", (body,))).fetchall())[0][
                    0
                ]
                for body in bodies
            ]

    assert run(work()) == [None] * 4


def test_an_unknown_view_writes_nothing(database: Database, run: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidQuestion, match="there is no view nosuch; there are datasets, jobs"):
        run(parquet.export(database, tmp_path / "out", ["edges", "nosuch"]))
    assert list((tmp_path / "out").iterdir()) == []


def test_an_export_that_is_interrupted_leaves_the_files_there_were(
    database: Database, run: Any, tmp_path: Path
) -> None:
    run(parquet.export(database, tmp_path))
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}

    async def work() -> None:
        await Intake(database).accept_batch(
            json.dumps([run_event("COMPLETE", uuid.uuid4().int % 1000, "job", ["/a"], ["/b"])]).encode()
        )

    run(work())

    def stop(view: str, rows: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(parquet.export(database, tmp_path, progress=stop))
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_an_export_takes_longer_than_other_statements_may(
    database: Database, postgres: EmbeddedPostgres, run: Any, tmp_path: Path
) -> None:
    async def work() -> list[parquet.WrittenFile]:
        async with database.connection() as connection:
            await connection.execute("create view lineage.slow as select 'late' || pg_sleep(0.4) as at")
        try:
            async with Database(postgres.url, pool_size=2, statement_timeout_seconds=0.2) as hurried:
                return await parquet.export(hurried, tmp_path, ["slow"])
        finally:
            async with database.connection() as connection:
                await connection.execute("drop view lineage.slow")

    assert [each.rows for each in run(work())] == [1]


def test_the_columns_of_each_dataset_are_found_by_an_index(database: Database, run: Any) -> None:
    async def work() -> str:
        async with database.transaction() as connection:
            await connection.execute("set local enable_seqscan = off")
            plan = await connection.execute("explain select * from lineage.columns")
            return "\n".join(line for (line,) in await plan.fetchall())

    plan = run(work())
    assert "Seq Scan on owner_facets" not in plan, plan
    assert "(owner = d.id) OR" not in plan, plan
