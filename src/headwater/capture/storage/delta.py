"""Partitions of a Delta table, from its log: those of the files that are live in the newest version. Needs no Spark and opens no data file.

Follows the protocol (https://github.com/delta-io/delta/blob/master/PROTOCOL.md): commits as JSON, checkpoints as Parquet in one part or
several, deletion vectors (a file stays live), mapped column names. Refuses V2 checkpoints and commits that a catalog keeps.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from headwater.capture.storage import fields
from headwater.capture.storage.folders import Folders, reached, there
from headwater.capture.storage.listing import Listing
from headwater.errors import InvalidQuestion, NotFound, NotInstalled, UnreadableContent

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10}))?\.parquet")
_CATALOG = {"catalogManaged", "catalogOwned-preview"}


class _Vector(msgspec.Struct, rename="camel"):
    storage_type: str = ""
    path_or_inline_dv: str = ""
    offset: int | None = None


class _File(msgspec.Struct, rename="camel"):
    path: str
    partition_values: dict[str, str | None] | None = None
    deletion_vector: _Vector | None = None
    data_change: bool = True

    @property
    def key(self) -> tuple[str, str, str, int | None]:
        """Return the file's key. It includes the deletion vector, because one commit may remove a file and add it with another one."""
        vector = self.deletion_vector or _Vector()
        return self.path, vector.storage_type, vector.path_or_inline_dv, vector.offset


class _Table(msgspec.Struct, rename="camel"):
    schema_string: str = ""
    partition_columns: list[str] = []


class _Protocol(msgspec.Struct, rename="camel"):
    reader_features: list[str] | None = None
    writer_features: list[str] | None = None


class _Commit(msgspec.Struct, rename="camel"):
    user_metadata: str | None = None


class _Action(msgspec.Struct, rename="camel"):
    add: _File | None = None
    remove: _File | None = None
    meta_data: _Table | None = None
    protocol: _Protocol | None = None
    commit_info: _Commit | None = None


_Live = dict[tuple[str, str, str, int | None], dict[str, str | None]]
"""Partition values by file key."""


class _Log(NamedTuple):
    """The files that define the table's state: `checkpoint` has no parts or all of one, followed by `commits`, without a gap."""

    version: int
    checkpoint: list[str]
    commits: list[str]


class Times(NamedTuple):
    """The times of a table as of one version. `columns`: the field of each partition column; `types`: the schema's type of each column.
    `partitions`: by the text of a time, all values of these columns in its partitions: month 3 may be `3` and `03`.
    """

    version: int
    columns: dict[str, str]
    types: dict[str, str]
    partitions: dict[str, list[dict[str, str]]]


class Commit(NamedTuple):
    """A version that changed rows, with the partitions by the text of their time; None for files whose partition the log does not name. `note`:
    its author's description.
    """

    version: int
    texts: set[str | None]
    note: str


def delta(path: str, columns: str | None = None) -> Listing:
    """List the partitions of a Delta table. `columns`: those that are its time (`fields.columns_of`); others do not matter.

    Raises NotFound without a table, InvalidQuestion without such partitions, UnreadableContent if its log cannot be understood.
    """
    log, table, live = _state(path, None)
    wanted = fields.columns_of(columns, table.partition_columns)
    named = _by_field(table, wanted)
    listing = Listing(path, storage={"delta_version": log.version, "table": path})
    listing.texts = _texts(live.values(), named, listing)
    return listing


def times(path: str, columns: str | None = None, version: int | None = None) -> Times:
    """Return the partitions of a table as of a version, or of the newest; raises as `delta`."""
    log, table, live = _state(path, version)
    wanted = fields.columns_of(columns, table.partition_columns)
    named = _by_field(table, wanted)
    columns_of = {field: column for column, field in wanted.items()}
    partitions: dict[str, list[dict[str, str]]] = {}
    for values in live.values():
        if (text := _text(values, named)) is not None:
            some = partitions.setdefault(text, [])
            if (written := {columns_of[field]: str(values[column]) for column, field in named.items()}) not in some:
                some.append(written)
    types = {field["name"]: str(field["type"]) for field in _fields(table)}
    return Times(log.version, wanted, types, partitions)


def commits(path: str, after: int, columns: str | None = None) -> Iterator[Commit]:
    """Yield the commits that changed rows since a version. UnreadableContent if one of them no longer exists."""
    folders, root = reached(path)
    folder = f"{root.rstrip('/')}/_delta_log"
    _, table, _ = _state(path, None)
    named = _by_field(table, fields.columns_of(columns, table.partition_columns))
    there = {int(match[1]): name for name, _ in folders.entries(folder) if (match := _COMMIT.fullmatch(name))}
    for version in range(after + 1, max(there, default=after) + 1):
        if version not in there:
            raise UnreadableContent(f"{folder} lacks the commit of version {version}", path=folder, version=version)
        texts: set[str | None] = set()
        note = ""
        for action in _actions(folders, folder, _Log(version, [], [there[version]])):
            if action.commit_info is not None:
                note = action.commit_info.user_metadata or ""
            for file in (action.add, action.remove):
                if file is not None and file.data_change:
                    if file.partition_values is None:
                        texts.add(None)
                    elif (text := _text(file.partition_values, named)) is not None:
                        texts.add(text)
        yield Commit(version, texts, note)


def _state(path: str, at: int | None) -> tuple[_Log, _Table, _Live]:
    """Return a table's files as of a version, each with its partition values."""
    folders, root = reached(path)
    folder = f"{root.rstrip('/')}/_delta_log"
    there(folders, folder)
    log = _log(folders, folder, at)
    table = _Table()
    live: _Live = {}
    for action in _actions(folders, folder, log):
        if action.protocol is not None:
            _understood(path, action.protocol)
        if action.meta_data is not None:
            table = action.meta_data
        if action.remove is not None:
            live.pop(action.remove.key, None)
        if action.add is not None:
            live[action.add.key] = action.add.partition_values or {}
    return log, table, live


def _by_field(table: _Table, wanted: dict[str, str]) -> dict[str, str]:
    """Return the field by the name that partition values have in the log."""
    physical = _physical(table)
    return {physical.get(column, column): field for column, field in wanted.items()}


def _texts(live: Any, named: dict[str, str], listing: Listing) -> Iterator[str]:
    for values in live:
        text = _text(values, named)
        if text is None:
            listing.ignored += 1
        else:
            yield text


def _text(values: dict[str, str | None], named: dict[str, str]) -> str | None:
    """Return the time of a partition; None if a column of it is null."""
    found = {field: value for column, field in named.items() if (value := values.get(column)) is not None}
    return fields.text(found) if len(found) == len(named) else None


def _log(folders: Folders, folder: str, at: int | None) -> _Log:
    commits: dict[int, str] = {}
    checkpoints: dict[int, dict[int, tuple[int, str]]] = {}
    for name, is_folder in folders.entries(folder):
        if is_folder:
            continue
        if match := _COMMIT.fullmatch(name):
            commits[int(match[1])] = name
        elif match := _CHECKPOINT.fullmatch(name):
            part, parts = int(match[2] or 1), int(match[3] or 1)
            checkpoints.setdefault(int(match[1]), {})[part] = parts, name
    whole = [
        version for version, parts in checkpoints.items() if all(count == len(parts) for count, _ in parts.values())
    ]
    newest = max([*commits, *whole], default=None)
    if newest is None:
        raise NotFound(f"{folder} holds no commit: it is not a Delta table", path=folder)
    if at is not None and at > newest:
        raise NotFound(f"{folder} has no version {at}; the newest is {newest}", path=folder, version=at)
    newest = newest if at is None else at
    start = max((version for version in whole if version <= newest), default=-1)
    needed = range(start + 1, newest + 1)
    if gaps := [version for version in needed if version not in commits]:
        raise UnreadableContent(
            f"{folder} lacks the commit of version {gaps[0]}, and has no checkpoint after it that can be read here",
            path=folder,
            version=gaps[0],
        )
    checkpoint = [name for _, (_, name) in sorted(checkpoints.get(start, {}).items())]
    return _Log(newest, checkpoint, [commits[version] for version in needed])


def _actions(folders: Folders, folder: str, log: _Log) -> Iterator[_Action]:
    for name in log.checkpoint:
        yield from _checkpoint(folders, f"{folder}/{name}")
    decoder = msgspec.json.Decoder(_Action)
    for name in log.commits:
        path = f"{folder}/{name}"
        for number, line in enumerate(folders.read(path).splitlines(), 1):
            if line.strip():
                try:
                    yield decoder.decode(line)
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    raise UnreadableContent(f"{path}, line {number}: {error}", path=path, line=number) from error


def _checkpoint(folders: Folders, path: str) -> Iterator[_Action]:
    """Read one part of a checkpoint, without the statistics of files, which are most of it."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise NotInstalled(
            "a Delta table with checkpoints needs pyarrow: pip install 'headwater[spark]'", missing=["pyarrow"]
        ) from error
    try:
        file = pq.ParquetFile(pa.BufferReader(folders.read(path)))
        names = {column.path for column in (file.schema.column(place) for place in range(len(file.schema)))}
        wanted = [
            name
            for name in names
            if name.startswith(("add.path", "add.partitionValues.", "add.deletionVector.", "metaData.", "protocol."))
        ]
        if any(name.startswith("checkpointMetadata.") for name in names):
            raise UnreadableContent(
                f"{path} is a V2 checkpoint, which is not supported; ask with --sql through an engine",
                path=path,
            )
        for batch in file.iter_batches(batch_size=10_000, columns=wanted):
            for row in batch.to_pylist(maps_as_pydicts="strict"):
                yield msgspec.convert(row, _Action)
    except (pa.ArrowException, msgspec.ValidationError) as error:
        raise UnreadableContent(f"{path} is not a supported checkpoint: {error}", path=path) from error


def _understood(path: str, protocol: _Protocol) -> None:
    odd = _CATALOG & {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
    if odd:
        raise InvalidQuestion(
            f"the commits of {path} are kept by a catalog ({', '.join(sorted(odd))}), so its folder does not "
            "show its content; ask with --sql through that catalog",
            path=path,
        )


def _physical(table: _Table) -> dict[str, str]:
    """Return the name that each column has in partition values, if columns are mapped."""
    found = {}
    for field in _fields(table):
        name = (field.get("metadata") or {}).get("delta.columnMapping.physicalName")
        if name:
            found[field["name"]] = name
    return found


def _fields(table: _Table) -> list[dict[str, Any]]:
    return list(msgspec.json.decode(table.schema_string).get("fields", [])) if table.schema_string else []
