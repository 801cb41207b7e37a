"""The measurement facets of the query-log pipeline: usage, cost, recurrence, pruning, changes of objects, query counts and lineage quality.

Facets of datasets (`headwater_usage`, `headwater_cost`, `headwater_pruning`, `headwater_changes`) and of jobs (`headwater_cost`,
`headwater_recurrence`,
`headwater_queries`, `headwater_quality`); docs/reference/facets.md has their JSON schemas. Each function takes a raw body and returns plain
values, or raises `msgspec.ValidationError`. An absent value is unknown (None) or zero; unknown fields are ignored.
"""

import datetime as dt
from typing import Annotated, TypeVar

import msgspec

from headwater.model.facets import clean
from headwater.model.moments import aware
from headwater.model.names import LONGEST, bounded

USAGE, COST, RECURRENCE = "headwater_usage", "headwater_cost", "headwater_recurrence"
PRUNING, QUERIES, QUALITY = "headwater_pruning", "headwater_queries", "headwater_quality"
CHANGES = "headwater_changes"

# A count must fit PostgreSQL's bigint.
Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
# Milliseconds, with the fraction that the log has.
Millis = Annotated[float, msgspec.Meta(ge=0)]
# The most items that are read of a list inside a facet.
MOST = 10_000
# Longer limit for texts that are not indexed.
_WORDS, _IN_WORDS = 20_000, frozenset({"reason", "evidence", "statement"})

T = TypeVar("T", bound=msgspec.Struct)


class Reader(msgspec.Struct, rename="camel", omit_defaults=True):
    """A reader of a dataset, with the number of reads. `kind`: person, service, bi, pipeline or unknown."""

    actor: str
    kind: str = "unknown"
    reads: Count = 0
    last_read_at: dt.datetime | None = None


class Usage(msgspec.Struct, rename="camel", omit_defaults=True):
    """Queries that read and wrote a dataset. `status`: active, stale, one_off, unread or dropped.

    `top_readers`: the most frequent readers, most reads first."""

    reads: Count = 0
    writes: Count = 0
    reads_by_people: Count = 0
    reads_by_services: Count = 0
    reads_by_bi: Count = 0
    reads_by_pipelines: Count = 0
    reads_by_unknown: Count = 0
    distinct_readers: Count = 0
    distinct_people: Count = 0
    last_read_at: dt.datetime | None = None
    last_read_by_person_at: dt.datetime | None = None
    last_read_by_service_at: dt.datetime | None = None
    last_read_by_bi_at: dt.datetime | None = None
    last_read_by_pipeline_at: dt.datetime | None = None
    last_written_at: dt.datetime | None = None
    first_seen_at: dt.datetime | None = None
    active_days: Count = 0
    status: str = "unread"
    top_readers: list[Reader] = []


class Spent(msgspec.Struct, rename="camel", omit_defaults=True):
    """The cost of executions. `money`: in the currency of the declared prices. `share`: of the total, 0 to 1."""

    executions: Count = 0
    money: float | None = None
    bytes_billed: Count | None = None
    slot_ms: Millis | None = None
    duration_ms: Millis | None = None
    credits: float | None = None
    share: float | None = None


class Driver(Spent, kw_only=True):
    """The cost of one user or tool."""

    grain: str
    key: str


class Cost(Spent, kw_only=True):
    """The cost of a dataset (grain `table`), a query shape (`shape`), an Airflow `task`, a dbt `model`, or of a warehouse's whole `log`.

    `keep_month`: the money that storing a dataset costs each month, not included in the rest. `drivers`: for a log, the cost of its users and tools,
    the most expensive first; `hidden_drivers` more are left out.
    """

    grain: str = ""
    keep_month: float | None = None
    drivers: list[Driver] = []
    hidden_drivers: Count = 0


class Recurrence(msgspec.Struct, rename="camel", omit_defaults=True):
    """The recurrence of a query shape. `class_`: recurring, ad_hoc or one_off. `missing`, `unexpected`: runs, by its rhythm; `missing_at`,
    `unexpected_at`: the newest of them. `retired`: it had a rhythm and no longer runs.
    """

    class_: str = msgspec.field(name="class")
    executions: Count = 0
    period_seconds: Count | None = None
    runs_per_period: Count | None = None
    first_at: dt.datetime | None = None
    last_at: dt.datetime | None = None
    expected_next_at: dt.datetime | None = None
    missing: Count = 0
    unexpected: Count = 0
    missing_at: list[dt.datetime] = []
    unexpected_at: list[dt.datetime] = []
    retired: bool = False
    confidence: float = 0.0


class Pruning(msgspec.Struct, rename="camel", omit_defaults=True):
    """A dataset that can be removed. `wave`: from 1; remove it after the datasets of earlier waves. `money_month`: the monthly saving."""

    wave: Count
    reason: str = ""
    money_month: float | None = None
    evidence: str = ""
    confidence: float = 0.0


class ObjectChange(msgspec.Struct, rename="camel", omit_defaults=True):
    """A change of a dataset itself by a statement of a query log: `executions` times from `first_at` to `last_at`.

    `action`: created, dropped, renamed_from, renamed_to, swapped (with `other`), added, dropped_column, renamed_column, retyped (`column`, `to`),
    altered or undropped. `conditional`: it was asked for IF (NOT) EXISTS, and may have changed nothing. `branch`: it stands in a branch of a script,
    and may not have run. `statement`: without its literals.
    """

    first_at: dt.datetime
    action: str
    column: str | None = None
    to: str | None = None
    other: str | None = None
    conditional: bool = False
    branch: bool = False
    last_at: dt.datetime | None = None
    executions: Count = 1
    actor: str | None = None
    actor_kind: str | None = None
    job_name: str | None = None
    query_id: str | None = None
    statement: str | None = None


class ObjectChanges(msgspec.Struct, rename="camel", omit_defaults=True):
    """The changes of a dataset in their order, the newest 300; `left_out` older ones are not listed."""

    items: list[ObjectChange] = []
    left_out: Count = 0


class Used(msgspec.Struct, rename="camel", omit_defaults=True):
    """A tool that ran a query. `asset`: the part of the tool, such as a dashboard or a question."""

    tool: str
    asset: str | None = None
    name: str | None = None
    executions: Count = 0


class Actor(msgspec.Struct, rename="camel", omit_defaults=True):
    """A user or service that ran a query."""

    actor: str
    kind: str = "unknown"
    executions: Count = 0


class Queries(msgspec.Struct, rename="camel", omit_defaults=True):
    """The executions of a query shape: counts, times and volumes. For a run: its single execution, with the warehouse's query id."""

    executions: Count = 0
    failures: Count = 0
    first_at: dt.datetime | None = None
    last_at: dt.datetime | None = None
    duration_ms: Millis | None = None
    queued_ms: Millis | None = None
    rows_read: Count | None = None
    rows_written: Count | None = None
    bytes_read: Count | None = None
    bytes_billed: Count | None = None
    bytes_written: Count | None = None
    slot_ms: Millis | None = None
    cpu_ms: Millis | None = None
    credits: float | None = None
    money: float | None = None
    cache_hit: bool | None = None
    level: str | None = None
    actor: str | None = None
    actor_kind: str | None = None
    user: str | None = None
    last_query_id: str | None = None
    actors: list[Actor] = []
    tools: list[Used] = []


class QualityDay(msgspec.Struct, rename="camel", omit_defaults=True):
    """The counts of a day's statements of a dialect, by how well they were parsed.

    `*_shapes` count distinct query shapes, `*_executions` their executions. `full`: parsed completely; `partial`: parsed in part; `tables`: only
    tables found; `nothing`: not parsed; `idle`: parsed completely, touches no table; `textless`: the log has no text. `quarantined`: unusable rows,
    by code. `named_*`: executions for which the log itself names tables; those that agree with the text, and those with a table that the text lacks.
    """

    day: dt.date
    dialect: str = ""
    shapes: Count = 0
    full_shapes: Count = 0
    partial_shapes: Count = 0
    tables_shapes: Count = 0
    nothing_shapes: Count = 0
    idle_shapes: Count = 0
    executions: Count = 0
    full_executions: Count = 0
    partial_executions: Count = 0
    tables_executions: Count = 0
    nothing_executions: Count = 0
    idle_executions: Count = 0
    textless_executions: Count = 0
    unresolved: Count = 0
    quarantined: Count = 0
    quarantined_by: dict[str, Count] = {}
    named_executions: Count = 0
    named_agreed: Count = 0
    named_only: Count = 0
    parsed_only: Count = 0


class _RecordedDay(QualityDay, rename="camel", omit_defaults=True):
    """A day as Headwater recorded it before the `named_*` fields had their names."""

    told_executions: Count = 0
    told_agreed: Count = 0
    told_only: Count = 0


class _RecordedQuality(msgspec.Struct):
    days: list[_RecordedDay] = []


class Quality(msgspec.Struct):
    """Days of a warehouse's log. The values of a day and dialect apply until a later facet replaces them."""

    days: list[QualityDay] = []


_usage = msgspec.json.Decoder(Usage)
_cost = msgspec.json.Decoder(Cost)
_recurrence = msgspec.json.Decoder(Recurrence)
_pruning = msgspec.json.Decoder(Pruning)
_queries = msgspec.json.Decoder(Queries)
_quality = msgspec.json.Decoder(_RecordedQuality)
_changes = msgspec.json.Decoder(ObjectChanges)


def usage(body: bytes) -> Usage:
    """A `headwater_usage` facet."""
    read = _cleaned(_usage.decode(body))
    return msgspec.structs.replace(read, top_readers=[_cleaned(one) for one in read.top_readers[:MOST]])


def cost(body: bytes) -> Cost:
    """A `headwater_cost` facet."""
    read = _cleaned(_cost.decode(body))
    return msgspec.structs.replace(read, drivers=[_cleaned(one) for one in read.drivers[:MOST]])


def recurrence(body: bytes) -> Recurrence:
    """A `headwater_recurrence` facet."""
    return _cleaned(_recurrence.decode(body))


def pruning(body: bytes) -> Pruning:
    """A `headwater_pruning` facet."""
    return _cleaned(_pruning.decode(body))


def object_changes(body: bytes) -> ObjectChanges:
    """A `headwater_changes` facet."""
    read = _changes.decode(body)
    return ObjectChanges([_cleaned(one) for one in read.items[:MOST]], read.left_out)


def queries(body: bytes) -> Queries:
    """A `headwater_queries` facet."""
    read = _cleaned(_queries.decode(body))
    return msgspec.structs.replace(
        read, actors=[_cleaned(one) for one in read.actors[:MOST]], tools=[_cleaned(one) for one in read.tools[:MOST]]
    )


def quality(body: bytes) -> Quality:
    """A `headwater_quality` facet."""
    return Quality([_quality_day(_cleaned(day)) for day in _quality.decode(body).days[:MOST]])


def _quality_day(day: _RecordedDay) -> QualityDay:
    values = {name: getattr(day, name) for name in QualityDay.__struct_fields__}
    for name in ("executions", "agreed", "only"):
        values[f"named_{name}"] = values[f"named_{name}"] or getattr(day, f"told_{name}")
    values["quarantined_by"] = {clean(code): rows for code, rows in day.quarantined_by.items()}
    return QualityDay(**values)


def _cleaned(read: T) -> T:
    """Make texts storable and indexable by PostgreSQL, and convert times to UTC (without a zone, they are UTC)."""
    changes: dict[str, object] = {}
    for name in read.__struct_fields__:
        value = getattr(read, name)
        if isinstance(value, str):
            changes[name] = bounded(clean(value), _WORDS if name in _IN_WORDS else LONGEST)
        elif isinstance(value, dt.datetime):
            try:
                changes[name] = aware(value).astimezone(dt.UTC)
            except OverflowError as error:
                raise msgspec.ValidationError(f"{value.isoformat()} is no time in UTC") from error
    return msgspec.structs.replace(read, **changes)
