"""Statistics of a graph as DataFrames: from edges between names to tables.py's tables.

A dataset is a number from the second step on, a hash of its name that was checked to be its alone. Nothing is collected but counts.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  (its usual name)
from pyspark.sql.types import ByteType, DoubleType, IntegerType, LongType, StructField, StructType

from headwater.errors import InvalidQuestion
from headwater.pipeline.graph_stats.components import components
from headwater.pipeline.graph_stats.tables import CHAINS, COMPONENTS, DATASETS

ENDS: Final = ("from_namespace", "from_name", "to_namespace", "to_name")
# A component of more edges is a task of its own; smaller ones share some.
OWN_TASK: Final = 200_000
# A task needs some 60 bytes an edge: above, a part of the graph is too large for one.
MOST_EDGES: Final = 50_000_000
# The bytes that exact counts may read and join: an edge costs a bit for every dataset of its part. 100,000 datasets with a million edges are 12.5 GB.
EXACT_BYTES: Final = 20_000_000_000
# Rows that a walk of reach.py carries.
ROWS_BYTES: Final = 128 << 20
CHAINS_KEPT: Final = 10
# A part is condensed to rows: a row is a dataset, an edge between strong components, or a dataset on a chain.
_MEMBER, _EDGE, _CHAIN = 0, 1, 2
# a: strong component | first end | number of the chain. b: dataset | second end | dataset. c, d: depth and height | nothing | position and steps.
_CONDENSED: Final = StructType(
    [
        StructField("part", LongType()),
        StructField("kind", ByteType()),
        StructField("a", IntegerType()),
        StructField("b", LongType()),
        StructField("c", IntegerType()),
        StructField("d", IntegerType()),
    ]
)
_COUNTED: Final = StructType(
    [
        StructField("part", LongType()),
        StructField("a", IntegerType()),
        StructField("up", DoubleType()),
        StructField("up_zeros", LongType()),
        StructField("down", DoubleType()),
        StructField("down_zeros", LongType()),
    ]
)


@dataclass(frozen=True, slots=True)
class Limits:
    """`precision`: sketches have 2^precision counters and an error of 1.04 / √2^precision. `exact_bytes`, `most_edges`, `own_task`: see above."""

    precision: int = 10
    exact_bytes: int = EXACT_BYTES
    most_edges: int = MOST_EDGES
    own_task: int = OWN_TASK


@dataclass(frozen=True, slots=True)
class Statistics:
    """Rows of the tables but the summary, and `edges`: source, target, distinct and between two datasets. `release` when all is written."""

    datasets: DataFrame
    components: DataFrame
    chains: DataFrame
    edges: DataFrame
    rounds: int
    release: Callable[[], None]


def statistics(edges: DataFrame, alone: DataFrame | None = None, limits: Limits = Limits()) -> Statistics:
    """`edges`: rows with ENDS, the same ones any number of times. `alone`: namespace, name of datasets that may be in no edge.

    Raises InvalidQuestion for a graph of which one connected part has more than `most_edges`, and for a precision no sketch has.
    """
    if not 8 <= limits.precision <= 14:
        raise InvalidQuestion(f"a sketch's precision is 8 to 14, not {limits.precision}", parameter="precision")
    kept: list[DataFrame] = []

    def keep(frame: DataFrame) -> DataFrame:
        kept.append(frame.persist())
        return kept[-1]

    def release() -> None:
        for frame in kept:
            frame.unpersist()

    try:
        ends = keep(edges.select(*ENDS).distinct())
        names, seed = _named(ends, alone, keep)
        ids = keep(ends.select(_id(seed, *ENDS[:2]).alias("source"), _id(seed, *ENDS[2:]).alias("target")))
        between = keep(ids.where("source <> target"))
        tied, rounds = components(between)
        own = F.coalesce("component", "id").alias("component")
        nodes = keep(names.join(tied, "id", "left").select("id", "namespace", "name", own))
        condensed = keep(_condensed(_parts(between, nodes, limits)))
        reach = _reach(condensed, limits)
        datasets = keep(_datasets(nodes, between, condensed, reach))
        found = Statistics(
            datasets.select(*DATASETS.columns()),
            _components(datasets),
            _chains(condensed, datasets),
            between,
            rounds,
            release,
        )
    except BaseException:
        release()
        raise
    return found


def _id(seed: int, namespace: str, name: str) -> Column:
    return F.xxhash64(F.lit(seed), F.col(namespace), F.col(name))


def _named(ends: DataFrame, alone: DataFrame | None, keep: Callable[[DataFrame], DataFrame]) -> tuple[DataFrame, int]:
    """id, namespace, name of every dataset, and the seed of the hash. Two names of one hash are rarer than anything; then another seed is taken."""
    names = ends.select(F.col("from_namespace").alias("namespace"), F.col("from_name").alias("name")).unionByName(
        ends.select(F.col("to_namespace").alias("namespace"), F.col("to_name").alias("name"))
    )
    if alone is not None:
        names = names.unionByName(alone.select("namespace", "name"))
    distinct = keep(names.distinct())
    for seed in itertools.count():
        named = distinct.select(_id(seed, "namespace", "name").alias("id"), "namespace", "name")
        if named.groupBy("id").count().where("count > 1").isEmpty():
            return named, seed
    raise AssertionError("seeds do not end")


def _parts(edges: DataFrame, nodes: DataFrame, limits: Limits) -> DataFrame:
    """part, source, target: a part is one large component, or many small ones; and no more than a task can take."""
    placed = edges.join(nodes.select(F.col("id").alias("source"), "component"), "source")
    sizes = placed.groupBy("component").agg(F.count(F.lit(1)).alias("edges"))
    small = F.col("edges") <= limits.own_task
    told = sizes.agg(F.max("edges"), F.sum(F.when(small, F.col("edges")))).first()
    largest, shared = (0, 0) if told is None else (told[0] or 0, told[1] or 0)
    if largest > limits.most_edges:
        raise InvalidQuestion(
            f"one connected part of the graph has {largest:,} edges, and reach and chains are computed of at most {limits.most_edges:,}",
            edges=largest,
            most=limits.most_edges,
        )
    tasks = shared // limits.own_task + 1
    # Shared parts are below 0, those of one component above.
    part = F.when(small, -1 - F.pmod(F.xxhash64("component"), F.lit(tasks))).otherwise(
        F.col("component").bitwiseAND((1 << 63) - 1)
    )
    return placed.join(sizes.select("component", part.alias("part")), "component").select("part", "source", "target")


def _condensed(parts: DataFrame) -> DataFrame:
    """Each part without its loops; see _CONDENSED."""

    def condense_part(table: Any) -> Any:
        import numpy as np
        import pyarrow as pa

        from headwater.pipeline.graph_stats import condense

        graph = condense.condensed(table["source"].to_numpy(), table["target"].to_numpy())
        ways = list(condense.chains(graph, CHAINS_KEPT))
        chain = np.array([node for way in ways for node in way], np.int64)
        members, edges, steps = graph.ids.size, graph.sources.size, chain.size
        nothing = np.zeros(edges, np.int32)
        number = np.repeat(np.arange(len(ways)), [len(way) for way in ways])
        position = np.array([at for way in ways for at in range(len(way))])
        length = np.array([len(way) - 1 for way in ways for _ in way])

        def joined(kind: Any, *columns: Any) -> Any:
            return np.concatenate([np.asarray(column).astype(kind, copy=False) for column in columns])

        return pa.table(
            {
                "part": np.full(members + edges + steps, table["part"][0].as_py(), np.int64),
                "kind": np.repeat(np.array([_MEMBER, _EDGE, _CHAIN], np.int8), [members, edges, steps]),
                "a": joined(np.int32, graph.strong, graph.sources, number),
                "b": joined(np.int64, graph.ids, graph.targets, chain),
                "c": joined(np.int32, graph.depth[graph.strong], nothing, position),
                "d": joined(np.int32, graph.height[graph.strong], nothing, length),
            }
        )

    return parts.groupBy("part").applyInArrow(condense_part, _CONDENSED)


def _reach(condensed: DataFrame, limits: Limits) -> DataFrame:
    """part, a (strong component) → upstream, downstream with itself, exact."""
    sizes = condensed.groupBy("part").agg(
        F.count(F.when(F.col("kind") == _MEMBER, 1)).alias("members"),
        F.count(F.when(F.col("kind") == _EDGE, 1)).alias("edges"),
        F.max(F.when(F.col("kind") == _MEMBER, F.col("a"))).alias("strong"),
    )
    exact = F.col("members") / 8 * F.greatest("edges", "members") <= limits.exact_bytes
    width = _width(exact, limits.precision)
    count = F.ceil(F.when(exact, F.col("members")).otherwise(2**limits.precision) / width).cast("int")
    planned = sizes.select(
        "part", exact.alias("exact"), width.alias("width"), F.sequence(F.lit(0), count - 1).alias("blocks")
    )
    blocks = planned.select("part", "exact", "width", F.explode("blocks").alias("block"))
    rows = condensed.where(F.col("kind") != _CHAIN).select("part", "kind", "a", "b", "c").join(blocks, "part")
    counted = rows.groupBy("part", "block", "exact", "width").applyInArrow(_block(limits.precision), _COUNTED)
    summed = counted.groupBy("part", "a").agg(*(F.sum(name).alias(name) for name in _COUNTED.names[2:]))
    precision = limits.precision
    return summed.join(planned.select("part", "exact"), "part").select(
        "part",
        "a",
        "exact",
        F.when(F.col("exact"), F.col("up")).otherwise(_cardinality("up", precision)).alias("upstream"),
        F.when(F.col("exact"), F.col("down")).otherwise(_cardinality("down", precision)).alias("downstream"),
    )


def _width(exact: Column, precision: int) -> Column:
    """Columns that a block carries: members, or counters of sketches in a power of 2, of which there are some blocks, to be done at once."""
    fitting = F.lit(ROWS_BYTES) / (F.col("strong") + 1)
    members = F.least(F.greatest(F.floor(fitting / 8), F.lit(1)) * 64, F.col("members"))
    counters = F.pow(F.lit(2), F.floor(F.log2(F.greatest(fitting, F.lit(64)))))
    return F.when(exact, members).otherwise(F.least(counters, F.lit(max(64, 2**precision // 4)))).cast("int")


def _block(precision: int) -> Callable[[tuple[Any, ...], Iterator[Any]], Any]:
    def count_block(key: tuple[Any, ...], table: Any) -> Any:
        import numpy as np
        import pyarrow as pa

        from headwater.pipeline.graph_stats import reach

        part, block, exact, width = (value.as_py() for value in key)
        kind, a, b = (table[name].to_numpy() for name in ("kind", "a", "b"))
        member, edge = kind == _MEMBER, kind == _EDGE
        strong = a[member]
        depth = np.zeros(int(strong.max()) + 1, np.int32)
        depth[strong] = table["c"].to_numpy()[member]
        members = b[member]
        # The same order in every block, for any order of the rows.
        order = np.argsort(members)
        walk = reach.Walk(members[order], strong[order], depth, a[edge], b[edge].astype(np.int32))
        found = reach.exactly(walk, block, width) if exact else reach.estimated(walk, block, width, precision)
        return pa.table(
            {
                "part": np.full(depth.size, part, np.int64),
                "a": np.arange(depth.size, dtype=np.int32),
                "up": found.up,
                "up_zeros": found.up_zeros,
                "down": found.down,
                "down_zeros": found.down_zeros,
            }
        )

    return count_block


def _cardinality(name: str, precision: int) -> Column:
    """reach.cardinality of summed columns."""
    counters = 2**precision
    zeros = F.col(f"{name}_zeros")
    linear = counters * F.log(counters / zeros)
    raw = 0.7213 / (1 + 1.079 / counters) * counters**2 / F.col(name)
    return F.when((zeros > 0) & (linear <= 2.5 * counters), linear).otherwise(raw)


def _datasets(nodes: DataFrame, edges: DataFrame, condensed: DataFrame, reach: DataFrame) -> DataFrame:
    """DATASETS and id."""
    members = condensed.where(F.col("kind") == _MEMBER)
    strong = members.groupBy("part", "a").agg(F.min("b").alias("strong"), F.count(F.lit(1)).alias("loop"))
    placed = members.join(strong, ["part", "a"]).join(reach, ["part", "a"])
    told = placed.select(
        F.col("b").alias("id"),
        F.col("c").alias("depth"),
        F.col("d").alias("height"),
        "loop",
        "strong",
        "exact",
        *((F.round(name).cast("long") - 1).alias(name) for name in ("upstream", "downstream")),
    )
    fan_in = edges.groupBy(F.col("target").alias("id")).agg(F.count(F.lit(1)).alias("fan_in"))
    fan_out = edges.groupBy(F.col("source").alias("id")).agg(F.count(F.lit(1)).alias("fan_out"))
    joined = nodes.join(told, "id", "left").join(fan_in, "id", "left").join(fan_out, "id", "left")
    none, one = F.lit(0), F.lit(1)
    # Fewer than are one step away, or than lead to each other, no estimate may say.
    within = F.coalesce("loop", one) - 1
    least = {"upstream": "fan_in", "downstream": "fan_out"}
    reached = [
        F.greatest(F.coalesce(name, none), F.coalesce(near, none), within).cast("long").alias(name)
        for name, near in least.items()
    ]
    return joined.select(
        "id",
        "namespace",
        "name",
        F.coalesce("fan_in", none).cast("long").alias("fan_in"),
        F.coalesce("fan_out", none).cast("long").alias("fan_out"),
        *reached,
        F.coalesce("exact", F.lit(True)).alias("exact"),
        F.coalesce("depth", none).alias("depth"),
        F.coalesce("height", none).alias("height"),
        F.coalesce("loop", one).cast("long").alias("loop"),
        F.coalesce("strong", "id").alias("strong"),
        "component",
    )


def _components(datasets: DataFrame) -> DataFrame:
    looped = F.col("loop") > 1
    sums = datasets.groupBy("component").agg(
        F.count(F.lit(1)).alias("datasets"),
        F.sum("fan_out").alias("edges"),
        F.count(F.when(looped & (F.col("strong") == F.col("id")), 1)).alias("loops"),
        F.count(F.when(looped, 1)).alias("in_loops"),
        F.max("depth").alias("longest"),
        F.sum("downstream").alias("closure"),
        F.min("exact").alias("exact"),
    )
    faces = datasets.where("id = component").select("component", "namespace", "name")
    return sums.join(faces, "component").select(*COMPONENTS.columns())


def _chains(condensed: DataFrame, datasets: DataFrame) -> DataFrame:
    """The longest of all parts' chains; of equally long ones those whose end is least, as condense.py has them."""
    steps = condensed.where(F.col("kind") == _CHAIN).select(
        "part",
        F.col("a").alias("number"),
        F.col("b").alias("id"),
        F.col("c").alias("position"),
        F.col("d").alias("steps"),
    )
    ends = steps.where("position = steps").orderBy(F.desc("steps"), "id").limit(CHAINS_KEPT)
    ranked = ends.groupBy().agg(
        F.sort_array(F.collect_list(F.struct((-F.col("steps")).alias("by"), "id", "part", "number"))).alias("all")
    )
    chosen = ranked.select(F.posexplode("all").alias("at", "end")).select(
        (F.col("at") + 1).alias("chain"), "end.part", "end.number"
    )
    named = steps.join(chosen, ["part", "number"]).join(datasets.select("id", "namespace", "name", "loop"), "id")
    return named.select(*CHAINS.columns())
