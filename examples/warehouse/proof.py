"""The proof of `headwater prune`: take its advice, and let the next two weeks happen without what was removed.

    python examples/warehouse/proof.py --days 42 --read 28 --data DIR --advise COMMAND

The company works 42 days, with what `plants` adds. Of the first 28, `DIR/log` has the log, and the definitions that stand in the database then.
COMMAND reads them and prints the advice, as `headwater prune --json` does. Then, on copies of the database of day 28: for each number of waves, drop
what these advise, in their order and without CASCADE, and run every logged statement of the other 14 days again, external readers' too. A statement
that writes nothing but what was removed is removed with it: of dbt those of the removed models and of their tests, of the feed and the exports those
that write to a removed table. `DIR/proof.json` says what failed, and how many bytes nothing would have missed.
A table that is needed is removed once, too: that has to fail.

Nothing in here knows Headwater. Which tables are used is PostgreSQL's own count of scans during the replay.
"""

import argparse
import datetime as dt
import json
import re
import shlex
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import plants
import psycopg2
from asking import asked
from database import NAME, Database
from feed import Feed, as_csv
from modelling import Project
from run import FLOWN, START, a_day, at_time
from timeline import Timeline

STATEMENT = re.compile(r"duration: [0-9.]+ ms  statement: (.*)", re.DOTALL)
_NODE = re.compile(r'^/\* \{"app": "dbt".*?"node_id": "([^"]+)"')
_FIRST_NAMED = re.compile(r"^(?:truncate|insert into|copy|alter table)\s+(\w+\.\w+)", re.IGNORECASE)
_COPY = re.compile(r"^copy raw\.(\w+) \(([^)]*)\) from stdin", re.IGNORECASE)
_BYTES = (
    "select n.nspname || '.' || c.relname, c.relkind, pg_total_relation_size(c.oid) "
    "from pg_class c join pg_namespace n on n.oid = c.relnamespace "
    "where c.relkind in ('r', 'm', 'v') and n.nspname in ('raw', 'staging', 'marts', 'history', 'scratch', 'ops')"
)
_SCANS = "select schemaname || '.' || relname, seq_scan + coalesce(idx_scan, 0) from pg_stat_user_tables"
_DEFINITIONS = (
    "select schemaname as schema, viewname as name, 'VIEW' as kind, definition, viewowner as owner from pg_views "
    "where schemaname !~ '^(pg_|information_schema)' union all "
    "select schemaname, matviewname, 'MATERIALIZED VIEW', definition, matviewowner from pg_matviews"
)


class Line(NamedTuple):
    """A statement of the log. `session`: those of one session run on one connection."""

    at: str
    session: str
    user: str
    application: str
    text: str
    failed: bool


class Failure(NamedTuple):
    user: str
    text: str
    error: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=42, help="how many days the company works (42)")
    parser.add_argument("--read", type=int, default=28, help="of how many of them the advice sees the log (28)")
    parser.add_argument("--data", type=Path, required=True, help="where log and proof go")
    parser.add_argument("--advise", required=True, help="the command that reads the log and prints the advice")
    given = parser.parse_args()
    given.data.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="warehouse-") as place:
        told = prove(Path(place), given.data, given.days, given.read, given.advise)
    (given.data / "proof.json").write_text(json.dumps(told, indent=1, default=str) + "\n", encoding="utf-8")
    print(json.dumps({key: value for key, value in told.items() if key != "advice"}, default=str))


def prove(place: Path, data: Path, days: int, read: int, advise: str) -> dict[str, Any]:
    database = Database(place)
    try:
        manifests, later = _work(place, data, database, days, read)
        advice = json.loads(
            subprocess.run([*shlex.split(advise), data / "log"], check=True, capture_output=True, text=True).stdout
        )
        waves = _waves(advice)
        size = {name: bytes_ for name, _, bytes_ in _rows(database, COPY, _BYTES)}
        kinds = {name: kind for name, kind, _ in _rows(database, COPY, _BYTES)}
        replays = []
        for count in range(len(waves) + 1):
            removed = [name for wave in waves[:count] for name in wave]
            replays.append(_replayed(database, count, removed, kinds, manifests, later))
        control = _replayed(database, 0, ["ops.weekly_summary"], kinds, manifests, later)
        unused = [name for name in size if kinds[name] != "v" and name not in replays[-1]["scanned"]]
        removed = [name for wave in waves for name in wave]
        return {
            "days": days, "read": read, "statements": len(later), "waves": waves,
            "replays": [{key: value for key, value in one.items() if key != "scanned"} for one in replays],
            "control": {"removed": "ops.weekly_summary", "errors": control["errors"]},
            "unused": {name: size[name] for name in sorted(unused)}, "removed": {name: size.get(name, 0) for name in removed},
            "bytes_unused": sum(size[name] for name in unused), "bytes_removed": sum(size.get(name, 0) for name in removed),
            "advice": advice,
        }  # fmt: skip
    finally:
        database.stop()


COPY = f"{NAME}_read"
"""The database of the last day that the advice saw."""


def _work(place: Path, data: Path, database: Database, days: int, read: int) -> tuple[list[dict[str, Any]], list[Line]]:
    """The days, with a copy of the database after day `read`. Write the log up to there; return the statements of the rest."""
    timeline, feed, project = Timeline(), Feed(database), Project(place, database)
    with database.admin("postgres") as cursor:
        for one in plants.READERS:
            cursor.execute(f'create role "{one}" login in role pg_read_all_data')
    with database.admin(NAME) as cursor:
        cursor.execute(f"grant create on database {NAME} to {plants.LOADER}")
    plants.before(database)
    database.log_everything(functions=True)
    with timeline.at(at_time(START, dt.time(1, 0))):
        feed.first()
        plants.first(database)
    for number in range(1, days + 1):
        day = START + dt.timedelta(days=number - 1)
        more = [*plants.planted(number, day), *asked(number, day, FLOWN + dt.timedelta(days=number - 1))]
        a_day(number, timeline, database, feed, project, sorted(more))
        if number == read:
            with database.admin("postgres") as cursor:
                cursor.execute(f"create database {COPY} template {NAME}")
        print(f"day {number} of {days}", flush=True)
    files = timeline.moved(database.log, data / "all")
    last = START + dt.timedelta(days=read)
    later = [line for file in files if file.stem[-10:] >= str(last) for line in _lines(file)]
    (data / "log").mkdir(parents=True, exist_ok=True)
    for file in files:
        if file.stem[-10:] < str(last):
            kept = [
                line
                for line in file.read_text(encoding="utf-8").splitlines()
                if json.loads(line)["user"] not in plants.READERS
            ]
            (data / "log" / file.name).write_text("\n".join(kept) + "\n", encoding="utf-8")
    at = f"{last - dt.timedelta(days=1)}T23:00:00Z"
    names = ("schema", "name", "kind", "definition", "owner")
    rows = [
        dict(zip(names, row, strict=True)) | {"database": NAME, "defined_at": at}
        for row in _rows(database, COPY, _DEFINITIONS)
    ]
    (data / "log" / "definitions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    manifests = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(project.manifests.glob("*.json"))]
    return manifests, later


def _lines(file: Path) -> Iterator[Line]:
    for line in file.read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        found = STATEMENT.match(told["message"])
        failed = told["error_severity"] == "ERROR" and "statement" in told
        if found or failed:
            text = found[1] if found else told["statement"]
            yield Line(
                told["timestamp"], told["session_id"], told["user"], told.get("application_name", ""), text, failed
            )


def _rows(database: Database, name: str, query: str) -> list[tuple[Any, ...]]:
    with database.admin(NAME) as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())


def _waves(advice: dict[str, Any]) -> list[list[str]]:
    found: dict[int, list[str]] = {}
    for one in advice["datasets"]:
        found.setdefault(one["wave"], []).append(one["name"].removeprefix(f"{NAME}."))
    return [found[wave] for wave in sorted(found)]


def _replayed(
    database: Database,
    count: int,
    removed: list[str],
    kinds: dict[str, str],
    manifests: list[dict[str, Any]],
    later: list[Line],
) -> dict[str, Any]:
    """The later days without `removed`: on a copy of the database of the last day that the advice saw."""
    # dbt names the database in its statements.
    with database.admin("postgres") as cursor:
        cursor.execute(f"drop database {NAME}")
        cursor.execute(f"create database {NAME} template {COPY}")
    failures: list[Failure] = []
    with database.admin(NAME) as cursor:
        for one in removed:
            kind = {"v": "view", "m": "materialized view"}.get(kinds.get(one, "r"), "table")
            try:
                cursor.execute(f"drop {kind} {one}")
            except psycopg2.Error as error:
                failures.append(Failure("drop", one, str(error)))
        cursor.execute("select pg_stat_reset()")
    nodes = _nodes(set(removed), manifests)
    feed, ran, sessions = Feed(database), Counter(), {}
    kept = [line for line in later if not _is_removed(line.text, set(removed), nodes)]
    ran["run"], ran["removed"] = len(kept), len(later) - len(kept)
    last = {line.session: place for place, line in enumerate(kept)}
    for place, line in enumerate(kept):
        if line.session not in sessions:
            sessions[line.session] = database.connect(line.user, line.application)
        error = _run(sessions[line.session], line, feed)
        if last[line.session] == place:
            sessions.pop(line.session).close()
        if error and not line.failed:
            failures.append(Failure(line.user, line.text[:200], error))
    with database.admin(NAME) as cursor:
        cursor.execute("select pg_stat_force_next_flush()")
    scanned = {table for table, scans in _rows(database, NAME, _SCANS) if scans}
    return {"waves": count, **ran, "errors": len(failures), "failures": failures[:20], "scanned": scanned}


def _run(connection: Any, line: Line, feed: Feed) -> str | None:
    with connection.cursor() as cursor:
        try:
            if copied := _COPY.match(line.text):
                flown = FLOWN + (dt.date.fromisoformat(line.at[:10]) - START)
                cursor.copy_expert(line.text, as_csv(copied[2].split(", "), feed.rows(copied[1], flown)))
            else:
                cursor.execute(line.text)
        except psycopg2.Error as error:
            return str(error)
    return None


def _nodes(removed: set[str], manifests: list[dict[str, Any]]) -> set[str]:
    """dbt's models that make what is removed, and their tests."""
    found = set()
    for manifest in manifests:
        nodes = manifest["nodes"]
        models = {key for key, one in nodes.items() if f"{one['schema']}.{one['alias']}" in removed}
        found |= models | {
            key
            for key, one in nodes.items()
            if one["resource_type"] == "test" and models & set(one["depends_on"]["nodes"])
        }
    return found


def _is_removed(text: str, removed: set[str], nodes: set[str]) -> bool:
    if node := _NODE.match(text):
        return node[1] in nodes
    first = _FIRST_NAMED.match(text)
    return first is not None and first[1] in removed


if __name__ == "__main__":
    main()
