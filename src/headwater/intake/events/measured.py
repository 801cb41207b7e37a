"""What an event says was measured of its datasets and its job: usage, cost, recurrence, pruning, counts of queries, quality of lineage. Pure.

The facets are `model.measured`'s. Each stands until a later event says it again, or takes it back (`_deleted`); which events are heard in which
order, and how often, changes nothing. They are kept as facets too, with their history; these rows are what can be sorted and summed.
"""

import datetime as dt
import uuid
from collections.abc import Callable
from typing import Any

import msgspec

from headwater.intake.events.facets import is_deleted
from headwater.model import measured, version
from headwater.model.event import Facets
from headwater.model.facets import clean
from headwater.model.measured import COST, PRUNING, QUALITY, QUERIES, RECURRENCE, USAGE

Add = Callable[..., None]
Warn = Callable[[str, str], None]
_Head = tuple[uuid.UUID, dt.datetime, bytes, uuid.UUID, bool]


def of_dataset(add: Add, warn: Warn, dataset: uuid.UUID, facets: Facets, at: dt.datetime, digest: bytes) -> None:
    """Rows of a dataset's facets. `add` takes the name of a statement of projections.sql and its columns."""
    for name in sorted(_OF_DATASET.keys() & facets.keys()):
        _told(_OF_DATASET[name], add, warn, name, dataset, bytes(facets[name]), at, digest)


def of_job(add: Add, warn: Warn, job: uuid.UUID, facets: Facets, at: dt.datetime, digest: bytes) -> None:
    """Rows of a job's facets."""
    for name in sorted(_OF_JOB.keys() & facets.keys()):
        _told(_OF_JOB[name], add, warn, name, job, bytes(facets[name]), at, digest)


def _told(
    rows: tuple[Callable[[bytes], Any], Any, Callable[[Add, _Head, Any], None]],
    add: Add,
    warn: Warn,
    name: str,
    owner: uuid.UUID,
    body: bytes,
    at: dt.datetime,
    digest: bytes,
) -> None:
    read, nothing, write = rows
    gone = is_deleted(body)
    try:
        told = nothing if gone else read(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        warn(f"facets.{name}", str(error)[:300])
        return
    write(add, (owner, at, digest, version.content_id(body), gone), told)


def _json(value: object) -> str:
    return msgspec.json.encode(value, order="deterministic").decode()


def _usage(add: Add, head: _Head, told: measured.Usage) -> None:
    add(
        "upsert_usage", *head, told.reads, told.writes, told.reads_by_people, told.reads_by_services, told.reads_by_bi, told.reads_by_pipelines,
        told.reads_by_unknown, told.distinct_readers, told.distinct_people, told.last_read_at, told.last_read_by_person_at, told.last_written_at,
        told.first_seen_at, told.active_days, told.status, _json(told.top_readers),
    )  # fmt: skip


def _cost(grain: str) -> Callable[[Add, _Head, measured.Cost], None]:
    def write(add: Add, head: _Head, told: measured.Cost) -> None:
        add(
            "upsert_costs", *head, told.grain or grain, told.executions, told.money, told.bytes_billed, told.slot_ms, told.duration_ms,
            told.credits, told.share, told.keep_month, _json(told.drivers), told.hidden_drivers,
        )  # fmt: skip

    return write


def _recurrence(add: Add, head: _Head, told: measured.Recurrence) -> None:
    add(
        "upsert_recurrence", *head, told.class_, told.executions, told.period_seconds, told.first_at, told.last_at, told.expected_next_at,
        told.missing, told.unexpected, told.confidence,
    )  # fmt: skip


def _pruning(add: Add, head: _Head, told: measured.Pruning) -> None:
    add("upsert_pruning", *head, told.wave, told.reason, told.money_month, told.evidence, told.confidence)


def _queries(add: Add, head: _Head, told: measured.Queries) -> None:
    add(
        "upsert_query_counts", *head, told.executions, told.failures, told.first_at, told.last_at, told.level, told.last_query_id,
        _json(told.actors), _json(told.tools),
    )  # fmt: skip


def _quality(add: Add, head: _Head, told: measured.Quality) -> None:
    """Days that are not told again stay as they are, also when the facet is taken back."""
    job, at, digest, body, _ = head
    for one in {(one.day, one.dialect): one for one in told.days}.values():
        add(
            "upsert_lineage_quality", job, one.day.isoformat(), one.dialect, at, digest, body, one.shapes, one.full_shapes, one.partial_shapes,
            one.tables_shapes, one.nothing_shapes, one.idle_shapes, one.executions, one.full_executions, one.partial_executions,
            one.tables_executions, one.nothing_executions, one.idle_executions, one.textless_executions, one.unresolved, one.quarantined,
            _json({clean(code): rows for code, rows in one.quarantined_by.items()}), one.told_executions, one.told_agreed, one.told_only,
            one.parsed_only,
        )  # fmt: skip


# Facet → how it is read, what it says when it is taken back, its rows.
_OF_DATASET: dict[str, tuple[Callable[[bytes], Any], Any, Callable[[Add, _Head, Any], None]]] = {
    USAGE: (measured.usage, measured.Usage(), _usage),
    COST: (measured.cost, measured.Cost(), _cost("table")),
    PRUNING: (measured.pruning, measured.Pruning(0), _pruning),
}
_OF_JOB: dict[str, tuple[Callable[[bytes], Any], Any, Callable[[Add, _Head, Any], None]]] = {
    COST: (measured.cost, measured.Cost(), _cost("shape")),
    RECURRENCE: (measured.recurrence, measured.Recurrence(""), _recurrence),
    QUERIES: (measured.queries, measured.Queries(), _queries),
    QUALITY: (measured.quality, measured.Quality(), _quality),
}
