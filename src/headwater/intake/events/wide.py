"""Accept wide events, with thousands of datasets or megabytes of facets, in a process of their own, one at a time.

Reading and projecting one takes seconds of processor time, in which a server's event loop would answer no other request. Its memory is
returned when the process ends. The process does what `Intake` does, in one transaction, so nothing is stored if it is ended.
"""

import asyncio
import contextlib
import gc
import sys
import time

import msgspec

from headwater import telemetry
from headwater.errors import Overloaded
from headwater.intake.events.accept import Accepted, Arrival, Intake
from headwater.intake.events.width import Limits
from headwater.store.database import Database

# A mention of a dataset or job is about a row or two of each table.
_MENTIONS = 2000
_BYTES = 8 * 1024 * 1024


class _Request(msgspec.Struct, array_like=True):
    url: str
    statement_timeout_seconds: float
    limits: Limits
    body: bytes
    arrival: Arrival | None


class WideEvents:
    """Accepts wide events on the database of `url`."""

    def __init__(self, url: str, limits: Limits, statement_timeout_seconds: float = 60.0) -> None:
        self._url, self._limits, self._timeout = url, limits, statement_timeout_seconds
        self._one = asyncio.Semaphore(1)

    def is_wide(self, body: bytes) -> bool:
        """Return whether the event is better accepted in a process of its own: a guess from its bytes, in microseconds."""
        return len(body) > _BYTES or body.count(b'"namespace"') > _MENTIONS

    async def accept(self, body: bytes, arrival: Arrival | None = None) -> Accepted:
        """Accept one event. Raises Overloaded if its process ended early; then nothing is stored."""
        request = _Request(self._url, self._timeout, self._limits, body, arrival)
        async with self._one:
            began = time.perf_counter()
            with telemetry.span("intake.wide", bytes=len(body)):
                reply = await _run(msgspec.msgpack.encode(request))
        accepted = msgspec.msgpack.decode(reply, type=Accepted)
        telemetry.measure(telemetry.Projected(len(accepted.receipts), time.perf_counter() - began))
        return accepted


async def _run(request: bytes) -> bytes:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", __name__, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    try:
        reply, _ = await process.communicate(request)
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if process.returncode != 0:
        raise Overloaded(
            "the event was too much for this server now, and is not stored: see the server's log, send it in parts, or try again"
        )
    return reply


async def _accept(request: _Request) -> Accepted:
    async with Database(
        request.url, pool_size=2, statement_timeout_seconds=request.statement_timeout_seconds
    ) as database:
        intake = Intake(database, limits=request.limits)
        return await intake.accept_each([request.body], [request.arrival] if request.arrival else None)


def main() -> None:
    """Accept the event of the request on standard input, and write what became of it to standard output."""
    telemetry.set_up()
    # The process ends with the event; looking for cycles among its millions of objects is a third of its time.
    gc.disable()
    request = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=_Request)
    sys.stdout.buffer.write(msgspec.msgpack.encode(asyncio.run(_accept(request))))


if __name__ == "__main__":
    main()
