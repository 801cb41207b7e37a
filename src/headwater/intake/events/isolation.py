"""Accept events in a process of their own, where dying costs nobody else.

A message that was given out again and again may be one that kills whoever takes it, or one that was only unlucky: in the hands of receivers
that were killed for other reasons. Trying is the one way to know. The events go to a child process; when it dies, by halves to others, until
those that kill are found. The rest is accepted as ever.
"""

import asyncio
import sys
from collections.abc import Sequence

import msgspec

from headwater.errors import DatabaseUnavailable
from headwater.intake.events.accept import Accepted, Receipt, Refused
from headwater.intake.events.tolerant import Careful, joined
from headwater.store.database import Database

# What a child says when the database is away (sysexits: EX_TEMPFAIL).
_LATER = 75
_SECONDS = 300.0
REDELIVERED = "redelivered"


class _Task(msgspec.Struct):
    url: str
    live_runs: int
    bodies: list[bytes]


class Trial:
    """Tries events on the database of `url`, in child processes."""

    def __init__(self, url: str, live_runs: int = 10) -> None:
        self._url, self._live_runs = url, live_runs

    async def __call__(self, bodies: Sequence[bytes]) -> Accepted:
        """As `Careful`; what killed its process (or took five minutes) is refused as `redelivered`. Raises DatabaseUnavailable."""
        died = await self._child(bodies)
        if isinstance(died, Accepted):
            return died
        if len(bodies) == 1:
            return Accepted([], [Refused(0, f"the process that takes this event dies of it: {died}", REDELIVERED)])
        half = len(bodies) // 2
        return joined(await self(bodies[:half]), await self(bodies[half:]), half)

    async def _child(self, bodies: Sequence[bytes]) -> Accepted | str:
        """What became of them, or how the child ended instead."""
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "headwater.intake.events.isolation",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        task = msgspec.msgpack.encode(
            _Task(self._url, self._live_runs, list(bodies))
        )  # by pipe: the URL may hold a password
        try:
            told, _ = await asyncio.wait_for(child.communicate(task), _SECONDS)
        except TimeoutError:
            return f"it had not ended after {_SECONDS:.0f} s"
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()
        code = child.returncode or 0
        if code == _LATER:
            raise DatabaseUnavailable(told.decode(errors="replace"))
        if code == 0:
            return msgspec.msgpack.decode(told, type=Accepted)
        return f"it ended with signal {-code}" if code < 0 else f"it ended with exit code {code}"


async def _try(task: _Task) -> Accepted:
    async with Database(task.url, pool_size=2) as database:
        return await Careful(database, task.live_runs)(task.bodies)


def main() -> int:
    """The child: a task on standard input, an answer on standard output."""
    task = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=_Task)
    try:
        answer = asyncio.run(_try(task))
    except DatabaseUnavailable as error:
        sys.stdout.write(error.message)
        return _LATER
    sys.stdout.buffer.write(
        msgspec.msgpack.encode(
            Accepted([Receipt(r.id, r.kind, r.duplicate, [], []) for r in answer.receipts], answer.refused)
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
