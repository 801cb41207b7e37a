"""Record manual changes: append them to the log of changes and project them, in one transaction.

Events report what happened, people add what it means. Both are logs, and every table is a projection of them. A change without effect is not
appended, so a deployment may send the same changes every day.
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
from headwater.store.events.rows import RowSet, merge_rows
from headwater.store.people import annotations as annotation_store
from headwater.store.people import changes as change_store
from headwater.store.people.annotations import Annotation

_ATTEMPTS = 5
_AGAIN = frozenset({"40P01", "40001"})
_PAGE = 1000


class Recorded(msgspec.Struct, frozen=True):
    """The outcome of a change. If it had no effect, `changed` is false and `id` is null.

    `before` and `after`: the values by kind and key; null for none.
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
    """A change as the log stores it."""

    change: Change
    before: dict[str, Any]
    after: dict[str, Any]


_body = msgspec.json.Decoder(_Body)

ProposedChange = Change | Callable[[Connection, Identity], Awaitable[Change]]


async def record(database: Database, proposed: ProposedChange, author: str, *, strict_tags: bool = False) -> Recorded:
    """Append and project one change. `proposed` may be a function that builds it inside the transaction.

    Raises NotFound for an unknown target and InvalidChange for an invalid change. `strict_tags`: accept defined tags only.
    """
    for attempt in range(_ATTEMPTS):
        try:
            async with database.transaction() as connection:
                state = await server_state.read(connection)
                await projections.alone(connection)
                await server_state.begin_writing(connection, state.generation)
                identity = Identity(state.rules)
                change = await proposed(connection, identity) if callable(proposed) else proposed
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
    before, after = _before(facts, known), _after(facts)
    if all(_holds(fact, known.get(fact.identity)) for fact in facts):
        return Recorded(None, None, author, _action(change), change.target.text, False, before, after)
    id_ = uuid.UUID(event.run_id())
    at = (await change_store.append(connection, [_entry(id_, author, change, before, after)]))[id_]
    settled = await _project(connection, [(change, at, id_, author)], identity)
    if settled.namespaces:
        # Event writers cache namespaces. A new generation makes them reload, and so notice that one is hidden.
        await server_state.next_generation(connection)
    return Recorded(id_, at, author, _action(change), change.target.text, True, before, after)


async def unhide(connection: Connection, mentioned: Sequence[tuple[Target, str]], identity: Identity) -> None:
    """Unhide targets that events mention again: (target, producer). Part of the events' transaction."""
    ids = [target.id for target, _ in mentioned if target.kind == "dataset" and target.id is not None]
    groups = await manual_targets.hidden_groups(connection, ids) if ids else {}
    changes = [
        (uuid.UUID(event.run_id()), author, Unhide(target, tuple(groups.get(target.id, ())) if target.id else ()))
        for target, author in mentioned
    ]
    entries = [_entry(id_, author, change, {"hidden": {}}, {"hidden": None}) for id_, author, change in changes]
    times = await change_store.append(connection, entries)
    await _project(connection, [(change, times[id_], id_, author) for id_, author, change in changes], identity)


async def _project(
    connection: Connection, changes: Sequence[tuple[Change, dt.datetime, uuid.UUID, str]], identity: Identity
) -> annotation_store.AnnotationEffects:
    """Project changes, and update the names, edges and hidden nodes that follow from them."""
    owners, namespaces = set[uuid.UUID](), set[str]()
    for change, *_ in changes:
        ids, spaces = manual_rows.touched(change, identity)
        owners |= ids
        namespaces |= spaces
    await annotation_store.lock(connection, owners)
    written = await _write_rows(connection, [manual_rows.project_change(*change, identity) for change in changes])
    settled = await annotation_store.settle(connection, owners, namespaces)
    regrouped = any(isinstance(change, Link | Unlink) for change, *_ in changes)
    await search.refresh(connection, owners | settled.nodes | written.changed, regrouped=regrouped)
    return settled


async def _write_rows(connection: Connection, changes: Sequence[RowSet]) -> projections.WriteResult:
    async with connection.pipeline() as pipeline:
        return await projections.write(connection, pipeline, merge_rows(changes))


async def replay(connection: Connection, identity: Identity) -> int:
    """Project the whole log of changes over the projected events. Returns the number of changes. Part of a rebuild."""
    done = 0
    async for page in change_store.pages(connection, _PAGE):
        await _write_rows(
            connection,
            [
                manual_rows.project_change(_body.decode(body).change, at, id_, author, identity)
                for id_, at, author, body in page
            ],
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
    """Return whether the fact holds already. Removing an owner or tag is recorded even if no person set it: events may report it."""
    if held is None:
        return fact.deleted and fact.kind not in {"owner", "tag"}
    if fact.deleted or held.deleted:
        return fact.deleted and held.deleted
    return held.value == fact.value


def _name(fact: Fact) -> str:
    return f"{fact.kind}:{fact.key}" if fact.key else fact.kind


def _before(facts: list[Fact], known: dict[tuple[str, str, str], Annotation]) -> dict[str, Any]:
    """The stored value of the first fact of each name; targets hidden along with it are listed in the change."""
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
