"""Datasets that may be removed: in which order, with what saving, how surely.

Read from the query-log pipeline's `headwater_pruning` facets: datasets that feed only unread ones, wave by wave. Never a dataset that is read
under another name, and none that is used outside of the log, as far as the server knows (`blocked`).
"""

import datetime as dt

import msgspec

from headwater.answer.lineage.sorting import Page
from headwater.answer.usage.blocked import Blocked, find_uses
from headwater.answer.usage.fields import shared_fields
from headwater.errors import InvalidQuestion
from headwater.model.names import short
from headwater.store.database import Database
from headwater.store.usage import pruning as store

SORTS = ("wave", "money_month", "confidence", "last_read", "name")
_MOST_BLOCKED = 1_000


class Candidate(msgspec.Struct, kw_only=True):
    """A dataset that may be removed once those of the waves before it are. `money_month`: what that saves a month, null if no price is known;
    `money_once`: what statements for it cost that ran on one day only, and that is saved by nothing. `vouches_days`: a reader
    that comes at least that often would have been seen; null if its reader does not say. `evidence`: as the log's reader told it."""

    id: str
    namespace: str
    name: str
    label: str
    wave: int
    reason: str
    money_month: float | None
    money_once: float | None
    vouches_days: int | None
    evidence: str
    confidence: float
    reads: int
    writes: int
    last_read_at: dt.datetime | None
    last_read_by_person_at: dt.datetime | None
    last_written_at: dt.datetime | None
    measured_at: dt.datetime


class Wave(msgspec.Struct):
    """`so_far`: what is saved a month once this wave and those before it are gone."""

    wave: int
    datasets: int
    money_month: float | None
    so_far: float | None


class Pruning(msgspec.Struct):
    """`waves` and `money_month` are of all datasets that were asked for. `measured_at`: when a log was read last.

    `blocked_total` more datasets are not needed by the query log, but are used otherwise; `blocked` lists them, 1,000 at most.
    """

    measured_at: dt.datetime | None
    total: int
    money_month: float | None
    waves: list[Wave]
    datasets: list[Candidate]
    blocked_total: int
    blocked: list[Blocked]


async def pruning(
    database: Database,
    page: Page,
    *,
    namespace: str | None = None,
    last_wave: int | None = None,
    min_confidence: float = 0.0,
) -> Pruning:
    """Return datasets that may be removed, by default in a safe order. Raises InvalidQuestion."""
    if not 0.0 <= min_confidence <= 1.0:
        raise InvalidQuestion("min_confidence must be from 0 to 1", parameter="min_confidence")
    sort, descending = page.sorted_by(SORTS, ("wave", "last_read", "name"))
    async with database.snapshot() as connection:
        used, later = await find_uses(connection)
        wanted = store.Wanted(namespace, last_wave, min_confidence, used, later)
        rows = await store.page(
            connection, wanted, sort=sort, descending=descending, limit=page.limit, offset=page.offset
        )
        told = await store.waves(connection, wanted)
    blocked = sorted(
        (one for one in used.values() if namespace in {None, one.namespace}), key=lambda one: (one.namespace, one.name)
    )
    waves: list[Wave] = []
    so_far: float | None = None
    for one in told:
        if one.money_month is not None:
            so_far = (so_far or 0.0) + one.money_month
        waves.append(Wave(one.wave, one.datasets, one.money_month, so_far))
    return Pruning(
        max((one.at for one in told), default=None), sum(one.datasets for one in told), so_far, waves, [_pruning_view(r) for r in rows],
        len(blocked), blocked[:_MOST_BLOCKED],
    )  # fmt: skip


def _pruning_view(row: store.PruningRow) -> Candidate:
    evidence = _evidence(row.pruning.evidence)
    return Candidate(
        money_once=evidence.money_once, vouches_days=evidence.vouches_days,
        **shared_fields(Candidate, row.usage), **shared_fields(Candidate, row.pruning), id=f"dataset:{row.namespace}:{row.name}",
        namespace=row.namespace, name=row.name, label=short(row.name), measured_at=row.at,
    )  # fmt: skip


class _Evidence(msgspec.Struct):
    money_once: float | None = None
    vouches_days: int | None = None


def _evidence(evidence: str | None) -> _Evidence:
    """Of Headwater's own reader, whose evidence is JSON; others may send any text."""
    try:
        return msgspec.json.decode(evidence or "{}", type=_Evidence, strict=False)
    except msgspec.DecodeError:
        return _Evidence()
