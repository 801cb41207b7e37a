"""Rows, bytes and files, from the metrics of the executed plan.

Adaptive plans hide their parts in stages, which are opened one by one. A reused stage or a cache is not counted again.
"""

import re
from typing import Any

import msgspec

_METRIC = re.compile(r"(\w+) -> SQLMetric\(.*?value: (-?\d+)\)")
_SNAPSHOT = re.compile(r"\bsnapshotId=(\d+)")
_MOST_NODES = 300


class Statistics(msgspec.Struct):
    """Counts of rows, bytes and files; None if unknown."""

    rows: int | None = None
    size: int | None = None
    files: int | None = None

    @property
    def is_reported(self) -> bool:
        return (self.rows, self.size, self.files) != (None, None, None)

    def plus(self, other: "Statistics") -> "Statistics":
        """Return the sum; an unknown count is taken from the other."""
        return Statistics(_sum(self.rows, other.rows), _sum(self.size, other.size), _sum(self.files, other.files))


class Scan(msgspec.Struct):
    """A scan of a relation, by its ExprIds; `version`: the snapshot, if it names one (Iceberg)."""

    ids: frozenset[str]
    counts: Statistics
    version: str = ""


class Metrics(msgspec.Struct):
    """The metrics of one execution: what it wrote and read."""

    written: Statistics
    scans: list[Scan] = []


def read(jexecuted: Any) -> Metrics:
    """Read the metrics of an executed plan."""
    result = Metrics(Statistics())
    waiting = [jexecuted]
    for _ in range(_MOST_NODES):
        if not waiting:
            break
        node = waiting.pop()
        name = str(node.nodeName())
        if name == "AdaptiveSparkPlan":
            waiting.append(node.executedPlan())
            continue
        if name.endswith("QueryStage") or name.startswith(
            ("ShuffleQueryStage", "BroadcastQueryStage", "ResultQueryStage")
        ):
            waiting.append(node.plan())
            continue
        if name in {"ReusedExchange", "InMemoryTableScan"}:
            continue
        children = node.children()
        count = int(children.size())
        waiting.extend(children.apply(i) for i in range(count))
        if count == 0 and "Scan" in name:
            metrics = _metrics(node)
            ids = frozenset(re.findall(r"#(\d+)", str(node.output().mkString(","))))
            rows = metrics.get("numOutputRows")
            found = _SNAPSHOT.search(str(node.scan().toString())) if name.startswith("BatchScan") else None
            counts = Statistics(rows, metrics.get("filesSize"), metrics.get("numFiles"))
            result.scans.append(Scan(ids, counts, found[1] if found else ""))
        elif name.startswith(("Execute", "AppendData", "Overwrite", "Replace", "CreateTable", "WriteToDataSource")):
            metrics = _metrics(node)
            if "numOutputRows" in metrics:
                size = metrics.get("numOutputBytes")
                result.written = Statistics(metrics["numOutputRows"], size, metrics.get("numFiles"))
    return result


def _metrics(node: Any) -> dict[str, int]:
    return {name: int(value) for name, value in _METRIC.findall(str(node.metrics().mkString("\n")))}


def _sum(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else a + b
