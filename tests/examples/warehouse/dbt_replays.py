"""Changes of a dbt project, made: real dbt builds the project with each of them in a real PostgreSQL, and what the log has runs again.

    python dbt_replays.py JOB.json

JOB: `project` (a folder of dbt), `setup` (SQL) or `days` (of the example's feed and of its people's queries), `statements` (unless there are days),
`later` (SQL of what arrives after the first build, after which dbt builds again: incremental models and snapshots see a second run), `changes` (each a list of [file, old text, new text], [file] to remove it, or one of these alone), `out`. Writes `out`/base and `out`/0, 1, … (each
with dbt/, built, and queries/), and `out`/outcomes.json: for the base and for each change, the outcome of each relation and of each query by its
file; "error: …" where it fails.

Knows no Headwater; runs in the environment of the warehouse.
"""

import datetime as dt
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "examples/warehouse"))

import psycopg2  # noqa: E402
from asking import asked  # noqa: E402
from database import DBT, NAME, Database  # noqa: E402
from feed import Feed  # noqa: E402
from proof import _lines  # noqa: E402
from run import FLOWN, START  # noqa: E402

FRESH = f"{NAME}_fresh"
"""The database before dbt ever ran."""
_MADE = re.compile(r"\s*create (?:temp )?table (\S+) as", re.IGNORECASE)
Session = list[tuple[str, str]]
"""Statements of one session, each with its user."""


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="replays-") as place:
        database = Database(Path(place))
        try:
            Replays(database, job).run()
        finally:
            database.stop()


class Replays:
    def __init__(self, database: Database, job: dict[str, Any]) -> None:
        self.database, self.job, self.out = database, job, Path(job["out"])
        os.environ.update(database.address, DO_NOT_TRACK="1")
        self.sessions: dict[str, Session] = {}
        self.owner = database._dsn

    def run(self) -> None:
        self.prepare()
        base = self.out / "base"
        shutil.copytree(self.job["project"], base / "dbt")
        self.fresh()
        first = self.built(base)
        with self.database.admin("postgres") as cursor:
            cursor.execute("alter system set log_min_duration_statement = 0")
            cursor.execute("select pg_reload_conf()")
        self.sessions = {f"queries/{number:02}.sql": one for number, one in enumerate(self.logged())}
        queries = base / "queries"
        queries.mkdir()
        for name, session in self.sessions.items():
            (base / name).write_text(
                ";\n".join(text.strip().rstrip(";") for _, text in session) + ";\n", encoding="utf-8"
            )
        results = [self.outcomes(base) for _ in range(2)]
        self.dbt(base, "docs", "generate")
        # What differs from itself, or fails in the base, says nothing about a change.
        stable = {
            key for key, value in results[0].items() if results[1][key] == value and not value.startswith("error")
        }
        found: dict[str, Any] = {"base": {key: results[0][key] for key in sorted(stable)}, "changes": []}
        print(
            f"{len(first)} relations, {len(self.sessions)} sessions, {len(results[0]) - len(stable)} left out",
            flush=True,
        )
        for number, change in enumerate(self.job["changes"]):
            head = self.out / str(number)
            shutil.copytree(base, head, ignore=shutil.ignore_patterns("catalog.json", "index.html"))
            for part in change if isinstance(change[0], list) else [change]:
                edit(head / "dbt", part)
            after = self.outcomes(head)
            found["changes"].append(
                {key: value for key, value in after.items() if key in stable or key not in results[0]}
            )
            print(f"{number + 1} of {len(self.job['changes'])}", flush=True)
        (self.out / "outcomes.json").write_text(json.dumps(found, indent=1), encoding="utf-8")

    def outcomes(self, folder: Path) -> dict[str, str]:
        """Build a project and replay the log; where more rows arrive later, once more on what is there. A first error stays."""
        self.fresh()
        first = {**self.built(folder), **self.replayed()}
        if not (later := self.job.get("later")) or "dbt" in first:
            return first
        with self.database.admin(NAME) as cursor:
            cursor.execute(later)
        second = {**self.built(folder), **self.replayed()}
        return {
            key: value if value.startswith("error") else _merge(value, second.get(key, "gone"))
            for key, value in first.items()
        }

    def prepare(self) -> None:
        """Fill the database that dbt finds, and keep a copy of it."""
        with self.database.admin(NAME) as cursor:
            if setup := self.job.get("setup"):
                cursor.execute("drop schema raw")
                cursor.execute(setup)
                cursor.execute(f"grant all on database {NAME} to {DBT}")
        if days := self.job.get("days"):
            feed = Feed(self.database)
            feed.first()
            feed.more_weather()
            for number in range(days):
                flown = FLOWN + dt.timedelta(days=number)
                feed.night(flown.month, flown.day, visibility=True, monday=number == 0)
        with self.database.admin("postgres") as cursor:
            cursor.execute(f"create database {FRESH} template {NAME}")

    def fresh(self) -> None:
        with self.database.admin("postgres") as cursor:
            cursor.execute(f"drop database {NAME} with (force)")
            cursor.execute(f"create database {NAME} template {FRESH} owner {DBT}")

    def logged(self) -> list[Session]:
        """Let the people ask once, and read from PostgreSQL's log what each session ran."""
        asks = [
            [(one.user, text) for text in one.statements]
            for number in range(1, self.job.get("days", 0) + 1)
            for one in asked(number, START + dt.timedelta(days=number - 1), FLOWN + dt.timedelta(days=number - 1))
        ] or [[("postgres", text)] for text in self.job["statements"]]
        start = self.database.log.stat().st_size if self.database.log.exists() else 0
        for session in asks:
            self.session(session)
        with self.database.log.open("rb") as file:
            file.seek(start)
            part = self.out / "log.json"
            part.write_bytes(file.read())
        found: dict[str, Session] = {}
        for line in _lines(part):
            found.setdefault(line.session, []).append((line.user, line.text))
        users = {user for session in asks for user, _ in session}
        unique = {json.dumps(one): one for one in found.values() if one[0][0] in users}
        return list(unique.values())

    def replayed(self) -> dict[str, str]:
        return {name: self.session(session) for name, session in self.sessions.items()}

    def session(self, session: Session) -> str:
        """Run the statements of a session. Return what the client sees of them all, or the first error."""
        user = session[0][0]
        connection = self.database.connect(user if user != "postgres" else _user(self.owner), "replay")
        seen = []
        try:
            with connection.cursor() as cursor:
                for _, text in session:
                    try:
                        cursor.execute(text)
                    except psycopg2.Error as error:
                        return f"error: {error}"[:300]
                    if made := _MADE.match(text):
                        cursor.execute(f"select * from {made[1]}")
                    if cursor.description and not text.lower().lstrip().startswith("explain"):
                        rows = sorted([shown(value) for value in row] for row in cursor.fetchall())
                        seen.append([[column.name for column in cursor.description], rows])
        finally:
            connection.close()
        return digest(seen)

    def built(self, folder: Path) -> dict[str, str]:
        """Build the project in the database as it is. Return the outcome of each relation, by its name."""
        done = self.dbt(folder, "build", "--exclude-resource-types", "test")
        found: dict[str, str] = {}
        if done.result is None:
            return {"dbt": f"error: {done.exception}"[:600]}
        for one in done.result:
            name = f"{one.node.schema}.{one.node.alias}"
            if str(one.status) in {"error", "skipped", "fail"}:
                found[name] = f"error: {one.message or one.status}"[:300]
                continue
            with self.database.admin(NAME) as cursor:
                cursor.execute(f'select * from "{one.node.schema}"."{one.node.alias}"')
                kept = [place for place, column in enumerate(cursor.description) if not column.name.startswith("dbt_")]
                rows = sorted([shown(row[place]) for place in kept] for row in cursor.fetchall())
                found[name] = digest([[cursor.description[place].name for place in kept], rows])
        return found

    def dbt(self, folder: Path, *words: str) -> Any:
        from dbt.cli.main import dbtRunner

        os.environ["DBT_PROFILES_DIR"] = str(folder / "dbt")
        place = ["--project-dir", str(folder / "dbt"), "--no-version-check", "--quiet", "--log-level-file", "none"]
        return dbtRunner().invoke([*words, *place])


def edit(project: Path, change: list[str]) -> None:
    path = project / change[0]
    if len(change) == 1:
        path.unlink()
        return
    old = path.read_text(encoding="utf-8") if change[1] else ""
    if change[1] not in old:
        raise SystemExit(f"{change}: the text is not there")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(old.replace(change[1], change[2], 1) if change[1] else change[2], encoding="utf-8")


def shown(value: object) -> str:
    """As a client sees it: a number is a number, whatever its width."""
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return f"{'number' if is_number else type(value).__name__} {value}"


def digest(seen: object) -> str:
    return hashlib.sha256(json.dumps(seen).encode()).hexdigest()


def _merge(first: str, second: str) -> str:
    return second if second.startswith("error") else f"{first} {second}"


def _user(dsn: str) -> str:
    from psycopg2.extensions import parse_dsn

    return str(parse_dsn(dsn)["user"])


if __name__ == "__main__":
    main()
