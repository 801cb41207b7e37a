"""A server with entities and their history, as the parts of this case see it: what there is to ask about, and what an answer took."""

import asyncio
import datetime as dt
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
import psutil
import psycopg
from fill import span
from fresh import Server
from load import Outcome, drive, get, post

from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.time import keys
from headwater.intake.status.declared import declared
from headwater.store.database import Database


@dataclass
class Bench:
    """`held`: what is declared. `hourly`: the hourly entities, the most needed first. `chance` is the same each time."""

    server: Server
    seconds: float
    held: StoredDeclarations
    hourly: list[str]
    since: dt.datetime
    until: dt.datetime
    chance: random.Random = field(default_factory=lambda: random.Random(5))

    @classmethod
    def of(cls, server: Server, seconds: float) -> "Bench":
        async def read() -> StoredDeclarations:
            async with Database(server.database_url, pool_size=2) as database, database.connection() as connection:
                return await declared(connection)

        held = asyncio.run(read())
        since, until = span(dt.datetime.now(dt.UTC))
        hourly = [name for name in held.ids if _every(held, name) == "hour"]
        hourly.sort(key=lambda name: -len(held.graph.downstream(name)))
        return cls(server, seconds, held, hourly, since, until)

    def key(self, name: str, back: int = 0) -> str:
        """The key of the last instance that was over at midnight, or of the one `back` before it."""
        of = self.held.graph.entities[name].instances
        assert of is not None
        return keys.key(of.calendar, of.over(self.until).end - 1 - back)

    def ahead(self, name: str, ahead: int = 0) -> str:
        """The key of the first instance without a report when this began, or of the one `ahead` after it."""
        return self.key(name, -1 - ahead)

    def drive(self, requests: Sequence[bytes], connections: int = 1, *, keep: bool = False) -> "Taken":
        """The time and processor that the requests took. A single request may end with 503 after two minutes; no other may be refused."""
        before, client = self.processor(), time.process_time()
        outcome = drive(self.server.port, requests, connections, 600.0, keep=keep)
        client, after = time.process_time() - client, self.processor()
        if outcome.failed and not (outcome.statuses.keys() == {503} and len(requests) == 1):
            raise SystemExit(f"the server refused: {outcome.statuses} {outcome.last!r:.400}")
        count = max(len(outcome.milliseconds), 1)
        python, postgres = ((b - a) * 1000 / count for a, b in zip(before, after, strict=True))
        return Taken(outcome, python, postgres, client * 1000 / count)

    def get(self, path: str, times: int = 1) -> "Taken":
        return self.drive([get(path)] * times)

    def post(self, path: str, body: object, times: int = 1) -> "Taken":
        return self.drive([post(path, msgspec.json.encode(body))] * times)

    def processor(self) -> tuple[float, float]:
        """Seconds of processor time so far: of the server, of PostgreSQL."""
        with psycopg.connect(self.server.database_url) as connection:
            backend = connection.info.backend_pid
            postmaster = psutil.Process(backend).parent()
            assert postmaster is not None
            postgres = sum(_times(each) for each in [postmaster, *postmaster.children()])
        first = psutil.Process(self.server.pid)
        python = sum(
            _times(each) for each in [first, *first.children(recursive=True)] if not each.name().startswith("postgres")
        )
        return python, postgres


@dataclass(frozen=True)
class Taken:
    """Milliseconds of processor time a request took: the server's (`python`), PostgreSQL's, the generator's own (`client`)."""

    outcome: Outcome
    python: float
    postgres: float
    client: float

    def at(self, share: float) -> float:
        return self.outcome.at(share)

    @property
    def answered(self) -> bool:
        return not self.outcome.failed

    @property
    def cpu(self) -> str:
        return f"cpu {self.python:.2f} + {self.postgres:.2f} ms, the generator's {self.client:.2f}"

    @property
    def answer(self) -> dict[str, object]:
        found: dict[str, object] = msgspec.json.decode(self.outcome.last)
        return found


def _times(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system + times.children_user + times.children_system)


def _every(held: StoredDeclarations, name: str) -> str:
    of = held.graph.entities[name].instances
    return of.calendar.every_text if of is not None else ""
