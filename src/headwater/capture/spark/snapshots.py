"""Tables that keep versions (Delta, Iceberg): which version a query read, and which one it left there.

Known by class name alone, so that neither needs to be there. What a query left is looked up when it is over, in what the table says of its commits:
the one that was made while the query ran, of Iceberg by this application. Where several could be the query's, none is named.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

import msgspec

from headwater.capture.spark import crossing
from headwater.capture.spark.statistics import Statistics

DELTA, ICEBERG = "delta", "iceberg"
KEPT = frozenset({DELTA, ICEBERG})
"""What keeps versions of tables, as tables name their provider."""

LOG = "/_delta_log/"
"""In the path of a file in which Delta keeps what it knows of a table: its own queries read them."""
WRITES = "deltaTransactionalWrite"
"""What Delta calls the execution that writes the files of a commit."""
_MOST_COMMITS = 50
"""Commits that are looked through: so many may have come since the query was over."""
_MOST_LINES = 5
"""Of a commit of Delta; the line that says what it is comes first."""
# What a write makes Delta do besides.
_UPKEEP = frozenset(
    {"OPTIMIZE", "VACUUM START", "VACUUM END", "COMPUTE STATS", "SET TBLPROPERTIES", "UPGRADE PROTOCOL"}
)
_TABLES = frozenset({"BaseTable", "SerializableTable", "TransactionTable"})


class Commit(msgspec.Struct, frozen=True):
    """A version, when it was made (milliseconds), and what was written."""

    version: str
    at: int
    operation: str
    counts: Statistics
    application: str = ""


class _Info(msgspec.Struct, rename="camel"):
    timestamp: int
    operation: str = ""
    operation_metrics: dict[str, str] = {}


class _Line(msgspec.Struct, rename="camel"):
    commit_info: _Info


_line = msgspec.json.Decoder(_Line)


def read_by(jindex: Any) -> tuple[str, str]:
    """Where the Delta table is of which this is the file index, and the version that it reads, or empty. Raises where it is another index."""
    place = str(jindex.deltaLog().dataPath().toString())
    for ask in (jindex.version, lambda: jindex.getSnapshot().version()):
        with contextlib.suppress(Exception):
            return place, str(ask())
    return place, ""


def current(jtable: Any, properties: dict[str, str]) -> str:
    """The snapshot of an Iceberg table that a query reads: the one it asks for, otherwise the last."""
    for ask in ("snapshotId", "version"):
        with contextlib.suppress(Exception):
            if (asked := str(getattr(jtable, ask)())).isdigit():
                return asked
    told = properties.get("current-snapshot-id", "")
    return told if told.isdigit() else ""


def about(jtable: Any) -> bool:
    """Whether this is one of the tables in which Iceberg tells of a table: its snapshots, files, history."""
    kind = jtable.table().getClass()
    return str(kind.getPackageName()) == "org.apache.iceberg" and str(kind.getSimpleName()) not in _TABLES


def of_delta(jvm: Any, quiet: crossing.Quiet, jsession: Any, location: str) -> Iterator[Commit]:
    """The commits of a Delta table, the latest first."""
    log = quiet.adopt(jvm.org.apache.spark.sql.delta.DeltaLog).forTable(jsession, location)
    folder = log.logPath()
    files = folder.getFileSystem(log.newDeltaHadoopConf())
    # As this JVM knows it: at least what it committed itself.
    last = int(log.unsafeVolatileSnapshot().version())
    for version in range(last, -1, -1):
        stream = files.open(jvm.org.apache.hadoop.fs.Path(folder, f"{version:020}.json"))
        try:
            lines = jvm.java.io.BufferedReader(jvm.java.io.InputStreamReader(stream, "UTF-8"))
            found = (str(line) for _ in range(_MOST_LINES) if (line := lines.readLine()) is not None)
            info = next((line for line in found if line.startswith('{"commitInfo"')), None)
        finally:
            stream.close()
        if info is None:
            return
        yield _commit(version, info)


def _commit(version: int, line: str) -> Commit:
    info = _line.decode(line).commit_info
    told = {name: int(value) for name, value in info.operation_metrics.items() if value.isdigit()}
    counts = Statistics(told.get("numOutputRows"), told.get("numOutputBytes"), told.get("numFiles"))
    return Commit(str(version), info.timestamp, info.operation, counts)


def of_iceberg(jtable: Any) -> Iterator[Commit]:
    """The snapshots of an Iceberg table that led to the current one, the latest first."""
    table = jtable.table()
    snapshot = table.currentSnapshot()
    while snapshot is not None:
        told = {str(name): str(value) for name, value in snapshot.summary().items()}

        def count(name: str, told: dict[str, str] = told) -> int | None:
            return int(told[name]) if told.get(name, "").isdigit() else None

        counts = Statistics(count("added-records"), count("added-files-size"), count("added-data-files"))
        at, operation = int(snapshot.timestampMillis()), str(snapshot.operation())
        yield Commit(str(snapshot.snapshotId()), at, operation, counts, told.get("spark.app.id", ""))
        parent = snapshot.parentId()
        snapshot = table.snapshot(parent) if parent is not None else None


def left(commits: Iterator[Commit], started: int, ended: int, application: str) -> Commit | None:
    """The one that was made between these times (milliseconds), by this application where that is told; None where there is none, or several are."""
    found: list[Commit] = []
    for _, one in zip(range(_MOST_COMMITS), commits, strict=False):
        if one.at < started:
            break
        if one.at <= ended and one.operation not in _UPKEEP and one.application in {"", application}:
            found.append(one)
    return found[0] if len(found) == 1 else None
