"""Folders, here and in object stores: what is in one, whether there is any data below it. What cannot be read is an error, never an empty folder."""

import os
import posixpath
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from headwater.client.fingerprint.source import file_system, is_url, local_path
from headwater.errors import ContentChanged, HeadwaterError, NotFound, UnreadableContent


class Folders(Protocol):
    """Where folders are. Paths are texts with `/`; names may be anything that a file can be called."""

    def entries(self, path: str) -> Iterator[tuple[str, bool]]:
        """(name, whether it is a folder) of all in a folder, in no order. NotFound where there is no such folder."""
        ...

    def read(self, path: str) -> bytes:
        """A whole file. NotFound where there is none."""
        ...


class LocalFolders:
    """Of this machine. Links are followed; one that leads nowhere is not there."""

    def entries(self, path: str) -> Iterator[tuple[str, bool]]:
        try:
            with os.scandir(path) as found:
                for entry in found:
                    if entry.is_dir():
                        yield entry.name, True
                    elif entry.is_file():
                        yield entry.name, False
        except (FileNotFoundError, NotADirectoryError):
            raise NotFound(f"there is no folder {path}", path=path) from None
        except OSError as error:
            raise UnreadableContent(f"{path} cannot be listed: {error.strerror}", path=path) from error

    def read(self, path: str) -> bytes:
        try:
            return Path(path).read_bytes()
        except FileNotFoundError:
            raise NotFound(f"there is no file {path}", path=path) from None
        except OSError as error:
            raise UnreadableContent(f"{path} cannot be read: {error.strerror}", path=path) from error


class RemoteFolders:
    """Of whatever fsspec reaches."""

    def __init__(self, system: Any, url: str) -> None:
        self._system, self._url = system, url

    def entries(self, path: str) -> Iterator[tuple[str, bool]]:
        for each in self._asked(path, lambda: self._system.ls(path, detail=True)):
            name = posixpath.basename(each["name"].rstrip("/"))
            if name and each["name"].rstrip("/") != path.rstrip("/"):  # stores keep a marker of the folder's own name
                yield name, each["type"] == "directory"

    def read(self, path: str) -> bytes:
        return bytes(self._asked(path, lambda: self._system.cat_file(path)))

    def _asked(self, path: str, ask: Any) -> Any:
        try:
            return ask()
        except (FileNotFoundError, NotADirectoryError):
            raise NotFound(f"there is nothing at {path} of {self._url}", path=path) from None
        except Exception as error:  # every store has errors of its own: no credentials, no bucket, no network
            raise UnreadableContent(f"{path} cannot be read: {type(error).__name__}: {error}", path=path) from error


def reached(where: str) -> tuple[Folders, str]:
    """Who lists a path or URL, and the path in it."""
    if is_url(where):
        if where.startswith("file://"):
            return LocalFolders(), local_path(where)
        system, path = file_system(where)
        return RemoteFolders(system, where), path
    return LocalFolders(), os.path.abspath(os.path.expanduser(where))  # noqa: PTH100, PTH111 - it may have wildcards


def inside(folders: Folders, path: str) -> Iterator[tuple[str, bool]]:
    """The entries of a folder that was just seen. ContentChanged where it is gone: then the listing is of no one time."""
    try:
        yield from folders.entries(path)
    except NotFound:
        raise ContentChanged(f"{path} went while storage was listed: try again", path=path) from None


def hidden(name: str) -> bool:
    """Traces of writing (`_SUCCESS`, `_temporary`, `.part.crc`), which are no data."""
    return name.startswith(("_", "."))


def has_data(folders: Folders, path: str) -> bool:
    """Whether there is any file in a folder or below it that is no trace of writing."""
    waiting = [path]
    while waiting:
        folder = waiting.pop()
        for name, is_folder in inside(folders, folder):
            if hidden(name):
                continue
            if not is_folder:
                return True
            waiting.append(posixpath.join(folder, name))
    return False


def there(folders: Folders, path: str) -> None:
    """NotFound where a folder is not there, UnreadableContent where it cannot be listed: before anything is taken to be gone."""
    try:
        next(folders.entries(path), None)
    except HeadwaterError as error:
        raise type(error)(f"{error.message}; nothing was compared", **error.detail) from error
