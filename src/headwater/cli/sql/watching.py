"""`headwater sql PATH… --watch`: analyse again whenever a file changes, and print what is new."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.errors import InvalidQuestion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headwater.cli.sql.reading import Reading
    from headwater.cli.sql.statements import ParsedStatement

_ENDINGS = (".sql", ".yml", ".yaml", ".csv", "manifest.json", "catalog.json")
# Folders that hold no text of the project, and may be large.
_PASSED_OVER = frozenset({".git", ".venv", "node_modules", "logs", "dbt_internal_packages", "compiled", "run"})
INTERVAL = 0.3
"""Seconds between two looks at the files."""

Change = tuple[list["ParsedStatement"], int, int, float]
"""The statements that are new or different, how many there are now, how many texts are gone, and seconds of work."""


def changes(reading: Reading, paths: list[str], sleep: Callable[[float], None] = time.sleep) -> Iterator[Change]:
    """Yield what the first analysis found, then, whenever files changed, what is new or different since. Never ends by itself.

    `sleep` is called between two looks. What cannot be read meanwhile is a problem of `reading`, until it can.
    """
    seen = _state(paths)
    before: dict[str, list[ParsedStatement]] = {}
    while True:
        began = time.monotonic()
        found: dict[str, list[ParsedStatement]] = {}
        for one in reading.statements():
            found.setdefault(one.file, []).append(one)
        new = [
            one
            for file, statements in found.items()
            for place, one in enumerate(statements)
            if not _is_same(one, before.get(file, []), place)
        ]
        gone = len(before.keys() - found.keys())
        yield new, sum(map(len, found.values())), gone, time.monotonic() - began
        before = found
        while (now := _state(paths)) == seen:
            sleep(INTERVAL)
        seen = now
        try:
            reading.read_again(paths)
        except InvalidQuestion as error:  # An editor may be about to write it.
            reading.files, reading.dbt, reading.problems = [], [], [error.message]


def _is_same(one: ParsedStatement, before: list[ParsedStatement], place: int) -> bool:
    """Return whether the statement at this place of the file was as it is now, wherever its lines are."""
    if place >= len(before):
        return False
    was, now = before[place].statement, one.statement
    told = ("level", "kind", "reads", "writes", "flows", "changes", "unresolved", "warnings")
    return all(getattr(was, field) == getattr(now, field) for field in told)


def _state(paths: list[str]) -> dict[str, tuple[int, int]]:
    """Return the time and size of every file that is read, or may be."""
    found: dict[str, tuple[int, int]] = {}
    for path in paths:
        if not Path(path).is_dir():
            _look(path, found)
            continue
        for folder, folders, files in os.walk(path):
            folders[:] = [one for one in folders if one not in _PASSED_OVER]
            for file in files:
                if file.endswith(_ENDINGS):
                    _look(os.path.join(folder, file), found)  # noqa: PTH118 - a thousand times a second
    return found


def _look(path: str, found: dict[str, tuple[int, int]]) -> None:
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError:
        return
    found[path] = (status.st_mtime_ns, status.st_size)
