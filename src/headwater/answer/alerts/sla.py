"""The deadlines that rules declare, and how they were met, week by week."""

import datetime as dt
import uuid
from collections.abc import Iterator, Sequence

import msgspec

from headwater.answer.alerts.detectors.lateness import load_updates, missed
from headwater.answer.alerts.live import Rulebook
from headwater.answer.alerts.traits import load_traits
from headwater.entities.alerts.rules import Rule
from headwater.entities.alerts.selectors import selects
from headwater.errors import InvalidQuestion
from headwater.model.names import short
from headwater.model.troubles import Window
from headwater.store.database import Connection, Database
from headwater.store.lineage import nodes as node_store

_LONGEST = dt.timedelta(days=400)
_NAMED = 5


class SlaWeek(msgspec.Struct, frozen=True):
    """A week of a rule, from its Monday (UTC). `due`: how often data was due, `missed`: how often it was not there. `datasets`: those that missed it
    most often, five at most. `share`: met, 0 to 1; null if nothing was due.
    """

    rule: str
    deadline: str
    week: dt.date
    due: int
    missed: int
    share: float | None
    datasets: list[str]


class Sla(msgspec.Struct, frozen=True):
    """The rules that declare a deadline, each with its weeks, the oldest first."""

    since: dt.datetime
    weeks: list[SlaWeek]


async def sla(database: Database, since: dt.datetime) -> Sla:
    """Return how the deadlines of the rules that hold were met since a time. InvalidQuestion for one more than 400 days ago."""
    now = dt.datetime.now(dt.UTC)
    if not since < now or now - since > _LONGEST:
        raise InvalidQuestion("since must be in the past, at most 400 days ago", parameter="since")
    weeks: list[SlaWeek] = []
    async with database.snapshot() as connection:
        held = await Rulebook().load(connection)
        for rule in (active.rule for active in held.rules):
            if rule.by is not None or rule.within is not None:
                weeks += await _weeks(connection, rule, Window(since, now))
    return Sla(since, weeks)


async def _weeks(connection: Connection, rule: Rule, window: Window) -> list[SlaWeek]:
    before = dt.timedelta(days=8, seconds=rule.within or 0)
    updates = await load_updates(connection, Window(window.since - before, window.until))
    traits = await load_traits(connection, updates.keys(), (*rule.of, *rule.but))
    chosen = {
        id_ for id_, one in traits.items() if (not rule.of or selects(rule.of, one)) and not selects(rule.but, one)
    }
    due: dict[dt.date, int] = {}
    late: dict[dt.date, list[uuid.UUID]] = {}
    for id_ in chosen:
        times = updates[id_].times
        for at in _due(rule, times, window):
            due[_monday(at)] = due.get(_monday(at), 0) + 1
        for _, at, _ in missed(rule, times, window):
            late.setdefault(_monday(at), []).append(id_)
    names = await node_store.by_ids(connection, {id_ for some in late.values() for id_ in some})
    deadline = str(rule.by) if rule.by is not None else f"within {dt.timedelta(seconds=rule.within or 0)}"
    found = []
    for week in sorted(due):
        some = late.get(week, [])
        worst = sorted(set(some), key=lambda id_, some=some: (-some.count(id_), str(id_)))[:_NAMED]  # type: ignore[misc]
        labels = [short(names[id_].name) for id_ in worst if id_ in names]
        share = round(1 - len(some) / due[week], 4) if due[week] else None
        found.append(SlaWeek(rule.name, deadline, week, due[week], len(some), share, labels))
    return found


def _due(rule: Rule, times: Sequence[float], window: Window) -> Iterator[dt.datetime]:
    """The moments at which the dataset was due: each deadline since its first update, or so long after each update."""
    if rule.by is not None:
        yield from (at for _, at in rule.by.between(window.since, window.until) if times and times[0] < at.timestamp())
        return
    for time in times:
        at = dt.datetime.fromtimestamp(time + (rule.within or 0), dt.UTC)
        if window.has(at):
            yield at


def _monday(at: dt.datetime) -> dt.date:
    day = at.astimezone(dt.UTC).date()
    return day - dt.timedelta(days=day.weekday())
