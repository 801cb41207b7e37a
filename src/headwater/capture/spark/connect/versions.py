"""The version that a command left in a Delta or Iceberg table, and what it wrote: from the table's own history, which the server is asked for.

The version that a query read is not asked: by then the table may have a later one. Times are compared between the client's clock and the
server's: where these differ by more than the command took, no version is named.
"""

from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any

from headwater.capture.spark import snapshots
from headwater.capture.spark.connect.server import Server
from headwater.capture.spark.connect.statements import quoted
from headwater.capture.spark.datasets import Dataset
from headwater.capture.spark.snapshots import Commit
from headwater.capture.spark.statistics import Statistics


def left(server: Server, target: Dataset, started: int, ended: int) -> Commit | None:
    """Return the only commit of a table between these times (milliseconds); None for none or several. Raises NoAnswer."""
    if target.layer == snapshots.DELTA:
        commits = _of_delta(server, target.location)
    elif target.layer == snapshots.ICEBERG and target.symlink is not None:
        commits = _of_iceberg(server, target.symlink[1])
    else:
        return None
    return snapshots.left(commits, started, ended, "")


def _of_delta(server: Server, location: str) -> Iterator[Commit]:
    for row in server.rows(_text("delta_history").format(location=location.replace("`", "``"))):
        counts = dict(row["operationMetrics"] or ())
        found = _statistics(counts, "numOutputRows", "numOutputBytes", "numFiles")
        yield Commit(str(row["version"]), int(row["timestamp"].timestamp() * 1000), str(row["operation"]), found)


def _of_iceberg(server: Server, name: str) -> Iterator[Commit]:
    for row in server.query(_text("iceberg_history").format(snapshots=quoted([*name.split("."), "snapshots"]))):
        found = _statistics(dict(row["summary"] or ()), "added-records", "added-files-size", "added-data-files")
        at = int(row["committed_at"].timestamp() * 1000)
        yield Commit(str(row["snapshot_id"]), at, str(row["operation"]), found)


def _text(name: str) -> str:
    return resources.files("headwater.capture.spark.connect").joinpath(f"{name}.sql").read_text("utf-8")


def _statistics(counts: Mapping[str, Any], *names: str) -> Statistics:
    return Statistics(*(int(counts[name]) if str(counts.get(name, "")).isdigit() else None for name in names))
