"""`headwater pipeline replay`: compute the projections of a server from an archive on Spark, for logs that take one PostgreSQL too long.

Executors turn events into rows with a function of the server, which the caller passes; `merges.py` merges the rows. The same events give the
same tables in any order and any number of times, so no step sorts, and tables are only replaced whole.
"""

import datetime as dt
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Final, Protocol

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (its usual name)
from pyspark.sql.types import StructType

from headwater import __version__
from headwater.client.step import step
from headwater.errors import InvalidQuestion, NotFound
from headwater.pipeline import settled
from headwater.pipeline.archive import EVENTS
from headwater.pipeline.merges import ELSEWHERE, MERGES, Merge
from headwater.pipeline.stages import Desk, Stage, run
from headwater.pipeline.tables import Store, Table

JOB: Final = "replay"
_STATE: Final = "replay"
Rows = Mapping[str, Sequence[tuple[Any, ...]]]
# The tables of what statements of dbt read behind a model, and the tables that these rows follow from.
_READ: Final = frozenset({"datasets", "namespaces", "foreign_edges"})
_READ_FROM: Final = ("report_statements", "report_datasets", "datasets", "facet_bodies")
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_ROW: Final = "query string, row string"
_MICROSECOND: Final = dt.timedelta(microseconds=1)


class Projects(Protocol):
    """Makes rows by query (`headwater.intake.events.executor`). It is sent to executors."""

    def __call__(self, body: bytes, at: dt.datetime, digest: bytes, /) -> Rows:
        """Project an event with its time in the log."""

    def statement_rows(
        self, job: uuid.UUID, outputs: list[tuple[str, str]], body: bytes, first_at: dt.datetime, last_at: dt.datetime
    ) -> Rows:
        """Project a statement below a run of a dbt model."""


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
    follow = settled.COLUMNS.get(merge.table)
    return Table(made.name, StructType([*made.schema.fields, *follow]), made.key) if follow else made


def replay(
    spark: SparkSession,
    archive: str,
    path: str,
    projects: Projects,
    rules: str = "",
    *,
    tables: Collection[str] = (),
    until: dt.datetime | None = None,
    recorded: bool = False,
) -> Replayed:
    """Make the tables (all of MERGES, or those named) of the archive's events that had arrived by `until`, in the store at `path`.

    `rules`: what `projects` depends on, to see that it changed.

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
            told.update(_write_tables(desk, events, projects, merges))

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


def _write_tables(desk: Desk, events: DataFrame, projects: Projects, merges: Sequence[Merge]) -> dict[str, Any]:
    """Write the tables; how many events there were and how many rows there are."""
    wanted = {merge.query: tuple(merge.told) for merge in merges}
    sources = [merge for merge in MERGES if merge.table in settled.SOURCES]
    if any(merge.table in settled.COLUMNS or merge.table in settled.RESTATED for merge in merges):
        wanted |= {merge.query: tuple(merge.told) for merge in sources}
    reading = any(merge.table in _READ for merge in merges)
    read_from = [merge for merge in MERGES if merge.table in _READ_FROM]
    if reading:
        wanted |= {merge.query: tuple(merge.told) for merge in read_from}
    rows = reported = projected(events, projects, wanted).persist()
    counted: dict[str, int] = {}
    try:
        if reading and not _of(reported, "report_statements").isEmpty():
            statements = _statements({merge.table: _merged(merge, reported) for merge in read_from})
            rows = reported.unionByName(_statement_rows(statements, projects, wanted))
        for merge in merges:
            table = _merged(merge, rows)
            if merge.table in settled.COLUMNS or merge.table in settled.RESTATED:
                table = settled.with_settled(merge.table, table, {one.table: _merged(one, rows) for one in sources})
            desk.replace(table_of(merge), table)
            counted[merge.table] = desk.written(table_of(merge)).count()
        return {"events": events.count(), "rows": counted}
    finally:
        reported.unpersist()


def _merged(merge: Merge, rows: DataFrame) -> DataFrame:
    return merge.merged(rows.where(F.col("query") == merge.query))


def _of(rows: DataFrame, table: str) -> DataFrame:
    return rows.where(F.col("query") == next(merge.query for merge in MERGES if merge.table == table))


def _statements(tables: Mapping[str, DataFrame]) -> DataFrame:
    """job_id, outputs, body, first_at, last_at: statements below runs of dbt models whose outputs are known."""
    outputs = (
        tables["report_datasets"]
        .where("direction = 'out'")
        .join(tables["datasets"].withColumnRenamed("id", "dataset_id"), "dataset_id")
        .groupBy("job_id", "report_id")
        .agg(F.collect_set(F.struct("namespace", "name")).alias("outputs"))
    )
    return (
        tables["report_statements"]
        .join(outputs, ["job_id", "report_id"])
        .join(tables["facet_bodies"].withColumnRenamed("id", "body_id"), "body_id")
        .select("job_id", "outputs", "body", "first_at", "last_at")
    )


def _statement_rows(statements: DataFrame, projects: Projects, wanted: Mapping[str, tuple[str, ...]]) -> DataFrame:
    """query, row: of the tables that these statements read."""

    def project(row: Mapping[str, Any]) -> Rows:
        outputs = [(one["namespace"], one["name"]) for one in row["outputs"]]
        times = row["first_at"].astimezone(dt.UTC), row["last_at"].astimezone(dt.UTC)
        return projects.statement_rows(uuid.UUID(row["job_id"]), outputs, row["body"], *times)

    return statements.mapInArrow(_in_batches(project, wanted), _ROW)


def projected(events: DataFrame, projects: Projects, wanted: Mapping[str, tuple[str, ...]]) -> DataFrame:
    """query, row: what each event stands for, a row as JSON by the names of its query; those of a batch that say the same once."""

    def project(event: Mapping[str, Any]) -> Rows:
        return projects(event["body"], event["event_time"].astimezone(dt.UTC), event["digest"])

    return events.select("body", "event_time", "digest").mapInArrow(_in_batches(project, wanted), _ROW)


def _in_batches(
    project: Callable[[Mapping[str, Any]], Rows], wanted: Mapping[str, tuple[str, ...]]
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return a function of Arrow batches to (query, row) that projects each of their rows."""

    def project_batches(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        schema = pa.schema([("query", pa.string()), ("row", pa.string())])
        encoder = msgspec.json.Encoder()
        for batch in batches:
            told: dict[tuple[str, bytes], None] = {}
            for one in batch.to_pylist():
                for query, rows in project(one).items():
                    if names := wanted.get(query):
                        for row in rows:
                            values = dict(zip(names, map(_plain, row), strict=True))
                            told[query, encoder.encode(values)] = None
            texts = [row.decode() for _, row in told]
            yield pa.RecordBatch.from_arrays(
                [pa.array([query for query, _ in told], pa.string()), pa.array(texts, pa.string())], schema=schema
            )

    return project_batches


def _plain(value: Any) -> Any:
    """A value as JSON that Spark reads whole: times as microseconds since 1970; ids and bytes as msgspec writes them."""
    return (value - _EPOCH) // _MICROSECOND if isinstance(value, dt.datetime) else value
