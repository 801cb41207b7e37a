"""Coverage of lineage from query logs: what was understood, what was not, and whether the share dropped.

Read from the query-log pipeline's `headwater_quality` facets. Successful executions count, not texts: what runs every minute matters more than
what ran once. Distinct shapes are counted beside them. If the source itself names tables (`told`), the parsed tables are compared with those.
"""

import datetime as dt
from collections.abc import Sequence
from typing import Any

import msgspec

from headwater.errors import InvalidQuestion
from headwater.model.measured import QualityDay
from headwater.store.database import Database
from headwater.store.usage import quality as store
from headwater.store.usage.quality import DayRow

_DAYS = 30
# A dialect's last day is compared with so many of its days before.
_BEFORE = 14
_MOST_ROWS = 20_000


class Figures(msgspec.Struct, kw_only=True):
    """Counts. Idle executions were understood whole and touch no table (SET, BEGIN, SELECT 1); no coverage includes them.

    `coverage_executions`: share of executions understood whole, with every column; null if there were none. `coverage_shapes`: the same of
    distinct shapes. `table_coverage`: share of executions whose tables at least are known. `named_agreement`: share of executions whose tables the
    source names that agree with it.
    """

    shapes: int
    full_shapes: int
    partial_shapes: int
    tables_shapes: int
    nothing_shapes: int
    idle_shapes: int
    executions: int
    full_executions: int
    partial_executions: int
    tables_executions: int
    nothing_executions: int
    idle_executions: int
    textless_executions: int
    unresolved: int
    quarantined: int
    quarantined_by: dict[str, int]
    named_executions: int
    named_agreed: int
    named_only: int
    parsed_only: int
    coverage_executions: float | None
    coverage_shapes: float | None
    table_coverage: float | None
    named_agreement: float | None


class Day(Figures, kw_only=True):
    day: dt.date
    namespace: str
    dialect: str


class Source(Figures, kw_only=True):
    """A dialect of a warehouse's log over the days that were asked for; `shapes` are of its last day, as days share theirs.

    `coverage_last`: of its last day; `coverage_before`: of the days before that, 14 at most, null if there is none. `dropped`: it fell by more
    than was allowed.
    """

    namespace: str
    dialect: str
    days: int
    last_day: dt.date
    coverage_last: float | None
    coverage_before: float | None
    dropped: bool
    measured_at: dt.datetime


class Quality(msgspec.Struct):
    """`dropped`: of how many sources the coverage did. `cut`: days further back were left out."""

    since: dt.date
    until: dt.date
    allowed_drop: float
    dropped: int
    sources: list[Source]
    total: int
    days: list[Day]
    cut: bool


async def quality(
    database: Database,
    *,
    namespace: str | None = None,
    dialect: str | None = None,
    since: dt.date | None = None,
    until: dt.date | None = None,
    allowed_drop: float = 0.05,
    limit: int = 100,
    offset: int = 0,
) -> Quality:
    """Return the quality from the day `since` (30 days before the end) to the day `until` (today), both included. Raises InvalidQuestion."""
    if not 0.0 <= allowed_drop <= 1.0:
        raise InvalidQuestion("drop must be from 0 to 1", parameter="drop")
    last = until or dt.datetime.now(dt.UTC).date()
    first = since or _before(last, _DAYS)
    if first > last:
        raise InvalidQuestion("since is after until", parameter="since")
    async with database.snapshot() as connection:
        rows = await store.days(
            connection,
            namespace=namespace,
            dialect=dialect,
            since=first,
            until=None if last == dt.date.max else last + dt.timedelta(days=1),
            limit=_MOST_ROWS + 1,
        )
    cut = len(rows) > _MOST_ROWS
    rows = rows[:_MOST_ROWS]
    by_source: dict[tuple[str, str], list[DayRow]] = {}
    for row in rows:
        by_source.setdefault((row.namespace, row.counts.dialect), []).append(row)
    sources = [_source(*key, days, allowed_drop) for key, days in sorted(by_source.items())]
    sources.sort(key=lambda one: (not one.dropped, one.namespace, one.dialect))
    days = [_day(row) for row in rows[offset : offset + limit]]
    return Quality(first, last, allowed_drop, sum(one.dropped for one in sources), sources, len(rows), days, cut)


def _before(day: dt.date, days: int) -> dt.date:
    return day - dt.timedelta(days=days) if day.toordinal() > days else dt.date.min


# The counts that add up over days.
_COUNTED = tuple(
    name for name in Figures.__struct_fields__ if name in QualityDay.__struct_fields__ and name != "quarantined_by"
)


def _source(namespace: str, dialect: str, rows: Sequence[DayRow], allowed: float) -> Source:
    """Sum up the `rows` of one source, the latest first. Days on which every statement was idle do not count for coverage."""
    days = [row.counts for row in rows]
    counted = {name: sum(getattr(day, name) for day in days) for name in _COUNTED}
    counted |= {name: getattr(days[0], name) for name in _COUNTED if name.endswith("shapes")}
    codes: dict[str, int] = {}
    for code, quarantined in (item for day in days for item in day.quarantined_by.items()):
        codes[code] = codes.get(code, 0) + quarantined
    busy = [day for day in days if day.executions > day.idle_executions]
    before = busy[1 : 1 + _BEFORE]
    ran = sum(day.executions - day.idle_executions for day in before)
    coverage_before = sum(day.full_executions - day.idle_executions for day in before) / ran if ran else None
    coverage_last = _figures(_counts(busy[0]), {})["coverage_executions"] if busy else None
    fell = coverage_before is not None and coverage_last is not None and coverage_before - coverage_last > allowed
    return Source(
        **_figures(counted, codes), namespace=namespace, dialect=dialect, days=len(days), last_day=days[0].day, coverage_last=coverage_last,
        coverage_before=coverage_before, dropped=fell, measured_at=max(row.at for row in rows),
    )  # fmt: skip


def _day(row: DayRow) -> Day:
    figures = _figures(_counts(row.counts), row.counts.quarantined_by)
    return Day(**figures, day=row.counts.day, namespace=row.namespace, dialect=row.counts.dialect)


def _counts(day: QualityDay) -> dict[str, int]:
    return {name: getattr(day, name) for name in _COUNTED}


def _figures(counted: dict[str, int], codes: dict[str, int]) -> dict[str, Any]:
    """The counts, with what follows from them."""

    def share(part: int, whole: int) -> float | None:
        return part / whole if whole > 0 else None

    executions = counted["executions"] - counted["idle_executions"]
    known = sum(counted[f"{level}_executions"] for level in ("full", "partial", "tables"))
    return counted | {
        "quarantined_by": codes,
        "coverage_executions": share(counted["full_executions"] - counted["idle_executions"], executions),
        "coverage_shapes": share(
            counted["full_shapes"] - counted["idle_shapes"], counted["shapes"] - counted["idle_shapes"]
        ),
        "table_coverage": share(known - counted["idle_executions"], executions),
        "named_agreement": share(counted["named_agreed"], counted["named_executions"]),
    }
