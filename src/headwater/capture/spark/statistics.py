"""Rows, bytes and files, from the metrics of the executed plan.

Adaptive plans hide their parts in stages, which are opened one by one. The driver does that in one call where it compiles
`ExecutedPlanFacts.java`, else py4j does. A reused stage or a cache is not counted again.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

_METRIC = re.compile(r"(\w+) -> SQLMetric\(.*?value: (-?\d+)\)")
_SNAPSHOT = re.compile(r"\bsnapshotId=(\d+)")
_WRITES = ("Execute", "AppendData", "Overwrite", "Replace", "CreateTable", "WriteToDataSource")
_MOST_NODES = 300
_MOST_NODES_AT_ONCE = 20_000


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
    """The metrics of one execution: what it wrote and read. `unread`: of the plan's `nodes`, those past the limit, whose counts are missing."""

    written: Statistics
    scans: list[Scan] = []
    unread: int = 0
    nodes: int = 0


class Node(msgspec.Struct):
    """A scan or a write of an executed plan, as Spark's texts. `scan`: of a scan of another catalog, which may name a snapshot."""

    kind: str
    output: str
    metrics: str
    scan: str


class Walk(msgspec.Struct):
    """The scans and writes of an executed plan. `read` of its `nodes` were looked at."""

    found: list[Node]
    read: int
    nodes: int


def read(jexecuted: Any, jfacts: Any = None) -> Metrics:
    """Read the metrics of an executed plan. `jfacts`: an ExecutedPlanFacts in the driver, which does it in one call."""
    walk = walk_by_calls(jexecuted) if jfacts is None else walk_at_once(jexecuted, jfacts)
    result = Metrics(Statistics(), unread=walk.nodes - walk.read, nodes=walk.nodes)
    for node in walk.found:
        metrics = {name: int(value) for name, value in _METRIC.findall(node.metrics)}
        if node.kind == "scan":
            ids = frozenset(re.findall(r"#(\d+)", node.output))
            version = _SNAPSHOT.search(node.scan)
            counts = Statistics(metrics.get("numOutputRows"), metrics.get("filesSize"), metrics.get("numFiles"))
            result.scans.append(Scan(ids, counts, version[1] if version else ""))
        elif "numOutputRows" in metrics:
            size = metrics.get("numOutputBytes")
            result.written = Statistics(metrics["numOutputRows"], size, metrics.get("numFiles"))
    return result


def walk_at_once(jexecuted: Any, jfacts: Any) -> Walk:
    """Read the plan in one call."""
    text = str(jfacts.read(jexecuted, _MOST_NODES_AT_ONCE))
    head, _, rest = text.partition(":")
    nodes, texts = int(head), list(_texts(rest))
    found = [Node(*texts[i : i + 4]) for i in range(0, len(texts), 4)]
    return Walk(found, min(nodes, _MOST_NODES_AT_ONCE), nodes)


def _texts(facts: str) -> Iterator[str]:
    place = 0
    while place < len(facts):
        begin = facts.index(":", place) + 1
        end = begin + int(facts[place : begin - 1])
        yield facts[begin:end]
        place = end


def walk_by_calls(jexecuted: Any) -> Walk:
    """Read the plan over py4j: several calls a node. Nodes below those that were not looked at are not in `nodes`."""
    found: list[Node] = []
    waiting = [jexecuted]
    count = 0
    while waiting and count < _MOST_NODES:
        node = waiting.pop()
        count += 1
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
        size = int(children.size())
        waiting.extend(children.apply(i) for i in range(size))
        if size == 0 and "Scan" in name:
            scan = str(node.scan().toString()) if name.startswith("BatchScan") else ""
            found.append(Node("scan", str(node.output().mkString(",")), str(node.metrics().mkString("\n")), scan))
        elif name.startswith(_WRITES):
            found.append(Node("write", "", str(node.metrics().mkString("\n")), ""))
    return Walk(found, count, count + len(waiting))


def _sum(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else a + b
