"""The server process that `up` started, as a file names it: its id and its address."""

import os
from pathlib import Path

import msgspec

from headwater.home import home, write_private

_FILE = "server.json"


class ServerProcess(msgspec.Struct):
    """`database_url` lets `rebuild` work beside a running server."""

    pid: int
    url: str
    database_url: str


def write(state: ServerProcess) -> None:
    write_private(home() / _FILE, msgspec.json.encode(state))


def read() -> ServerProcess | None:
    """Return the running server, or None. Removes the file of a process that has ended."""
    target = home() / _FILE
    try:
        state = msgspec.json.decode(target.read_bytes(), type=ServerProcess)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
    if alive(state.pid):
        return state
    target.unlink(missing_ok=True)
    return None


def remove() -> None:
    (home() / _FILE).unlink(missing_ok=True)


def alive(pid: int) -> bool:
    """Return whether the process runs and is not a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, IndexError):
        return True
