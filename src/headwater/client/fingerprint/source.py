"""Sources of bytes: a local path, or a URL of any file system of fsspec. Detects changes during reading."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any, Protocol

from headwater.client.fingerprint.parts import part
from headwater.errors import ContentChanged, NotFound, UnreadableContent

if TYPE_CHECKING:
    from types import TracebackType

# Spark's and Hadoop's schemes for fsspec's s3.
_SCHEMES = {"s3a": "s3", "s3n": "s3"}
_REMOTE_BLOCK = 8 << 20


class Reader(Protocol):
    """The methods of an open file that are used."""

    def read(self, size: int = -1, /) -> bytes: ...
    def seek(self, offset: int, whence: int = 0, /) -> int: ...
    def tell(self) -> int: ...
    def close(self) -> None: ...


class Source:
    """One open file: `reader`, its `name` for messages, its stored `size` (None: not known before it is read), its
    `descriptor` if it is a regular local file. Used as a context manager; call `unchanged()` at the end."""

    def __init__(
        self, name: str, reader: Reader, size: int | None, state: object, descriptor: int | None = None
    ) -> None:
        self.name, self.reader, self.size, self.descriptor = name, reader, size, descriptor
        self._state = state

    def __enter__(self) -> Source:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.reader.close()

    def state(self) -> object:
        """Return a state that changes when the bytes do."""
        raise NotImplementedError

    def unchanged(self) -> None:
        """Raise ContentChanged if the file has changed since it was opened."""
        if self.state() != self._state:
            raise ContentChanged(
                f"{self.name} was changed while it was read; try again when it is complete", path=self.name
            )

    def damaged(self, problem: str, offset: int) -> UnreadableContent:
        """Return the error with the damage and its place in the stored bytes."""
        return UnreadableContent(f"{self.name}: {problem} at byte {offset:,}", path=self.name, offset=offset)


class LocalSource(Source):
    """A local file. A pipe or a terminal can be read, too, once and in order."""

    def __init__(self, path: str | bytes) -> None:
        name = os.fsdecode(path)
        self._path = path
        try:
            reader = open(path, "rb", buffering=0)  # noqa: SIM115, PTH123 - closed by the context; bytes are no Path
        except (FileNotFoundError, NotADirectoryError, ValueError):  # a name with a zero byte is a ValueError
            raise NotFound(f"no such file: {name}", path=name) from None
        except OSError as error:
            raise UnreadableContent(f"{name} cannot be read: {error.strerror}", path=name) from None
        about = os.fstat(reader.fileno())
        regular = stat.S_ISREG(about.st_mode)
        super().__init__(name, reader, about.st_size if regular else None, None, reader.fileno() if regular else None)
        self._state = self.state()

    def state(self) -> object:
        if self.descriptor is None:
            return None
        about = os.fstat(self.descriptor)
        return about.st_size, about.st_mtime_ns


class RemoteSource(Source):
    """An object behind an fsspec file system."""

    def __init__(self, system: Any, path: str, name: str) -> None:
        self._system, self._path = system, path
        try:
            about = system.info(path)
            reader = system.open(path, "rb", block_size=_REMOTE_BLOCK)
        except FileNotFoundError:
            raise NotFound(f"there is no {name}", path=name) from None
        except OSError as error:
            raise UnreadableContent(f"{name} cannot be read: {error}", path=name) from None
        super().__init__(name, reader, about.get("size"), _version(about))

    def state(self) -> object:
        self._system.invalidate_cache()
        try:
            return _version(self._system.info(self._path))
        except FileNotFoundError:
            return None


def _version(about: dict[str, Any]) -> object:
    """Return an object's attributes that change with it; each store has its own."""
    words = (
        "size",
        "ETag",
        "etag",
        "mtime",
        "LastModified",
        "last_modified",
        "updated",
        "generation",
        "md5Hash",
        "created",
    )
    return tuple(str(about.get(word)) for word in words)


def local_path(url: str) -> str:
    """Return the path of a `file://` URL, percent-decoded."""
    from urllib.parse import unquote

    return unquote(url.removeprefix("file://").removeprefix("localhost"), errors="surrogateescape")


def is_url(path: str | bytes) -> bool:
    """Return whether the path names something outside the local file system (`file://` does not)."""
    return isinstance(path, str) and "://" in path and not os.path.lexists(path)


def file_system(url: str, options: dict[str, Any] | None = None) -> tuple[Any, str]:
    """Return the fsspec file system of a URL and the path in it. NotInstalled if the store's package is missing."""
    scheme, _, rest = url.partition("://")
    core = part("fsspec.core")
    try:
        system, path = core.url_to_fs(f"{_SCHEMES.get(scheme, scheme)}://{rest}", **(options or {}))
    except ImportError as error:
        from headwater.errors import NotInstalled

        raise NotInstalled(f"{scheme}:// cannot be read here: {error}", missing=[scheme]) from None
    except ValueError as error:
        raise NotFound(f"{url}: {error}", path=url) from None
    return system, path
