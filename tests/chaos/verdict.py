"""The claims that must hold when all is well again. Every doubt is a line of text; none means the road held."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aio_pika
import psycopg

from headwater.intake.upkeep.rebuild import fingerprints, rebuild
from headwater.model.version import digests_of
from headwater.store.database import Database
from headwater.store.lineage.correlation import BOUND
from tests.chaos.world import EVENTS, IN, LETTERS, World
from tests.store.lineage.correlated import expected


class Records:
    """The records that the producers wrote down."""

    def __init__(self, folder: Path) -> None:
        self.told: dict[str, str] = {}  # digest → the record that says so
        self.may: set[str] = set()  # in the spool without its producer having been told so, or in memory at most
        self.refused = self.calls = 0
        self.waited: list[str] = []
        self.longest = 0.0
        for path in folder.iterdir():
            self._read(path)

    def _read(self, path: Path) -> None:
        last: dict[tuple[str, str], str] = {}
        text = path.read_text()
        for line in text[: text.rfind("\n") + 1].splitlines():
            what, *rest = line.split(" ", 2)
            if what == "?":
                way, thread = rest[1].split(" ")
                last[way, thread] = rest[0]
                self.calls += 1
            elif what == "+":
                self.told.setdefault(rest[0], path.name)
            elif what == "!":
                self.refused += 1
                self.may.add(rest[0])
            elif what == "W":
                self.waited.append(f"{path.name}: {rest[0]} waited at {rest[1]}")
            elif what == "M":
                self.longest = max(self.longest, float(rest[1]))
        self.may |= set(last.values())  # killed between the spool and the record


def judge(world: World, say: Callable[[str], None]) -> tuple[list[str], dict[str, Any]]:
    """Ends the producers, empties every spool and queue, and compares. The doubts, and what was seen."""
    doubts: list[str] = []
    doubts += _ended(world, "producer")
    world.processes["drain"].end()
    for settings in {each["HEADWATER_SPOOL"]: each for each in world.spools()}.values():
        done = world.run("-m", "headwater", "spool", "drain", "--timeout", "120", "--json", **settings, ok=(0, 1))
        for row in done["destinations"]:
            if row["left"] or row["held"] or row["rejected"]:
                doubts.append(f"a spool is not drained: {row}")
    world.processes["shuffler"].end()
    world.run(*world.between, str(world.seed), "until-empty")
    doubts += _ended(world, "receiver")
    world.run("-m", "headwater", "receive", "--until-empty", "--json")
    reconciled = world.run("-m", "headwater", "dead-letters", "reconcile", "--json", ok=(0, 1))
    waiting, letters = asyncio.run(_left(world.broker.url))
    doubts += [f"{count} messages are left in {name}" for name, count in waiting.items() if count]
    records = Records(world.records)
    doubts += records.waited
    found = asyncio.run(_database(world.postgres.url, doubts))
    log = found.pop("log")
    missing = set(records.told) - log
    doubts += [
        f"{one} was told to be spooled (record {records.told[one]}) and is not in the log"
        for one in sorted(missing)[:5]
    ]
    if missing:
        doubts.append(f"{len(missing)} of {len(records.told)} events are lost")
    strange = log - set(records.told) - records.may
    if strange:
        doubts.append(f"{len(strange)} events in the log that were never spooled: {sorted(strange)[:3]}")
    doubts += _rubbish(world.rubbish, letters)
    for kind in world.spools():
        for refused in Path(kind["HEADWATER_SPOOL"]).rglob("rejected.ndjson*"):
            doubts.append(f"a server refused events: {refused.read_text()[:500]}")
    seen = {
        "told": len(records.told), "in_log": len(log), "not_told_but_kept": len(log - set(records.told)),
        "disk_refused": records.refused, "longest_call_seconds": round(records.longest, 3), "waited": len(records.waited),
        "letters": len(letters), "reconciled": reconciled["outcomes"], **found,
    }  # fmt: skip
    return doubts, seen


def _ended(world: World, kind: str) -> list[str]:
    """All of them told to end at once; who did not within a minute."""
    found = [one for name, one in world.processes.items() if name.startswith(kind)]
    for one in found:
        one.ask_to_end()
    slow = [one.name for one in found if not one.ended(60)]
    for one in found:
        one.end()
    return [f"{name} did not end within 60 s of SIGTERM" for name in slow]


async def _left(url: str) -> tuple[dict[str, int], list[str]]:
    """Messages in the queues, and the dead letters' bodies (which stay)."""
    async with await aio_pika.connect(url) as connection:
        channel = await connection.channel()
        counts = {}
        for name in (IN, EVENTS):
            counts[name] = (await channel.declare_queue(name, passive=True)).declaration_result.message_count or 0
        queue = await channel.declare_queue(LETTERS, passive=True)
        bodies, taken = [], []
        while message := await queue.get(fail=False, timeout=30):
            bodies.append(message.body.decode())
            taken.append(message)
        for message in taken:
            await message.nack(requeue=True)
        return counts, bodies


def _rubbish(path: Path, letters: list[str]) -> list[str]:
    lines = path.read_text().splitlines() if path.exists() else []
    confirmed = {line[2:] for line in lines if line.startswith("+ ")}
    given = {line[2:] for line in lines if line.startswith("? ")}
    doubts = []
    if confirmed - set(letters):
        doubts.append(f"{len(confirmed - set(letters))} messages that are no event are not among the dead letters")
    if set(letters) - given:
        doubts.append(f"dead letters that are events: {sorted(set(letters) - given)[:2]}")
    return doubts


async def _database(url: str, doubts: list[str]) -> dict[str, Any]:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as asking:
        rows = await (await asking.execute("select digest, body from events")).fetchall()
        edges = await (
            await asking.execute("select parent_id, child_id, role, at, digest, refused from correlation_edges")
        ).fetchall()
        paths = await (
            await asking.execute("select ancestor_id, descendant_id, depth from correlation_paths")
        ).fetchall()
    log = [bytes(digest).hex() for digest, _ in rows]
    if len(set(log)) != len(log):
        doubts.append(f"{len(log) - len(set(log))} events are in the log twice")
    for digest, body in rows:
        if bytes(digest) not in digests_of(bytes(body)):
            doubts.append(f"the bytes of {bytes(digest).hex()} are not those that were given")
    began = time.perf_counter()
    refused, pairs = expected([(*tuple(edge[:4]), bytes(edge[4])) for edge in edges], BOUND)
    if {(parent, child): one for parent, child, *_, one in edges} != refused:
        doubts.append("edges are refused, or taken, that should not be")
    if {(above, below): depth for above, below, depth in paths} != pairs:
        doubts.append(f"the closure has {len(paths)} paths, walking the edges finds {len(pairs)}")
    walked = time.perf_counter() - began
    database = await Database(url, pool_size=2).open()
    try:
        before = await fingerprints(database)
        await rebuild(database)
        after = await fingerprints(database)
    finally:
        await database.close()
    doubts += [f"a rebuild changes {table}" for table in before if before[table] != after[table]]
    where: dict[str, int] = defaultdict(int)
    for one in refused.values():
        where["refused" if one else "taken"] += 1
    return {"log": set(log), "edges": dict(where), "paths": len(paths), "walk_seconds": round(walked, 1)}
