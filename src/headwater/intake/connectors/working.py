"""A task of a connector in a process of its own: its events are accepted as they come, so the process waits while the server is busy."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress

import msgspec

from headwater.model.connector_reports import ConnectorFailure, ConnectorLine, ConnectorTask

Accept = Callable[[list[bytes]], Awaitable[int]]
"""Accepts events, and returns how many were refused."""

_BATCH = 500
_LONGEST_LINE = 64 << 20
_TERMINATION = 5.0
_LONGEST_NOISE = 2_000


class Ending(msgspec.Struct):
    """The end of a task: `line` has its report, its checks or its failure."""

    line: ConnectorLine
    events: int = 0
    refused: int = 0


async def run_task(task: ConnectorTask, accept: Accept | None, seconds: float) -> Ending:
    """Run a task for at most so many seconds. Never raises for what the process does; what `accept` raises ends the process and comes through."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "headwater.connectors", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE, limit=_LONGEST_LINE,
    )  # fmt: skip
    assert process.stdout
    assert process.stderr
    noise = asyncio.create_task(_last_words(process.stderr))
    ending = Ending(ConnectorLine())
    try:
        async with asyncio.timeout(seconds):
            await _give(process, task)
            await _take(process.stdout, accept, ending)
            await process.wait()
    except TimeoutError:
        ending.line = _failure(
            f"it was stopped after {seconds:,.0f} s; HEADWATER_CONNECTORS__TIMEOUT_SECONDS allows more"
        )
    finally:
        await _end(process)
        words = await noise
    if not ending.line.is_ending:
        ending.line = _failure(
            f"its process ended with the code {process.returncode} and no report: {words or 'it said nothing'}"
        )
    return ending


async def _give(process: asyncio.subprocess.Process, task: ConnectorTask) -> None:
    assert process.stdin
    with suppress(BrokenPipeError, ConnectionResetError):  # its end says why
        process.stdin.write(msgspec.json.encode(task))
        await process.stdin.drain()
        process.stdin.close()


async def _take(stdout: asyncio.StreamReader, accept: Accept | None, ending: Ending) -> None:
    batch: list[bytes] = []
    while True:
        try:
            raw = await stdout.readline()
            line = msgspec.json.decode(raw, type=ConnectorLine) if raw else None
        except ValueError as error:  # a line that is too long, or none of ours
            ending.line = _failure(f"its process wrote a line that cannot be read: {error}")
            return
        if line is not None and not line.is_ending:
            batch.append(bytes(line.event))
        if accept is not None and batch and (line is None or line.is_ending or len(batch) >= _BATCH):
            ending.refused += await accept(batch)
            ending.events += len(batch)
            batch = []
        if line is None:
            return
        if line.is_ending:
            ending.line = line


async def _last_words(stderr: asyncio.StreamReader) -> str:
    """Read all of it, so that the process never waits; return the end."""
    words = b""
    while portion := await stderr.read(65_536):
        words = (words + portion)[-_LONGEST_NOISE:]
    return words.decode("utf-8", "replace").strip()


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(_TERMINATION):
            await process.wait()
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _failure(message: str) -> ConnectorLine:
    return ConnectorLine(failure=ConnectorFailure(message))
