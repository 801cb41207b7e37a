"""The recurrence of query shapes, as the query-log pipeline reported it."""

import datetime as dt
import uuid
from collections.abc import Collection

import msgspec

from headwater.model.measured import Recurrence
from headwater.store import sqlfile
from headwater.store.database import Connection
from headwater.store.usage.measured import RECURRENCE


class RecurrenceRow(msgspec.Struct, frozen=True):
    """One query shape's job. `at`: the event that reported it last. The facet has its stored fields only."""

    id: uuid.UUID
    namespace: str
    name: str
    at: dt.datetime
    recurrence: Recurrence


class ClassTotal(msgspec.Struct, frozen=True):
    """The totals of all shapes of a class that were asked for."""

    kind: str
    shapes: int
    executions: int
    missing: int
    unexpected: int
    at: dt.datetime


class Wanted(msgspec.Struct, frozen=True):
    """A filter of shapes: one job, a namespace, classes, only those with missing runs."""

    id: uuid.UUID | None = None
    namespace: str | None = None
    classes: Collection[str] | None = None
    missing: bool = False

    def parameters(self) -> dict[str, object]:
        return {
            "id": self.id,
            "namespace": self.namespace,
            "classes": None if self.classes is None else list(self.classes),
            "missing": self.missing,
        }


async def page(
    connection: Connection, wanted: Wanted, *, sort: str, descending: bool, limit: int, offset: int
) -> list[RecurrenceRow]:
    """Return a page of shapes; those without the value to sort by come last, either way."""
    rows = await sqlfile.load("usage/recurrence")["page"].dicts(
        connection, **wanted.parameters(), sort=sort, sign=-1 if descending else 1, limit=limit, offset=offset
    )
    return [
        RecurrenceRow(row["job_id"], row["namespace"], row["name"], row["at"], RECURRENCE.read(row)) for row in rows
    ]


async def totals(connection: Connection, wanted: Wanted) -> list[ClassTotal]:
    """Count all shapes that are wanted, by class."""
    rows = await sqlfile.load("usage/recurrence")["totals"].many(connection, **wanted.parameters())
    return [ClassTotal(*row) for row in rows]
