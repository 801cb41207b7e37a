"""The folder that windows are written to. A file in it is whole: it is written under a hidden name, flushed to the disk, and renamed.

A window without queries has a file of a hidden name and no content, which readers of the folder do not see: it only says that the window was asked.
"""

import contextlib
import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from headwater.errors import StoreChanged
from headwater.pipeline.query_log.pull.windows import Window, named

SUFFIX: Final = ".jsonl.gz"
NONE: Final = ".none"
PART: Final = ".part"
_LOCK: Final = ".pulling"


class Folder:
    def __init__(self, path: Path, source: str) -> None:
        self.path = path
        self._source = source

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Made if it is not there, and locked meanwhile. StoreChanged: another process pulls this source into it just now."""
        import fcntl

        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / f"{_LOCK}-{self._source}").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise StoreChanged(
                    f"another process pulls from {self._source} into {self.path}", path=str(self.path)
                ) from None
            # No other process writes here: what a dead process left may be removed.
            for left in self.path.glob(f".{self._source}-*{PART}"):
                left.unlink()
            yield

    def windows(self) -> list[Window]:
        """Those that are done, oldest first."""
        found = []
        for path in self.path.iterdir():
            for prefix, suffix in (("", SUFFIX), (".", NONE)):
                if path.name.startswith(prefix) and path.name.endswith(suffix):
                    window = named(self._source, path.name.removeprefix(prefix).removesuffix(suffix))
                    found += [window] if window else []
        return sorted(found)

    @contextlib.contextmanager
    def writing(self, window: Window) -> Iterator[gzip.GzipFile]:
        """Takes the lines of a window; the file is there when the block ends without an error, and no trace of it otherwise."""
        with self.writing_as(window.name(self._source)) as packed:
            yield packed

    @contextlib.contextmanager
    def writing_as(self, name: str) -> Iterator[gzip.GzipFile]:
        """The same for a file of another name; one that is there is replaced."""
        part = self.path / f".{name}{PART}"
        try:
            with part.open("wb") as raw:
                # Without the time of writing and a name inside, the same rows are the same bytes.
                with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=6) as packed:
                    yield packed
                    empty = packed.tell() == 0
                raw.flush()
                os.fsync(raw.fileno())
            if empty:
                (self.path / f".{name}{NONE}").touch()
            else:
                part.rename(self.path / f"{name}{SUFFIX}")
                self._settle()
        finally:
            part.unlink(missing_ok=True)

    def size(self, window: Window) -> int:
        """Bytes of a window's file; 0 of one without queries."""
        path = self.path / f"{window.name(self._source)}{SUFFIX}"
        return path.stat().st_size if path.exists() else 0

    def _settle(self) -> None:
        """The rename itself is on the disk."""
        directory = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
