"""Project measurement facets of datasets and jobs: usage, cost, recurrence, pruning, query counts, lineage quality. Pure.

`model.measured` decodes the facets. Each applies until a later event replaces or deletes it (`_deleted`); the order and repetition of events
change nothing. The facets are also stored as facets, with their history; these rows can be sorted and summed.
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
    """Add the rows of a dataset's facets. `add` takes the name of a statement of projections.sql and its columns."""
    for name in sorted(_OF_DATASET.keys() & facets.keys()):
        _add_rows(_OF_DATASET[name], add, warn, name, dataset, bytes(facets[name]), at, digest)


def of_job(add: Add, warn: Warn, job: uuid.UUID, facets: Facets, at: dt.datetime, digest: bytes) -> None:
    """Add the rows of a job's facets."""
    for name in sorted(_OF_JOB.keys() & facets.keys()):
        _add_rows(_OF_JOB[name], add, warn, name, job, bytes(facets[name]), at, digest)


def _add_rows(
    projection: tuple[Callable[[bytes], Any], Any, Callable[[Add, _Head, Any], None]],
    add: Add,
    warn: Warn,
    name: str,
    owner: uuid.UUID,
    body: bytes,
    at: dt.datetime,
    digest: bytes,
) -> None:
    decode, empty, write = projection
    deleted = is_deleted(body)
    try:
        values = empty if deleted else decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        warn(f"facets.{name}", str(error)[:300])
        return
    write(add, (owner, at, digest, version.content_id(body), deleted), values)


def _json(value: object) -> str:
    return msgspec.json.encode(value, order="deterministic").decode()


def _usage(add: Add, head: _Head, facet: measured.Usage) -> None:
    add(
        "upsert_usage", *head, facet.reads, facet.writes, facet.reads_by_people, facet.reads_by_services, facet.reads_by_bi, facet.reads_by_pipelines,
        facet.reads_by_unknown, facet.distinct_readers, facet.distinct_people, facet.last_read_at, facet.last_read_by_person_at,
        facet.last_written_at, facet.first_seen_at, facet.active_days, facet.status, _json(facet.top_readers),
    )  # fmt: skip


def _cost(grain: str) -> Callable[[Add, _Head, measured.Cost], None]:
    def write(add: Add, head: _Head, cost: measured.Cost) -> None:
        add(
            "upsert_costs", *head, cost.grain or grain, cost.executions, cost.money, cost.bytes_billed, cost.slot_ms, cost.duration_ms,
            cost.credits, cost.share, cost.keep_month, _json(cost.drivers), cost.hidden_drivers,
        )  # fmt: skip

    return write


def _recurrence(add: Add, head: _Head, facet: measured.Recurrence) -> None:
    add(
        "upsert_recurrence", *head, facet.class_, facet.executions, facet.period_seconds, facet.first_at, facet.last_at, facet.expected_next_at,
        facet.missing, facet.unexpected, facet.confidence,
    )  # fmt: skip


def _pruning(add: Add, head: _Head, pruning: measured.Pruning) -> None:
    add(
        "upsert_pruning", *head, pruning.wave, pruning.reason, pruning.money_month, pruning.evidence, pruning.confidence
    )


def _queries(add: Add, head: _Head, queries: measured.Queries) -> None:
    add(
        "upsert_query_counts", *head, queries.executions, queries.failures, queries.first_at, queries.last_at, queries.level, queries.last_query_id,
        _json(queries.actors), _json(queries.tools),
    )  # fmt: skip


def _quality(add: Add, head: _Head, quality: measured.Quality) -> None:
    """A day that a later facet leaves out keeps its values, even if that facet is deleted."""
    job, at, digest, body, _ = head
    for day in {(day.day, day.dialect): day for day in quality.days}.values():
        add(
            "upsert_lineage_quality", job, day.day.isoformat(), day.dialect, at, digest, body, day.shapes, day.full_shapes, day.partial_shapes,
            day.tables_shapes, day.nothing_shapes, day.idle_shapes, day.executions, day.full_executions, day.partial_executions,
            day.tables_executions, day.nothing_executions, day.idle_executions, day.textless_executions, day.unresolved, day.quarantined,
            _json({clean(code): rows for code, rows in day.quarantined_by.items()}), day.told_executions, day.told_agreed, day.told_only,
            day.parsed_only,
        )  # fmt: skip


# Facet → its decoder, its values when it is deleted, and the writer of its rows.
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
