"""`headwater pipeline graph-stats`: statistics of a store's graph, or of files of edges, kept as tables; and what of them is worth a look.

Nothing is computed again while the graph is the same.
"""

import datetime as dt
import time
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from headwater import __version__
from headwater.client.step import step
from headwater.errors import InvalidQuestion, NotFound
from headwater.pipeline.folder import inputs
from headwater.pipeline.graph_stats.stats import ENDS, Limits, statistics
from headwater.pipeline.graph_stats.tables import CHAINS, COMPONENTS, DATASETS, SUMMARY, TABLES
from headwater.pipeline.query_log.schema import EDGES, USAGE
from headwater.pipeline.stages import Desk, Stage, run
from headwater.pipeline.tables import Store

JOB: Final = "graph-stats"
_STATE: Final = "graph_stats"
# The fields of the summary that the run reports.
_TOLD: Final = ("datasets", "edges", "components", "largest", "loops", "longest", "closure", "estimated")


class GraphStats(msgspec.Struct, kw_only=True):
    """The statistics of a graph; the lists have the first `top` rows of the tables. `computed`: False when it was the graph of last time.

    `estimated`: datasets whose reach is an estimate, with a standard error of `error` (a share); `closure` is one too then.
    """

    store: str
    computed: bool
    datasets: int
    edges: int
    alone: int
    components: int
    largest: int
    loops: int
    in_loops: int
    longest: int
    closure: int
    estimated: int
    error: float
    computed_at: dt.datetime
    hubs: list[dict[str, Any]]
    sources: list[dict[str, Any]]
    connected: list[dict[str, Any]]
    chains: list[list[str]]
    rounds: int
    seconds: float


def graph_stats(
    spark: SparkSession,
    path: str,
    files: Sequence[str] = (),
    limits: Limits = Limits(),  # noqa: B008  (frozen)
    *,
    top: int = 10,
    again: bool = False,
    recorded: bool = False,
) -> GraphStats:
    """Statistics of the edges in `files`, or of those a query log left in the store at `path`; into that store.

    `again`: also when nothing changed. `recorded`: report it as a run, with the client.

    NotFound: no files, or a store without edges. InvalidQuestion: files without the columns of an edge, a graph no task can take. StageFailed,
    StoreChanged: call again.
    """
    began = time.monotonic()
    store = Store(spark, path, engine=__version__)
    store.sweep()
    if files:
        edges, alone, read = _from_files(spark, files), None, sorted({file.path for file in inputs(spark, files)})
    else:
        edges, alone = store.read(EDGES), store.read(USAGE).select("namespace", "name")
        read = [f"{store.path}/{EDGES.name}"]
        if edges.isEmpty() and alone.isEmpty():
            raise NotFound(
                f"{store.path} has no edges: sync a query log into it first, or give --edges", path=store.path
            )
    mark = {"digest": _digest(edges, alone), "limits": repr(limits), "engine": __version__}
    before = store.state.get(_STATE, {})
    rounds = before.get("rounds", 0)
    computed = again or any(before.get(key) != value for key, value in mark.items())
    if computed:
        told: dict[str, Any] = {}
        stage = Stage(JOB, (), TABLES, lambda desk: told.update(rounds=_compute(desk, edges, alone, limits)))
        if recorded:
            with step(JOB, version=__version__, inputs=read) as running:
                run(store, stage, lambda state: state.update({_STATE: {**mark, **told}}))
                (whole,) = store.read(SUMMARY).collect()
                for name in _TOLD:
                    running.detail(name, whole[name])
                for table in TABLES:
                    running.output(f"{store.path}/{table.name}")
        else:
            run(store, stage, lambda state: state.update({_STATE: {**mark, **told}}))
        rounds = told["rounds"]
        store.sweep()
    return _answer(store, top, computed=computed, rounds=rounds, began=began)


def _compute(desk: Desk, edges: DataFrame, alone: DataFrame | None, limits: Limits) -> int:
    found = statistics(edges, alone, limits)
    try:
        desk.replace(DATASETS, found.datasets)
        desk.replace(COMPONENTS, found.components)
        desk.replace(CHAINS, found.chains)
    finally:
        found.release()
    desk.replace(SUMMARY, _summary(desk.written(DATASETS), desk.written(COMPONENTS), limits))
    return found.rounds


def _summary(datasets: DataFrame, components: DataFrame, limits: Limits) -> DataFrame:
    alone = (F.col("fan_in") == 0) & (F.col("fan_out") == 0)
    nodes = datasets.agg(
        F.count(F.when(alone, 1)).alias("alone"), F.count(F.when(~F.col("exact"), 1)).alias("estimated")
    )
    sums = ("datasets", "edges", "loops", "in_loops", "closure")
    whole = components.agg(
        *(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in sums),
        F.count(F.lit(1)).alias("components"),
        F.coalesce(F.max("datasets"), F.lit(0)).alias("largest"),
        F.coalesce(F.max("longest"), F.lit(0)).alias("longest"),
    )
    return whole.crossJoin(nodes).select(
        *(name for name in SUMMARY.columns() if name not in {"precision", "computed_at"}),
        F.lit(limits.precision).alias("precision"),
        F.lit(dt.datetime.now(dt.UTC)).alias("computed_at"),
    )


def _from_files(spark: SparkSession, patterns: Sequence[str]) -> DataFrame:
    """Edges of Parquet files, or of CSV files with a heading, packed or not."""
    paths = [file.path for file in inputs(spark, patterns)]
    parquet = [path for path in paths if path.endswith((".parquet", ".pq"))]
    if parquet and len(parquet) < len(paths):
        raise InvalidQuestion("--edges are Parquet files or CSV files, not both", parameter="edges")
    found = (
        spark.read.parquet(*paths) if parquet else spark.read.option("header", True).option("escape", '"').csv(paths)
    )
    if lacking := sorted(set(ENDS) - set(found.columns)):
        raise InvalidQuestion(
            f"{paths[0]} has no column {', '.join(lacking)}; edges have {', '.join(ENDS)}",
            parameter="edges",
            lacking=lacking,
        )
    return found.select(*(F.col(name).cast("string") for name in ENDS)).dropna()


def _digest(edges: DataFrame, alone: DataFrame | None) -> str:
    """A digest of the rows, in any order."""

    def of(rows: DataFrame) -> str:
        number = F.xxhash64(*rows.columns)
        row = rows.agg(F.count(F.lit(1)), F.sum(number.cast("decimal(38,0)")), F.bit_xor(F.xxhash64(number))).first()
        return "/".join(str(value) for value in row or ())

    return ":".join(of(rows) for rows in (edges.select(*ENDS), alone) if rows is not None)


def _answer(store: Store, top: int, *, computed: bool, rounds: int, began: float) -> GraphStats:
    (whole,) = store.read(SUMMARY).collect()
    datasets = store.read(DATASETS)

    def first(rows: DataFrame, *order: Any) -> list[dict[str, Any]]:
        return [row.asDict() for row in rows.orderBy(*order).limit(top).collect()]

    name = ("namespace", "name")
    hubs = datasets.withColumn("edges", F.col("fan_in") + F.col("fan_out")).where("edges > 0")
    chains: dict[int, list[str]] = {}
    for row in store.read(CHAINS).where(F.col("chain") <= top).orderBy("chain", "position").collect():
        more = f" and {row['loop'] - 1} in a loop with it" if row["loop"] > 1 else ""
        chains.setdefault(row["chain"], []).append(f"{row['namespace']} {row['name']}{more}")
    told = whole.asDict()
    precision = told.pop("precision")
    told["computed_at"] = told["computed_at"].astimezone(dt.UTC)
    return GraphStats(
        store=store.path,
        computed=computed,
        error=round(1.04 / 2 ** (precision / 2), 4),
        hubs=first(hubs.select(*name, "edges", "fan_in", "fan_out"), F.desc("edges"), *name),
        sources=first(
            datasets.where("downstream > 0").select(*name, "downstream", "upstream", "depth", "height", "exact"),
            F.desc("downstream"),
            *name,
        ),
        connected=first(store.read(COMPONENTS).drop("component"), F.desc("datasets"), *name),
        chains=list(chains.values()),
        rounds=rounds,
        seconds=round(time.monotonic() - began, 3),
        **told,
    )
