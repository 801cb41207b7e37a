"""The schemas that a dataset had, in the order in which they were seen, a schema that came back included.

The projection has of each schema when it was first and last reported. Where the spans of two schemas overlap, one of them came back: versions say
when, and where the dataset has none, the log.
"""

import datetime as dt
import itertools
import uuid
from collections.abc import Collection, Iterable, Sequence
from typing import Final

import msgspec

from headwater.errors import InvalidEvent
from headwater.model import facets as known
from headwater.model.event import DatasetReport, read
from headwater.model.identity import Identity
from headwater.model.version import dataset_id
from headwater.store.database import Connection
from headwater.store.events import events as event_store
from headwater.store.events import server_state
from headwater.store.history import facets as facet_store
from headwater.store.history import versions as version_store
from headwater.store.history.facets import Past

SCHEMA: Final = "schema"
_MOST_SCHEMAS: Final = 2_000
# Looks into the log for the time at which a schema came back, and events that one of them reads.
_MOST_LOOKS, _MOST_EVENTS = 40, 200


class SeenSchema(msgspec.Struct, frozen=True):
    """A schema that differs in its columns from the one before it, and when it was first seen (again). `columns`: types by name. `last_at`: the
    latest time before the next schema at which it is known to have been reported.
    """

    at: dt.datetime
    last_at: dt.datetime
    body_id: uuid.UUID
    columns: dict[str, str | None]


async def load_timeline(connection: Connection, dataset: uuid.UUID) -> list[SeenSchema]:
    """Return the schemas of a dataset in order, each with other columns than the one before. Schemas that a reader guessed count for nothing where a
    better observation gave one.
    """
    told = [one for one in await facet_store.history(connection, dataset, SCHEMA, _MOST_SCHEMAS) if not one.deleted]
    spans = _spans(told)
    found = [(one.first_at, one) for one in spans]
    if any(older.last_at > newer.first_at for older, newer in itertools.pairwise(spans)):
        by_body = {body: one for one in spans for body in one.bodies}
        stretches, _ = await version_store.schemas(connection, dataset, _MOST_SCHEMAS)
        for stretch in stretches:
            if (one := by_body.get(stretch.schema_id)) is not None:
                found += [(stretch.first_at, one), (stretch.last_at, one)]
        found = await _followed(connection, dataset, spans, sorted(found, key=_by_time))
    timeline: list[SeenSchema] = []
    # A last report is later than the return that it belongs to, so it begins nothing.
    changing = {(at, one.bodies[0]) for at, one in found}
    for at, one in sorted([*found, *((one.last_at, one) for one in spans)], key=_by_time):
        if timeline and timeline[-1].columns == one.columns:
            timeline[-1] = msgspec.structs.replace(timeline[-1], last_at=at)
        elif (at, one.bodies[0]) in changing:
            timeline.append(SeenSchema(at, at, one.bodies[0], one.columns))
    return timeline


class _Span(msgspec.Struct):
    """Bodies with the same columns, and when they were first and last reported."""

    first_at: dt.datetime
    last_at: dt.datetime
    columns: dict[str, str | None]
    bodies: list[uuid.UUID]


_Sighting = tuple[dt.datetime, _Span]


def _by_time(one: _Sighting) -> tuple[dt.datetime, dt.datetime, uuid.UUID]:
    return one[0], one[1].last_at, one[1].bodies[0]


def columns_of(body: bytes) -> dict[str, str | None]:
    """Return the types of a schema's columns, by name."""
    return {field.name: field.type for field in known.schema(body)}


def _spans(past: Iterable[Past]) -> list[_Span]:
    found: dict[frozenset[tuple[str, str | None]], _Span] = {}
    for one in sorted(past, key=lambda each: (each.first_at, each.body_id)):
        columns = columns_of(one.body)
        span = found.setdefault(frozenset(columns.items()), _Span(one.first_at, one.last_at, columns, []))
        span.last_at = max(span.last_at, one.last_at)
        span.bodies.append(one.body_id)
    return list(found.values())


async def _followed(
    connection: Connection, dataset: uuid.UUID, spans: Sequence[_Span], sure: Sequence[_Sighting]
) -> list[_Sighting]:
    """Add the returns that no version shows: `sure` are the sightings whose time is known, in order."""
    found = [sure[0]]
    looks = 0
    while True:
        at, current = found[-1]
        following = next(((when, one) for when, one in sure if when > at and one is not current), None)
        until = following[0] if following is not None else max(one.last_at for one in spans)
        # A schema that was there before, and is reported again later: perhaps before the next one whose time is known.
        if looks < _MOST_LOOKS and any(one is not current and one.first_at <= at < one.last_at for one in spans):
            looks += 1
            back = await _first_other(connection, dataset, spans, current, at, until)
            following = back or following
        if following is None:
            return [*found, *sure]
        found.append(following)


async def _first_other(
    connection: Connection,
    dataset: uuid.UUID,
    spans: Sequence[_Span],
    current: _Span,
    after: dt.datetime,
    until: dt.datetime,
) -> _Sighting | None:
    """Return the first report of another schema after a time: looked for in the events next to it, and past the last report of the current one."""
    identity = Identity((await server_state.read(connection)).rules)
    starts = [after, current.last_at] if after < current.last_at < until else [after]
    for start in starts:
        for event in await event_store.of_dataset(connection, dataset, start, until, _MOST_EVENTS):
            try:
                told = read(event.body)
            except InvalidEvent:  # pragma: no cover - the log holds only what was read once
                continue
            reports = [*told.inputs, *told.outputs, *([told.dataset] if told.dataset is not None else [])]
            for one in _reported(reports, event.names, identity, spans):
                if one is not current:
                    return event.event_time, one
    return None


def _reported(
    reports: Iterable[DatasetReport], names: Collection[uuid.UUID], identity: Identity, spans: Sequence[_Span]
) -> Iterable[_Span]:
    for report in reports:
        body = report.facets.get(SCHEMA)
        if body is None or dataset_id(identity.place(report.name).name) not in names:
            continue
        try:
            columns = columns_of(bytes(body))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        yield from (one for one in spans if one.columns == columns)
