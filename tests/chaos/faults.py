"""The faults and their times: drawn from a seed alone, so that a bad round can be played again."""

import random
from typing import NamedTuple

PRODUCERS = 4
RECEIVERS = 2
EVERYTHING = "everything"
PROXIES = ("http", "amqp", "db")
_WORKERS = ("server", "postgres", "drain", "shuffler", *(f"receiver{n}" for n in range(RECEIVERS)))
_PRODUCERS = tuple(f"producer{n}" for n in range(PRODUCERS))


# By silent peer: the processes that are killed while it gives no answer, with their unanswered work.
STRANDED = {
    "db": tuple(f"receiver{n}" for n in range(RECEIVERS)),
    "postgres": ("server", *(f"receiver{n}" for n in range(RECEIVERS))),
    "broker": ("shuffler", *_PRODUCERS[1:]),
}


class Fault(NamedTuple):
    """`at` and `hold` are seconds of the round: when it begins, and how long it lasts until it is mended."""

    at: float
    kind: str
    target: str
    hold: float

    def __str__(self) -> str:
        return f"{self.at:6.2f} s  {self.kind} {self.target} for {self.hold:.2f} s"


class Size(NamedTuple):
    """The size of a world: `servers` behind one address; and `troubled`, clocks that jump and disks that are slow."""

    servers: int = 1
    troubled: bool = False

    @property
    def more(self) -> tuple[str, ...]:
        """The servers beside the first."""
        return tuple(f"server{number}" for number in range(1, self.servers))


ALONE = Size()


def families(size: Size = ALONE) -> list[list[tuple[str, str]]]:
    """Kinds of trouble; a round plays all of them before one comes again."""
    more = [[(kind, one) for one in size.more] for kind in ("kill", "stop", "restart") if size.more]
    clocks = ["postgres", "server", *size.more, *(f"receiver{n}" for n in range(RECEIVERS))]
    troubles = [[("clock", one) for one in clocks], [("clock", one) for one in clocks], [("clock", "postgres")]]
    troubles += [[("slow", "postgres")], [("slow", one) for one in _PRODUCERS]]
    return [
        *more,
        *(troubles if size.troubled else []),
        [("kill", one) for one in _PRODUCERS],
        [("kill", one) for one in _PRODUCERS],
        [("kill", f"receiver{n}") for n in range(RECEIVERS)],
        [("kill", "server"), ("kill", "worker")],
        [("kill", "postgres"), ("kill", "backend")],
        [("kill", "broker")],
        [("kill", "drain"), ("kill", "shuffler")],
        [("stop", one) for one in (*_WORKERS, "broker")],
        [("stop", one) for one in (*_PRODUCERS, *_WORKERS)],
        [("restart", one) for one in _PRODUCERS],
        [("restart", one) for one in (*_WORKERS, "broker")],
        [("refuse", one) for one in PROXIES],
        [("cut", one) for one in PROXIES],
        [("cut", one) for one in PROXIES],
        [("delay", one) for one in PROXIES],
        [("blackhole", one) for one in PROXIES],
        [("strand", "db")],
        [("strand", "postgres")],
        [("strand", "broker")],
        [("fill", "disk")],
        [("kill", EVERYTHING)],
    ]


def plan(seed: int, seconds: float, size: Size = ALONE) -> list[Fault]:
    """The faults of one round, in the order they begin. A target has one at a time, and all are mended when the round ends.

    A clock or a disk of its own does not count: a process may be killed while its clock is wrong.
    """
    draw = random.Random(f"faults {seed}")
    # Always first, while all is well and everything flows: else few seeds would notice a receiver that acknowledges before its commit.
    found = [Fault(2.0, "strand", "db", 2.5)]
    free = {"db": 5.0}
    waiting: list[list[tuple[str, str]]] = []
    at = 2.0
    longest = min(8.0, max(1.0, seconds / 5))
    while True:
        at += draw.uniform(0.1, 1.3)
        hold = draw.uniform(0.3, longest)
        if not waiting:
            waiting = families(size)
            draw.shuffle(waiting)
        kind, target = draw.choice(waiting.pop())
        thing = {"worker": "server", "backend": "postgres"}.get(target, target)
        thing = f"{kind} {target}" if kind in {"clock", "slow"} else thing
        busy = free.get(thing, 0.0)
        if thing == EVERYTHING:
            at = max(at, *(until for name, until in free.items() if " " not in name), 0.0)  # when nothing is broken
        elif busy > at:
            continue  # it is broken already
        if at + hold > seconds:
            return found
        free[thing] = at + hold + 0.5
        if thing == EVERYTHING:
            troubled = {name: until for name, until in free.items() if " " in name}
            free = troubled | dict.fromkeys((*_WORKERS, *size.more, *_PRODUCERS, "broker"), at + hold + 0.5)
        found.append(Fault(at, kind, target, hold))
