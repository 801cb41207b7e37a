"""The statistics of many random graphs at once are what plain loops over their edges say; nothing is computed twice."""

import collections
import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.fixtures.pipeline import content
from tests.pipeline.test_graph_stats_kernels import depth_of, reached
from tests.scale import FULL, suite_takes
from typer.testing import CliRunner

from headwater.cli.program import program
from headwater.errors import InvalidQuestion, NotFound
from headwater.pipeline.graph_stats.components import components
from headwater.pipeline.graph_stats.stats import ENDS, Limits, statistics
from headwater.pipeline.graph_stats.tables import TABLES
from headwater.pipeline.graph_stats.work import _digest, graph_stats
from headwater.pipeline.query_log.schema import EDGES
from headwater.pipeline.tables import Store

pytestmark = pytest.mark.spark

Node = tuple[str, str]


def random_graph(seed: int = 5) -> tuple[list[tuple[Node, Node]], list[Node]]:
    """Edges and datasets without any: small graphs of every density, a long chain, a ring with a tail, a hub, edges to oneself and twice."""
    chance = random.Random(seed)
    edges: list[tuple[Node, Node]] = []
    for graph in range(40):
        size = chance.randrange(1, 15)
        for _ in range(chance.randrange(1, 3 * size + 1)):
            edges.append(((f"g{graph}", str(chance.randrange(size))), (f"g{graph}", str(chance.randrange(size)))))
    edges += [(("chain", f"{at:03}"), ("chain", f"{at + 1:03}")) for at in range(100)]
    edges += [(("ring", f"{at}"), ("ring", f"{(at + 1) % 9}")) for at in range(9)]
    edges += [(("ring", "3"), ("tail", "0")), (("tail", "0"), ("tail", "1")), (("before", "0"), ("ring", "7"))]
    edges += [(("hub", "centre"), ("hub", str(at))) for at in range(50)]
    edges += edges[:30]
    chance.shuffle(edges)
    return edges, [("alone", "a"), ("alone", "b"), ("hub", "3")]


def frame(spark: Any, edges: list[tuple[Node, Node]]) -> Any:
    return spark.createDataFrame([(*a, *b) for a, b in edges], ", ".join(f"{name} string" for name in ENDS))


def expected(edges: list[tuple[Node, Node]], alone: list[Node]) -> dict[Node, tuple[int, ...]]:
    """fan_in, fan_out, upstream, downstream, depth, height, loop; of each graph by itself, as a whole would take long."""
    told: dict[Node, tuple[int, ...]] = {}
    parts = collections.defaultdict(list)
    for a, b in {*edges}:
        group = a[0] if a[0] not in {"tail", "before"} else "ring"
        parts[group].append((a, b))
    for part in parts.values():
        after: Any = reached(part)
        before: Any = reached([(b, a) for a, b in part])
        depth: Any = depth_of(part)
        height: Any = depth_of([(b, a) for a, b in part])
        for node in after:
            told[node] = (
                len({a for a, b in part if b == node} - {node}),
                len({b for a, b in part if a == node} - {node}),
                len(before[node]) - 1,
                len(after[node]) - 1,
                depth[node],
                height[node],
                len(before[node] & after[node]),
            )
    return told | {node: (0, 0, 0, 0, 0, 0, 1) for node in alone if node not in told}


def told(table: Any) -> dict[Node, tuple[int, ...]]:
    names = ("fan_in", "fan_out", "upstream", "downstream", "depth", "height", "loop")
    return {(row["namespace"], row["name"]): tuple(row[name] for name in names) for row in table.collect()}


def test_everything_of_many_graphs(spark: Any) -> None:
    edges, alone = random_graph()
    # Components of more than 60 edges are parts of their own here, the others share some.
    found = statistics(
        frame(spark, edges), spark.createDataFrame(alone, "namespace string, name string"), Limits(own_task=60)
    )
    wanted = expected(edges, alone)
    datasets = found.datasets.localCheckpoint()
    assert told(datasets) == wanted
    assert [row["exact"] for row in datasets.select("exact").distinct().collect()] == [True]
    # The parts that hang together, by a walk in both directions.
    together = reached([(a, b) for a, b in edges] + [(b, a) for a, b in edges] + [(node, node) for node in alone])
    groups = collections.defaultdict(set)
    for row in datasets.collect():
        groups[row["component"]].add((row["namespace"], row["name"]))
    assert {frozenset(group) for group in groups.values()} == {frozenset(group) for group in together.values()}
    for row in found.components.collect():
        group = groups[row["component"]]
        assert (row["namespace"], row["name"]) in group
        assert (row["datasets"], row["closure"]) == (len(group), sum(wanted[node][3] for node in group))
        assert row["edges"] == len({(a, b) for a, b in edges if a in group and a != b})
        assert row["in_loops"] == sum(wanted[node][6] > 1 for node in group)
        assert row["longest"] == max(wanted[node][4] for node in group)
    assert (
        sum(
            row["loops"]
            for row in found.components.where(
                "namespace = 'ring' or namespace = 'tail' or namespace = 'before'"
            ).collect()
        )
        == 1
    )
    chains = collections.defaultdict(list)
    for row in found.chains.orderBy("chain", "position").collect():
        chains[row["chain"]].append((row["namespace"], row["name"]))
    assert chains[1] == [("chain", f"{at:03}") for at in range(101)]
    lengths = [len(chains[number]) for number in sorted(chains)]
    assert lengths == sorted(lengths, reverse=True)
    assert sorted(chains) == list(range(1, 11))
    found.release()


@pytest.mark.soak
def test_estimates(spark: Any) -> None:
    """If counting would cost too much, the tables are the same, and the numbers are close to the true ones and never less than those of
    the next nodes."""
    edges, alone = random_graph()
    found = statistics(
        frame(spark, edges), spark.createDataFrame(alone, "namespace string, name string"), Limits(exact_bytes=2000)
    )
    wanted = expected(edges, alone)
    datasets = found.datasets.localCheckpoint()
    exact = {(row["namespace"], row["name"]): row["exact"] for row in datasets.collect()}
    assert set(exact.values()) == {True, False}
    for node, row in told(datasets).items():
        assert (*row[:2], *row[4:]) == (*wanted[node][:2], *wanted[node][4:])
        for guess, true in zip(row[2:4], wanted[node][2:4], strict=True):
            assert abs(guess - true) <= 0.15 * true + 1, node
    found.release()


@pytest.mark.parametrize("finish", suite_takes([0, 500], [500]))
def test_components_of_a_long_chain_take_few_rounds(spark: Any, finish: int) -> None:
    """A chain takes few rounds with and without a last task that ends it; beside it are a hub and two that read each other."""
    chain = [(at * 7919 % 1000, (at + 1) * 7919 % 1000) for at in range(600)]
    edges = [*chain, *((2000, at) for at in range(2001, 2030)), (3000, 3001), (3001, 3000), (4000, 4000)]
    found, rounds = components(spark.createDataFrame(edges, "source long, target long"), finish=finish)
    told = {row["id"]: row["component"] for row in found.collect()}
    least = min(min(edge) for edge in chain)
    wanted = {node: least for edge in chain for node in edge if node != least}
    wanted |= dict.fromkeys(range(2001, 2030), 2000) | {3001: 3000}
    assert told == wanted
    assert 1 <= rounds <= 12


def written(spark: Any, path: Path) -> dict[str, list[str]]:
    store = Store(spark, str(path))
    return {table.name: content(store.read(table), "computed_at") for table in TABLES}


def test_from_a_store_and_only_when_something_changed(spark: Any, tmp_path: Path) -> None:
    edges, _ = random_graph(6)
    edges = edges[:60]
    with pytest.raises(NotFound):
        graph_stats(spark, str(tmp_path / "store"))

    def keep(rows: list[tuple[Node, Node]]) -> None:
        from pyspark.sql import functions as F

        store = Store(spark, str(tmp_path / "store"))
        at = F.lit("2026-03-01").cast("timestamp")
        told = frame(spark, rows).select(
            *ENDS,
            F.lit("s").alias("shape_id"),
            at.alias("first_at"),
            at.alias("last_at"),
            F.lit(1).cast("long").alias("executions"),
            F.lit(False).alias("through"),
        )
        with store.change() as change:
            change.replace(EDGES, told)

    keep(edges)
    first = graph_stats(spark, str(tmp_path / "store"), top=3)
    assert first.computed
    assert (first.edges, first.datasets) == (
        len({e for e in edges if e[0] != e[1]}),
        len({node for edge in edges for node in edge}),
    )
    assert len(first.hubs) == 3
    assert first.hubs[0]["edges"] >= first.hubs[1]["edges"]
    # The same edges in another order, as a sync that came upon nothing new leaves them.
    keep(edges[::-1])
    again = graph_stats(spark, str(tmp_path / "store"), top=3)
    assert not again.computed
    assert (again.hubs, again.chains, again.closure) == (first.hubs, first.chains, first.closure)
    if FULL:
        # The same graph out of files; test_the_command reads files in the suite.
        frame(spark, edges).coalesce(1).write.option("header", True).csv(str(tmp_path / "csv"))
        graph_stats(spark, str(tmp_path / "other"), [str(tmp_path / "csv")])
        assert written(spark, tmp_path / "other") == written(spark, tmp_path / "store")
    digests = {
        _digest(frame(spark, rows), None)
        for rows in (edges, edges[::-1], edges[1:], [*edges, (("new", "a"), ("new", "b"))])
    }
    assert len(digests) == 3


def test_what_cannot_be_done_is_said(spark: Any, tmp_path: Path) -> None:
    edges = [(("a", str(at)), ("a", str(at + 1))) for at in range(5)]
    with pytest.raises(InvalidQuestion, match="5 edges"):
        statistics(frame(spark, edges), None, Limits(most_edges=4))
    with pytest.raises(InvalidQuestion, match="precision"):
        statistics(frame(spark, edges), None, Limits(precision=3))
    (tmp_path / "edges.csv").write_text("from_name,to_name\na,b\n")
    with pytest.raises(InvalidQuestion, match="from_namespace, to_namespace"):
        graph_stats(spark, str(tmp_path / "store"), [str(tmp_path / "edges.csv")])


def test_the_command(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prints tables or JSON, and tells of its run."""
    edges = [(("file", f"/{at}"), ("file", f"/{at + 1}")) for at in range(20)] + [(("file", "/a"), ("file", "/b"))] * 2
    lines = [",".join(ENDS), *(",".join((*a, *b)) for a, b in edges)]
    (tmp_path / "edges.csv").write_text("\n".join(lines))
    monkeypatch.setenv("HEADWATER_URL", f"file://{tmp_path}/told.ndjson")
    asked = ["pipeline", "graph-stats", "--edges", f"{tmp_path}/edges.csv", "--store", f"{tmp_path}/store"]
    shown = CliRunner().invoke(program, asked)
    assert shown.exit_code == 0, shown.output
    for words in (
        "23 datasets, 21 edges",
        "2 components, the largest of 21",
        "closure: 211 pairs",
        "chain of 20 steps",
        "… 9 more …",
    ):
        assert words in shown.output
    told = json.loads(CliRunner().invoke(program, [*asked, "--json", "--no-record"]).stdout)
    assert (told["computed"], told["longest"], told["closure"]) == (False, 20, 211)
    events = [json.loads(line) for line in (tmp_path / "told.ndjson").read_text().splitlines()]
    assert {event["job"]["name"] for event in events} == {"graph-stats"}
    assert '"closure":211' in (tmp_path / "told.ndjson").read_text().replace(" ", "")
    assert {output["name"].rsplit("/", 1)[-1] for output in events[-1]["outputs"]} == {table.name for table in TABLES}
