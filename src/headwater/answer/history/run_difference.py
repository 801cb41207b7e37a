"""The differences of two runs, aspect by aspect, and what was checked and found equal."""

import datetime as dt
import difflib
from collections.abc import Mapping

import msgspec

from headwater.answer.history import run_aspects
from headwater.answer.history.run_aspects import RunAspects
from headwater.answer.lineage import node
from headwater.answer.lineage.runs import start
from headwater.errors import InvalidQuestion
from headwater.model.observation import Aspect, Kind
from headwater.store.database import Database
from headwater.store.lineage import nodes as node_store

_MOST_LINES = 400
_LONGEST = 400
_MOST_EQUAL = 200
_TEXTS = {Kind.SQL, Kind.SCHEMA}


class ComparedRun(msgspec.Struct):
    run_id: str
    job: str
    state: str
    started_at: dt.datetime
    duration_ms: int | None
    error: str | None


class Difference(msgspec.Struct):
    """`before`, `after`: None where the run did not report the aspect. `changes`: lines of a diff, of SQL and of the columns of a schema."""

    kind: str
    name: str
    before: str | None
    after: str | None
    changes: list[str]


class EqualAspect(msgspec.Struct):
    kind: str
    name: str


class RunDifference(msgspec.Struct):
    """`equal`: at most 200 of the `equal_count` aspects that both report and that do not differ. `unknown`: kinds that neither run reports."""

    before: ComparedRun
    after: ComparedRun
    differences: list[Difference]
    equal: list[EqualAspect]
    equal_count: int
    unknown: list[str]


async def run_difference(database: Database, before: str, after: str) -> RunDifference:
    """Compare two runs by id, or by a beginning or an ending that only one run has. Raises NotFound, InvalidQuestion."""
    async with database.snapshot() as connection:
        rows = [(await start(connection, text))[0] for text in (before, after)]
        if rows[0].key == rows[1].key:
            raise InvalidQuestion(f"{before!r} and {after!r} are one run; name two", parameter="after")
        one, two = [(await run_aspects.load(connection, [row]))[0] for row in rows]
        names = await node_store.by_ids(connection, {row.job_id for row in rows})
    equal = equal_aspects(one, two)
    return RunDifference(
        compared(one, names[rows[0].job_id].node_id),
        compared(two, names[rows[1].job_id].node_id),
        differences(one, two),
        equal[:_MOST_EQUAL],
        len(equal),
        unknown_kinds([one, two]),
    )


def compared(one: RunAspects, job: str) -> ComparedRun:
    row = one.row
    return ComparedRun(str(row.run_id), job, row.state.name, row.began, node.duration_ms(row), one.error)


def differences(one: RunAspects, two: RunAspects) -> list[Difference]:
    """Return the aspects that differ, numbers too, in the order of the kinds."""
    before, after = _all(one), _all(two)
    found = [
        difference(aspect, before.get(aspect), after.get(aspect))
        for aspect in before.keys() | after.keys()
        if before.get(aspect) != after.get(aspect)
    ]
    order = {kind: place for place, kind in enumerate(Kind)}
    return sorted(found, key=lambda each: (order[Kind(each.kind)], each.name))


def difference(aspect: Aspect, before: str | None, after: str | None) -> Difference:
    """Return a difference with its texts cut to what can be read."""
    changes: list[str] = []
    if aspect.kind in _TEXTS and before is not None and after is not None:
        lines = difflib.unified_diff(
            before.splitlines(), after.splitlines(), lineterm="", n=0 if aspect.kind == Kind.SCHEMA else 2
        )
        changes = [line for line in lines if not line.startswith(("---", "+++", "@@"))][:_MOST_LINES]
    return Difference(aspect.kind, aspect.name, _cut(before), _cut(after), changes)


def equal_aspects(one: RunAspects, two: RunAspects) -> list[EqualAspect]:
    """Return the aspects that both runs report alike."""
    before, after = _all(one), _all(two)
    return [EqualAspect(aspect.kind, aspect.name) for aspect in sorted(before) if after.get(aspect) == before[aspect]]


def unknown_kinds(some: list[RunAspects]) -> list[str]:
    """Return the kinds of which none of the runs reports anything."""
    told = {aspect.kind for one in some for aspect in _all(one)}
    return [str(kind) for kind in Kind if kind not in told]


def _all(one: RunAspects) -> Mapping[Aspect, str]:
    return one.values | {aspect: f"{number:,.0f}" for aspect, number in one.numbers.items()}


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= _LONGEST else f"{text[:_LONGEST]} … ({len(text):,} characters)"
