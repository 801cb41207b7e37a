"""Many who report at once, over several pools: nothing is lost, nothing is there twice, nothing is seen out of order, and the marks follow from the log."""

import asyncio
import contextlib
import datetime as dt
import random
from collections import Counter
from typing import Any

import pytest
from tests.scale import full
from tests.store.status.test_status import T0

from headwater.entities.status.marks import Mark, Marks, by_entity, replayed
from headwater.errors import InvalidStatus
from headwater.intake.status import incidents
from headwater.intake.status.declared import declared
from headwater.intake.status.entities import File, apply
from headwater.intake.status.incidents import Wrong
from headwater.intake.status.reports import ReportOutcome, SentReport, StatusIntake, record
from headwater.intake.status.request import ReadInstances, Reported
from headwater.store.database import Connection, Database
from headwater.store.status import status as store

DECLARED = """
entity: raw
period: {every: day, from: 2024-01-01}
states: [estimated, completed]
---
entity: clean
period: {every: day, from: 2024-01-01}
depends_on: {raw: same}
---
entity: weekly
period: {every: week, from: 2024-01-01}
depends_on: {clean: all_week}
---
entity: balance
period: {every: day, from: 2024-01-01}
kind: snapshot
mode: carry
depends_on: {clean: same}
"""
ENTITIES = ("raw", "clean", "weekly", "balance")
WRITERS, EACH = 6, 12


def drawn(chance: random.Random, number: int) -> Reported:
    """A random report, with or without a key, about some days or weeks of March."""
    entity = chance.choice(ENTITIES)
    what: Any = chance.choices(
        ["started", "produced", "failed", "deleted", "doubted", "trusted", "withheld", "released"],
        [4, 10, 2, 1, 1, 1, 1, 1],
    )[0]
    if entity == "weekly":
        some = f"2024-W{chance.randrange(9, 13):02}"
    else:
        first = chance.randrange(1, 28)
        some = f"2024-03-{first:02}..2024-03-{first + chance.randrange(3):02}"
    more: dict[str, Any] = {}
    ref = chance.choice([f"run {chance.randrange(20)}", "check"])
    if what == "deleted":
        ref = "retention"
    if what == "produced":
        more["states"] = ["completed"] if entity != "raw" or chance.random() < 0.6 else ["estimated"]
        more["code"] = chance.choice(["v1", "v2", None])
        more["fingerprint"] = chance.choice(["x", "y", None])
        if entity == "clean" and chance.random() < 0.5:
            more["reads"] = [ReadInstances("raw", [some])]
    # Late callbacks: the last report did not happen last.
    at = T0 + dt.timedelta(minutes=chance.randrange(500), microseconds=number)
    key = f"key {number}" if chance.random() < 0.3 else None
    return Reported(entity=entity, what=what, instances=[some], ref=ref, at=at, key=key, **more)


async def writer(database: Database, seed: int, deck: list[Reported], seqs: dict[int, set[int]]) -> None:
    """Says all of its deck, in batches and one by one, much of it again."""
    chance, intake = random.Random(seed), StatusIntake(database)
    places = [seed * EACH + place for place in range(EACH)]
    places += chance.choices(range(len(deck)), k=EACH)  # retries, of others' reports too
    chance.shuffle(places)
    while places:
        some, places = places[:3], places[3:]
        if chance.random() < 0.5:
            taken = (await intake.add([deck[place] for place in some], "writers")).results
        else:
            taken = (await record(database, [SentReport(deck[place], "writers") for place in some]))[1]
        for place, one in zip(some, taken, strict=True):
            if one.seq is not None:
                seqs[place].add(one.seq)


async def judge(database: Database, seed: int) -> None:
    """Opens incidents, and fixes, confirms and retracts some of them."""
    chance = random.Random(seed)
    opened = []
    for _ in range(6):
        entity, day = chance.choice(["raw", "clean"]), chance.randrange(1, 28)
        wrong = [Wrong(entity, [f"2024-03-{day:02}..2024-03-{day + 3:02}"])]
        await asyncio.sleep(0.01)
        with contextlib.suppress(InvalidStatus):  # about days that were not made yet
            opened.append((await incidents.open_(database, wrong, "spoilt", "judge")).id)
        if not opened:
            continue
        what = chance.choice([incidents.fix, incidents.retract, None])
        if what is not None and (id_ := opened.pop(chance.randrange(len(opened)))) is not None:
            await what(database, id_, "judge")


async def follow(database: Database, over: asyncio.Event) -> list[int]:
    """The seqs that a reader sees who always asks for what is after the last one."""
    seen: list[int] = []
    while True:
        last = over.is_set()
        async with database.connection() as connection:
            more = [one.seq for one in await store.since(connection, seen[-1] if seen else 0, None, 7)]
        seen += more
        if last and not more:
            return seen
        await asyncio.sleep(0.001)


async def held(connection: Connection) -> dict[str, Marks]:
    """The marks of all entities, once the log has told the same and no two runs of a mark touch."""
    names = (await declared(connection)).names
    rows = await store.marks_of(connection, list(names))
    found = by_entity(rows)
    for number in names:
        marks = found.get(number, Marks())
        assert marks == replayed(await store.changes(connection, (number, -(2**40), 2**40), 2**60)), names[number]
        assert sum(row.entity_id == number for row in rows) == sum(some.runs for some in marks.values())
    return {names[number]: marks for number, marks in found.items()}


@pytest.mark.parametrize("seed", [1, 2])
def test_many_at_once(database: Database, run: Any, seed: int) -> None:
    run(_many(database, seed))


async def _many(database: Database, seed: int) -> None:
    await apply(database, [File("entities.yaml", DECLARED)], "tests")
    chance, over = random.Random(seed), asyncio.Event()
    deck = [drawn(chance, number) for number in range(WRITERS * EACH)]
    seqs: dict[int, set[int]] = {place: set() for place in range(len(deck))}
    async with Database(database.url, pool_size=3) as one, Database(database.url, pool_size=3) as two:
        pools = [database, one, two]
        following = asyncio.create_task(follow(two, over))
        await asyncio.gather(
            *(writer(pools[each % 3], each, deck, seqs) for each in range(WRITERS)), judge(one, seed), judge(two, -seed)
        )
        over.set()
        seen = await following
    assert seen == list(range(1, len(seen) + 1)), "a reader who follows missed something"
    accepted = {place: each for place, each in seqs.items() if each}
    assert all(len(each) == 1 for each in accepted.values()), "one report is one, however often it is said"
    assert len({seq for each in accepted.values() for seq in each}) == len(accepted) > 0.6 * len(deck)
    async with database.connection() as connection:
        await held(connection)
        log = await store.since(connection, 0, None, 10_000)
    said = Counter(one.actor for one in log if one.what != "followed")
    assert said["writers"] == len(accepted)
    assert len(log) == len(seen)


def produced(chance: random.Random, number: int) -> Reported:
    """A run that made something or failed; no two at the same time."""
    first = chance.randrange(1, 25)
    what: Any = "produced" if chance.random() < 0.8 else "failed"
    states = [chance.choice(["completed", "estimated"])] if what == "produced" else []
    return Reported(
        entity="raw",
        what=what,
        instances=[f"2024-03-{first:02}..2024-03-{first + chance.randrange(6):02}"],
        ref=f"run {number}",
        at=T0 + dt.timedelta(minutes=number),
        states=states,
    )


@pytest.mark.parametrize("seed", range(full(4, 2)))
def test_in_whatever_order_they_come_the_same_is_there(database: Database, run: Any, seed: int) -> None:
    run(apply(database, [File("entities.yaml", DECLARED)], "tests"))
    chance = random.Random(seed)
    told = [produced(chance, number) for number in range(20)]
    found = []
    for _ in range(3):
        found.append(run(_states(database, chance, told)))
        chance.shuffle(told)
    assert found[0]
    assert found[1:] == found[:1] * 2


async def _states(database: Database, chance: random.Random, told: list[Reported]) -> Marks:
    """Return the marks after these reports, sent in batches."""
    async with database.connection() as connection:
        await connection.execute(
            "truncate status_reports, status_changes, status_marks, instance_versions, instance_reads"
        )
    rest: list[Reported] = list(told)
    while rest:
        many = chance.randrange(1, 5)
        _, taken = await record(database, [SentReport(one, "tests") for one in rest[:many]])
        assert all(_accepted(one) for one in taken)
        rest = rest[many:]
    async with database.connection() as connection:
        marks = (await held(connection))["raw"]
    assert not any(mark.kind == "running" for mark in marks)
    return Marks({mark: some for mark, some in marks.items() if mark.kind == Mark("state", "").kind})


def _accepted(one: ReportOutcome) -> bool:
    return one.refused is None and one.seq is not None
