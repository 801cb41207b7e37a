"""Say what entities there are: check texts as a whole with what is declared already, and make them what holds.

An entity keeps its instances under its number. It goes on under the same number when it is renamed, or comes back after it was removed; when it is
cut by another calendar it gets a new one, for the old ordinals mean nothing in it, and what was known of them stays what it was.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from headwater.entities.declaration.canonical import document
from headwater.entities.declaration.declared import Declared
from headwater.entities.declaration.difference import difference
from headwater.entities.declaration.held import Held
from headwater.entities.declaration.reading import entities, refused
from headwater.entities.declaration.whole import Declaration, whole
from headwater.intake.status.declared import declared
from headwater.store.database import Connection, Database
from headwater.store.status import entities as store


class File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A text and what it is called in what is said of it."""

    name: str
    text: str


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """`what`: added, removed, renamed, changed. `path`: which part; `old` and `new` are JSON, null where there is nothing."""

    what: str
    entity: str
    path: str = ""
    old: Any = None
    new: Any = None


class AppliedEntities(msgspec.Struct, frozen=True):
    """`number`: of this state of all declarations; null where nothing was written: a dry run, or nothing changed. `entities`: how many there are."""

    number: int | None
    entities: int
    changes: list[Change]
    warnings: list[str]


async def apply(
    database: Database, files: Sequence[File], author: str, *, prune: bool = False, dry_run: bool = False
) -> AppliedEntities:
    """Entities of these files are declared so from now on; with `prune` no others are, otherwise others stay.

    InvalidEntities with every problem as `file:line:column: text`, and nothing is changed.
    """
    said = await asyncio.to_thread(_read, files)
    async with database.transaction() as connection:
        await store.alone(connection)
        held = await declared(connection)
        every = _together(held, said, prune=prune)
        declaration = await asyncio.to_thread(whole, every.values())
        found = await asyncio.to_thread(lambda: list(difference(held.declared.values(), every.values())))
        changes = [Change(*change) for change in found]
        warnings = [str(warning) for warning in declaration.warnings]
        number = None
        if changes and not dry_run:
            number = await _write(connection, held, declaration, changes, author)
        return AppliedEntities(number, len(every), changes, warnings)


def _read(files: Sequence[File]) -> list[Declared]:
    problems: list[Any] = []
    found = [one for file in files for one in entities(file.text, file.name, problems)]
    if problems:
        raise refused(problems)
    whole_names = {one.name for one in found}
    if len(whole_names) < len(found):
        whole(found)  # says which is declared twice, and where
    return found


def _together(held: Held, said: Sequence[Declared], *, prune: bool) -> dict[str, Declared]:
    if prune:
        return {one.name: one for one in said}
    every = dict(held.declared)
    for one in said:
        if one.renamed_from and one.name not in held.declared:
            every.pop(one.renamed_from, None)
        every[one.name] = one
    return every


async def _write(
    connection: Connection, held: Held, declaration: Declaration, changes: Sequence[Change], author: str
) -> int:
    every = declaration.by_name
    was = {change.entity: str(change.old) for change in changes if change.what == "renamed"}
    touched = dict.fromkeys(change.entity for change in changes if change.what != "removed")
    # That an upstream is called otherwise is no change of those who need it, but their declaration has its name.
    touched |= dict.fromkeys(link.downstream for name in was for link in declaration.graph.downstream(name))
    ended = [held.number(change.entity) for change in changes if change.what == "removed"]
    added, kept, renamed = list[tuple[str, str]](), dict[str, int](), dict[int, str]()
    # Names of rows, also of entities that were removed: who comes back goes on where it was.
    rows = await store.named(connection, list(touched))
    for name in touched:
        before, calendar = held.declared.get(was.get(name, name)), _calendar(every[name])
        if before is not None:
            ended.append(held.number(before.name))
        if before is not None and _calendar(before) == calendar:
            kept[name] = held.number(before.name)
            if before.name != name:
                renamed[kept[name]] = name
        elif before is None and name in rows and rows[name][1] == calendar:
            kept[name] = rows[name][0]
        else:
            added.append((name, calendar))
    unnamed = [number for name, (number, _) in rows.items() if kept.get(name) != number]
    applied = await store.change(
        connection,
        author,
        msgspec.json.encode(changes).decode(),
        ended=ended,
        unnamed=unnamed,
        renamed=renamed,
        added=added,
        declared={name: msgspec.json.encode(document(every[name])).decode() for name in touched},
        kept=kept,
    )
    return applied.number


def _calendar(one: Declared) -> str:
    """Equal for entities whose ordinals mean the same."""
    instances = one.entity.instances
    return hashlib.sha256(repr(instances.calendar.spec if instances else "static").encode()).hexdigest()[:32]
