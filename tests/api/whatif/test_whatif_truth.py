"""The answer to what-if, checked by making the change in a real PostgreSQL and running every logged statement again.

A statement that fails must have been said to break; another result must have been said to change. None may be missed (recall 1.0) unless the answer
says that it does not judge the change, which only those of the case's `unjudged` may. One said to break for sure must. The share of those said to break
that did is the precision.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from tests.events import facet, run_event
from tests.scale import FULL

from headwater.columns import Catalog, analyse

CASES = Path(__file__).parents[2] / "cases" / "whatif"
NAMESPACE = "postgres://db:5432"
# Of each kind of change, the columns and types that it is made with.
RETYPES = {
    "integer": ("bigint", "text"),
    "bigint": ("numeric",),
    "numeric": ("double precision", "text"),
    "text": ("varchar(60)",),
    "date": ("timestamp",),
    "character varying": ("text",),
}


class World:
    """The shop in a database of its own. Every change and every statement is undone."""

    def __init__(self, connection: Any, case: dict[str, Any]) -> None:
        self.connection, self.case = connection, case
        self.types: dict[str, dict[str, str]] = {}
        rows = connection.execute(
            "select format('%I.%I', table_schema, table_name), column_name, data_type from information_schema.columns where table_schema = 'shop' order by 1, ordinal_position"
        )
        for table, column, kind in rows.fetchall():
            self.types.setdefault(table, {})[column] = kind

    def outcomes(self, change: str | None) -> dict[str, str]:
        """Return the outcome of each statement, and of reading each view, after the change: a digest of its rows, or "error: …"."""
        with self.connection.transaction(force_rollback=True):
            if change is not None:
                self._make(change)
            if "role" in self.case:
                self.connection.execute(f"set local role {self.case['role']}")
            texts = {text: text for text in self.case["statements"]}
            texts |= {definition: f"select * from {view} order by 1" for view, definition in self.case["views"].items()}
            return {key: self._outcome(text) for key, text in texts.items()}

    def _make(self, change: str) -> None:
        """Make it as a person would who was told that views stand in the way: without these."""
        try:
            with self.connection.transaction():
                self.connection.execute(change)
        except psycopg.errors.FeatureNotSupported:  # the type of a column that a view uses
            table = change.split()[2]
            users = self.connection.execute(
                "select distinct r.ev_class::regclass::text, c.relkind::text from pg_depend d join pg_rewrite r on r.oid = d.objid join pg_class c on c.oid = r.ev_class where d.refobjid = %s::regclass and d.refobjsubid > 0 "
                "and r.ev_class <> %s::regclass and d.refobjsubid = (select attnum from pg_attribute where attrelid = %s::regclass and attname = %s)",
                (table, table, table, change.split()[5].strip('"')),
            ).fetchall()
            for view, kind in users:
                if kind not in {"m", "v"}:
                    raise  # A rule of a table: it cannot be made.
                self.connection.execute(
                    f"drop {'materialized view' if kind == 'm' else 'view'} if exists {view} cascade"
                )
            self.connection.execute(change)

    def _outcome(self, text: str) -> str:
        try:
            with self.connection.transaction(force_rollback=True):
                found = self.connection.execute(text)
                rows = [found.rowcount] if found.description is None else found.fetchall()
                return hashlib.sha256(repr(rows).encode()).hexdigest()
        except psycopg.Error as error:
            return f"error: {error}"


@pytest.fixture(scope="module", params=["shop", "forms", "objects", "parts", "kinds"])
def world(postgres: Any, request: pytest.FixtureRequest) -> Iterator[World]:
    case = yaml.safe_load((CASES / f"{request.param}.yaml").read_text(encoding="utf-8"))
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("drop database if exists whatif_shop")
        connection.execute("create database whatif_shop")
        if "role" in case:
            connection.execute(f"create role {case['role']}")
    with psycopg.connect(postgres.url, dbname="whatif_shop", autocommit=True) as connection:
        connection.execute(case["setup"])
        yield World(connection, case)
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("drop database whatif_shop with (force)")
        if "role" in case:
            connection.execute(f"drop role {case['role']}")


def changes(world: World) -> Iterator[tuple[str, dict[str, str]]]:
    """Every table and column of the shop, dropped, renamed and retyped; as SQL, and as a question."""
    for table, columns in world.types.items():
        kind, named = _kind(world.case, table), table.replace('"', "")
        yield f"drop {kind} {table} cascade", {"drop": named}
        if kind != "table":
            continue
        yield f"alter table {table} rename to other", {"rename": f"{named}:other"}
        added = f"alter table {table} add column {'note' if 'name' in columns else 'name'} text"
        yield added, {"sql": added}
        for plain, held in columns.items():
            column = plain if plain.islower() else f'"{plain}"'
            yield f"alter table {table} drop column {column} cascade", {"drop": f"{named}.{plain}"}
            yield (
                f"alter table {table} rename column {column} to other",
                {"sql": f"alter table {table} rename column {column} to other"},
            )
            for new in RETYPES.get(held, ()):
                yield f"alter table {table} alter column {column} type {new}", {"retype": f"{named}.{plain}:{new}"}
    for change in world.case.get("changes", ()):
        yield change, {"sql": change}


def _kind(case: dict[str, Any], table: str) -> str:
    definition = case["views"].get(table, "")
    return "materialized view" if "materialized" in definition else "view" if definition else "table"


def is_asked(world: World, change: str, text: str) -> bool:
    """Return whether the text defines a view that the change is made of: that it is gone, or another one, is what was asked."""
    named = set(re.findall(r"(?:drop|alter|or replace) (?:materialized )?view (?:if exists )?([^ ;]+)", change))
    return any(definition == text and view in named for view, definition in world.case["views"].items())


def publish(client: Any, world: World) -> dict[str, str]:
    """Send what a query log says of the statements; return the job of each."""
    catalog = Catalog({name: list(columns) for name, columns in world.types.items()}, "postgres")
    events, jobs = [], {}
    for table, columns in world.types.items():
        fields = {"schema": facet(fields=[{"name": name, "type": kind} for name, kind in columns.items()])}
        events.append(
            {
                "eventTime": "2026-01-01T00:00:00Z",
                "producer": "p",
                "dataset": {"namespace": NAMESPACE, "name": f"db.{table}".replace('"', ""), "facets": fields},
            }
        )
    texts = [*world.case["statements"], *world.case["views"].values(), *world.case.get("definitions", ())]
    for number, text in enumerate(texts):
        statements = analyse(text, "postgres", catalog)
        statement = statements[0]
        jobs[text] = f"job:{NAMESPACE}:{statement.kind} {number}"

        def named(tables: Any) -> list[Any]:
            return [{"namespace": NAMESPACE, "name": ".".join(("db", *table))} for table in tables]

        facets = {
            "sql": facet(query=text, dialect="postgres"),
            "headwater_queries": facet(
                executions=3,
                lastAt="2026-01-02T00:00:00Z",
                actors=[{"actor": "ada", "kind": "person", "executions": 3}],
            ),
        }
        events.append(
            run_event(
                "COMPLETE",
                number + 1,
                f"{statement.kind} {number}",
                named({table: None for one in statements for table in one.reads}),
                named({table: None for one in statements for table in one.writes}),
                namespace=NAMESPACE,
                job_facets=facets,
            )
        )
    reply = client.post("/api/v1/lineage/batch", json.dumps(events).encode())
    assert reply.json()["summary"]["failed"] == 0, reply.text
    return jobs


def test_every_change_breaks_what_was_said(client: Any, world: World) -> None:
    jobs = publish(client, world)
    before = world.outcomes(None)
    assert not [text for text, found in before.items() if found.startswith("error")], before
    missed: list[tuple[str, str, str | None, str]] = []
    beyond, sure, refused = set[str](), list[tuple[str, str, str]](), list[tuple[str, str]]()
    said, right, count = 0, 0, 0
    every = list(changes(world))
    for change, question in every if FULL or len(every) < 100 else every[::3]:
        try:
            after = world.outcomes(change)
        except psycopg.Error as error:
            refused.append((change, str(error).splitlines()[0]))
            continue
        count += 1
        reply = client.post(
            "/api/v2/whatif", json.dumps({"dialect": "postgres"} | question).encode(), content_type="application/json"
        )
        assert reply.status_code == 200, (question, reply.text)
        found = reply.json()
        answer = {one["id"]: one for one in found["jobs"]}
        for text, job in jobs.items():
            if text not in after or is_asked(world, change, text):
                continue  # The first: a definition that only other statements run.
            severity = answer.get(job, {}).get("severity")
            broke = after[text].startswith("error")
            if (broke and severity != "breaks") or (not broke and after[text] != before[text] and severity is None):
                if found["unjudged"]:
                    beyond.add(change)
                else:
                    missed.append((change, text, severity, after[text][:90]))
            if severity == "breaks" and answer[job]["certain"] and not broke:
                sure.append((change, text, answer[job]["reason"]))
            said += severity == "breaks"
            right += severity == "breaks" and broke
    print(
        f"{count} changes, {said} said to break, {right} of them did: precision {right / said:.3f}; PostgreSQL refuses:"
    )
    print(*refused, "not judged whole:", *sorted(beyond), sep="\n")
    assert not missed, "\n".join(map(repr, [len(missed), *missed[:40]]))
    assert not sure, (len(sure), sure[:12])
    assert beyond <= set(world.case.get("unjudged", ())), beyond
    assert count >= 30
    assert right / said >= world.case.get("precision", 0.9)
