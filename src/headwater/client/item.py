"""A handle of what a step read or wrote, and how a place people name becomes a dataset.

An item is what lineage follows: its id is an UUIDv7 that other steps give as their input, in this process or, serialised, in another.
Refuses to look at the data: whether the place exists is not asked.
"""

import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from headwater.client.given import text
from headwater.model import names
from headwater.model.names import DatasetName

_SCHEME = re.compile(
    r"([A-Za-z][A-Za-z0-9+.\-]+):(/.*)", re.DOTALL
)  # `s3://b/k`, Spark's `file:/x`; not `report:final.csv`, `C:/x`
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
# Schemes whose addresses carry secrets: a user and password before the host, a signature in the query.
_WEB = frozenset({"http", "https", "ftp", "ftps", "sftp", "ssh"})


class Item(msgspec.Struct, eq=False, omit_defaults=True):
    """One thing a step wrote or read.

    `id`: minted for an output; None for an input that was named by its place. `fingerprint` (`xxh3-128:…`) and `bytes`, both of the
    decompressed content, are None until they are known: at the latest when the step has ended. `location`: where it can be read again.
    `str(item)` is its id.
    """

    namespace: str
    name: str
    id: str | None = None
    fingerprint: str | None = None
    bytes: int | None = None
    location: str | None = None

    @property
    def dataset(self) -> tuple[str, str]:
        """OpenLineage namespace and name."""
        return self.namespace, self.name

    @property
    def place(self) -> str:
        """Where it can be read: the path or URL it was given as, or what its name says."""
        if self.location is not None:
            return self.location
        if self.namespace == "file":
            return self.name
        return f"{self.namespace.rstrip('/')}/{self.name.lstrip('/')}" if "://" in self.namespace else self.name

    def to_json(self) -> str:
        """For an XCom, a queue, a file: read back by `from_json`. The location stays here, since an URL may carry secrets."""
        return msgspec.json.encode(msgspec.structs.replace(self, location=None)).decode()

    @classmethod
    def from_json(cls, given: "str | Mapping[str, Any]") -> "Item":
        """Raises ValueError for what is no item."""
        item = msgspec.convert(dict(given), cls) if isinstance(given, Mapping) else msgspec.json.decode(given, type=cls)
        if item.id is not None and not is_id(item.id):
            raise ValueError(f"an item's id is a UUID, not {item.id!r}")
        if not item.namespace or not item.name:
            raise ValueError("an item has a namespace and a name")
        return item

    def __str__(self) -> str:
        return self.id or ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Item) and (self.id, self.dataset) == (other.id, other.dataset)

    def __hash__(self) -> int:
        return hash((self.id, self.namespace, self.name))


def is_id(given: str) -> bool:
    """Whether the text is a UUID."""
    return _UUID.fullmatch(given) is not None


def item_at(place: object) -> Item:
    """The item at a path, URL or (namespace, name); raises TypeError or ValueError when it is none of these.

    A relative path is taken from the working directory of now. Of an `http`, `ftp` or `sftp` address neither user, password, query nor
    fragment becomes part of the name; of others, a user with a password does not.
    """
    if isinstance(place, DatasetName):
        return _named(place.namespace, place.name)
    if isinstance(place, tuple | list):
        if len(place) != 2 or not all(isinstance(part, str) for part in place):
            raise ValueError(f"a dataset is (namespace, name), not {place!r}")
        return _named(*place)
    if not isinstance(place, str | bytes | os.PathLike):
        raise TypeError(f"a {type(place).__name__} is no path, URL, (namespace, name), item, step or id")
    location = os.fsdecode(place)
    if not location.strip():
        raise ValueError("an empty path")
    if local_path(location) == location:
        location = os.path.abspath(location)  # noqa: PTH100 - a str of any bytes; Path would cost five times as much
    dataset = names.from_location(text(_without_secrets(location)), partitions=True)
    return Item(dataset.namespace, dataset.name, location=location)


def local_path(location: str) -> str | None:
    """The path in this machine's file system, or None when it is somewhere else."""
    match = _SCHEME.match(location)
    if not match:
        return location
    if match[1].lower() != "file":
        return None
    host, slash, path = match[2][2:].partition("/") if match[2].startswith("//") else ("", "", match[2])
    return unquote(slash + path) if host in {"", "localhost"} else None


def _named(namespace: str, name: str) -> Item:
    if not namespace.strip() or not name.strip():
        raise ValueError("a dataset has a namespace and a name")
    return Item(text(namespace), text(name))


def _without_secrets(location: str) -> str:
    scheme, separator, rest = location.partition("://")
    if not separator:
        return location
    authority, slash, path = rest.partition("/")
    user, at, host = authority.rpartition("@")
    web = scheme.lower() in _WEB
    if at and (web or ":" in user):
        authority = host
    if web:
        parts = urlsplit(f"{scheme}://{authority}{slash}{path}")
        return f"{scheme}://{parts.netloc}{parts.path}"
    return f"{scheme}://{authority}{slash}{path}"
