"""The log of an object, as `git log` is one of a file: each change once, with its time, its author, its statement, and what was before.

Two sources: statements of query logs (the `headwater_changes` facet of a dataset, under every name that it had), and the schemas that were seen. A
change of a schema that no statement explains has no author that is known: a function made it, a CASCADE, or a tool outside of the log.
"""

import datetime as dt
import itertools
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from headwater.answer.history.cascades import cascaded_drops
from headwater.answer.history.schema_timeline import SCHEMA, SeenSchema, columns_of, load_timeline
from headwater.answer.lineage.find import node_row
from headwater.errors import NotFound
from headwater.model import measured
from headwater.model.measured import CHANGES, USAGE, ObjectChange
from headwater.model.names import DatasetName
from headwater.model.version import dataset_id
from headwater.store.database import Connection, Database
from headwater.store.history import facets as facet_store

_MOST_NAMES: Final = 20
# A pipeline reports the schema that a statement made some time after it.
_EXPLAINED: Final = dt.timedelta(days=1)
_IF_TABLE_EXISTS: Final = re.compile(r"(?is)^\s*alter\s+(?:foreign\s+|materialized\s+)?(?:table|view)\s+if\s+exists\b")
_COLUMNS: Final = {"added": "add", "dropped_column": "drop", "renamed_column": "rename", "retyped": "retype"}


class Change(msgspec.Struct, frozen=True):
    """One change. `action`: created, replaced, dropped, undropped, renamed, swapped, column_added, column_dropped, column_renamed, column_retyped,
    altered.

    `before`, `after`: names of the object or the column, or types; null where there is none. `times`: it was done so often until `last_at`. `by`: the
    actor of the log, null if none is known. `source`: `statement`, or `schema` for a change that was seen and whose author is unknown.
    `certain`: false if the statement stands in a branch of a script, and the log does not say whether it ran, or if it dropped with CASCADE what a
    view reads, and so the view, if it still read it.
    """

    at: dt.datetime
    action: str
    object: str
    column: str | None
    before: str | None
    after: str | None
    by: str | None
    kind: str | None
    job: str | None
    statement: str | None
    query: str | None
    times: int
    last_at: dt.datetime
    source: str
    certain: bool


class ObjectLog(msgspec.Struct, frozen=True):
    """The changes of a dataset, the latest first. `names`: those that it had, followed through renames. `left_out`: older statements not listed."""

    dataset: str
    names: list[str]
    total: int
    changes: list[Change]
    left_out: int


class Blamed(msgspec.Struct, frozen=True):
    """A column as it is now, and the change that made it so; null if no log and no schema shows one. `seen_since`: the first schema that has it."""

    column: str
    type: str | None
    change: Change | None
    seen_since: dt.datetime | None = None


class Blame(msgspec.Struct, frozen=True):
    dataset: str
    columns: list[Blamed]


async def object_log(
    database: Database,
    node: str,
    *,
    column: str | None = None,
    as_of: dt.datetime | None = None,
    limit: int = 100,
    offset: int = 0,
) -> ObjectLog:
    """Return the changes of a dataset until `as_of`, by its node id; with `column`, those that concern this column. Raises NotFound."""
    async with database.snapshot() as connection:
        row = await node_row(connection, node)
        timeline = await load_timeline(connection, row.id)
        names, changes, left_out = await _changes(connection, row.id, DatasetName(row.namespace, row.name), timeline)
    changes = [one for one in changes if as_of is None or one.at <= as_of]
    changes.sort(key=lambda one: (one.at, one.column or "", one.action), reverse=True)
    if column is not None:
        changes = list(of_column(changes, column))
    return ObjectLog(row.node_id, names, len(changes), changes[offset : offset + limit], left_out)


def of_column(changes: Iterable[Change], column: str) -> Iterable[Change]:
    """Yield, of changes in the order of the latest first, those of one column under each name that it had, and those of the whole object that may
    have made it what it is."""
    name = column.lower()
    for one in changes:
        if one.column is None:
            if one.action != "altered":
                yield one
        elif name == (one.after if one.action == "column_renamed" and one.after else one.column).lower():
            yield one
            if one.action == "column_renamed":
                name = one.column.lower()


async def blame(database: Database, node: str, column: str | None = None, as_of: dt.datetime | None = None) -> Blame:
    """Return the last change until `as_of` of each column, or of one. Raises NotFound for a column that neither the schema nor a change has."""
    async with database.snapshot() as connection:
        row = await node_row(connection, node)
        timeline = await load_timeline(connection, row.id)
        _, changes, _ = await _changes(connection, row.id, DatasetName(row.namespace, row.name), timeline)
        body = (await facet_store.of_owners(connection, [row.id], (SCHEMA,))).get(row.id, {}).get(SCHEMA)
    if as_of is not None:
        changes = [one for one in changes if one.at <= as_of]
        timeline = [one for one in timeline if one.at <= as_of]
    # The timeline has the schema of any time; the current facets also say that it was deleted.
    types = columns_of(body) if body is not None else {}
    if as_of is not None:
        types = timeline[-1].columns if timeline else {}
    since = _there_since(timeline)
    last = _last_of_columns(changes)
    whole = next(
        (
            one
            for one in sorted(changes, key=lambda one: one.at, reverse=True)
            if one.action in {"created", "replaced"} and one.certain
        ),
        None,
    )
    known = {name.lower(): name for name in (*last, *types)}
    if column is not None:
        if column.lower() not in known:
            raise NotFound(f"{row.node_id} has no column {column!r}", suggestions=sorted(known.values())[:10])
        known = {column.lower(): known[column.lower()]}
    found = []
    for name in known.values():
        change = last.get(name) or next((one for key, one in last.items() if key.lower() == name.lower()), whole)
        found.append(Blamed(name, types.get(name), change, since.get(name)))
    return Blame(row.node_id, found)


def _there_since(timeline: Iterable[SeenSchema]) -> dict[str, dt.datetime]:
    """The time of the first schema that has each column, since it was last without it."""
    found: dict[str, dt.datetime] = {}
    for one in timeline:
        found = {name: found.get(name, one.at) for name in one.columns}
    return found


def _last_of_columns(changes: Iterable[Change]) -> dict[str, Change]:
    """The last change of each column, by the name that it has after it. A table that is made anew has no statement's columns of before; one that is
    undropped has those of the dropped one. What may have been done takes none away."""
    last: dict[str, Change] = {}
    dropped: dict[str, Change] = {}
    for one in sorted(changes, key=lambda one: one.last_at if one.action == "replaced" else one.at):
        if one.column is None:
            if one.action == "dropped" and one.certain:
                dropped, last = last, {}
            elif one.action == "undropped" and one.certain:
                last = dropped
            elif one.action in {"created", "replaced"} and one.certain:
                last = {name: change for name, change in last.items() if change.source == SCHEMA}
        elif one.action == "column_dropped":
            if one.certain:
                last.pop(one.column, None)
        elif one.action == "column_renamed":
            if one.certain:
                last.pop(one.column, None)
            last[one.after or one.column] = one
        else:
            last[one.column] = one
    return last


async def _changes(
    connection: Connection, dataset: uuid.UUID, name: DatasetName, timeline: Sequence[SeenSchema]
) -> tuple[list[str], list[Change], int]:
    """Follow the object through its names; return them, the newest first, with the changes and how many are left out."""
    names, found, left_out = [name.name], list[Change](), dict[uuid.UUID, int]()
    called: str | None = name.name
    at, until = dataset, dt.datetime.max.replace(tzinfo=dt.UTC)
    for step in range(_MOST_NAMES):
        if called is None:
            break
        bodies = (await facet_store.of_owners(connection, [at], (CHANGES, USAGE))).get(at, {})
        body, usage = bodies.get(CHANGES), bodies.get(USAGE)
        used_from = measured.usage(usage).first_seen_at if usage is not None else None
        told = measured.object_changes(body) if body is not None else measured.ObjectChanges()
        left_out[at] = told.left_out
        cascades = await cascaded_drops(connection, at, name.namespace, told.items)
        own, before = fold_changes(called, (*told.items, *cascades), until, used_from)
        seen = [] if step else _seen_changes(timeline, called)
        found += [*(one for one in own if one not in found), *unexplained(seen, own)]
        called = before.before if before is not None else None
        if before is not None and called is not None:
            # It may have had this name before: renamed and back, or swapped twice.
            names += [called] if called not in names else []
            at, until = dataset_id(DatasetName(name.namespace, called)), before.at
    return names, found, sum(left_out.values())


def fold_changes(
    name: str, items: Sequence[ObjectChange], until: dt.datetime, used_from: dt.datetime | None = None
) -> tuple[list[Change], Change | None]:
    """Return the changes of one name before `until`, in order, and the renaming or swap that gave it the name, if its life began so.

    What a name was before a swap is the other object's. A conditional statement changed nothing where the object was (CREATE) or was not (DROP, ALTER
    TABLE IF EXISTS) there already, or its column was as it says. What was there before a renaming or a creation belongs to another object of that
    name. `used_from`: when a statement first read or wrote it: it may be older than the log.
    """
    found: list[Change] = []
    exists: bool | None = None
    in_doubt = False  # A statement that may not have run leaves open what the next one met.
    columns: dict[str, bool] = {}
    origin: Change | None = None
    for one in sorted(items, key=lambda one: one.first_at):
        if one.first_at >= until:
            break
        is_of_object = one.action not in _COLUMNS and one.action != "altered"
        if one.branch or (one.conditional and in_doubt):
            found.append(_possible(name, one))
            exists, columns, in_doubt = None, {}, True
            continue
        if one.conditional and _does_nothing(one, exists, columns, used_from):
            continue
        in_doubt = in_doubt and not is_of_object
        if one.action == "created":
            replaces = exists is True or one.executions > 1
            change = _change(name, one, "replaced" if replaces and exists else "created")
            if not replaces or exists is False:
                origin = None
            exists, columns = True, {}
        elif one.action == "dropped":
            change, exists = _change(name, one, "dropped", before=name), False
        elif one.action == "undropped":
            change, exists, columns = _change(name, one, "undropped"), True, {}
        elif one.action in {"renamed_from", "swapped"}:
            is_swap = one.action == "swapped"
            change, exists = _change(name, one, "swapped" if is_swap else "renamed", before=one.other, after=name), True
            found, origin = [] if is_swap else found, change
        elif one.action == "renamed_to":
            # A change of the object under its next name: it is told there.
            exists = False
            continue
        elif one.action in _COLUMNS:
            change = _of_column(name, one)
            columns |= _columns_after(one)
        else:
            change = _change(name, one, "altered")
        found.append(change)
    return found, origin


def _possible(name: str, one: ObjectChange) -> Change:
    """A change that may not have been made: what the object was before and after it is not known."""
    if one.action in _COLUMNS:
        change = _of_column(name, one)
    elif one.action == "renamed_to":
        change = _change(name, one, "renamed", before=name, after=one.other)
    elif one.action in {"renamed_from", "swapped"}:
        change = _change(name, one, one.action.removesuffix("_from"), before=one.other, after=name)
    else:
        change = _change(name, one, one.action, before=name if one.action == "dropped" else None)
    return msgspec.structs.replace(change, certain=False)


def _does_nothing(
    one: ObjectChange, exists: bool | None, columns: Mapping[str, bool], used_from: dt.datetime | None
) -> bool:
    """Return whether a conditional statement met the object as it would have it. `columns`: those that were added (true) or dropped before."""
    if one.action == "created":
        return exists is True
    was_there = exists if exists is not None else used_from is not None and used_from < one.first_at
    if one.action == "dropped" or _IF_TABLE_EXISTS.match(one.statement or ""):
        return not was_there
    there = columns.get((one.column or "").lower())
    return (one.action == "added" and there is True) or (one.action == "dropped_column" and there is False)


def _columns_after(one: ObjectChange) -> dict[str, bool]:
    """The columns that are there, or gone, after a change of one."""
    after = {(one.column or "").lower(): one.action in {"added", "retyped"}}
    return after | ({one.to.lower(): True} if one.action == "renamed_column" and one.to else {})


def _change(
    name: str,
    one: ObjectChange,
    action: str,
    *,
    before: str | None = None,
    after: str | None = None,
    column: str | None = None,
) -> Change:
    # A statement with IF (NOT) EXISTS that is repeated finds what the first one did.
    times, last = (1, one.first_at) if one.conditional else (one.executions, one.last_at or one.first_at)
    return Change(
        one.first_at, action, name, column, before, after, one.actor, one.actor_kind, one.job_name, one.statement, one.query_id, times, last,
        "statement", True,
    )  # fmt: skip


def _of_column(name: str, one: ObjectChange) -> Change:
    what = _COLUMNS[one.action]
    before = None if what == "add" else one.column if what in {"drop", "rename"} else None
    after = one.to if what in {"rename", "retype"} else one.column if what == "add" else None
    words = {"add": "column_added", "drop": "column_dropped", "rename": "column_renamed", "retype": "column_retyped"}
    return _change(name, one, words[what], before=before, after=after, column=one.column)


def _seen_changes(timeline: Sequence[SeenSchema], name: str) -> list[Change]:
    """The differences between the schemas that were seen, in order."""
    found: list[Change] = []
    for old, new in itertools.pairwise(timeline):
        was, now = old.columns, new.columns
        for column in sorted(was.keys() | now.keys()):
            if column not in was:
                found.append(_seen(name, new.at, "column_added", column, None, now[column]))
            elif column not in now:
                found.append(_seen(name, new.at, "column_dropped", column, was[column], None))
            elif (was[column] or "").lower() != (now[column] or "").lower():
                found.append(_seen(name, new.at, "column_retyped", column, was[column], now[column]))
    return found


def _seen(name: str, at: dt.datetime, action: str, column: str, before: str | None, after: str | None) -> Change:
    return Change(at, action, name, column, before, after, None, None, None, None, None, 1, at, SCHEMA, True)


def unexplained(seen: Iterable[Change], told: Sequence[Change]) -> list[Change]:
    """Return the changes that a schema shows and no statement of the day before it does. A new object explains its columns."""

    def is_explained(one: Change) -> bool:
        for other in told:
            if not timedelta_between(other, one):
                continue
            if other.action in {"created", "replaced", "renamed", "swapped", "undropped"}:
                return True
            if (one.column or "").lower() in {(other.column or "").lower(), (other.after or "").lower()}:
                return True
        return False

    return [one for one in seen if not is_explained(one)]


def timedelta_between(told: Change, seen: Change) -> bool:
    """Return whether a statement may be why a schema was seen as it is: it ran within the day before."""
    return seen.at - _EXPLAINED <= told.last_at and told.at <= seen.at
