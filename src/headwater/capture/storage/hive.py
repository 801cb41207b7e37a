"""Folders of partitions as Hive and Spark write them: `dt=2024-03-10/hour=05/part-0.parquet`. A partition counts if it has any data file."""

import posixpath
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from headwater.capture.storage import fields
from headwater.capture.storage.folders import Folders, has_data, hidden, inside, reached, there
from headwater.capture.storage.listing import Listing


def hive(path: str, columns: str | None = None) -> Listing:
    """List the partitions of a table's folder. `columns`: those that are its time (`fields.columns_of`); others do not matter.

    Raises NotFound without such a folder, InvalidQuestion without such columns.
    """
    folders, root = reached(path)
    there(folders, root)
    listing = Listing(path)
    listing.texts = _walk(folders, root, fields.columns_of(columns, _columns(folders, root)), listing)
    return listing


def _columns(folders: Folders, root: str) -> list[str]:
    """Return the columns of the first partition, which all have."""
    found: list[str] = []
    waiting: str | None = root
    while waiting is not None:
        path, waiting = waiting, None
        for name, is_folder in inside(folders, path):
            column, equals, _ = name.partition("=")
            if is_folder and equals and not hidden(name):
                found.append(unquote(column))
                waiting = posixpath.join(path, name)
                break
    return found


def _walk(folders: Folders, root: str, wanted: Mapping[str, str], listing: Listing) -> Iterator[str]:
    waiting: list[tuple[str, dict[str, str]]] = [(root, {})]
    while waiting:
        path, known = waiting.pop()
        for name, is_folder in inside(folders, path):
            column, equals, value = name.partition("=")
            if not is_folder or not equals or hidden(name):
                listing.ignored += 1
                continue
            field = wanted.get(unquote(column))
            found = known if field is None else known | {field: unquote(value)}
            below = posixpath.join(path, name)
            if len(found) < len(wanted):
                waiting.append((below, found))
            elif has_data(folders, below):
                yield fields.text(found)
            else:
                listing.ignored += 1
