"""What people say: append it to the second log and project it, in one transaction.

Events say what happened, people say what it means; both are logs, and every table follows from them. What changes nothing is not
appended, so that a deployment may say the same every day.
"""

import datetime as dt
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from headwater.client import event
from headwater.errors import DatabaseUnavailable, StaleGeneration
from headwater.intake.people import manual_rows, manual_targets
from headwater.model import manual
from headwater.model.identity import Identity
from headwater.model.manual import Change, Fact, Link, Target, Unhide, Unlink
from headwater.store import search
from headwater.store.database import Connection, Database
from headwater.store.events import projections, server_state
from headwater.store.people import annotations as annotation_store
from headwater.store.people import changes as change_store
from headwater.store.people.annotations import Annotation

_ATTEMPTS = 5
_AGAIN = frozenset({"40P01", "40001"})
_PAGE = 1000


class Recorded(msgspec.Struct, frozen=True):
    """What became of a change. `changed` is false, and `id` null, where everything was so already.

    `before` and `after` are what held and what holds: by kind and key, null where nothing does.
    """

    id: uuid.UUID | None
    at: dt.datetime | None
    author: str
    action: str
    target: str
    changed: bool
    before: dict[str, Any]
    after: dict[str, Any]


class _Body(msgspec.Struct):
    """How the log keeps a change."""

    change: Change
    before: dict[str, Any]
    after: dict[str, Any]


_body = msgspec.json.Decoder(_Body)

Told = Change | Callable[[Connection, Identity], Awaitable[Change]]


async def record(database: Database, told: Told, author: str, *, strict_tags: bool = False) -> Recorded:
    """Append and project one change. `told` may be a function that makes it from what is known.

    Raises NotFound for what is not known here and InvalidChange for what makes no sense. `strict_tags`: only defined tags may be used.
    """
    for attempt in range(_ATTEMPTS):
        try:
            async with database.transaction() as connection:
                state = await server_state.read(connection)
                await projections.alone(connection)
                await server_state.begin_writing(connection, state.generation)
                identity = Identity(state.rules)
                change = await told(connection, identity) if callable(told) else told
                change = await manual_targets.resolved(connection, change, identity, strict_tags=strict_tags)
                return await _write(connection, change, author, identity)
        except StaleGeneration:
            continue
        except DatabaseUnavailable as error:
            if error.detail.get("sqlstate") not in _AGAIN or attempt == _ATTEMPTS - 1:
                raise
    raise DatabaseUnavailable("the database changed under every attempt to write; try again")


async def _write(connection: Connection, change: Change, author: str, identity: Identity) -> Recorded:
    facts = manual.facts(change, identity)
    held = await annotation_store.of_targets(connection, {fact.target.text for fact in facts})
    known = {(a.target, a.kind, a.key): a for some in held.values() for a in some}
    before, after = _shown(facts, known), _after(facts)
    if all(_holds(fact, known.get(fact.identity)) for fact in facts):
        return Recorded(None, None, author, _action(change), change.target.text, False, before, after)
    id_ = uuid.UUID(event.run_id())
    at = (await change_store.append(connection, [_entry(id_, author, change, before, after)]))[id_]
    settled = await _project(connection, [(change, at, id_, author)], identity)
    if settled.namespaces:
        # Writers remember namespaces they have spoken of; they have to look again to see that one is hidden.
        await server_state.next_generation(connection)
    return Recorded(id_, at, author, _action(change), change.target.text, True, before, after)


async def unhide(connection: Connection, spoken: Sequence[tuple[Target, str]], identity: Identity) -> None:
    """Things that were hidden and that events speak of: (thing, producer). Part of the events' transaction."""
    ids = [target.id for target, _ in spoken if target.kind == "dataset" and target.id is not None]
    groups = await manual_targets.hidden_groups(connection, ids) if ids else {}
    told = [
        (uuid.UUID(event.run_id()), author, Unhide(target, tuple(groups.get(target.id, ())) if target.id else ()))
        for target, author in spoken
    ]
    entries = [_entry(id_, author, change, {"hidden": {}}, {"hidden": None}) for id_, author, change in told]
    times = await change_store.append(connection, entries)
    await _project(connection, [(change, times[id_], id_, author) for id_, author, change in told], identity)


async def _project(
    connection: Connection, told: Sequence[tuple[Change, dt.datetime, uuid.UUID, str]], identity: Identity
) -> annotation_store.Settled:
    """Changes to tables, and whatever follows from them for names, edges and hiding."""
    owners, namespaces = set[uuid.UUID](), set[str]()
    for change, *_ in told:
        ids, spaces = manual_rows.touched(change, identity)
        owners |= ids
        namespaces |= spaces
    await annotation_store.lock(connection, owners)
    written = await _rows(connection, [manual_rows.rows(*one, identity) for one in told])
    settled = await annotation_store.settle(connection, owners, namespaces)
    regrouped = any(isinstance(change, Link | Unlink) for change, *_ in told)
    await search.refresh(connection, owners | settled.nodes | written.changed, regrouped=regrouped)
    return settled


async def _rows(connection: Connection, some: Sequence[manual_rows.Rows]) -> projections.Written:
    made: manual_rows.Rows = {}
    for one in some:
        for query, given in one.items():
            made.setdefault(query, []).extend(given)
    async with connection.pipeline() as pipeline:
        # No run reports here, so no horizon moves.
        return await projections.write(connection, pipeline, made, live_runs=1)


async def replay(connection: Connection, identity: Identity) -> int:
    """Project the whole second log over what events made; the number of changes. Part of a rebuild."""
    done = 0
    async for page in change_store.pages(connection, _PAGE):
        await _rows(
            connection,
            [manual_rows.rows(_body.decode(body).change, at, id_, author, identity) for id_, at, author, body in page],
        )
        done += len(page)
    await annotation_store.settle(connection, None, None)
    return done


def _entry(
    id_: uuid.UUID, author: str, change: Change, before: dict[str, Any], after: dict[str, Any]
) -> change_store.Entry:
    other = manual.other_end(change)
    body = msgspec.json.encode(_Body(change, before, after)).decode()
    return change_store.Entry(
        id_, author, _action(change), change.target.text, change.target.node, other.node if other else "", body
    )


def _action(change: Change) -> str:
    return str(change.__struct_config__.tag)


def _holds(fact: Fact, held: Annotation | None) -> bool:
    """Whether it is so already. That something is not there is news only where it was never said."""
    if held is None:
        return fact.deleted and fact.kind not in {"owner", "tag"}
    if fact.deleted or held.deleted:
        return fact.deleted and held.deleted
    return held.value == fact.value


def _name(fact: Fact) -> str:
    return f"{fact.kind}:{fact.key}" if fact.key else fact.kind


def _shown(facts: list[Fact], known: dict[tuple[str, str, str], Annotation]) -> dict[str, Any]:
    """What held of the first fact of each name: things hidden along are many, and in the change."""
    found: dict[str, Any] = {}
    for fact in facts:
        held = known.get(fact.identity)
        found.setdefault(_name(fact), None if held is None or held.deleted else held.value)
    return found


def _after(facts: list[Fact]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for fact in facts:
        found.setdefault(_name(fact), None if fact.deleted else fact.value)
    return found
