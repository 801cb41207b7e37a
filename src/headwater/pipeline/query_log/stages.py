"""The stages of a sync, each with the tables it reads and writes. The module of each table has the logic; this one connects them.

Per batch: land, shapes, statements, executions, sessions (where temporary tables are made), daily. Over all days, once after the batches:
understood, edges, usage, cost, recurrence, quality, pruning.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import reduce
from typing import Any, Final

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from headwater.pipeline.folder import InputFile
from headwater.pipeline.query_log import declared
from headwater.pipeline.query_log import prices as price_list
from headwater.pipeline.query_log import shapes as shape
from headwater.pipeline.query_log import statements as statement
from headwater.pipeline.query_log import texts as text
from headwater.pipeline.query_log.batch import STATE, Batch
from headwater.pipeline.query_log.cost import cost
from headwater.pipeline.query_log.daily import daily, source_tables
from headwater.pipeline.query_log.declared import EXPORTED, Exports, RetainedTable, Stored, digest
from headwater.pipeline.query_log.edges import column_edges, edges
from headwater.pipeline.query_log.executions import incoming, merged
from headwater.pipeline.query_log.following import SESSIONS, following, has_sessions, quarantined
from headwater.pipeline.query_log.land import CODES, Landed, land
from headwater.pipeline.query_log.object_changes import object_changes
from headwater.pipeline.query_log.pruning import pruning
from headwater.pipeline.query_log.quality import quality
from headwater.pipeline.query_log.quarantine import quarantine
from headwater.pipeline.query_log.reading import slices
from headwater.pipeline.query_log.recurrence import recurrence
from headwater.pipeline.query_log.schema import (
    COLUMN_EDGES,
    COST,
    DAILY,
    EDGES,
    EXECUTIONS,
    LANDED,
    OBJECT_CHANGES,
    PRUNING,
    QUALITY,
    QUARANTINE,
    RECURRENCE,
    REREAD,
    SHAPES,
    STATEMENTS,
    TEXTS,
    TOLD,
    UNDERSTOOD,
    USAGE,
)
from headwater.pipeline.query_log.sources import definitions, source
from headwater.pipeline.query_log.sources.rows import SKIPPED, Rows, named
from headwater.pipeline.query_log.touches import NESTED, newest
from headwater.pipeline.query_log.usage import usage
from headwater.pipeline.query_log.who import Config, who
from headwater.pipeline.stages import Desk, Stage
from headwater.pipeline.tables import Consumed, Table

# In the state: the last stages that have not been done since a table below them changed; days whose runs were not published.
BEHIND: Final = "behind"
UNPUBLISHED: Final = "unpublished"
WATERMARKS: Final = "watermarks"
PRICED: Final = "priced"
# The versions of the inputs besides the log; how often the attribution rules changed; the exports' tables that have rows.
DECLARED: Final = "declared"
WHO_VERSION: Final = "who_version"
_EXPORTED: Final = "exported"
_NEWEST: Final = "newest"
_PARSER: Final = "parser"
LAND: Final = "land"
RUNNABLE: Final = "understood"
"""After this stage, runs can be published."""
# Redshift's texts are in an export of their own, Snowflake's accesses and Databricks's lineage may be, and PostgreSQL logs the end of a statement
# wherever it ends.
SPREAD: Final = frozenset({"databricks", "postgres", "redshift", "snowflake"})


@dataclass(frozen=True, slots=True)
class Settings:
    """Inputs of a sync besides its log. `schemas`: the columns of tables by namespace, where a text does not name them.

    `storage`: sizes of tables. `kept`: tables to retain. `exports`: files in which tools attribute queries.
    """

    prices: price_list.Prices | None = None
    who: Config = field(default_factory=Config)
    schemas: statement.Schemas | None = None
    storage: tuple[Stored, ...] = ()
    kept: tuple[RetainedTable, ...] = ()
    exports: Exports = field(default_factory=Exports)

    def declared(self, spark: SparkSession) -> dict[str, str]:
        """The version of each declared part, in order of application."""
        files = self.exports.version(spark)
        found = {
            "who": "" if self.who == Config() else digest(self.who),
            "exports": files and digest((files, self.who.dbt_namespace, self.who.dbt_names)),
            "schemas": digest(sorted(statement.versions(self.schemas).items())),
            "storage": digest(sorted((one.namespace, one.name, one.size) for one in self.storage)),
            "kept": digest(sorted((one.namespace or "", one.name) for one in self.kept)),
        }
        return {part: version for part, version in found.items() if version}

    def priced(self) -> str:
        """Return the prices that money depends on as text, so that a change of them shows."""
        return "" if self.prices is None else repr(self.prices)


def landing(batch: Batch, files: Sequence[InputFile]) -> Stage:
    """Import these files: landed rows, lines of the ledger, quarantined rows; and store the batch, with the rows of each day, in the state.

    The input is read once, and once more if something in it could not be used.
    """

    def land_files(desk: Desk) -> None:
        read = _read(desk.spark, batch, [file.path for file in files])
        records = Observation()
        counted = Rows(read.together.observe(records, F.count(F.lit(1)).alias("records")))
        found = land(counted, within=_within(batch))
        if desk.alone:  # little to keep, and much to plan twice
            found = Landed(found.together.coalesce(1).persist())
        try:
            land_rows(desk, found, records)
        finally:
            if desk.alone:
                found.together.unpersist()

    def land_rows(desk: Desk, found: Landed, records: Observation) -> None:
        seen = Observation()
        wrong = F.count(F.coalesce("problem", "flaw")).alias("wrong")
        unusable = F.count("problem").alias("unusable")
        code = F.coalesce("problem.code", "flaw.code")
        reasons = [F.count(F.when(code == one, 1)).alias(one) for one in CODES]
        watched = Landed(found.together.observe(seen, wrong, unusable, *reasons))
        desk.replace(LANDED, watched.rows)
        latest = F.date_format(F.max("started_at"), "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX").alias("latest")
        days = desk.written(LANDED).groupBy("day").agg(F.count(F.lit(1)).alias("rows"), latest).collect()
        batch.days = {str(row["day"]): row["rows"] for row in days}
        batch.rows = sum(batch.days.values())
        batch.records = records.get["records"]
        batch.outside = batch.records - batch.rows - seen.get["unusable"]
        batch.skipped = seen.get[SKIPPED]
        batch.reasons = {one: seen.get[one] for one in CODES if one != SKIPPED and seen.get[one]}
        batch.quarantined = quarantine(desk, found.bad) if seen.get["wrong"] > batch.skipped else 0
        marks = desk.state.setdefault(WATERMARKS, {})
        if times := [*(row["latest"] for row in days), *filter(None, [marks.get(batch.source)])]:
            marks[batch.source] = max(times)
        reading = desk.state.get(WHO_VERSION, 0)
        desk.consume(
            Consumed(file.path, file.size, file.modified, batch.source, batch.since, batch.until, reading)
            for file in files
        )
        batch.put(desk.state)

    return Stage(LAND, (QUARANTINE,), (LANDED, QUARANTINE), land_files, more=sum(file.size for file in files))


def _read(spark: SparkSession, batch: Batch, paths: Sequence[str]) -> Rows:
    """The executions of a log, and the definitions beside it."""
    log = [path for path in paths if not definitions.is_definitions(path)]
    beside = [path for path in paths if definitions.is_definitions(path)]
    found = [source(batch.source).read(spark, log, batch.namespace)] if log else []
    if beside:
        space = batch.namespace or "bigquery" * (batch.source == "bigquery")
        found.append(definitions.read(spark, beside, named(space, batch.source, "postgres://host:5432"), batch.source))
    return reduce(Rows.and_, found)


def _within(batch: Batch) -> Column:
    since = F.lit(True) if batch.since is None else F.col("started_at") >= F.lit(datetime.fromisoformat(batch.since))
    until = F.lit(True) if batch.until is None else F.col("started_at") < F.lit(datetime.fromisoformat(batch.until))
    return since & until


def _shapes(desk: Desk) -> None:
    """Texts that were not met before get their shape. A shape whose text is another now is read again."""
    known = desk.read(SHAPES)
    unmet = text.unmet(desk.read(LANDED), desk.read(TEXTS)).persist()
    found = text.identified(unmet, slices=slices(unmet.count())).persist()
    try:
        desk.append(TEXTS, found.select(*TEXTS.columns()))
        desk.replace(SHAPES, shape.shapes(known, found))
    finally:
        found.unpersist()
        unmet.unpersist()
    desk.replace(REREAD, shape.changed(known, desk.written(SHAPES)))


def _statements(settings: Settings) -> Callable[[Desk], None]:
    def parse_statements(desk: Desk) -> None:
        from headwater import __version__

        known, shapes = desk.read(STATEMENTS), desk.read(SHAPES)
        # Another version of the parser may read more: then every shape is read again.
        newer = desk.state.get(_PARSER) not in {None, __version__}
        changed = shapes.select("shape_id") if newer else desk.read(REREAD)
        seen = statement.seen(desk.read(LANDED), desk.read(TEXTS))
        wanted = statement.statements_to_parse(seen, known, changed, settings.schemas).persist()
        parsed = statement.parsed(
            wanted, shapes, settings.schemas, slices=slices(wanted.count()), sessions=has_sessions(desk)
        ).persist()
        try:
            desk.replace(STATEMENTS, statement.statements(known, parsed))
            quarantined(desk, parsed)
        finally:
            parsed.unpersist()
            wanted.unpersist()
        desk.state[_PARSER] = __version__

    return parse_statements


def _executions(batch: Batch, settings: Settings) -> Callable[[Desk], None]:
    def build_executions(desk: Desk) -> None:
        days = batch.touched()
        landed, before = desk.read(LANDED), desk.read(EXECUTIONS, days)
        rows_of_day = None
        if not desk.alone:
            rows_of_day = {date.fromisoformat(day): rows for day, rows in batch.days.items()}
            for row in before.groupBy("day").agg(F.count(F.lit(1)).alias("rows")).collect():
                rows_of_day[row["day"]] += row["rows"]
        is_definition = F.col("query_id").startswith(definitions.DEFINITION)
        # PostgreSQL logs statements inside of functions and triggers with the statement that called them as their parent.
        is_nested = (F.col("source") == "postgres") & F.col("parent_query_id").isNotNull()
        tool = F.when(is_definition, definitions.DEFINITION).when(is_nested, NESTED).otherwise(F.col("tool"))
        asked_by = who(landed, settings.who).withColumn("tool", tool)
        arrived = incoming(asked_by, desk.read(TEXTS), desk.state.get(WHO_VERSION, 0))
        known = _with_exports(desk, merged(before, arrived, landed, rows_of_day))
        desk.replace(EXECUTIONS, _priced(known, settings), days)

    return build_executions


def _with_exports(desk: Desk, executions: DataFrame) -> DataFrame:
    present = desk.state.get(_EXPORTED, [])
    tables = {table.name: desk.read(table) for table in EXPORTED if table.name in present}
    return declared.with_exports(executions, tables, present)


def _priced(executions: DataFrame, settings: Settings) -> DataFrame:
    money = F.lit(None) if settings.prices is None else price_list.money(settings.prices)
    return executions.withColumn("money", money.cast("double"))


def _sums(days: Collection[date]) -> Callable[[Desk], None]:
    def sum_days(desk: Desk) -> None:
        _summed(desk, desk.read(EXECUTIONS, days), days)

    return sum_days


def _summed(desk: Desk, executions: DataFrame, days: Collection[date]) -> None:
    desk.replace(DAILY, daily(executions), days)
    desk.replace(TOLD, source_tables(executions), days)
    _all_behind(desk, days)


def _all_behind(desk: Desk, days: Collection[date]) -> None:
    """Mark all roll-ups to be computed again, and the runs of these days to be published again."""
    desk.state[BEHIND] = [stage.name for stage in final_stages(Settings())]
    desk.state[UNPUBLISHED] = sorted({*desk.state.get(UNPUBLISHED, []), *(str(day) for day in days)})


def batch_stages(batch: Batch, settings: Settings) -> tuple[Stage, ...]:
    """The stages of a batch after it landed, in their order."""
    days = batch.touched()
    return (
        Stage("shapes", (LANDED, TEXTS, SHAPES), (TEXTS, SHAPES, REREAD), _shapes, more=0),
        Stage(
            "statements",
            (LANDED, TEXTS, SHAPES, STATEMENTS, REREAD, QUARANTINE),
            (STATEMENTS, QUARANTINE),
            _statements(settings),
            more=0,
        ),
        Stage(
            "executions", (LANDED, TEXTS, EXECUTIONS, *EXPORTED), (EXECUTIONS,), _executions(batch, settings), days, 0
        ),
        Stage(
            SESSIONS,
            (EXECUTIONS, STATEMENTS, SHAPES, QUARANTINE),
            (EXECUTIONS, STATEMENTS, QUARANTINE),
            following(batch, settings.schemas),
            None,
            0,
        ),
        Stage("daily", (EXECUTIONS,), (DAILY, TOLD), _sums(days), days, 0),
    )


def repricing(days: Collection[date], settings: Settings) -> tuple[Stage, ...]:
    """The stages after a change of prices: all days' money, and what is summed of it."""

    def price_executions(desk: Desk) -> None:
        desk.replace(EXECUTIONS, _priced(desk.read(EXECUTIONS), settings))

    return (
        Stage("prices", (EXECUTIONS,), (EXECUTIONS,), price_executions, more=0),
        Stage("daily", (EXECUTIONS,), (DAILY, TOLD), _sums(days), more=0),
    )


def redoing(part: str, settings: Settings) -> Stage:
    """The stage after a change of a part of the declarations (`Settings.declared`): tables that depend on it are made again or marked as behind."""

    def schemas(desk: Desk) -> None:
        known, shapes = desk.read(STATEMENTS), desk.read(SHAPES)
        if known.isEmpty():
            return
        nowhere = known.limit(0).withColumn("source", F.lit(None).cast("string"))
        wanted = statement.statements_to_parse(
            nowhere, known, shapes.select("shape_id").limit(0), settings.schemas
        ).persist()
        parsed = statement.parsed(
            wanted, shapes, settings.schemas, slices=slices(wanted.count()), sessions=has_sessions(desk)
        ).persist()
        try:
            desk.replace(STATEMENTS, statement.statements(known, parsed))
            quarantine(desk, statement.bad(parsed))
        finally:
            parsed.unpersist()
            wanted.unpersist()
        _all_behind(desk, desk.days(EXECUTIONS))

    def exports(desk: Desk) -> None:
        executions = desk.read(EXECUTIONS)
        days: set[date] = set()
        for table, given in declared.exported(desk.spark, settings.exports, settings.who).items():
            known = desk.read(table)
            desk.replace(table, declared.together(known, given, table))
            fresh = desk.written(table).subtract(known)
            days.update(row["day"] for row in declared.touched(executions, table, fresh).collect())
            desk.state[_EXPORTED] = sorted({*desk.state.get(_EXPORTED, []), table.name})
        if not days:
            return
        present = desk.state[_EXPORTED]
        tables = {table.name: desk.written(table) for table in EXPORTED}
        desk.replace(EXECUTIONS, declared.with_exports(desk.read(EXECUTIONS, days), tables, present), days)
        _summed(desk, desk.written(EXECUTIONS, days), days)

    def who(desk: Desk) -> None:
        # Comments and tags are not kept: the files are read again, and what they say now stands.
        desk.state[WHO_VERSION] = desk.state.get(WHO_VERSION, 0) + 1

    def behind(*stages: str) -> Callable[[Desk], None]:
        def mark_behind(desk: Desk) -> None:
            every = [stage.name for stage in final_stages(Settings())]
            desk.state[BEHIND] = [name for name in every if name in {*desk.state.get(BEHIND, []), *stages}]

        return mark_behind

    if part == "schemas":
        return Stage(part, (STATEMENTS, SHAPES, QUARANTINE, EXECUTIONS), (STATEMENTS, QUARANTINE), schemas, more=0)
    if part == "exports":
        return Stage(part, (EXECUTIONS, *EXPORTED), (*EXPORTED, EXECUTIONS, DAILY, TOLD), exports)
    known = {"who": who, "storage": behind("cost", "pruning"), "kept": behind("pruning")}
    return Stage(part, (), (), known[part])


def final_stages(settings: Settings) -> tuple[Stage, ...]:
    """Return the stages that recompute over all days. After the first of them everything is there that is published of runs."""

    def understood(desk: Desk) -> None:
        known = desk.read(STATEMENTS)
        if has_sessions(desk):
            # A statement that is read in its sessions alone says nothing without one.
            known = known.join(
                desk.read(DAILY).select("namespace", "shape_id", "place").distinct(),
                ["namespace", "shape_id", "place"],
                "left_semi",
            )
        desk.replace(UNDERSTOOD, statement.with_source_tables(known, desk.read(TOLD)))
        # The time that the measures are as of, looked up once.
        at = newest(desk.read(DAILY))
        desk.state[_NEWEST] = None if at is None else at.isoformat()

    def as_of(desk: Desk) -> datetime | None:
        at = desk.state.get(_NEWEST)
        return datetime.fromisoformat(at) if at else None

    def lineage(desk: Desk) -> None:
        desk.replace(EDGES, edges(desk.read(UNDERSTOOD), desk.read(DAILY)))
        desk.replace(COLUMN_EDGES, column_edges(desk.read(UNDERSTOOD), desk.read(DAILY)))

    def table_stage(table: Table, make: Callable[[DataFrame, DataFrame, datetime | None], DataFrame]) -> Stage:
        def replace_table(desk: Desk) -> None:
            desk.replace(table, make(desk.read(DAILY), desk.read(UNDERSTOOD), as_of(desk)))

        return Stage(table.name, (DAILY, UNDERSTOOD), (table,), replace_table, more=0)

    def rhythms(desk: Desk) -> None:
        desk.replace(RECURRENCE, recurrence(desk.read(DAILY), as_of(desk)))

    def quality_of(desk: Desk) -> None:
        desk.replace(QUALITY, quality(desk.read(DAILY), desk.read(STATEMENTS), desk.read(TOLD), desk.read(QUARANTINE)))

    def changed(desk: Desk) -> None:
        desk.replace(OBJECT_CHANGES, object_changes(desk.read(EXECUTIONS), desk.read(UNDERSTOOD), desk.read(SHAPES)))

    listed = settings.prices

    def sizes(rows: DataFrame) -> DataFrame | None:
        return declared.storage(rows.sparkSession, settings.storage)

    def costs(rows: DataFrame, statements: DataFrame, at: datetime | None) -> DataFrame:
        return cost(rows, statements, at, storage=sizes(rows), price_list=listed)

    def advised(desk: Desk) -> None:
        rows, statements, at = desk.read(DAILY), desk.read(UNDERSTOOD), as_of(desk)
        kept, changes = declared.retained_datasets(statements, settings.kept), desk.read(OBJECT_CHANGES)
        desk.replace(PRUNING, pruning(rows, statements, at, None, sizes(rows), listed, kept, changes))

    return (
        Stage(RUNNABLE, (STATEMENTS, TOLD, DAILY), (UNDERSTOOD,), understood, more=0),
        Stage("edges", (DAILY, UNDERSTOOD), (EDGES, COLUMN_EDGES), lineage, more=0),
        table_stage(USAGE, usage),
        table_stage(COST, costs),
        Stage("recurrence", (DAILY,), (RECURRENCE,), rhythms, more=0),
        Stage("quality", (DAILY, STATEMENTS, TOLD, QUARANTINE), (QUALITY,), quality_of, more=0),
        Stage(OBJECT_CHANGES.name, (EXECUTIONS, UNDERSTOOD, SHAPES), (OBJECT_CHANGES,), changed, more=0),
        Stage(PRUNING.name, (DAILY, UNDERSTOOD, OBJECT_CHANGES), (PRUNING,), advised, more=0),
    )


def done(stage: str, batch: Batch | None, last: bool) -> Callable[[dict[str, Any]], None]:
    """Return the change of the state once the stage is committed: the batch has done it, and after its last stage there is no batch any
    more."""

    def note(state: dict[str, Any]) -> None:
        if batch is None:
            state[BEHIND] = [name for name in state.get(BEHIND, []) if name != stage]
        elif last:
            state.pop(STATE, None)
        elif now := Batch.of(state):
            now.done.append(stage)
            now.put(state)

    return note


def wants_all_files(name: str) -> bool:
    """Return whether an execution of the source may be spread over files, so that all new ones must be read together."""
    return name in SPREAD
