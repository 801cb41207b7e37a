"""The file system operations of stores and syncs: list, read, create a new file, remove.

A path without a scheme, or with `file:`, is this machine's, and is reached without Spark. Any other is reached through Hadoop's own classes in the
session's JVM, so it may be any path that the cluster can read. A session without a JVM of its own (Spark Connect) has only the first kind.
"""

import glob
import os
import secrets
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pyspark.sql import SparkSession

from headwater.errors import NotFound, UnreachableFolder
from headwater.pipeline.session import is_remote


@dataclass(frozen=True, slots=True, order=True)
class InputFile:
    """A file and what changes with its content: path, size in bytes, modification time in milliseconds."""

    path: str
    size: int
    modified: int


class Folder(Protocol):
    """A place for files. Every path is given and returned whole, as Spark reads it."""

    def matching(self, pattern: str) -> list[InputFile]:
        """The files of a glob, or of a directory and all below it; hidden ones (`.x`, `_x`) do not count. Sorted by path."""

    def names(self, path: str) -> list[str]:
        """Return the names in a directory, sorted; empty when there is no such directory."""

    def sizes(self, path: str) -> dict[str, int]:
        """Bytes of every file below a directory, by its path from there, hidden ones too."""

    def read(self, path: str) -> str:
        """A text file."""

    def create(self, path: str, text: str) -> bool:
        """Make a text file whole or not at all; False, and nothing is done, when it is there already."""

    def remove(self, path: str) -> None:
        """Remove a file or a directory with all it holds; nothing when it is not there."""


def is_local(path: str) -> bool:
    return "://" not in path and not path.startswith(("file:", "hdfs:"))


def whole(path: str) -> str:
    """The path as Spark reads it wherever it runs: absolute, and with `file://` where it is this machine's."""
    if path.startswith("file:"):
        path = "/" + path.removeprefix("file:").lstrip("/")
    elif not is_local(path):
        return path.rstrip("/")
    return "file://" + os.path.abspath(Path(path).expanduser())  # noqa: PTH100  (resolve would follow links out of a shared path)


def folder(spark: SparkSession, path: str) -> Folder:
    """The folder that reaches the path. Raises UnreachableFolder for one that needs a JVM the session does not have."""
    if whole(path).startswith("file://"):
        return LocalFolder()
    if is_remote(spark):
        raise UnreachableFolder(
            f"{path} is reached through the session's JVM, and a Spark Connect session has none: give a path that this machine and the"
            " server both have (a shared mount), or use --master or spark-submit",
            path=path,
        )
    return HadoopFolder(spark)


def inputs(spark: SparkSession, patterns: Iterable[str]) -> list[InputFile]:
    """All files of some globs, each once, sorted. Raises NotFound for a glob that matches nothing."""
    found: set[InputFile] = set()
    for pattern in patterns:
        matched = folder(spark, pattern).matching(whole(pattern))
        if not matched:
            raise NotFound(f"no file matches {pattern}", pattern=pattern)
        found.update(matched)
    return sorted(found)


def local_bytes(patterns: Iterable[str]) -> int | None:
    """Bytes of the files of some globs, counted without Spark; None where one is not on this machine's disks."""
    places = [whole(pattern) for pattern in patterns]
    if not all(place.startswith("file://") for place in places):
        return None
    return sum(file.size for file in {file for place in places for file in LocalFolder().matching(place)})


def _hidden(parts: Sequence[str]) -> bool:
    return any(part.startswith((".", "_")) for part in parts)


class LocalFolder:
    """This machine's disks, or one that is mounted."""

    def matching(self, pattern: str) -> list[InputFile]:
        found: dict[str, InputFile] = {}
        for name in glob.glob(_plain(pattern), recursive=True):  # noqa: PTH207  (a pattern may be absolute)
            root = Path(name)
            for path in root.rglob("*") if root.is_dir() else [root]:
                inside = path.relative_to(root).parts if path != root else (path.name,)
                if path.is_file() and not _hidden(inside):
                    told = path.stat()
                    found[str(path)] = InputFile(f"file://{path}", told.st_size, told.st_mtime_ns // 1_000_000)
        return sorted(found.values())

    def names(self, path: str) -> list[str]:
        try:
            return sorted(os.listdir(_plain(path)))  # noqa: PTH208  (names are wanted, not paths)
        except FileNotFoundError:
            return []

    def sizes(self, path: str) -> dict[str, int]:
        top = Path(_plain(path))
        return {str(one.relative_to(top)): one.stat().st_size for one in top.rglob("*") if one.is_file()}

    def read(self, path: str) -> str:
        return Path(_plain(path)).read_text(encoding="utf-8")

    def create(self, path: str, text: str) -> bool:
        target = Path(_plain(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
        with draft.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        try:
            # A link, unlike a rename, fails where the name is taken.
            os.link(draft, target)
        except FileExistsError:
            return False
        finally:
            draft.unlink()
        directory = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
        return True

    def remove(self, path: str) -> None:
        target = Path(_plain(path))
        if target.is_dir():
            shutil.rmtree(target)
        else:
            target.unlink(missing_ok=True)


def _plain(path: str) -> str:
    return path.removeprefix("file://")


class HadoopFolder:
    """Paths that the session's JVM can reach: HDFS, S3, GCS, ADLS."""

    def __init__(self, spark: SparkSession) -> None:
        session: Any = spark
        self._jvm: Any = session._jvm
        self._conf: Any = session._jsparkSession.sessionState().newHadoopConf()

    def _at(self, path: str) -> tuple[Any, Any]:
        place = self._jvm.org.apache.hadoop.fs.Path(path)
        return place.getFileSystem(self._conf), place

    def matching(self, pattern: str) -> list[InputFile]:
        system, place = self._at(pattern)
        found: dict[str, InputFile] = {}
        for root in system.globStatus(place) or []:
            top = root.getPath().toString()
            walk = system.listFiles(root.getPath(), True)
            while walk.hasNext():
                status = walk.next()
                path = str(status.getPath().toString())
                inside = path.removeprefix(top).strip("/").split("/") if path != top else [path.rsplit("/", 1)[-1]]
                if not _hidden(inside):
                    found[path] = InputFile(path, int(status.getLen()), int(status.getModificationTime()))
        return sorted(found.values())

    def names(self, path: str) -> list[str]:
        system, place = self._at(path)
        if not system.exists(place):
            return []
        return sorted(str(status.getPath().getName()) for status in system.listStatus(place))

    def sizes(self, path: str) -> dict[str, int]:
        system, place = self._at(path)
        found: dict[str, int] = {}
        top = str(system.makeQualified(place).toString())
        walk = system.listFiles(place, True)
        while walk.hasNext():
            status = walk.next()
            found[str(status.getPath().toString()).removeprefix(top).strip("/")] = int(status.getLen())
        return found

    def read(self, path: str) -> str:
        system, place = self._at(path)
        stream = system.open(place)
        try:
            return bytes(stream.readAllBytes()).decode()
        finally:
            stream.close()

    def create(self, path: str, text: str) -> bool:
        # An atomic rename (HDFS) also refuses a taken name; an object store shows an object whole when its stream closes.
        system, place = self._at(path)
        if system.exists(place):
            return False
        draft = self._jvm.org.apache.hadoop.fs.Path(f"{path}.{secrets.token_hex(4)}.draft")
        stream = system.create(draft, False)
        stream.write(bytearray(text.encode()))
        stream.close()
        if system.rename(draft, place):
            return True
        system.delete(draft, False)
        return False

    def remove(self, path: str) -> None:
        system, place = self._at(path)
        system.delete(place, True)
