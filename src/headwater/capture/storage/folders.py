"""Folders on this machine and in object stores: their entries, and whether they contain data. An unreadable folder is an error, never empty."""

import os
import posixpath
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from headwater.client.fingerprint.source import file_system, is_url, local_path
from headwater.errors import ContentChanged, HeadwaterError, NotFound, UnreadableContent


class Folders(Protocol):
    """A place with folders. Paths are texts with `/`; names may be any file names."""

    def entries(self, path: str) -> Iterator[tuple[str, bool]]:
        """Return (name, whether it is a folder) of a folder's entries, in no order. Raises NotFound."""
        ...

    def read(self, path: str) -> bytes:
        """Read a whole file. Raises NotFound."""
        ...


class LocalFolders:
    """The folders of this machine. Links are followed; a broken one does not count."""

    def entries(self, path: str) -> Iterator[tuple[str, bool]]:
        try:
            with os.scandir(path) as found:
                for entry in found:
                    if entry.is_dir():
                        yield entry.name, True
                    elif entry.is_file():
                        yield entry.name, False
        except (FileNotFoundError, NotADirectoryError):
            raise NotFound(f"no such folder: {path}", path=path) from None
        except OSError as error:
            raise UnreadableContent(f"{path} cannot be listed: {error.strerror}", path=path) from error

    def read(self, path: str) -> bytes:
        try:
            return Path(path).read_bytes()
        except FileNotFoundError:
            raise NotFound(f"no such file: {path}", path=path) from None
        except OSError as error:
            raise UnreadableContent(f"{path} cannot be read: {error.strerror}", path=path) from error


class RemoteFolders:
    """The folders of any file system of fsspec."""

    def __init__(self, system: Any, url: str) -> None:
        self._system, self._url = system, url

    def entries(self, path: str) -> Iterator[tuple[str, bool]]:
        for each in self._asked(path, lambda: self._system.ls(path, detail=True)):
            name = posixpath.basename(each["name"].rstrip("/"))
            if name and each["name"].rstrip("/") != path.rstrip("/"):  # stores keep a marker with the folder's own name
                yield name, each["type"] == "directory"

    def read(self, path: str) -> bytes:
        return bytes(self._asked(path, lambda: self._system.cat_file(path)))

    def _asked(self, path: str, ask: Any) -> Any:
        try:
            return ask()
        except (FileNotFoundError, NotADirectoryError):
            raise NotFound(f"there is nothing at {path} of {self._url}", path=path) from None
        except Exception as error:  # every store has its own errors: no credentials, no bucket, no network
            raise UnreadableContent(f"{path} cannot be read: {type(error).__name__}: {error}", path=path) from error


def reached(where: str) -> tuple[Folders, str]:
    """Return the place that lists a path or URL, and the path in it."""
    if is_url(where):
        if where.startswith("file://"):
            return LocalFolders(), local_path(where)
        system, path = file_system(where)
        return RemoteFolders(system, where), path
    return LocalFolders(), os.path.abspath(os.path.expanduser(where))  # noqa: PTH100, PTH111 - it may have wildcards


def inside(folders: Folders, path: str) -> Iterator[tuple[str, bool]]:
    """Return the entries of a folder that was just listed. Raises ContentChanged if it has disappeared: the listing would mix two times."""
    try:
        yield from folders.entries(path)
    except NotFound:
        raise ContentChanged(f"{path} disappeared while storage was listed; try again", path=path) from None


def hidden(name: str) -> bool:
    """Return whether a name is a trace of writing (`_SUCCESS`, `_temporary`, `.part.crc`) instead of data."""
    return name.startswith(("_", "."))


def has_data(folders: Folders, path: str) -> bool:
    """Return whether a folder or one below it has a file that is not a trace of writing."""
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
    """Raise NotFound if a folder is missing, UnreadableContent if it cannot be listed, before anything counts as missing."""
    try:
        next(folders.entries(path), None)
    except HeadwaterError as error:
        raise type(error)(f"{error.message}; nothing was compared", **error.detail) from error
