"""`/api/v2/admin/dead-letters`: events out of RabbitMQ that could not be accepted: listed, tried again, thrown away.

Only where the server is given a broker (`HEADWATER_AMQP__URL`): without one it opens no connection and says so. A list holds the letters while it
reads them, so that one question at a time is asked of the queue.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote

import msgspec
from litestar import Request, get, post
from litestar.datastructures import State
from litestar.params import JSONBody, PathParameter, QueryParameter

from headwater.api.broker import is_configured
from headwater.errors import InvalidQuestion, NotFound
from headwater.settings import Settings

if TYPE_CHECKING:
    from headwater.intake.queue.amqp import Queues
    from headwater.intake.queue.dead_letters import LetterFilter

_MOST = 1000
_asking = asyncio.Lock()


class DeadLetter(msgspec.Struct, frozen=True):
    """`id`: derived from its code and bytes. `explanation`: of its code. `job`, `run`, `event_type`: of the event, as far as it could be read."""

    id: str
    code: str
    reason: str
    explanation: str
    at: dt.datetime | None
    origin: str
    bytes: int
    event_type: str | None
    job: str | None
    run: str | None


class DeadLetters(msgspec.Struct, frozen=True):
    """The letters, oldest first. `configured`: the server is given a broker. `more`: there are more than `limit`."""

    configured: bool
    queue: str
    letters: list[DeadLetter]
    more: bool


class DeadLetterDetail(msgspec.Struct, frozen=True):
    """`body`: the event as JSON, or its text, at most 100,000 bytes, where it is none."""

    letter: DeadLetter
    body: Any


class ChosenLetters(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Letters by `ids`, by `codes`, or by both, or with `all` every one."""

    ids: list[str] = []
    codes: list[str] = []
    all: bool = False


class LetterOutcome(msgspec.Struct, frozen=True):
    """`outcome`: `replayed`, `delivered` (its events were in the log already), `discarded` or `left`."""

    id: str
    outcome: str
    code: str
    reason: str


class LetterOutcomes(msgspec.Struct, frozen=True):
    counts: dict[str, int]
    letters: list[LetterOutcome]


@get("/dead-letters")
async def list_dead_letters(
    state: State, limit: Annotated[int, QueryParameter(ge=1, le=_MOST, description="1…1000.")] = 200
) -> DeadLetters:
    """List the events that could not be accepted, the oldest first; none is moved."""
    settings: Settings = state.settings
    if not is_configured(settings):
        return DeadLetters(False, settings.amqp.dead_letters, [], False)
    from headwater.intake.queue.dead_letters import LetterFilter, listed

    queues = _queues(settings)
    async with _asking:
        found = await listed(queues, LetterFilter(limit=limit + 1))
    return DeadLetters(True, queues.dead_letters, [_explained_letter(one) for one in found[:limit]], len(found) > limit)


@get("/dead-letters/{letter:str}")
async def get_dead_letter(state: State, letter: Annotated[str, PathParameter(max_length=200)]) -> DeadLetterDetail:
    """Return one letter with its event."""
    queues = _queues(state.settings)
    from headwater.intake.queue.dead_letters import find_letter, readable_body

    async with _asking:
        held = await find_letter(queues, unquote(letter))
    if held is None:
        raise NotFound(f"no letter {unquote(letter)!r} in {queues.dead_letters}: list what is there")
    return DeadLetterDetail(_explained_letter(held.letter), readable_body(held))


@post("/dead-letters/replay", status_code=200)
async def replay_dead_letters(
    request: Request[Any, Any, Any], state: State, data: JSONBody[ChosenLetters]
) -> LetterOutcomes:
    """Try letters again. Those that are accepted leave the queue; the others stay."""
    queues, chosen = _queues(state.settings), _chosen(data)
    from headwater.intake.events.isolation import IsolatedIntake
    from headwater.intake.events.tolerant import TolerantIntake
    from headwater.intake.queue.dead_letters import replay

    async with _asking:
        done = await replay(queues, chosen, TolerantIntake(state.database), IsolatedIntake(state.database.url))
    return _outcomes(request, "replay_dead_letters", queues, done)


@post("/dead-letters/discard", status_code=200)
async def discard_dead_letters(
    request: Request[Any, Any, Any], state: State, data: JSONBody[ChosenLetters]
) -> LetterOutcomes:
    """Delete letters for good."""
    queues, chosen = _queues(state.settings), _chosen(data)
    from headwater.intake.queue.dead_letters import discard

    async with _asking:
        done = await discard(queues, chosen)
    return _outcomes(request, "discard_dead_letters", queues, done)


def _queues(settings: Settings) -> Queues:
    if not is_configured(settings):
        raise InvalidQuestion(
            "This server has no queue: set HEADWATER_AMQP__URL and install 'headwater[amqp]', or use `headwater events dead-letters`."
        )
    from headwater.intake.queue.amqp import Queues

    return Queues(settings.amqp.broker, settings.amqp.queue, settings.amqp.dead_letters)


def _chosen(data: ChosenLetters) -> LetterFilter:
    if not (data.all or data.ids or data.codes):
        raise InvalidQuestion("No letters are chosen: give `ids`, `codes`, or `all`.")
    from headwater.intake.queue.dead_letters import LetterFilter

    return LetterFilter(frozenset(data.ids), frozenset(data.codes))


def _explained_letter(letter: Any) -> DeadLetter:
    from headwater.intake.queue.reconciliation import EXPLANATIONS

    return DeadLetter(
        letter.id, letter.code, letter.reason, EXPLANATIONS.get(letter.code, ""), letter.at, letter.origin, letter.bytes,
        letter.event_type, letter.job, letter.run,
    )  # fmt: skip


def _outcomes(request: Request[Any, Any, Any], action: str, queues: Queues, done: list[Any]) -> LetterOutcomes:
    counts: dict[str, int] = {}
    for one in done:
        counts[one.outcome] = counts.get(one.outcome, 0) + 1
    detail = {**counts, "letters": [one.id for one in done[:1000]]}
    request.state.audit = {"action": action, "target": queues.dead_letters, "detail": detail}
    return LetterOutcomes(counts, [LetterOutcome(one.id, one.outcome, one.code, one.reason) for one in done])


handlers = [list_dead_letters, get_dead_letter, replay_dead_letters, discard_dead_letters]
