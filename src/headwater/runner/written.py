"""Measure a declared output after a run: bytes and files of local data, with bounded work.

A remote place, one that did not change since the run began, and one with too many files to count yield nothing.
"""

import os
from pathlib import Path

import msgspec

from headwater.runner.manifest import Declared

_MAX_FILES = 10_000
_CLOCK_SLACK = 2.0  # file systems that keep whole seconds


class Written(msgspec.Struct, frozen=True):
    size: int
    files: int


def measure(declared: Declared, since: float) -> Written | None:
    """Bytes and data files at `declared`, if something there is newer than `since` (seconds since 1970)."""
    if declared.dataset.namespace != "file":
        return None
    place = Path(declared.place.removeprefix("file://").removeprefix("file:"))
    size = files = 0
    newest = 0.0
    try:
        if place.is_file():
            status = place.stat()
            return Written(status.st_size, 1) if status.st_mtime >= since - _CLOCK_SLACK else None
        for folder, folders, names in os.walk(place):
            # Spark's own files (_SUCCESS, .crc, _temporary) are not data.
            folders[:] = [name for name in folders if not name.startswith((".", "_"))]
            for name in names:
                if name.startswith((".", "_")):
                    continue
                status = (Path(folder) / name).stat()
                files += 1
                size += status.st_size
                newest = max(newest, status.st_mtime)
                if files > _MAX_FILES:
                    return None
    except OSError:
        return None  # it vanished meanwhile: another process is writing there
    return Written(size, files) if files and newest >= since - _CLOCK_SLACK else None
