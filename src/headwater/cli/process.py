"""The server process that `up` started: a file says which it is and where it listens."""

import os
from pathlib import Path

import msgspec

_FILE = "server.json"


class ServerProcess(msgspec.Struct):
    """`database_url` lets `rebuild` work beside a running server."""

    pid: int
    url: str
    database_url: str


def home() -> Path:
    """HEADWATER_HOME, else ~/.headwater. Read without the settings module, which costs an import of pydantic."""
    return Path(os.environ.get("HEADWATER_HOME") or "~/.headwater").expanduser().absolute()


def write(state: ServerProcess) -> None:
    target = home() / _FILE
    temporary = target.with_suffix(".new")
    temporary.write_bytes(msgspec.json.encode(state))
    temporary.replace(target)


def read() -> ServerProcess | None:
    """The running server, or None; a file left by a process that is gone is removed."""
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
    """Whether the process is there and is not just waiting to be collected."""
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
