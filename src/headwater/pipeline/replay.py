"""`headwater pipeline replay`: compute the projections of a server from an archive on Spark, for logs that take one PostgreSQL too long.

Executors turn events into rows with a function of the server, which the caller passes; `merges.py` merges the rows. The same events give the
same tables in any order and any number of times, so no step sorts, and tables are only replaced whole.
"""

import datetime as dt
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Final

import msgspec
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812  (its usual name)
from pyspark.sql.types import StructField, StructType, TimestampType

from headwater import __version__
from headwater.client.step import step
from headwater.errors import InvalidQuestion, NotFound
from headwater.pipeline.archive import EVENTS
from headwater.pipeline.merges import ELSEWHERE, MERGES, Merge
from headwater.pipeline.stages import Desk, Stage, run
from headwater.pipeline.tables import Store, Table

JOB: Final = "replay"
_STATE: Final = "replay"
_HORIZON: Final = "horizon"
# An event's body, its time in the log, its digest → rows by query.
Projects = Callable[[bytes, dt.datetime, bytes], Mapping[str, Sequence[tuple[Any, ...]]]]
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND: Final = dt.timedelta(microseconds=1)


class Replayed(msgspec.Struct, kw_only=True):
    """`events` that were in it, `rows` of each table. `computed`: False when the same had been replayed before."""

    archive: str
    store: str
    computed: bool
    until: dt.datetime | None
    events: int
    rows: dict[str, int]
    seconds: float


def table_of(merge: Merge) -> Table:
    """The table as it is kept: the server's columns but for what people say (`hidden`, `manual`)."""
    made = merge.declared()
    if merge.table != "jobs":
        return made
    return Table(made.name, StructType([*made.schema.fields, StructField(_HORIZON, TimestampType())]), made.key)


def replay(
    spark: SparkSession,
    archive: str,
    path: str,
    projects: Projects,
    rules: str = "",
    *,
    tables: Collection[str] = (),
    until: dt.datetime | None = None,
    live_runs: int = 10,
    recorded: bool = False,
) -> Replayed:
    """Make the tables (all of MERGES, or those named) of the archive's events that had arrived by `until`, in the store at `path`.

    `rules`: what `projects` depends on, to see that it changed. `live_runs`: how many of a job's last runs keep an edge alive.

    InvalidQuestion: a table that is not made here, with the reason. NotFound: an archive without events.
    """
    began = time.monotonic()
    merges = _chosen(tables)
    kept = Store(spark, archive)
    if not kept.days(EVENTS):
        raise NotFound(f"{kept.path} has no events: bring an archive there first", path=kept.path)
    store = Store(spark, path, engine=__version__)
    store.sweep()
    mark = {
        "archive": kept.path,
        "version": kept.version,
        "until": None if until is None else until.isoformat(),
        "rules": rules,
        "live_runs": live_runs,
        "engine": __version__,
        "tables": [merge.table for merge in merges],
    }
    before = store.state.get(_STATE, {})
    computed = any(before.get(key) != value for key, value in mark.items())
    if computed:
        events = kept.read(EVENTS, [day for day in kept.days(EVENTS) if until is None or day <= until.date()])
        if until is not None:
            events = events.where(F.col("received_at") <= F.lit(until))
        outputs = tuple(table_of(merge) for merge in merges)
        told: dict[str, Any] = {}

        def write_projections(desk: Desk) -> None:
            told.update(_write_tables(desk, events, projects, merges, live_runs))

        stage = Stage(JOB, (), outputs, write_projections)
        inputs = [f"{kept.path}/{EVENTS.name}"]
        with step(JOB, version=__version__, inputs=inputs) if recorded else nullcontext() as running:
            run(store, stage, lambda state: state.update({_STATE: {**mark, **told}}))
            if running is not None:
                for table in outputs:
                    running.output(f"{store.path}/{table.name}")
        store.sweep()
        before = store.state[_STATE]
    return Replayed(
        archive=kept.path,
        store=store.path,
        computed=computed,
        until=until,
        events=before["events"],
        rows=before["rows"],
        seconds=round(time.monotonic() - began, 3),
    )


def _chosen(names: Collection[str]) -> tuple[Merge, ...]:
    made = {merge.table: merge for merge in MERGES}
    for name in names:
        if name in ELSEWHERE:
            raise InvalidQuestion(f"{name} is not made from an archive on Spark: {ELSEWHERE[name]}", parameter="table")
        if name not in made:
            raise InvalidQuestion(f"there is no table {name!r}; there are {', '.join(made)}", parameter="table")
    return tuple(merge for merge in MERGES if not names or merge.table in names)


def _write_tables(
    desk: Desk, events: DataFrame, projects: Projects, merges: Sequence[Merge], live_runs: int
) -> dict[str, Any]:
    """Write the tables; how many events there were and how many rows there are."""
    wanted = {merge.query: tuple(merge.told) for merge in merges}
    if any(merge.table == "jobs" for merge in merges):
        wanted |= {merge.query: tuple(merge.told) for merge in MERGES if merge.table == "reports"}
    rows = projected(events, projects, wanted).persist()
    counted: dict[str, int] = {}
    try:
        for merge in merges:
            table = merge.merged(rows.where(F.col("query") == merge.query))
            if merge.table == "jobs":
                table = table.join(_horizons(rows, live_runs), "id", "left")
            desk.replace(table_of(merge), table)
            counted[merge.table] = desk.written(table_of(merge)).count()
        return {"events": events.count(), "rows": counted}
    finally:
        rows.unpersist()


def _horizons(rows: DataFrame, live_runs: int) -> DataFrame:
    """id (job), horizon: when the oldest report that keeps its edges alive began; jobs with fewer reports are not there."""
    (merge,) = (merge for merge in MERGES if merge.table == "reports")
    reports = merge.merged(rows.where(F.col("query") == merge.query)).where("not declaration")
    place = F.row_number().over(Window.partitionBy("job_id").orderBy(F.desc("first_at")))
    ranked = reports.select(F.col("job_id").alias("id"), F.col("first_at").alias(_HORIZON), place.alias("place"))
    return ranked.where(F.col("place") == live_runs).select("id", _HORIZON)


def projected(events: DataFrame, projects: Projects, wanted: Mapping[str, tuple[str, ...]]) -> DataFrame:
    """query, row: what each event stands for, a row as JSON by the names of its query; those of a batch that say the same once."""

    def project_batches(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        schema = pa.schema([("query", pa.string()), ("row", pa.string())])
        encoder = msgspec.json.Encoder()
        for batch in batches:
            told: dict[tuple[str, bytes], None] = {}
            for event in batch.to_pylist():
                found = projects(event["body"], event["event_time"].astimezone(dt.UTC), event["digest"])
                for query, rows in found.items():
                    if names := wanted.get(query):
                        for row in rows:
                            values = dict(zip(names, map(_plain, row), strict=True))
                            told[query, encoder.encode(values)] = None
            texts = [row.decode() for _, row in told]
            yield pa.RecordBatch.from_arrays(
                [pa.array([query for query, _ in told], pa.string()), pa.array(texts, pa.string())], schema=schema
            )

    return events.select("body", "event_time", "digest").mapInArrow(project_batches, "query string, row string")


def _plain(value: Any) -> Any:
    """A value as JSON that Spark reads whole: times as microseconds since 1970; ids and bytes as msgspec writes them."""
    return (value - _EPOCH) // _MICROSECOND if isinstance(value, dt.datetime) else value
