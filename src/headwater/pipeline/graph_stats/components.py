"""Weakly connected components as DataFrames, for graphs that fit no single machine.

Edges are turned into stars around the least node of each component, by two steps in turn (large star, small star: Kiveris et al., Connected
Components in MapReduce and Beyond, 2014). The rounds grow with the logarithm of a component's size, not with its diameter; no step makes more edges
than it was given, and a node with very many edges is no task's burden: minima are summed up before they meet. As soon as few edges are left, one
task ends it.
"""

from collections.abc import Callable, Iterator
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from headwater.errors import StageFailed

# So few edges are one task's work of a second, and need no further rounds.
FINISH = 2_000_000
# 2^60 nodes would need fewer.
MOST_ROUNDS = 60


def settled(frame: DataFrame) -> DataFrame:
    """The rows of `frame`, computed: what follows starts from them."""
    return frame.localCheckpoint(eager=True)


def components(
    edges: DataFrame, settle: Callable[[DataFrame], DataFrame] = settled, finish: int = FINISH
) -> tuple[DataFrame, int]:
    """`edges`: source, target (long), distinct. Each node that has an edge to another one and is not the least of its component: id, component (the
    least node of it); and the rounds it took."""
    # The far end is the greater one.
    stars = settle(
        edges.where("source <> target")
        .select(F.greatest("source", "target").alias("far"), F.least("source", "target").alias("near"))
        .distinct()
    )
    before = None
    if stars.count() <= finish:
        return _finished(stars), 0
    for rounds in range(1, MOST_ROUNDS + 1):
        stars = settle(_small_star(settle(_large_star(stars))))
        now = stars.agg(F.count(F.lit(1)), F.bit_xor(F.xxhash64("far", "near"))).first()
        if now is not None and now[0] <= finish:
            return _finished(stars), rounds
        if now == before:
            return stars.select(F.col("far").alias("id"), F.col("near").alias("component")), rounds
        before = now
    raise StageFailed(f"connected components were not found in {MOST_ROUNDS} rounds", rounds=MOST_ROUNDS)


def _large_star(edges: DataFrame) -> DataFrame:
    """Each node ties its greater neighbours to the least of all its neighbours and itself."""
    turned = edges.select(F.col("near").alias("at"), F.col("far").alias("other"))
    both = edges.select(F.col("far").alias("at"), F.col("near").alias("other")).unionByName(turned)
    least = both.groupBy("at").agg(F.least("at", F.min("other")).alias("least"))
    # An edge is seen from its lesser end here, so the other is greater.
    return turned.join(least, "at").select(F.col("other").alias("far"), F.col("least").alias("near")).distinct()


def _small_star(edges: DataFrame) -> DataFrame:
    """Each node ties its lesser neighbours and itself to the least of these."""
    least = edges.groupBy("far").agg(F.min("near").alias("least"))
    lesser = (
        edges.join(least, "far").where("near <> least").select(F.col("near").alias("far"), F.col("least").alias("near"))
    )
    return lesser.unionByName(least.select("far", F.col("least").alias("near"))).distinct()


def _finished(edges: DataFrame) -> DataFrame:
    """id, component of the nodes of so few edges that one task has them all."""

    def label_components(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        from headwater.pipeline.graph_stats import condense

        if held := list(batches):
            table = pa.Table.from_batches(held)
            ids, least = condense.connected(table["far"].to_numpy(), table["near"].to_numpy())
            mine = ids != least
            yield from pa.table({"id": ids[mine], "component": least[mine]}).to_batches()

    return edges.select("far", "near").coalesce(1).mapInArrow(label_components, "id long, component long")
