"""The log of objects over drawn sequences of DDL, against what PostgreSQL's event triggers and catalog say: every change once, nothing else, and each
table under every name that it had."""

import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.pq import TransactionStatus
from tests.pipeline.test_query_log_object_changes import END, SETTINGS, used_from
from tests.scale import full

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

SEQUENCES = full(60, 5)
STATEMENTS = 36
SEED = 20261128
TRIGGERS = (
    "create table public.truth (place serial, number int, kind text, object text)",
    "create table public.names (place serial, relation oid, object text)",
    """create function public.noted(number int, kind text, object text) returns void language sql security definer as $$
    insert into public.truth (number, kind, object) values ($1, $2, $3) $$""",
    """create function public.changed() returns event_trigger language plpgsql security definer as $$
    declare one record; number int := current_setting('test.number')::int; inner_one record;
    begin
      for one in select * from pg_event_trigger_ddl_commands() where not in_extension loop
        if one.object_type = 'schema' and one.command_tag = 'ALTER SCHEMA' then
          for inner_one in select n.nspname || '.' || c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
              where c.relnamespace = one.objid and c.relkind in ('r', 'v', 'm') loop
            perform public.noted(number, 'altered', inner_one.name);
          end loop;
        elsif one.object_type in ('table', 'view', 'materialized view', 'table column') then
          perform public.noted(number, case when one.command_tag like 'CREATE%' or one.command_tag = 'SELECT INTO' then 'created' else 'altered' end,
            (select n.nspname || '.' || c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = one.objid));
        end if;
      end loop;
      insert into public.names (relation, object) select c.oid, n.nspname || '.' || c.relname from pg_class c
        join pg_namespace n on n.oid = c.relnamespace where c.relkind in ('r', 'v', 'm') and n.nspname like 's%';
    end $$""",
    """create function public.went() returns event_trigger language plpgsql security definer as $$ begin
    perform public.noted(current_setting('test.number')::int, 'dropped', schema_name || '.' || object_name)
    from pg_event_trigger_dropped_objects() where not is_temporary and object_type in ('table', 'view', 'materialized view'); end $$""",
    "create event trigger changed on ddl_command_end execute function public.changed()",
    "create event trigger went on sql_drop execute function public.went()",
)
LIVING = """select n.nspname || '.' || c.relname, c.relkind::text, c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'v', 'm') and n.nspname like %s order by 1"""
WORDS = {"r": "table", "v": "view", "m": "materialized view"}


class Sequence:
    """Draws statements, of which most fit what is there."""

    def __init__(self, number: int, connection: psycopg.Connection[Any]) -> None:
        self.draw = random.Random(SEED + number)
        self.mark = f"s{number}"
        self.connection = connection
        self.columns = 0

    def living(self) -> list[tuple[str, str]]:
        return [(row[0], row[1]) for row in self.connection.execute(LIVING, [f"{self.mark}\\_%"]).fetchall()]

    def schemas(self) -> list[str]:
        rows = self.connection.execute(
            "select nspname from pg_namespace where nspname like %s order by 1", [f"{self.mark}\\_%"]
        )
        return [row[0] for row in rows.fetchall()]

    def schema(self) -> str:
        return f"{self.mark}_{self.draw.choice('abc')}"

    def table(self) -> str:
        return self.draw.choice(["t", "u", "v", "w"])

    def statements(self) -> Iterator[str]:
        yield from (f"create schema {self.mark}_a", f"create schema {self.mark}_b")
        for _ in range(STATEMENTS):
            status = self.connection.info.transaction_status
            if status == TransactionStatus.INERROR:
                yield self.draw.choice(["rollback", "rollback to x", "rollback to y", "commit"])
            elif status == TransactionStatus.INTRANS and self.draw.random() < 0.4:
                yield self.draw.choice(
                    [
                        "commit",
                        "rollback",
                        "savepoint x",
                        "savepoint x",
                        "savepoint y",
                        "rollback to x",
                        "rollback to savepoint y",
                        "release x",
                    ]
                )
            elif status == TransactionStatus.IDLE and self.draw.random() < 0.15:
                yield "begin"
            else:
                yield from self.change()
        if self.connection.info.transaction_status != TransactionStatus.IDLE:
            yield "commit"

    def change(self) -> Iterator[str]:
        living, schemas = self.living(), self.schemas()
        home = self.draw.choice(schemas) if schemas else f"{self.mark}_a"
        new = f"{home}.{self.table()}"
        if not schemas or self.draw.random() < 0.08:
            yield f"create schema if not exists {self.schema()}"
            return
        if not living or self.draw.random() < 0.3:
            yield self.draw.choice(
                [
                    f"create table {new} (id int)",
                    f"create table if not exists {new} (id int)",
                    f"create table {new} as select 1 as id",
                    f"create view {new} as select 1 as id",
                    f"create materialized view {new} as select 1 as id",
                    f"select 1 as id into {new}",
                ]
            )
            return
        name, kind = self.draw.choice(living)
        other, word, bare = self.draw.choice(living)[0], WORDS[kind], self.table()
        place = self.draw.choice([one for one in schemas if one != name.partition(".")[0]] or schemas)
        self.columns += 1
        choice = self.draw.randrange(16)
        if choice < 3:
            yield f"alter {word} {name} rename to {bare}"
        elif choice < 5 and place != name.partition(".")[0]:
            yield f"alter {word} {name} set schema {place}"
        elif choice == 5:
            yield f"drop {word} {name}"
        elif choice == 6:
            yield f"drop {word} if exists {self.draw.choice([name, new])} cascade"
        elif choice == 7:
            yield f"alter schema {home} rename to {self.schema()}"
        elif choice == 8 and self.draw.random() < 0.4:
            yield f"drop schema {place} cascade"
        elif choice == 9 and name != other:
            self_contained = self.connection.info.transaction_status == TransactionStatus.IDLE
            if self_contained:
                yield "begin"
            first, second = name.rpartition(".")[2], other.rpartition(".")[2]
            if name.rpartition(".")[0] == other.rpartition(".")[0]:
                of = name.rpartition(".")[0]
                yield f"alter table {name} rename to passing"
                yield f"alter table {other} rename to {first}"
                yield f"alter table {of}.passing rename to {second}"
            if self_contained:
                yield "commit"
        elif choice == 10:
            yield f"select count(*) from {name}"
        elif choice == 11:
            yield f"do $$ begin if {self.draw.choice(['true', 'false'])} then drop {word} {name}; create table {name} (id int, d int); end if; end $$"
        elif choice == 12:
            yield f"do $$ begin alter table {name} add column c{self.columns} int; end $$"
        elif choice == 13:
            yield f"drop table {self.mark}_a.nothing"
        else:
            yield f"alter table {name} add column c{self.columns} int"


Told = tuple[str, str]


def history(folder: Path) -> dict[str, Any]:
    """Run the sequences on a new server in the folder: the changes by the triggers, the names by the catalog, and the statements."""
    EmbeddedPostgres(folder / "postgres").stop()
    with (folder / "postgres" / "postgresql.auto.conf").open("a", encoding="utf-8") as settings:
        settings.write(SETTINGS)
    server = EmbeddedPostgres(folder / "postgres")
    said: list[str] = []
    try:
        with psycopg.connect(server.url, autocommit=True) as connection:
            for text in TRIGGERS:
                connection.execute(text)
            connection.execute("alter system set log_min_duration_statement = 0")
            connection.execute("select pg_reload_conf()")
        for number in range(SEQUENCES):
            with psycopg.connect(server.url, autocommit=True, options="-c test.number=0") as connection:
                for text in Sequence(number, connection).statements():
                    said.append(text)
                    with suppress(psycopg.Error):
                        if connection.info.transaction_status != TransactionStatus.INERROR:
                            connection.execute(f"set test.number = {len(said) - 1}")
                        connection.execute(text)
        with psycopg.connect(server.url, autocommit=True) as connection:
            rows = connection.execute("select number, kind, object from public.truth order by place").fetchall()
            names: dict[int, list[str]] = {}
            for relation, name in connection.execute(
                "select relation, object from public.names order by place"
            ).fetchall():
                if names.setdefault(relation, [name])[-1] != name:
                    names[relation].append(name)
            living = {row[2]: row[0] for row in connection.execute(LIVING, ["s%"]).fetchall()}
    finally:
        server.stop()
    truth = [row for row in dict.fromkeys((number, kind, name) for number, kind, name in rows) if row[2]]
    made = {(number, name) for number, kind, name in truth if kind == "created"}
    truth = [row for row in truth if row[1] != "altered" or (row[0], row[2]) not in made]
    return {"truth": truth, "names": names, "living": living, "said": said}


@pytest.fixture(scope="module")
def told(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The history, and the log of every object."""
    folder = tmp_path_factory.mktemp("sequences")
    return history(folder) | {"items": logs(spark, folder)}


def logs(spark: Any, folder: Path) -> dict[str, Any]:
    store = folder / "store"
    sync(spark, str(store), Asked("postgres", (str(folder / "postgres/querylog"),), "postgres://db:5432"), Settings())
    items: dict[str, tuple[list[measured.ObjectChange], Any]] = {}
    for row in measured_rows(Store(spark, str(store))).where("kind = 'dataset'").collect():
        body = json.loads(row["payload"])
        if "changes" not in body or not re.match(r"postgres\.s\d+_", row["name"]):
            continue
        (event,) = events.dataset(row["namespace"], row["name"], body, (), "2026-01-01T00:00:00Z")
        facet = json.dumps(event["dataset"]["facets"][measured.CHANGES]).encode()
        items[row["name"]] = measured.object_changes(facet).items, used_from(body)
    return items


def found(items: dict[str, Any], *, certain: bool) -> Counter[Told]:
    """The log's changes as the triggers count them: an ALTER of several columns is one."""
    counted: Counter[Told] = Counter()
    for name, (own, used) in items.items():
        altering: Counter[Any] = Counter()
        for one in fold_changes(name, own, END, used)[0]:
            if one.certain == certain:
                kind = {"created": "created", "replaced": "created", "dropped": "dropped"}.get(one.action, "altered")
                if kind == "altered":
                    altering[one.query, one.statement] = max(altering[one.query, one.statement], one.times)
                else:
                    counted[kind, name.removeprefix("postgres.")] += one.times
        if altering:
            counted["altered", name.removeprefix("postgres.")] += altering.total()
    return counted


def test_every_change_once_and_nothing_else(told: dict[str, Any]) -> None:
    in_doubt = {number for number, text in enumerate(told["said"]) if "if true" in text}
    sure = Counter((kind, name) for number, kind, name in told["truth"] if number not in in_doubt)
    maybe = Counter((kind, name) for number, kind, name in told["truth"] if number in in_doubt)
    assert sure.total() > 8 * SEQUENCES
    certain, uncertain = found(told["items"], certain=True), found(told["items"], certain=False)
    assert not certain - sure, "the log has what was not done"
    # What a statement that may not have run left open is in doubt, too.
    assert not (sure - certain) - uncertain
    assert not maybe - uncertain
    assert uncertain.total() < sure.total() / 3


def test_each_table_is_followed_through_its_names(told: dict[str, Any]) -> None:
    checked = 0
    for relation, name in told["living"].items():
        chain: list[str] = []
        called: str | None = f"postgres.{name}"
        until, changes = END, list[Change]()
        while called is not None:
            chain.append(called.removeprefix("postgres."))
            own, before = fold_changes(called, told["items"].get(called, ([], None))[0], until, None)
            changes += own
            called, until = (before.before, before.at) if before is not None else (None, until)
        if any(not one.certain for one in changes):
            continue
        checked += len(chain) > 1
        assert chain == told["names"][relation][::-1]
    assert checked
