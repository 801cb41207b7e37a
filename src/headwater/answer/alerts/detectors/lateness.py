"""Datasets that become late: against the rhythm that was learned from their updates until then, or against a deadline that a rule declares."""

import asyncio
import datetime as dt
import itertools
import statistics
import uuid
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from headwater.entities.alerts.rules import Rule
from headwater.entities.alerts.slas import Sla, describe_deadline
from headwater.model import facets as known
from headwater.model.cadence import due_at, learn_seconds
from headwater.model.names import short
from headwater.model.troubles import Trouble, Window
from headwater.store.database import Connection
from headwater.store.history import facets as facet_store
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage.nodes import NodeRow
from headwater.store.status import freshness as store

_LEARNED_FROM = 30
_MOST_DATASETS = 10_000
_MOST_UPDATES = 2_000
_DAY = dt.timedelta(days=1)


class UpdateTimes(msgspec.Struct, frozen=True):
    """The times of a dataset's updates, in seconds since 1970, the oldest first. `dropped`: it is not there any more."""

    times: list[float]
    dropped: bool


async def load_updates(connection: Connection, window: Window) -> dict[uuid.UUID, UpdateTimes]:
    """Return the updates of all datasets in a window, and so many before it that a rhythm can be learned. Streams are left out: they have none."""
    ids, _ = await store.candidates(connection, None, _MOST_DATASETS)
    days = (window.until - window.since) / _DAY
    told = await store.updates(connection, ids, window.until, min(_MOST_UPDATES, 40 + round(days * 48)))
    types = await facet_store.of_owners(
        connection, {one.done.job for one in told.values() if one.done.job}, ["jobType"]
    )
    streams = {job for job, facets in types.items() if known.streaming(facets["jobType"])}
    return {
        id_: UpdateTimes(sorted(time / 1e6 for time in one.done.times), one.dropped)
        for id_, one in told.items()
        if one.done.job not in streams
    }


async def late(connection: Connection, window: Window, updates: Mapping[uuid.UUID, UpdateTimes]) -> list[Trouble]:
    """Return the datasets that become late in the window, each time that they do."""
    # Thousands of medians: the loop must go on meanwhile.
    found = await asyncio.to_thread(lambda: {id_: list(_gaps(one, window)) for id_, one in updates.items()})
    rows = await node_store.by_ids(connection, {id_ for id_, gaps in found.items() if gaps})
    return [_late(rows[id_], *gap) for id_, gaps in found.items() for gap in gaps if id_ in rows]


async def past_deadline(
    connection: Connection,
    window: Window,
    updates: Mapping[uuid.UUID, UpdateTimes],
    rule: Rule,
    of: Collection[uuid.UUID],
) -> list[Trouble]:
    """Return the datasets among `of` that miss the rule's own deadline in the window."""
    rows = await node_store.by_ids(connection, set(of) & updates.keys())
    found = []
    for id_, row in rows.items():
        for last, since, until in missed(rule, updates[id_].times, window):
            if not (updates[id_].dropped and until is None):
                found.append(_missed(row, rule, last, since, until))
    return found


def missed(
    rule: Rule | Sla, times: Sequence[float], window: Window
) -> Iterator[tuple[float | None, dt.datetime, dt.datetime | None]]:
    """Each deadline of the rule or SLA in the window that no update met: the last update before it, the deadline, the next update."""
    if rule.by is not None:
        for before, at in rule.by.between(window.since, window.until):
            place = bisect_right(times, at.timestamp())
            if times and times[0] < at.timestamp() and times[place - 1] <= before.timestamp():
                yield times[place - 1], at, _moment(times[place]) if place < len(times) else None
    elif rule.within is not None:
        for place, time in enumerate(times):
            due, following = time + rule.within, times[place + 1] if place + 1 < len(times) else None
            if (following is None or following > due) and window.has(_moment(due)):
                yield time, _moment(due), None if following is None else _moment(following)


def _gaps(one: UpdateTimes, window: Window) -> Iterator[tuple[float, dt.datetime, dt.datetime | None, str]]:
    """The last update, the time from which the next was late, the next update, and how often they usually come."""
    times, first, last = one.times, window.since.timestamp(), window.until.timestamp()
    for place, time in enumerate(times):
        following = times[place + 1] if place + 1 < len(times) else None
        if time > last or (following is not None and following <= first) or (one.dropped and following is None):
            continue
        before = times[max(0, place + 1 - _LEARNED_FROM) : place + 1]
        if len(before) < 2:
            continue
        gap = min(following or last, last) - time
        if gap <= statistics.median([b - a for a, b in itertools.pairwise(before)]):
            continue  # no later than usual: a quick test that settles most
        cadence = msgspec.structs.replace(learn_seconds(before), last=_moment(time))
        due = due_at(cadence)
        if due is not None and window.has(due) and (following is None or due.timestamp() < following):
            yield time, due, None if following is None else _moment(following), cadence.name or "regularly"


def _late(row: NodeRow, time: float, since: dt.datetime, until: dt.datetime | None, usual: str) -> Trouble:
    text = f"usually updated {usual}; the last update was at {_moment(time):%Y-%m-%d %H:%M} UTC"
    return Trouble(
        "late", row.node_id, short(row.name), f"after {round(time)}", since, text, f"headwater status '{row.node_id}'",
        row.id, until, _moment(time),
    )  # fmt: skip


def _missed(row: NodeRow, rule: Rule, time: float | None, since: dt.datetime, until: dt.datetime | None) -> Trouble:
    due = f"due {'by ' if rule.by is not None else ''}{describe_deadline(rule)}"
    last = "never updated" if time is None else f"last updated at {_moment(time):%Y-%m-%d %H:%M} UTC"
    key = f"{rule.name}: {since.isoformat()}" if rule.by is not None else f"{rule.name}: after {round(time or 0)}"
    return Trouble(
        "late", row.node_id, short(row.name), key, since, f"{due}; {last}", f"headwater status '{row.node_id}'",
        row.id, until, None if time is None else _moment(time), rule=rule.name,
    )  # fmt: skip


def _moment(seconds: float) -> dt.datetime:
    return dt.datetime.fromtimestamp(seconds, dt.UTC)
