"""Handles of a step's inputs and outputs, and the conversion of places to datasets.

Lineage follows items: an item's id is a UUIDv7 that other steps name as their input, in this process or, serialised, in another.
Does not access the data or check that the place exists.
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

    `id`: new for an output; None for an input that was named by its place. `fingerprint` (`xxh3-128:…`) and `bytes`, both of the
    decompressed content, are None until known, at the latest when the step ends. `location`: where it can be read again.
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
        """Return OpenLineage namespace and name."""
        return self.namespace, self.name

    @property
    def place(self) -> str:
        """Return where it can be read: its path or URL, or else by its name."""
        if self.location is not None:
            return self.location
        if self.namespace == "file":
            return self.name
        return f"{self.namespace.rstrip('/')}/{self.name.lstrip('/')}" if "://" in self.namespace else self.name

    def to_json(self) -> str:
        """Serialise for an XCom, a queue or a file, for `from_json`. Omits the location, since a URL may carry secrets."""
        return msgspec.json.encode(msgspec.structs.replace(self, location=None)).decode()

    @classmethod
    def from_json(cls, given: "str | Mapping[str, Any]") -> "Item":
        """Read an item. Raises ValueError if it is not one."""
        item = msgspec.convert(dict(given), cls) if isinstance(given, Mapping) else msgspec.json.decode(given, type=cls)
        if item.id is not None and not is_id(item.id):
            raise ValueError(f"an item's id must be a UUID, not {item.id!r}")
        if not item.namespace or not item.name:
            raise ValueError("an item needs a namespace and a name")
        return item

    def __str__(self) -> str:
        return self.id or ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Item) and (self.id, self.dataset) == (other.id, other.dataset)

    def __hash__(self) -> int:
        return hash((self.id, self.namespace, self.name))


def is_id(given: str) -> bool:
    """Return whether the text is a UUID."""
    return _UUID.fullmatch(given) is not None


def item_at(place: object) -> Item:
    """Return the item at a path, URL or (namespace, name); raises TypeError or ValueError for anything else.

    A relative path refers to the present working directory. The name omits user, password, query and fragment of an `http`, `ftp` or
    `sftp` address, and a user with a password of any other.
    """
    if isinstance(place, DatasetName):
        return _named(place.namespace, place.name)
    if isinstance(place, tuple | list):
        if len(place) != 2 or not all(isinstance(part, str) for part in place):
            raise ValueError(f"a dataset must be (namespace, name), not {place!r}")
        return _named(*place)
    if not isinstance(place, str | bytes | os.PathLike):
        raise TypeError(f"a {type(place).__name__} is not a path, URL, (namespace, name), item, step or id")
    location = os.fsdecode(place)
    if not location.strip():
        raise ValueError("an empty path")
    if local_path(location) == location:
        location = os.path.abspath(location)  # noqa: PTH100 - a str of any bytes; Path would cost five times as much
    dataset = names.from_location(text(_without_secrets(location)), partitions=True)
    return Item(dataset.namespace, dataset.name, location=location)


def local_path(location: str) -> str | None:
    """Return the path in this machine's file system, or None if it is elsewhere."""
    match = _SCHEME.match(location)
    if not match:
        return location
    if match[1].lower() != "file":
        return None
    host, slash, path = match[2][2:].partition("/") if match[2].startswith("//") else ("", "", match[2])
    return unquote(slash + path) if host in {"", "localhost"} else None


def _named(namespace: str, name: str) -> Item:
    if not namespace.strip() or not name.strip():
        raise ValueError("a dataset needs a namespace and a name")
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
