"""Query shapes that run again and again: when each is expected next, and which runs were missing or came unexpected.

As the query-log pipeline reported it in `headwater_recurrence` facets, measured against the newest time of its log and
not against today.
"""

import datetime as dt
from collections.abc import Sequence

import msgspec

from headwater.answer.lineage.find import node_row
from headwater.answer.lineage.node import short_job
from headwater.answer.lineage.sorting import Page, checked
from headwater.answer.usage.fields import shared_fields
from headwater.errors import InvalidQuestion
from headwater.model import measured
from headwater.store.database import Database
from headwater.store.history import facets as facet_store
from headwater.store.usage import recurrence as store

CLASSES = ("recurring", "ad_hoc", "one_off")
SORTS = ("missing", "unexpected", "executions", "period", "expected_next", "last", "confidence", "name")
_UPWARDS = ("name", "period", "expected_next")


class Rhythm(msgspec.Struct, kw_only=True):
    """A query shape. `period_seconds`, `runs_per_period`, `expected_next_at`: null for one without a rhythm. `retired`: it had one and was given up.

    `missing`, `unexpected`: runs; `missing_at`, `unexpected_at`: when, the newest of them. `confidence`: from 0 to 1, that it is what `class` says.
    """

    id: str
    namespace: str
    name: str
    label: str
    class_: str = msgspec.field(name="class")
    executions: int
    period_seconds: int | None
    runs_per_period: int | None
    first_at: dt.datetime | None
    last_at: dt.datetime | None
    expected_next_at: dt.datetime | None
    missing: int
    unexpected: int
    missing_at: list[dt.datetime]
    unexpected_at: list[dt.datetime]
    retired: bool
    confidence: float
    measured_at: dt.datetime


class RecurrenceTotals(msgspec.Struct, kw_only=True):
    """The counts of all shapes that were asked for, not of this page alone."""

    by_class: dict[str, int]
    executions: int
    missing: int
    unexpected: int


class Recurrence(msgspec.Struct):
    """`measured_at`: when a log was read last; null if none was."""

    measured_at: dt.datetime | None
    total: int
    totals: RecurrenceTotals
    shapes: list[Rhythm]


async def recurrence(
    database: Database,
    page: Page,
    *,
    node: str | None = None,
    namespace: str | None = None,
    classes: Sequence[str] = (),
    missing: bool = False,
) -> Recurrence:
    """Return shapes by whether their runs came: of any of these classes, or only those with missing runs."""
    for kind in classes:
        checked(kind, CLASSES, "class")
    sort, descending = page.sorted_by(SORTS, _UPWARDS)
    async with database.snapshot() as connection:
        row = None if node is None else await node_row(connection, node)
        if row is not None and row.type != "JOB":
            raise InvalidQuestion(f"{row.node_id} is no job", parameter="node")
        wanted = store.Wanted(row.id if row else None, namespace, tuple(classes) or None, missing)
        rows = await store.page(
            connection, wanted, sort=sort, descending=descending, limit=page.limit, offset=page.offset
        )
        told = await store.totals(connection, wanted)
        # Times are not projected: they are only ever looked at, a page at a time.
        bodies = await facet_store.of_owners(connection, {one.id for one in rows}, [measured.RECURRENCE])
    shapes = []
    for one in rows:
        body = bodies.get(one.id, {}).get(measured.RECURRENCE)
        shapes.append(_recurrence_view(one, one.recurrence if body is None else measured.recurrence(body)))
    return Recurrence(
        max((one.at for one in told), default=None),
        sum(one.shapes for one in told),
        RecurrenceTotals(
            by_class=dict.fromkeys(CLASSES, 0) | {one.kind: one.shapes for one in told},
            executions=sum(one.executions for one in told),
            missing=sum(one.missing for one in told),
            unexpected=sum(one.unexpected for one in told),
        ),
        shapes,
    )


def _recurrence_view(row: store.RecurrenceRow, facet: measured.Recurrence) -> Rhythm:
    return Rhythm(
        **shared_fields(Rhythm, facet), id=f"job:{row.namespace}:{row.name}", namespace=row.namespace, name=row.name,
        label=short_job(row.name), measured_at=row.at,
    )  # fmt: skip
