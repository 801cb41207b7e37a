"""Sources beside a log: definitions of views, both sides of loads and extracts, and what became of each record."""

import csv
import datetime as dt
import json
import re
import shutil
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.fixtures.query_logs import BEGIN, json_lines

from headwater.errors import UnreadableContent
from headwater.pipeline.query_log import schema as S
from headwater.pipeline.query_log.batch import Asked
from headwater.pipeline.query_log.stages import Settings
from headwater.pipeline.query_log.sync import Synced, sync
from headwater.pipeline.tables import Store
from headwater.store.embedded import EmbeddedPostgres

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]

END = BEGIN + dt.timedelta(days=9)


def query(number: int, text: str, **more: Any) -> dict[str, Any]:
    at = (BEGIN + dt.timedelta(hours=number * 30)).isoformat()
    person = {"job_id": f"j{number}", "project_id": "p", "user_email": "ann@p.example", "state": "DONE"}
    return {**person, "creation_time": at, "start_time": at, "end_time": at, "query": text, **more}


def entry(job: dict[str, Any], done: bool = True) -> dict[str, Any]:
    times = {name: END.isoformat() for name in ("createTime", "startTime", "endTime")}
    change = {"jobName": f"projects/p/jobs/{len(json.dumps(job))}", "jobConfig": job, "jobStats": times}
    return {"protoPayload": {"metadata": {"jobChange": {"after": "DONE" if done else "RUNNING", "job": change}}}}


def table(name: str) -> str:
    return f"projects/p/datasets/raw/tables/{name}"


@pytest.fixture(scope="module")
def world(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Synced, Store]:
    """A dashboard reads a view that was made two years before the log begins; files come and go."""
    folder = tmp_path_factory.mktemp("definitions")
    used = [query(number, "select sum(amount) from p.mart.sales") for number in range(6)]
    idle = [
        query(6, "insert into p.raw.forgotten select 1 as a"),
        query(7, "insert into p.raw.orders select 2 as amount"),
    ]
    json_lines(folder / "log" / "jobs.json", [*used, *idle, {"job_id": "no time"}])
    load = {"loadConfig": {"sourceUris": ["gs://landing/orders/1.csv"], "destinationTable": table("orders")}}
    extract = {"extractConfig": {"destinationUris": ["gs://partner/orders.csv"], "sourceTable": table("orders")}}
    json_lines(folder / "log" / "audit.json", [entry(load), entry(extract), entry(load, done=False)])
    old = (BEGIN - dt.timedelta(days=700)).isoformat()
    place = {"table_catalog": "p", "table_schema": "mart", "creation_time": old}
    view = {
        **place,
        "table_name": "sales",
        "table_type": "VIEW",
        "ddl": "CREATE VIEW `p.mart.sales` AS SELECT amount FROM p.raw.orders",
    }
    bare = {**place, "table_name": "all_sales", "table_type": "VIEW", "ddl": "SELECT * FROM p.mart.sales"}
    json_lines(folder / "log" / "definitions.json", [view, bare, {**place, "table_name": "plain", "ddl": None}])
    told = sync(spark, str(folder / "store"), Asked("bigquery", (str(folder / "log"),)), Settings())
    return told, Store(spark, str(folder / "store"))


def edges(store: Store) -> set[tuple[str, str]]:
    return {
        (f"{row['from_namespace']} {row['from_name']}", f"{row['to_namespace']} {row['to_name']}")
        for row in store.read(S.EDGES).collect()
    }


def test_a_view_made_before_the_log_begins_has_its_source(world: tuple[Synced, Store]) -> None:
    assert {
        ("bigquery p.raw.orders", "bigquery p.mart.sales"),
        ("bigquery p.mart.sales", "bigquery p.mart.all_sales"),
    } <= edges(world[1])


def test_a_table_that_only_an_old_view_reads_is_kept(world: tuple[Synced, Store]) -> None:
    advised = {row["name"]: json.loads(row["evidence"]) for row in world[1].read(S.PRUNING).collect()}
    assert set(advised) == {"p.raw.forgotten", "p.mart.all_sales"}
    # The definition is 700 days old, and the log is not.
    assert advised["p.mart.all_sales"]["log_days"] == 10


RECIPE = re.search(
    r"\\copy \((.*)\) TO definitions.csv",
    (ROOT / "docs/reference/query-log-sources.md").read_text(encoding="utf-8"),
)


REFUSED = ("of_view", "of_materialized", "of_key", "of_policy", "of_rule", "of_heir", "of_row_type", "of_array")
"""Tables that PostgreSQL does not drop without CASCADE."""
UNSEEN = ("of_function", "of_trigger", "of_publication")
"""Tables that it drops, though something stops working."""
FREE = ("of_nothing", "of_itself")
STANDING = """
create table shop.child (of int references shop.of_key (id), "Odd" int);
create view shop.v as select id from shop.of_view;
create materialized view shop.m as select id from shop.of_materialized;
create function shop.f() returns bigint language sql as 'select count(*) from shop.of_function';
create function shop.checked() returns trigger language plpgsql
    as 'begin perform 1 from shop.of_trigger where id = new.of; return new; end';
create trigger checks before insert on shop.child for each row execute function shop.checked();
create policy owned on shop.child using (of in (select id from shop.of_policy));
create rule copied as on update to shop.child do also insert into shop.of_rule values (new.of);
create table shop.heir () inherits (shop.of_heir);
create table shop.typed (one shop.of_row_type, many shop.of_array[]);
create publication outside for table shop.of_publication;
alter table shop.of_itself add parent int references shop.of_itself (id);
create policy own on shop.of_itself using (id > 0);
"""


def test_what_stands_in_postgresql_and_no_statement_shows_keeps_its_tables(spark: Any, tmp_path: Path) -> None:
    """The recipe of the docs on a real PostgreSQL, whose own refusals to drop a table are the truth."""
    assert RECIPE is not None
    EmbeddedPostgres(tmp_path / "postgres").stop()
    with (tmp_path / "postgres" / "postgresql.auto.conf").open("a", encoding="utf-8") as settings:
        settings.write(
            "logging_collector = on\nlog_destination = 'csvlog'\nlog_directory = 'querylog'\nlog_min_duration_statement = 0\nlog_timezone = 'UTC'\n"
        )
    server = EmbeddedPostgres(tmp_path / "postgres")
    tables = (*REFUSED, *UNSEEN, *FREE)
    try:
        with psycopg.connect(server.url, autocommit=True) as hidden:
            # What stands was made before the log began.
            hidden.execute("set log_min_duration_statement = -1")
            hidden.execute("create schema shop")
            for name in tables:
                hidden.execute(f"create table shop.{name} (id int primary key)")
            hidden.execute(STANDING)
            rows = hidden.execute(RECIPE[1]).fetchall()  # type: ignore[arg-type]
        with psycopg.connect(server.url, autocommit=True) as connection:
            for name in tables:
                connection.execute(f"insert into shop.{name} values (1)")
            for name in ("child", "v", "m", "heir", "typed"):
                connection.execute(f"select * from shop.{name}")
        with psycopg.connect(server.url, autocommit=True) as hidden:
            hidden.execute("set log_min_duration_statement = -1")
            dropped = {name for name in tables if is_dropped(hidden, name)}
    finally:
        server.stop()
    assert dropped == {*UNSEEN, *FREE}
    log = tmp_path / "input"
    log.mkdir()
    for file in (tmp_path / "postgres" / "querylog").glob("*.csv"):
        shutil.copy(file, log / file.name)
    with (log / "definitions.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("database", "schema", "name", "kind", "definition", "defined_at"), *rows])
    sync(spark, str(tmp_path / "store"), Asked("postgres", (str(log),), "postgres://db:5432"), Settings())
    advised = {
        row["name"].rpartition(".")[2] for row in Store(spark, str(tmp_path / "store")).read(S.PRUNING).collect()
    }
    assert advised == {*FREE}


def is_dropped(connection: psycopg.Connection[Any], name: str) -> bool:
    """Drop the table in a transaction that is undone; return whether PostgreSQL let it."""
    try:
        with connection.transaction(force_rollback=True):
            connection.execute(f"drop table shop.{name}")
    except psycopg.errors.DependentObjectsStillExist:
        return False
    return True


def test_files_of_storage_are_sides_of_loads_and_extracts(world: tuple[Synced, Store]) -> None:
    assert {
        ("gs://landing orders/1.csv", "bigquery p.raw.orders"),
        ("bigquery p.raw.orders", "gs://partner orders.csv"),
    } <= edges(world[1])


def test_every_record_is_counted_by_what_became_of_it(world: tuple[Synced, Store]) -> None:
    told = world[0]
    assert (told.records, told.rows, told.skipped, told.reasons) == (15, 12, 2, {"no_time": 1})
    assert [row["code"] for row in world[1].read(S.QUARANTINE).collect()] == ["no_time"]


def test_a_log_of_other_entries_alone_is_an_error_that_says_why(spark: Any, tmp_path: Path) -> None:
    json_lines(tmp_path / "log" / "audit.json", [entry({}, done=False), entry({"a": 1}, done=False)])
    with pytest.raises(UnreadableContent, match=r"of 2 records none can be used \(2 of no execution\)"):
        sync(spark, str(tmp_path / "store"), Asked("bigquery", (str(tmp_path / "log"),)), Settings())
