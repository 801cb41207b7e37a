"""`/api/v2/events/stream`: server-sent events that name the kinds of answers that are out of date."""

import asyncio
import datetime as dt
import re
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Any

import msgspec
from litestar import Request, get
from litestar.datastructures import State
from litestar.params import HeaderParameter, QueryParameter
from litestar.response import Stream

from headwater.answer.stale import Notice
from headwater.api import access
from headwater.errors import HeadwaterError

# Proxies close connections that are silent for a minute; a revoked key is refused within five seconds elsewhere, here within this.
_KEEP_ALIVE = 15.0
# Between two events of a stream: a page that asks again at each has at least that long for it.
_REST = 1.0
_NUMBER = re.compile(r"[0-9]{1,18}")
# No server gave it: everything is out of date.
_UNKNOWN = 2**62
_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}


@get(
    "/events/stream",
    opt={"waits": True},
    media_type="text/event-stream",
    # Litestar would take the type of the response for its content.
    response_description='Events `stale`; `data` is JSON: {"stale": ["lineage", …]}.',
)
async def follow_stale(
    request: Request[Any, Any, Any],
    state: State,
    last: Annotated[
        str | None, HeaderParameter(name="Last-Event-ID", description="The id of the last event that you have.")
    ] = None,
    after: Annotated[
        str | None, QueryParameter(max_length=1000, description="The same, where no header can be set.")
    ] = None,
    recent: Annotated[
        float, QueryParameter(ge=0, le=3600, description="Without an id: tell what changed in so many seconds, too.")
    ] = 0.0,
    seconds: Annotated[float | None, QueryParameter(ge=0, description="End after so long. Default: never.")] = None,
) -> Stream:
    """Say which kinds of answers are out of date, as it happens (server-sent events)."""
    given = after if last is None else last
    mark = None if given is None else int(given) if _NUMBER.fullmatch(given) else _UNKNOWN
    first = await state.stale.begin(mark, dt.timedelta(seconds=recent))
    return Stream(_follow(request, state, first, seconds), media_type="text/event-stream", headers=_HEADERS)


async def _follow(
    request: Request[Any, Any, Any], state: State, notice: Notice, seconds: float | None
) -> AsyncIterator[bytes]:
    end = float("inf") if seconds is None else time.monotonic() + seconds
    # The first event comes at once: with it the client has an id to go on from.
    yield b"retry: 2000\n" + _event(notice)
    mark, checked = notice.mark, time.monotonic()
    while (left := end - time.monotonic()) > 0 and not state.stopping.is_set():
        if time.monotonic() - checked >= _KEEP_ALIVE:
            try:
                await access.guard(request, request.route_handler)
            except HeadwaterError:
                return  # the client asks anew, and is told why it may not
            checked = time.monotonic()
        try:
            news = await _or_stop(state, state.stale.after(mark, min(left, _KEEP_ALIVE)))
        except HeadwaterError:
            return  # the database answers no more; the client comes again
        if state.stopping.is_set():
            return
        if news is None:
            yield b": still here\n\n"
            continue
        if news.stale:
            yield _event(news)
            with suppress(TimeoutError):
                await asyncio.wait_for(state.stopping.wait(), min(left, _REST))
        mark = news.mark


async def _or_stop(state: State, waiting: Any) -> Notice | None:
    """The result of `waiting`; None when the server is to stop."""
    tasks = [asyncio.ensure_future(waiting), asyncio.ensure_future(state.stopping.wait())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return tasks[0].result() if tasks[0].done() else None
    finally:
        for task in tasks:
            task.cancel()


def _event(notice: Notice) -> bytes:
    return b"id: %d\nevent: stale\ndata: %s\n\n" % (notice.mark, msgspec.json.encode({"stale": notice.stale}))


handlers = (follow_stale,)
