"""Tables that keep versions (Delta, Iceberg): the version that a query read, and the one that it wrote.

Classes are known by name alone: both may be missing. After a query, its version is looked up among the table's commits: the one that was made
while the query ran, with Iceberg by this application. If several could be the query's, none is named.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

import msgspec

from headwater.capture.spark import crossing
from headwater.capture.spark.statistics import Statistics

DELTA, ICEBERG = "delta", "iceberg"
KEPT = frozenset({DELTA, ICEBERG})
"""The providers of tables that keep versions, as tables name them."""

LOG = "/_delta_log/"
"""A part of the paths of Delta's log files, which its own queries read."""
WRITES = "deltaTransactionalWrite"
"""Delta's name for the execution that writes the files of a commit."""
_MOST_COMMITS = 50
"""Commits that are examined: this many may have come since the end of the query."""
_MOST_LINES = 5
"""Lines read of a Delta commit at most; the one with its description comes first."""
# Operations of Delta after a write.
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
    """Return the location of this file index's Delta table, and the version that it reads, or empty. Raises if it is another kind of index."""
    place = str(jindex.deltaLog().dataPath().toString())
    for ask in (jindex.version, lambda: jindex.getSnapshot().version()):
        with contextlib.suppress(Exception):
            return place, str(ask())
    return place, ""


def current(jtable: Any, properties: dict[str, str]) -> str:
    """Return the Iceberg snapshot that a query reads: the requested one, otherwise the last."""
    for ask in ("snapshotId", "version"):
        with contextlib.suppress(Exception):
            if (asked := str(getattr(jtable, ask)())).isdigit():
                return asked
    current = properties.get("current-snapshot-id", "")
    return current if current.isdigit() else ""


def about(jtable: Any) -> bool:
    """Return whether this is one of Iceberg's metadata tables: snapshots, files, history."""
    kind = jtable.table().getClass()
    return str(kind.getPackageName()) == "org.apache.iceberg" and str(kind.getSimpleName()) not in _TABLES


def of_delta(jvm: Any, quiet: crossing.Quiet, jsession: Any, location: str) -> Iterator[Commit]:
    """Yield the commits of a Delta table, the latest first."""
    log = quiet.adopt(jvm.org.apache.spark.sql.delta.DeltaLog).forTable(jsession, location)
    folder = log.logPath()
    files = folder.getFileSystem(log.newDeltaHadoopConf())
    # This JVM's view: it includes at least its own commits.
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
    summary = {name: int(value) for name, value in info.operation_metrics.items() if value.isdigit()}
    counts = Statistics(summary.get("numOutputRows"), summary.get("numOutputBytes"), summary.get("numFiles"))
    return Commit(str(version), info.timestamp, info.operation, counts)


def of_iceberg(jtable: Any) -> Iterator[Commit]:
    """Yield the snapshots that led to the current one of an Iceberg table, the latest first."""
    table = jtable.table()
    snapshot = table.currentSnapshot()
    while snapshot is not None:
        summary = {str(name): str(value) for name, value in snapshot.summary().items()}

        def count(name: str, summary: dict[str, str] = summary) -> int | None:
            return int(summary[name]) if summary.get(name, "").isdigit() else None

        counts = Statistics(count("added-records"), count("added-files-size"), count("added-data-files"))
        at, operation = int(snapshot.timestampMillis()), str(snapshot.operation())
        yield Commit(str(snapshot.snapshotId()), at, operation, counts, summary.get("spark.app.id", ""))
        parent = snapshot.parentId()
        snapshot = table.snapshot(parent) if parent is not None else None


def left(commits: Iterator[Commit], started: int, ended: int, application: str) -> Commit | None:
    """Return the only commit between these times (milliseconds), by this application if the table records that; None for none or several."""
    found: list[Commit] = []
    for _, one in zip(range(_MOST_COMMITS), commits, strict=False):
        if one.at < started:
            break
        if one.at <= ended and one.operation not in _UPKEEP and one.application in {"", application}:
            found.append(one)
    return found[0] if len(found) == 1 else None
