"""Accept events in a child process, so that an event that crashes it does not crash the receiver.

A message that the broker redelivered many times may crash every process that handles it, or its receivers may have been killed for other
reasons. Only a trial distinguishes the two. The events go to a child process. If it dies, each half goes to a new one, until the crashing
events are found. The others are accepted as usual.
"""

import asyncio
import sys
from collections.abc import Sequence

import msgspec

from headwater.errors import DatabaseUnavailable
from headwater.intake.events.accept import Accepted, Receipt, Refused
from headwater.intake.events.tolerant import TolerantIntake, merge_accepted
from headwater.store.database import Database

# The child's exit code if the database is unavailable (sysexits: EX_TEMPFAIL).
_LATER = 75
_SECONDS = 300.0
REDELIVERED = "redelivered"


class _Task(msgspec.Struct):
    url: str
    bodies: list[bytes]


class IsolatedIntake:
    """Accepts events into the database at `url`, in child processes."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def __call__(self, bodies: Sequence[bytes]) -> Accepted:
        """Accept events as `TolerantIntake` does. An event whose process dies or takes over five minutes is refused as
        `redelivered`.

        Raises DatabaseUnavailable.
        """
        outcome = await self._run_child(bodies)
        if isinstance(outcome, Accepted):
            return outcome
        if len(bodies) == 1:
            return Accepted([], [Refused(0, f"this event crashes the process that accepts it: {outcome}", REDELIVERED)])
        half = len(bodies) // 2
        return merge_accepted(await self(bodies[:half]), await self(bodies[half:]), half)

    async def _run_child(self, bodies: Sequence[bytes]) -> Accepted | str:
        """The child's answer; if it ended without one, how it ended."""
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "headwater.intake.events.isolation",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        task = msgspec.msgpack.encode(_Task(self._url, list(bodies)))  # by pipe: the URL may hold a password
        try:
            output, _ = await asyncio.wait_for(child.communicate(task), _SECONDS)
        except TimeoutError:
            return f"it had not ended after {_SECONDS:.0f} s"
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()
        code = child.returncode or 0
        if code == _LATER:
            raise DatabaseUnavailable(output.decode(errors="replace"))
        if code == 0:
            return msgspec.msgpack.decode(output, type=Accepted)
        return f"it ended with signal {-code}" if code < 0 else f"it ended with exit code {code}"


async def _accept(task: _Task) -> Accepted:
    async with Database(task.url, pool_size=2) as database:
        return await TolerantIntake(database)(task.bodies)


def main() -> int:
    """Run the child: read a task from standard input, write the answer to standard output."""
    task = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=_Task)
    try:
        answer = asyncio.run(_accept(task))
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
