"""Tables in a folder: Parquet files, and one manifest that says which of them count.

A change writes new files beside the old ones, each under a directory of its own, and then one new manifest. Until the manifest is there nothing has
changed; once it is there everything has. So a crash at any moment leaves either the old state or the new one, and never a table that fits no other.
`sweep` removes the files that a crash left behind or that later changes replaced.

    STORE/_manifest/0000000042.json     table → partition → directories; the ledger's files; the state of the pipeline
    STORE/_ledger/0000000042-9f3c.jsonl input files consumed by that change, one a line
    STORE/executions/change=0000000042-9f3c/day=2026-11-01/part-….parquet

Two processes that change one store at once: the second to commit is refused (StoreChanged) and its files are swept.
"""

import datetime as dt
import secrets
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, StructType

from headwater.errors import InvalidStore, StoreChanged
from headwater.pipeline import one_task
from headwater.pipeline.folder import folder, whole

DAY: Final = "day"
FORMAT: Final = 3
# Appended directories of one partition before an append writes them as one.
APPENDED_AT_MOST: Final = 16
# Manifests kept: who reads a store while it is changed has so many changes before its files are gone.
KEPT: Final = 3


@dataclass(frozen=True, slots=True)
class Table:
    """A table's declaration: `partition` is None (replaced whole) or `day` (replaced by days); `key` names the columns that identify a row."""

    name: str
    schema: StructType
    key: tuple[str, ...]
    partition: str | None = None

    def columns(self) -> list[str]:
        return [field.name for field in self.schema.fields]

    def ordered(self, rows: DataFrame) -> DataFrame:
        """The rows with these columns in their order. A selection that would change nothing is not made: it costs two messages for each column."""
        return rows if rows.columns == self.columns() else rows.select(*self.columns())

    def typed(self) -> list[str]:
        """Expressions in SQL of the columns, each as the type that is declared."""
        return [f"cast(`{field.name}` as {_kind(field.dataType)}) as `{field.name}`" for field in self.schema.fields]


class Consumed(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of the ledger: a file that was imported, and from which part of time (ISO 8601; None: no bound). `reading` counts the settings by
    which it was read."""

    path: str
    size: int
    modified: int
    source: str
    since: str | None = None
    until: str | None = None
    reading: int = 0


class Manifest(msgspec.Struct, forbid_unknown_fields=True):
    """One state of a store. `tables`: name → partition (`""` for a whole table, else the day) → directories. `sizes`: bytes of directories, of those
    that were written since there are sizes."""

    version: int
    format: int = FORMAT
    at: str = ""
    engine: str = ""
    tables: dict[str, dict[str, list[str]]] = msgspec.field(default_factory=dict)
    sizes: dict[str, int] = msgspec.field(default_factory=dict)
    ledger: list[str] = msgspec.field(default_factory=list)
    state: dict[str, Any] = msgspec.field(default_factory=dict)


class Store:
    """The tables of a folder, as of the newest manifest when it was opened and after each change made through it."""

    def __init__(self, spark: SparkSession, path: str, engine: str = "") -> None:
        """Open what is there, or nothing yet. Raises InvalidStore when a newer Headwater wrote it or a manifest is damaged."""
        self.spark = spark
        self.path = whole(path)
        self._engine = engine
        self._folder = folder(spark, path)
        self._manifest = self._newest()
        self._alone = False
        self._kept: dict[tuple[str, ...], DataFrame] = {}

    @property
    def version(self) -> int:
        """The number of the manifest; 0 for a store that nothing was written to."""
        return self._manifest.version

    @property
    def state(self) -> dict[str, Any]:
        """Return the state that the last change left, to be read only; a change has a copy to write to."""
        return self._manifest.state

    @property
    def format(self) -> int:
        """The format that the last change was written in; `FORMAT` for a store that nothing was written to."""
        return self._manifest.format

    @property
    def engine(self) -> str:
        """The version of the program that made the last change."""
        return self._manifest.engine

    @property
    def changed_at(self) -> dt.datetime:
        """Return the time of the last change; 1970 for a store that nothing was written to."""
        return (
            dt.datetime.fromisoformat(self._manifest.at) if self._manifest.at else dt.datetime.fromtimestamp(0, dt.UTC)
        )

    def days(self, table: Table) -> list[dt.date]:
        """The days a partitioned table has rows of, in order."""
        return sorted(dt.date.fromisoformat(day) for day in self._manifest.tables.get(table.name, {}) if day)

    def read(self, table: Table, days: Collection[dt.date] | None = None) -> DataFrame:
        """The table with its declared columns in their order; no rows when there are none. With `days`, only those partitions are looked at."""
        return self._read(table, self._manifest.tables.get(table.name, {}), days)

    def _read(self, table: Table, partitions: dict[str, list[str]], days: Collection[dt.date] | None) -> DataFrame:
        chosen = (
            partitions if days is None else {str(day): partitions[str(day)] for day in days if str(day) in partitions}
        )
        directories = tuple(sorted(directory for each in chosen.values() for directory in each))
        if not directories:
            return self.spark.range(0).where("false").selectExpr(*_nulls(table))
        if self._alone and directories in self._kept:
            return self._kept[directories]
        reader = self.spark.read.schema(table.schema).option("basePath", f"{self.path}/{table.name}")
        found = table.ordered(reader.parquet(*(f"{self.path}/{directory}" for directory in directories)))
        if self._alone:
            # Most are read several times, by one stage or the next; to open files costs more than to hold what little is in them.
            found = self._kept[directories] = found.coalesce(1).persist()
        return found

    def release(self, but: Collection[str] = ()) -> None:
        """Let go of the small tables that are held in memory, except where all their directories are among these."""
        for directories in [each for each in self._kept if not set(each) <= set(but)]:
            self._kept.pop(directories).unpersist()

    @contextmanager
    def in_one_task_if_small(
        self, tables: Iterable[Table], days: Collection[dt.date] | None = None, more: int | None = 0
    ) -> Iterator[bool]:
        """Let one task read and write tables in the block, if these (of partitioned ones `days`, by default all) and `more` bytes of
        other input
        are small; yield whether they are.

        A size that is not known (None; of a directory that an earlier version wrote) counts as large.
        """
        sizes, kept = self._manifest.sizes, None if days is None else {"", *map(str, days)}
        there = [
            directory
            for table in tables
            for part, directories in self._manifest.tables.get(table.name, {}).items()
            if kept is None or part in kept
            for directory in directories
        ]
        unknown = one_task.BYTES + 1
        total = sum(sizes.get(directory, unknown) for directory in there) + (unknown if more is None else more)
        if self._alone or total > one_task.BYTES or len(there) > one_task.DIRECTORIES:
            yield self._alone
            return
        with one_task.planned_for_one_task(self.spark):
            self._alone = True
            try:
                yield True
            finally:
                self._alone = False

    def consumed(self) -> set[Consumed]:
        """The ledger: every input file that was imported."""
        decoder = msgspec.json.Decoder(Consumed)
        return {
            entry
            for name in self._manifest.ledger
            for entry in decoder.decode_lines(self._folder.read(f"{self.path}/{name}"))
        }

    @contextmanager
    def change(self) -> Iterator["Change"]:
        """A change of any number of tables, visible at once when the block ends, and not at all when it ends with an exception.

        Raises StoreChanged when another process changed the store. Files are written within the block; only their counting waits for its end.
        """
        change = Change(self, self._manifest)
        yield change
        self._manifest = change.commit()
        self.release(but=self._manifest.sizes)

    def sweep(self) -> int:
        """Remove what no kept manifest speaks of; the number of directories and files removed.

        A directory is of the change it is named after. One that is being written is named after the next change, so it is never touched.
        """
        current = self._newest()
        numbers = self._numbers()
        kept = [current, *(self._load(number) for number in numbers[-KEPT:] if number != current.version)]
        spoken_of = {
            "/".join(directory.split("/")[:2])
            for manifest in kept
            for partitions in manifest.tables.values()
            for directories in partitions.values()
            for directory in directories
        } | {name for manifest in kept for name in manifest.ledger}
        removed = 0
        for table in self._folder.names(self.path):
            if table == "_manifest":
                gone = [f"_manifest/{_numbered(number)}.json" for number in numbers[:-KEPT]]
            else:
                found = self._folder.names(f"{self.path}/{table}")
                gone = [
                    f"{table}/{name}"
                    for name in found
                    if f"{table}/{name}" not in spoken_of and _number(name) <= current.version
                ]
            for name in gone:
                self._folder.remove(f"{self.path}/{name}")
            removed += len(gone)
        return removed

    def _numbers(self) -> list[int]:
        names = self._folder.names(f"{self.path}/_manifest")
        return sorted(int(name.removesuffix(".json")) for name in names if name.endswith(".json") and name[0].isdigit())

    def _newest(self) -> Manifest:
        numbers = self._numbers()
        return self._load(numbers[-1]) if numbers else Manifest(version=0)

    def _load(self, number: int) -> Manifest:
        path = f"{self.path}/_manifest/{_numbered(number)}.json"
        text = self._folder.read(path)
        try:
            told = msgspec.json.decode(text, type=dict[str, Any])
            if told.get("format", FORMAT) > FORMAT:
                raise InvalidStore(f"{self.path} was written by a newer Headwater", path=path, format=told["format"])
            return msgspec.convert(told, Manifest)
        except msgspec.DecodeError as error:
            raise InvalidStore(f"{path} is no manifest: {error}", path=path) from error


class Change:
    """The store as it will be at the end of a `with store.change()`. Tables read through the store are as they were before."""

    def __init__(self, store: Store, before: Manifest) -> None:
        self._store = store
        self._before = before
        self._mark = f"{_numbered(before.version + 1)}-{secrets.token_hex(4)}"
        self._tables = {name: {day: list(paths) for day, paths in days.items()} for name, days in before.tables.items()}
        self._sizes: dict[str, int] = {}
        self._written = 0
        self._entries: list[Consumed] = []
        # JSON-ready; what is put here is `store.state` after the commit.
        self.state: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(before.state))

    def replace(self, table: Table, rows: DataFrame, days: Collection[dt.date] | None = None) -> None:
        """The rows instead of the whole table, or of those days' partitions. A row of another day is an error: ValueError."""
        written = self._write(table, rows)
        if days is None:
            self._tables[table.name] = written
            return
        if table.partition is None:
            raise ValueError(f"{table.name} has no partitions to replace")
        if strangers := sorted(written.keys() - {str(day) for day in days}):
            raise ValueError(f"{table.name}: rows of {strangers[:5]} among those of other days")
        kept = {
            day: paths for day, paths in self._tables.get(table.name, {}).items() if day not in {str(d) for d in days}
        }
        self._tables[table.name] = {**kept, **written}

    def append(self, table: Table, rows: DataFrame) -> None:
        """The rows besides what is there."""
        there = self._tables.get(table.name, {})
        if any(len(paths) >= APPENDED_AT_MOST for paths in there.values()):
            self.replace(table, self._store._read(table, there, None).unionByName(_fitting(table, rows)))
            return
        for partition, paths in self._write(table, rows).items():
            self._tables.setdefault(table.name, {}).setdefault(partition, []).extend(paths)

    def read(self, table: Table, days: Collection[dt.date] | None = None) -> DataFrame:
        """The table as it will be, with what this change has written of it."""
        return self._store._read(table, self._tables.get(table.name, {}), days)

    def consume(self, entries: Iterable[Consumed]) -> None:
        """Input files that are imported with this change."""
        self._entries.extend(entries)

    def _write(self, table: Table, rows: DataFrame) -> dict[str, list[str]]:
        directory = f"{table.name}/change={self._mark}{f'-{self._written}' if self._written else ''}"
        self._written += 1
        path = f"{self._store.path}/{directory}"
        fitting = _fitting(table, rows)
        writer = (fitting.coalesce(1) if self._store._alone else fitting).write.option("compression", "snappy")
        if table.partition is not None:
            writer = writer.partitionBy(table.partition)
        writer.parquet(path)
        head = f"{table.partition}="
        made: dict[str, list[str]] = {} if table.partition else {"": [directory]}
        for name, size in sorted(self._store._folder.sizes(path).items()):
            part, place = "", directory
            if table.partition is not None:
                if not name.startswith(head):
                    continue
                place = f"{directory}/{name.split('/')[0]}"
                part = place.rpartition("=")[2]
                made[part] = [place]
            self._sizes[place] = self._sizes.get(place, 0) + size
        return made

    def commit(self) -> Manifest:
        """Called once, at the end of the block."""
        store, before = self._store, self._before
        ledger = list(before.ledger)
        if self._entries:
            ledger.append(self._write_ledger(ledger))
        counted = {directory for parts in self._tables.values() for paths in parts.values() for directory in paths}
        after = Manifest(
            version=before.version + 1,
            at=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            engine=store._engine,
            tables=self._tables,
            sizes={directory: size for directory, size in (before.sizes | self._sizes).items() if directory in counted},
            ledger=ledger,
            state=self.state,
        )
        text = msgspec.json.encode(after).decode()
        if not store._folder.create(f"{store.path}/_manifest/{_numbered(after.version)}.json", text):
            raise StoreChanged(
                f"another process changed {store.path} meanwhile; nothing of this change was kept, so run it again",
                path=store.path,
            )
        return after

    def _write_ledger(self, ledger: list[str]) -> str:
        """A new part of the ledger; when there are many, one that holds them all."""
        entries = list(self._entries)
        if len(ledger) >= APPENDED_AT_MOST:
            entries = sorted(
                {*self._store.consumed(), *entries}, key=lambda entry: (entry.path, entry.modified, entry.size)
            )
            ledger.clear()
        name = f"_ledger/{self._mark}.jsonl"
        self._store._folder.create(f"{self._store.path}/{name}", msgspec.json.Encoder().encode_lines(entries).decode())
        return name


def _numbered(number: int) -> str:
    return f"{number:010d}"


def _number(name: str) -> int:
    """The change a directory or a part of the ledger was made by; one that no change made is of none, and stays."""
    digits = name.removeprefix("change=").split("-")[0]
    return int(digits) if digits.isdigit() else 1 << 62


def _nulls(table: Table) -> list[str]:
    """Return nulls of the table's columns as text: as expressions each would be nine messages to the JVM."""
    return [f"cast(null as {_kind(field.dataType)}) as `{field.name}`" for field in table.schema.fields]


def _fitting(table: Table, rows: DataFrame) -> DataFrame:
    """The rows with the table's columns in their order. Raises TypeError when they are not those of the declaration."""
    given = {field.name: _kind(field.dataType) for field in rows.schema.fields}
    wanted = {field.name: _kind(field.dataType) for field in table.schema.fields}
    if given != wanted:
        lacking = sorted(wanted.keys() - given.keys())
        extra = sorted(given.keys() - wanted.keys())
        other = [f"{name}: {given[name]}, not {kind}" for name, kind in wanted.items() if given.get(name, kind) != kind]
        raise TypeError(f"{table.name} has other columns: lacking {lacking}, extra {extra}, of another type {other}")
    return table.ordered(rows)


def _kind(kind: DataType) -> str:
    return str(kind.simpleString())
