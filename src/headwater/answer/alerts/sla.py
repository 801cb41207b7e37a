"""The SLAs that are declared, and the deadlines of rules, and how they were met, week by week."""

import datetime as dt
import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from headwater.answer.alerts.detectors.lateness import UpdateTimes, load_updates, missed
from headwater.answer.alerts.live import Rulebook
from headwater.answer.lineage.traits import load_traits
from headwater.entities.alerts.rules import Rule
from headwater.entities.alerts.selectors import Traits, selects
from headwater.entities.alerts.slas import Sla, describe_deadline
from headwater.entities.alerts.subscribing import check_selector
from headwater.errors import InvalidQuestion
from headwater.model.names import short
from headwater.model.troubles import Window
from headwater.store.database import Connection, Database
from headwater.store.lineage import nodes as node_store

_LONGEST = dt.timedelta(days=400)
_NAMED = 5


class SlaWeek(msgspec.Struct, frozen=True):
    """A week of an SLA, or of a rule that declares a deadline, from its Monday (UTC).

    `due`: how often a dataset was due, `missed`: how often it was not there. `share`: met, 0 to 1; null if nothing was due. `goal`: the share that
    was declared; null if none was. `kept`: whether the share reaches it. `deadlines`: the moments at which anything was due, and `whole`: those at
    which every dataset was there, as a product is whole; null for `within`, whose datasets are due one by one. `datasets`: those that
    missed it most often, five at most.
    """

    rule: str
    of: list[str]
    deadline: str
    week: dt.date
    due: int
    missed: int
    share: float | None
    goal: float | None
    kept: bool | None
    deadlines: int | None
    whole: int | None
    datasets: list[str]


class SlaReport(msgspec.Struct, frozen=True):
    """The SLAs, then the rules that declare a deadline of their own, each with its weeks, the oldest first."""

    since: dt.datetime
    weeks: list[SlaWeek]


async def sla(database: Database, since: dt.datetime, of: str | None = None) -> SlaReport:
    """Return how deadlines were met since a time. `of`: by the datasets that this selector selects.

    Raises InvalidQuestion for a selector that is none, and for a time more than 400 days ago.
    """
    now = dt.datetime.now(dt.UTC)
    if not since < now or now - since > _LONGEST:
        raise InvalidQuestion("since must be in the past, at most 400 days ago", parameter="since")
    # A node id is compared as it is: names hold characters that a selector may not.
    is_node = of is not None and of.startswith("dataset:") and of.count(":") > 1 and "*" not in of
    only = (check_selector(of),) if of and not is_node else ()
    window = Window(since, now)
    weeks: list[SlaWeek] = []
    async with database.snapshot() as connection:
        held = await Rulebook().load(connection)
        promises: list[Sla | Rule] = list(held.slas)
        promises += [one.rule for one in held.rules if (one.rule.by or one.rule.within) and not one.rule.sla]
        if not promises:
            return SlaReport(since, [])
        before = dt.timedelta(days=8, seconds=max(promise.within or 0 for promise in promises))
        updates = await load_updates(connection, Window(since - before, now))
        selectors = {str(one): one for promise in promises for one in (*promise.of, *promise.but)}
        traits = await load_traits(connection, updates.keys(), (*selectors.values(), *only))
        shown = {
            id_: one for id_, one in traits.items() if (one.id == of if is_node else not only or selects(only, one))
        }
        for promise in promises:
            weeks += await _weeks(connection, promise, shown, updates, window)
    return SlaReport(since, weeks)


async def _weeks(
    connection: Connection,
    promise: Sla | Rule,
    traits: Mapping[uuid.UUID, Traits],
    updates: Mapping[uuid.UUID, UpdateTimes],
    window: Window,
) -> list[SlaWeek]:
    due: dict[dt.date, list[dt.datetime]] = defaultdict(list)
    late: dict[dt.date, list[tuple[uuid.UUID, dt.datetime]]] = defaultdict(list)
    for id_, one in traits.items():
        if (promise.of and not selects(promise.of, one)) or selects(promise.but, one):
            continue
        for at in _due(promise, updates[id_].times, window):
            due[_monday(at)].append(at)
        for _, at, _ in missed(promise, updates[id_].times, window):
            late[_monday(at)].append((id_, at))
    names = await node_store.by_ids(connection, {id_ for some in late.values() for id_, _ in some})
    labels = {id_: short(row.name) for id_, row in names.items()}
    return [_week(promise, week, due[week], late[week], labels) for week in sorted(due)]


def _week(
    promise: Sla | Rule, week: dt.date, due: Sequence[dt.datetime], late: Sequence[tuple[uuid.UUID, dt.datetime]],
    labels: dict[uuid.UUID, str],
) -> SlaWeek:  # fmt: skip
    times = [id_ for id_, _ in late]
    worst = sorted(set(times), key=lambda id_: (-times.count(id_), str(id_)))[:_NAMED]
    share = 1 - len(late) / len(due)
    goal = promise.goal if isinstance(promise, Sla) else None
    moments = {*due} if promise.by is not None else None
    return SlaWeek(
        promise.name, [*map(str, promise.of), *(f"except {one}" for one in promise.but)], describe_deadline(promise), week, len(due), len(late),
        round(share, 4), goal, None if goal is None else share >= goal,
        None if moments is None else len(moments), None if moments is None else len(moments - {at for _, at in late}),
        [labels[id_] for id_ in worst if id_ in labels],
    )  # fmt: skip


def _due(promise: Sla | Rule, times: Sequence[float], window: Window) -> Iterator[dt.datetime]:
    """The moments at which the dataset was due: each deadline since its first update, or so long after each update."""
    if promise.by is not None:
        yield from (
            at for _, at in promise.by.between(window.since, window.until) if times and times[0] < at.timestamp()
        )
        return
    for time in times:
        at = dt.datetime.fromtimestamp(time + (promise.within or 0), dt.UTC)
        if window.has(at):
            yield at


def _monday(at: dt.datetime) -> dt.date:
    day = at.astimezone(dt.UTC).date()
    return day - dt.timedelta(days=day.weekday())
