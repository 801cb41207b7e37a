"""The overview: what needs a person now, who fell silent, what arrived with oddities, and how much of the lineage is known."""

import datetime as dt

import msgspec

from headwater.answer.history.producers import producers
from headwater.answer.history.stale_lineage import StaleSource, stale_lineage
from headwater.answer.status.daily_troubles import DailyTroubles, daily_troubles
from headwater.answer.status.open_incidents import OpenIncident, open_incidents
from headwater.answer.usage.coverage import Coverage, coverage
from headwater.store.database import Database


class OddEvents(msgspec.Struct, frozen=True):
    """Events that arrived since `since`; `warnings`: by code, what in them could not be read or placed as it was sent."""

    since: dt.datetime
    events: int
    warnings: dict[str, int]


class Overview(msgspec.Struct, frozen=True):
    """`incidents`: open ones by kind; `first`: those to look at first; `left_out`: as of open incidents.

    `silent`: producers and syncs that no longer report as they used to.

    `more_silent`: how many are not listed.
    """

    incidents: dict[str, int]
    first: list[OpenIncident]
    left_out: dict[str, int]
    silent: list[StaleSource]
    more_silent: int
    events: OddEvents
    coverage: Coverage
    days: DailyTroubles


async def overview(database: Database, limit: int = 10) -> Overview:
    """Return the overview, with at most so many entries of each list."""
    opened = await open_incidents(database, limit=limit)
    # A job that fails, or whose datasets are late, is an open incident already.
    silent = [one for one in (await stale_lineage(database)).sources if one.kind != "job"]
    arrived = await producers(database)
    warnings: dict[str, int] = {}
    for one in arrived.producers:
        for each in one.warnings:
            warnings[each.code] = warnings.get(each.code, 0) + each.count
    return Overview(
        opened.counts,
        opened.incidents,
        opened.left_out,
        silent[:limit],
        max(len(silent) - limit, 0),
        OddEvents(arrived.since, sum(one.events for one in arrived.producers), dict(sorted(warnings.items()))),
        await coverage(database),
        await daily_troubles(database),
    )
