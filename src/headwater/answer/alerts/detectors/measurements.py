"""Troubles that measurements show: cost that jumps, jobs that get slower, coverage of query logs that drops."""

import datetime as dt
import itertools

from headwater.answer.history.durations import slower as slower_jobs
from headwater.answer.lineage import node
from headwater.answer.lineage.find import node_row
from headwater.answer.usage.quality import quality
from headwater.model import measured
from headwater.model.names import short
from headwater.model.troubles import Trouble, Window
from headwater.store.alerts import detection as store
from headwater.store.database import Connection, Database
from headwater.store.history import facets as facet_store
from headwater.store.lineage import nodes as node_store

_COST = "headwater_cost"
_MOST = 10_000
_MOST_MEASUREMENTS = 400
_BEFORE = 14
_DROP = 0.05


async def cost_jump(connection: Connection, window: Window, factor: float) -> list[Trouble]:
    """Return what costs `factor` times as much as in the measurement before."""
    rows = await node_store.by_ids(connection, await store.measured_costs(connection, window))
    troubles = []
    for id_, row in rows.items():
        past = await facet_store.history(connection, id_, _COST, _MOST_MEASUREMENTS)
        ordered = sorted((one for one in past if not one.deleted), key=lambda one: one.first_at)
        for old, new in itertools.pairwise(ordered):
            before, after = measured.cost(old.body).money, measured.cost(new.body).money
            if before and after and after >= factor * before and window.has(new.first_at):
                label = short(row.name) if row.type == "DATASET" else node.short_job(row.name)
                text = f"cost {before:,.2f} → {after:,.2f}, {after / before:.1f} times as much"
                look = "headwater cost" if row.type == "DATASET" else "headwater cost --by shape"
                key = new.first_at.isoformat()
                troubles.append(
                    Trouble("cost_jump", row.node_id, label, key, new.first_at, text, look, id_, factor=after / before)
                )
    return troubles


async def slower(database: Database, window: Window, factor: float) -> list[Trouble]:
    """Return the jobs that take `factor` times as long since a run of the window."""
    found = (await slower_jobs(database, window.since, limit=_MOST, offset=0)).slower
    chosen = [one for one in found if window.has(one.since) and (one.factor is None or one.factor >= factor)]
    async with database.snapshot() as connection:
        rows = {one.job: await node_row(connection, one.job) for one in chosen}
    return [
        Trouble(
            "slower", one.job, node.short_job(rows[one.job].name), one.first_run, one.since,
            f"{_span(one.before_ms)} → {_span(one.after_ms)} a run", f"headwater status '{one.job}'", rows[one.job].id,
            factor=one.factor,
        )
        for one in chosen
    ]  # fmt: skip


def _span(ms: int) -> str:
    return str(dt.timedelta(seconds=round(ms / 1000))) if ms >= 60_000 else f"{ms / 1000:.1f} s"


async def coverage_dropped(database: Database, window: Window) -> list[Trouble]:
    """Return the first of the days on which the parser understood a smaller share of a query log than in the 14 days before."""
    first = window.since.date() - dt.timedelta(days=2 * _BEFORE)
    found = await quality(database, since=first, until=window.until.date(), limit=_MOST)
    series: dict[tuple[str, str], list[tuple[dt.date, float, int]]] = {}
    for one in reversed(found.days):
        if one.coverage_executions is not None:
            ran = one.executions - one.idle_executions
            series.setdefault((one.namespace, one.dialect), []).append((one.day, one.coverage_executions, ran))
    troubles = []
    for (namespace, dialect), days in series.items():
        fell = False
        for place, (day, share, _) in enumerate(days):
            before = days[max(0, place - _BEFORE) : place]
            ran = sum(count for _, _, count in before)
            usual = sum(each * count for _, each, count in before) / ran if ran else share
            since = dt.datetime.combine(day + dt.timedelta(days=1), dt.time(), dt.UTC)
            if usual - share > _DROP and not fell and window.has(since):
                text = f"{share:.1%} of the statements of {day} were understood, {usual:.1%} before"
                subject = f"source:{namespace} ({dialect})"
                troubles.append(
                    Trouble("coverage_dropped", subject, namespace, str(day), since, text, "headwater coverage")
                )
            fell = usual - share > _DROP
    return troubles
