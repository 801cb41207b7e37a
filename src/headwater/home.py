"""HEADWATER_HOME: the folder of a user's Headwater, and files in it that only the user may read."""

import os
from pathlib import Path


def home() -> Path:
    """HEADWATER_HOME, else ~/.headwater. Read without the settings module, which costs an import of pydantic."""
    return Path(os.environ.get("HEADWATER_HOME") or "~/.headwater").expanduser().absolute()


def make_home() -> Path:
    """The folder, made for its user alone. A folder that exists keeps its mode."""
    folder = home()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def open_private(path: str, flags: int) -> int:
    """An `opener` for `open`: a new file is readable by its user alone."""
    return os.open(path, flags, 0o600)


def write_private(target: Path, content: bytes) -> None:
    """Replace the file, whole or not at all, by one that only its user may read."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    try:
        with open(temporary, "xb", opener=open_private) as file:
            file.write(content)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
