"""The warehouse's log of its objects, against what PostgreSQL's own event triggers saw of the same days: each change once, and nothing else."""

import datetime as dt
import json
import re
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from headwater.answer.history.object_log import Change, fold_changes
from headwater.model import measured
from headwater.pipeline.query_log import events
from headwater.pipeline.query_log.batch import Asked
from headwater.pipeline.query_log.publishable import measured_rows
from headwater.pipeline.query_log.stages import Settings
from headwater.pipeline.query_log.sync import sync
from headwater.pipeline.tables import Store
from headwater.store.embedded import EmbeddedPostgres

pytestmark = pytest.mark.spark

CASES = yaml.safe_load((Path(__file__).parents[1] / "cases/object_log/days.yaml").read_text(encoding="utf-8"))
SETTINGS = "logging_collector = on\nlog_destination = 'jsonlog'\nlog_directory = 'querylog'\nlog_filename = 'day.log'\nlog_timezone = 'UTC'\n"
TRIGGERS = (
    "create table public.truth (place serial, number int, tag text, kind text, object text)",
    "create function public.changed() returns event_trigger language plpgsql security definer as $$ begin "
    "insert into public.truth (number, tag, kind, object) select current_setting('test.number')::int, command_tag, object_type, object_identity "
    "from pg_event_trigger_ddl_commands() where not in_extension; end $$",
    "create function public.went() returns event_trigger language plpgsql security definer as $$ begin "
    "insert into public.truth (number, tag, kind, object) select current_setting('test.number')::int, 'DROP', object_type, object_identity "
    "from pg_event_trigger_dropped_objects() where not is_temporary; end $$",
    "create event trigger changed on ddl_command_end execute function public.changed()",
    "create event trigger went on sql_drop execute function public.went()",
)
KINDS = {"table", "view", "materialized view"}
CREATED = {"CREATE TABLE", "CREATE TABLE AS", "SELECT INTO", "CREATE VIEW", "CREATE MATERIALIZED VIEW"}
Told = tuple[int, str, str]


@pytest.fixture(scope="module")
def days(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Told], dict[str, list[Change]]]:
    """The truth of the triggers, as (number of the statement, change, object); and the log of every object, by its name."""
    folder = tmp_path_factory.mktemp("objects")
    EmbeddedPostgres(folder / "postgres").stop()
    with (folder / "postgres" / "postgresql.auto.conf").open("a", encoding="utf-8") as settings:
        settings.write(SETTINGS)
    server = EmbeddedPostgres(folder / "postgres")
    try:
        with psycopg.connect(server.url, autocommit=True) as connection:
            for role in ("ann", "bob", "dbt"):
                connection.execute(f"create role {role} login superuser")
            for text in TRIGGERS:
                connection.execute(text)
            connection.execute("alter system set log_min_duration_statement = 0")
            connection.execute("select pg_reload_conf()")
        for number, case in enumerate(CASES):
            options = f"-c test.number={number}"
            with psycopg.connect(
                server.url, user=case["as"], autocommit=True, options=options, application_name=f"n{number}"
            ) as connection:
                for text in [case["sql"]] if isinstance(case["sql"], str) else case["sql"]:
                    with suppress(psycopg.errors.DivisionByZero):
                        connection.execute(text)
        with psycopg.connect(server.url, autocommit=True) as connection:
            rows = connection.execute("select number, tag, kind, object from public.truth order by place").fetchall()
        # A view that is replaced is two commands to the triggers, and a table LIKE another is made and altered.
        truth = list(dict.fromkeys(normal for row in rows if (normal := seen(*row))))
        truth = [one for one in truth if one[1] != "altered" or (one[0], "created", one[2]) not in truth]
    finally:
        server.stop()
    store = folder / "store"
    sync(spark, str(store), Asked("postgres", (str(folder / "postgres/querylog"),), "postgres://db:5432"), Settings())
    logs = {}
    for row in measured_rows(Store(spark, str(store))).where("kind = 'dataset'").collect():
        told = json.loads(row["payload"]) | {"namespace": row["namespace"], "name": row["name"]}
        if "changes" not in told:
            continue
        (event,) = events.dataset(told["namespace"], told["name"], told, (), "2026-01-01T00:00:00Z")
        body = json.dumps(event["dataset"]["facets"][measured.CHANGES]).encode()
        name = told["name"].removeprefix("postgres.")
        logs[name] = fold_changes(told["name"], measured.object_changes(body).items, END, used_from(told))[0]
    return truth, logs


def used_from(told: dict[str, Any]) -> dt.datetime | None:
    usage = told.get("usage")
    return dt.datetime.fromisoformat(usage["first_seen_at"]) if usage else None


END = dt.datetime(9999, 1, 1, tzinfo=dt.UTC)


def seen(number: int, tag: str, kind: str, identity: str) -> Told | None:
    """A row of the triggers as a change of an object. What dbt does to build a model anew is one creation of the model."""
    name = identity.replace('"', "")
    if kind == "table column":
        name = re.sub(r'\.("(?:[^"]|"")*"|[^."]+)$', "", identity).replace('"', "")
        return (number, "altered", name) if tag != "DROP" else None
    if kind not in KINDS or tag == "REFRESH MATERIALIZED VIEW" or name.startswith(("public.", "pg_temp.")):
        return None
    model = re.sub(r"__dbt_(tmp|backup)$", "", name)
    if model != name:
        return (number, "created", model) if tag in CREATED else None
    if CASES[number]["as"] == "dbt" and tag == "ALTER TABLE":
        return None
    return number, "dropped" if tag == "DROP" else "created" if tag in CREATED else "altered", name


def changes_of(logs: dict[str, list[Change]]) -> Counter[tuple[str, str]]:
    """The log's changes as the triggers count them: an ALTER of several columns is one."""
    found: Counter[tuple[str, str]] = Counter()
    for name, changes in logs.items():
        altering = set()
        for one in changes:
            kind = {"created": "created", "replaced": "created", "dropped": "dropped"}.get(one.action, "altered")
            if kind == "altered":
                altering.add((one.query, one.statement))
            else:
                found[kind, name] += one.times
        if altering:
            found["altered", name] += len(altering)
    return found


def test_every_change_is_found_once_and_nothing_else(days: tuple[list[Told], dict[str, list[Change]]]) -> None:
    truth, logs = days
    # An ALTER that does nothing (IF EXISTS) is a command to the triggers, and no change.
    hidden = {number for number, case in enumerate(CASES) if case.get("hidden") or case.get("idle")}
    known = Counter(
        (what, name)
        for number, what, name in truth
        if number not in hidden and name not in CASES[number].get("cascades", ())
    )
    assert len(truth) > 30
    assert changes_of(logs) == known
    # Statements that change no object have no row in the truth either.
    assert not {number for number, _, _ in truth} & {number for number, case in enumerate(CASES) if case.get("no")}


def test_what_no_statement_tells_is_in_no_log(days: tuple[list[Told], dict[str, list[Change]]]) -> None:
    """A function's DDL and what CASCADE takes along: the schema alone can show them."""
    truth, logs = days
    assert ("created", "shop.by_function") in {(what, name) for _, what, name in truth}
    assert [one.action for one in logs["shop.by_function"]] == ["column_added"]
    assert ("dropped", "shop.above") in {(what, name) for _, what, name in truth}
    assert [one.action for one in logs["shop.above"]] == ["created"]


def test_who_and_by_which_statement(days: tuple[list[Told], dict[str, list[Change]]]) -> None:
    _, logs = days
    orders = [(one.action, one.column, one.before, one.after, one.by) for one in logs["shop.orders"]]
    assert orders == [
        ("created", None, None, None, "ann"),
        ("column_added", "note", None, "note", "bob"),
        ("column_added", "a", None, "a", "bob"),
        ("column_added", "b", None, "b", "bob"),
        ("column_renamed", "note", "note", "remark", "bob"),
        ("column_retyped", "id", None, "bigint", "bob"),
        ("column_dropped", "b", "b", None, "ann"),
        ("altered", None, None, None, "ann"),
    ]
    assert all("shop" in (one.statement or "").lower() for one in logs["shop.orders"])
    assert [(one.action, one.by) for one in logs["shop.model"]] == [("created", "dbt"), ("replaced", "dbt")]
