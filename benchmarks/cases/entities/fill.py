"""Entities and three years of their history in a database: declared as usual, the history by COPY, row for row as reports would leave it.

    python benchmarks/cases/entities/fill.py --database URL [--entities 10000] [--runs 50] [--singles 10]

60 % of the entities are hourly, 30 % daily, 10 % weekly; each needs at most two earlier ones, never finer from coarser. Each was made in `--runs`
runs of instances with a hole after each, one report a run. Of `--singles` hourly ones every hour was reported by itself.
"""

import argparse
import asyncio
import datetime as dt
import hashlib
import json
import random
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import psycopg

from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.status.marks import by_entity, replayed
from headwater.entities.time.ordinals import Ordinals
from headwater.intake.status.declared import declared
from headwater.intake.status.entities import File, apply
from headwater.store.database import Database
from headwater.store.migrate import migrate
from headwater.store.status import status

EVERY = {"hour": 60, "day": 30, "week": 10}
DAYS = 1_096

_REPORTS = (
    "status_reports (seq, recorded_at, key, entity_id, what, ref, first_, end_, happened_at, actor, reason, body)"
)
_CHANGES = "status_changes (entity_id, seq, kind, ref, start_, end_, added)"
_MARKS = "status_marks (entity_id, end_, kind, ref, start_)"
_VERSIONS = "instance_versions (entity_id, end_, seq, start_, produced_at, run, code, complete)"
_READS = "instance_reads (seq, upstream_id, start_, end_, read_seq)"
_LONG_AGO = (
    "update entity_applies set at = %(at)s",
    "update entity_declarations set from_at = %(at)s",
)


class Filled(NamedTuple):
    """`reports` and `instances`: how many; `singles`: entities of which every hour was reported by itself."""

    since: dt.datetime
    until: dt.datetime
    declared_seconds: float
    copied_seconds: float
    reports: int
    instances: int
    singles: list[str]


def span(now: dt.datetime) -> tuple[dt.datetime, dt.datetime]:
    """Three years from a Monday on, until the midnight before now."""
    until = now.replace(hour=0, minute=0, second=0, microsecond=0)
    since = until - dt.timedelta(days=DAYS)
    return since - dt.timedelta(days=since.weekday()), until


def texts(count: int, since: dt.datetime) -> Iterator[str]:
    """YAML of each entity; always the same graph for the same count."""
    chance, order = random.Random(7), list(EVERY)
    by_grain: dict[str, list[str]] = {every: [] for every in EVERY}
    for number in range(count):
        every = "hour" if number == 0 else chance.choices(order, list(EVERY.values()))[0]
        fine = [name for grain in order[: order.index(every) + 1] for name in by_grain[grain]]
        name = f"entity_{number}"
        needs = ", ".join(f"{upstream}: same" for upstream in chance.sample(fine, min(2, len(fine))))
        yield f"entity: {name}\nperiod: {{every: {every}, from: {since.date()}}}\n" + (
            f"depends_on: {{{needs}}}\n" if needs else ""
        )
        by_grain[every].append(name)


def runs_of(all_: Ordinals, runs: int, chance: random.Random) -> list[tuple[int, int]]:
    """Return so many runs, each with one instance missing after it; fewer where there are not twice as many instances."""
    first, end = all_.first, all_.end
    holes = sorted(chance.sample(range(first + 1, end - 1), min(runs - 1, (end - first) // 3)))
    found, start = [], first
    for hole in holes:
        if hole > start:
            found.append((start, hole))
        start = hole + 1
    return [*found, (start, end)]


class Told(NamedTuple):
    """A run of instances was produced at a time."""

    at: float
    entity_id: int
    name: str
    start: int
    end: int


def told(held: StoredDeclarations, until: dt.datetime, runs: int, singles: set[str]) -> list[Told]:
    """Return the reports, in their order."""
    chance, found = random.Random(11), []
    for name, number in held.ids.items():
        of = held.instances(name)
        assert of is not None
        over = of.over(until)
        cut = [(k, k + 1) for k in range(over.first, over.end)] if name in singles else runs_of(over, runs, chance)
        begins = of.calendar.begins([end for _, end in cut])
        found += [
            Told(int(at) + chance.random() * 3000, number, name, start, end)
            for (start, end), at in zip(cut, begins, strict=True)
        ]
    return sorted(found)


def copied(connection: psycopg.Connection, into: str, lines: Iterable[str]) -> None:
    with connection.cursor().copy(f"copy {into} from stdin") as copy:  # type: ignore[call-overload]
        some: list[str] = []
        for line in lines:
            some.append(line)
            if len(some) == 10_000:
                copy.write("".join(some))
                some.clear()
        copy.write("".join(some))


def write(url: str, held: StoredDeclarations, reports: Sequence[Told], singles: set[str]) -> None:
    """The rows of all tables, as if each had been recorded when it happened."""
    when = [dt.datetime.fromtimestamp(one.at, dt.UTC).isoformat() for one in reports]

    def report() -> Iterator[str]:
        for seq, (one, at) in enumerate(zip(reports, when, strict=True), 1):
            key = hashlib.blake2b(str(seq).encode(), digest_size=16).hexdigest()
            body = json.dumps({"instances": [[one.start, one.end]], "code": "v1", "seq": seq - 1})
            yield (
                f"{seq}\t{at}\t\\\\x{key}\t{one.entity_id}\tproduced\trun_{seq}\t{one.start}\t{one.end}\t{at}\tfill\t\t{body}\n"
            )

    def reads() -> Iterator[str]:
        links = {name: held.graph.upstream(name) for name in held.ids}
        for seq, one in enumerate(reports, 1):
            made = Ordinals.between(one.start, one.end)
            for link in links[one.name]:
                assert link.edge is not None
                for start, end in link.edge.need(made):
                    yield f"{seq}\t{held.ids[link.upstream]}\t{start}\t{end}\t{seq - 1}\n"

    def marks() -> Iterator[str]:
        whole: dict[int, tuple[int, int]] = {}
        for one in reports:
            if one.name in singles:
                start, _ = whole.get(one.entity_id, (one.start, 0))
                whole[one.entity_id] = start, one.end
            else:
                yield f"{one.entity_id}\t{one.end}\tstate\tcompleted\t{one.start}\n"
        for number, (start, end) in whole.items():
            yield f"{number}\t{end}\tstate\tcompleted\t{start}\n"

    changes = (
        f"{one.entity_id}\t{seq}\tstate\tcompleted\t{one.start}\t{one.end}\tt\n" for seq, one in enumerate(reports, 1)
    )
    versions = (
        f"{one.entity_id}\t{one.end}\t{seq}\t{one.start}\t{at}\trun_{seq}\tv1\tt\n"
        for seq, (one, at) in enumerate(zip(reports, when, strict=True), 1)
    )
    with psycopg.connect(url) as connection:
        for into, lines in (
            (_REPORTS, report()),
            (_CHANGES, changes),
            (_MARKS, marks()),
            (_VERSIONS, versions),
            (_READS, reads()),
        ):
            copied(connection, into, lines)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("vacuum (analyze)")


async def checked(database: Database, held: StoredDeclarations, names: Iterable[str]) -> None:
    """Check that the marks of these entities follow from the log."""
    async with database.connection() as connection:
        for name in names:
            number = held.ids[name]
            marks = by_entity(await status.marks_of(connection, [number]))[number]
            again = replayed(await status.changes(connection, (number, -(2**40), 2**40), 2**60))
            if marks != again:
                raise SystemExit(f"{name}: the marks are not what the log says")


async def fill(url: str, entities: int, runs: int, singles: int) -> Filled:
    since, until = span(dt.datetime.now(dt.UTC))
    async with Database(url, pool_size=2) as database:
        await migrate(database)
        files = [File("entities.yaml", "---\n".join(texts(entities, since)))]
        began = time.perf_counter()
        await apply(database, files, "fill")
        declared_seconds = time.perf_counter() - began
        async with database.connection() as connection:
            for statement in _LONG_AGO:
                await connection.execute(statement, {"at": since})
            held = await declared(connection)
        hourly = [name for name in held.ids if held.graph.entities[name].instances.calendar.every_text == "hour"]
        apart = set(hourly[:singles])
        reports = told(held, until, runs, apart)
        began = time.perf_counter()
        await asyncio.to_thread(write, url, held, reports, apart)
        copied_seconds = time.perf_counter() - began
        sample = random.Random(3).sample(sorted(held.ids), min(100, len(held.ids)))
        await checked(database, held, {*sample, *apart})
    instances = sum(one.end - one.start for one in reports)
    return Filled(since, until, declared_seconds, copied_seconds, len(reports), instances, sorted(apart))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--database", required=True)
    parser.add_argument("--entities", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--singles", type=int, default=10)
    asked = parser.parse_args()
    print(asyncio.run(fill(asked.database, asked.entities, asked.runs, asked.singles)))


if __name__ == "__main__":
    main()
