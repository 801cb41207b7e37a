"""Producers that fall silent, by the rhythm of the hours of which they report."""

import datetime as dt
import itertools

import msgspec

from headwater.answer.history.stale_lineage import by_program, usual
from headwater.model.cadence import due_at, learn_seconds
from headwater.model.troubles import Trouble, Window
from headwater.store.database import Connection
from headwater.store.events import producers as store

_LEARNED_FROM = dt.timedelta(days=35)
_MOST_HOURS = 840


async def producer_silent(connection: Connection, window: Window) -> list[Trouble]:
    """Return the producers that report nothing for longer than their rhythm, each time that they begin to. A newer version counts as the same one."""
    reported = await store.reported_hours(connection, window.since - _LEARNED_FROM, window.until)
    troubles = []
    for producer, times in by_program(reported).values():
        ordered = sorted(times)
        for place, (time, following) in enumerate(itertools.pairwise([*ordered, float("inf")])):
            if following - time <= 3600.0 or time > window.until.timestamp() or following <= window.since.timestamp():
                continue
            last = dt.datetime.fromtimestamp(time, dt.UTC)
            before = ordered[max(0, place + 1 - _MOST_HOURS) : place + 1]
            cadence = msgspec.structs.replace(learn_seconds(before), last=last)
            due = due_at(cadence)
            if due is None or not window.has(due) or due.timestamp() >= following:
                continue
            until = None if following == float("inf") else dt.datetime.fromtimestamp(following, dt.UTC)
            text = f"it usually reports {usual(cadence)}; the last event is of {last:%Y-%m-%d %H:00} UTC"
            troubles.append(
                Trouble(
                    "producer_silent", f"producer:{producer}", producer, f"after {round(time)}", due, text,
                    "headwater events producers", None, until,
                )
            )  # fmt: skip
    return troubles
