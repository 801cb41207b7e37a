"""Rows, bytes and files, from the metrics of the executed plan.

Adaptive plans hide their parts in stages, which are opened one by one. `QueryFacts.java` does that and sends the facts along with the event, else
py4j does. A reused stage or a cache is not counted again.
"""

import re
from typing import Any

import msgspec

from headwater.capture.spark import recorded

_METRIC = re.compile(r"(\w+) -> SQLMetric\(.*?value: (-?\d+)\)")
_SNAPSHOT = re.compile(r"\bsnapshotId=(\d+)")
_WRITES = ("Execute", "AppendData", "Overwrite", "Replace", "CreateTable", "WriteToDataSource")
_MOST_NODES = 300
MOST_NODES_AT_ONCE = 20_000
"""The nodes of an executed plan that `QueryFacts.java` reads."""


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
    """The metrics of one execution: what it wrote and read. `limit` says of how many nodes they are, if not of all; else it is empty.
    `writes`: of one that writes several tables, each, in the order of the plan.
    """

    written: Statistics
    scans: list[Scan] = []
    limit: str = ""
    writes: list[Statistics] = []


class Node(msgspec.Struct):
    """A scan or a write of an executed plan, as Spark's texts. `scan`: of a scan of another catalog, which may name a snapshot."""

    kind: str
    output: str
    metrics: str
    scan: str


class Walk(msgspec.Struct):
    """The scans and writes of an executed plan. `read` of its `nodes` were looked at; of `nodes` or more, where they are not `counted`."""

    found: list[Node]
    read: int
    nodes: int
    counted: bool = True

    @property
    def limit(self) -> str:
        """The share of the nodes that was read, in words; empty if all were."""
        if self.read == self.nodes:
            return ""
        return f"for counts, {self.read} of {'' if self.counted else 'at least '}{self.nodes} nodes of the executed plan were read"


def counts(jqe: Any) -> Metrics:
    """Read the metrics of what a query executed."""
    facts = recorded.facts_of(jqe)
    walk = walk_of(facts.executed) if facts is not None and facts.executed else walk_by_calls(jqe.executedPlan())
    return metrics(walk)


def metrics(walk: Walk) -> Metrics:
    """Return the metrics of the nodes that were found."""
    result = Metrics(Statistics(), limit=walk.limit)
    for node in walk.found:
        values = {name: int(value) for name, value in _METRIC.findall(node.metrics)}
        if node.kind == "scan":
            ids = frozenset(re.findall(r"#(\d+)", node.output))
            version = _SNAPSHOT.search(node.scan)
            counts = Statistics(values.get("numOutputRows"), values.get("filesSize"), values.get("numFiles"))
            result.scans.append(Scan(ids, counts, version[1] if version else ""))
        elif "numOutputRows" in values:
            size = values.get("numOutputBytes")
            result.written = Statistics(values["numOutputRows"], size, values.get("numFiles"))
            result.writes.insert(0, result.written)  # the last child comes first
    return result


def walk_of(text: str) -> Walk:
    """Return the facts of a plan that `QueryFacts.java` wrote."""
    head, _, rest = text.partition(":")
    nodes, found = int(head), list(recorded.texts(rest))
    return Walk([Node(*found[i : i + 4]) for i in range(0, len(found), 4)], min(nodes, MOST_NODES_AT_ONCE), nodes)


def walk_by_calls(jexecuted: Any) -> Walk:
    """Read the plan over py4j: several calls a node. Past the limit, nodes below those that were not looked at are not in `nodes`."""
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
    return Walk(found, count, count + len(waiting), counted=not waiting)


def _sum(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else a + b
