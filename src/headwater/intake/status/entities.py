"""Apply entity declarations: check the files together with the current declarations, and replace those.

An entity's instances are stored under its number. A renamed entity keeps its number, and so does one that is declared again after its removal. An
entity with a different calendar gets a new number, because the old ordinals mean nothing in it; the old instances keep their history.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from headwater.entities.declaration.canonical import document
from headwater.entities.declaration.difference import difference
from headwater.entities.declaration.entity import EntityDeclaration
from headwater.entities.declaration.packages import PackageStatement, with_packages
from headwater.entities.declaration.reading import entities, refused
from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.declaration.whole import Declaration, whole
from headwater.intake.status.declared import declared
from headwater.store.database import Connection, Database
from headwater.store.status import entities as store


class File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A declaration file. `name`: as problems and warnings quote it."""

    name: str
    text: str


class Change(msgspec.Struct, frozen=True):
    """`what`: added, removed, renamed, changed. `path`: the part that changed. `old`, `new`: JSON; null for none."""

    what: str
    entity: str
    path: str = ""
    old: Any = None
    new: Any = None


class AppliedEntities(msgspec.Struct, frozen=True):
    """`number`: of this state of the declarations; null if nothing was written (a dry run, or no change). `entities`: their count."""

    number: int | None
    entities: int
    changes: list[Change]
    warnings: list[str]


async def apply(
    database: Database,
    files: Sequence[File],
    author: str,
    *,
    packages: Sequence[PackageStatement] = (),
    prune: bool = False,
    dry_run: bool = False,
) -> AppliedEntities:
    """Declare the entities of these files from now on. With `prune`, remove all others; otherwise they stay. `packages`: those that make some.

    Raises InvalidEntities with every problem as `file:line:column: text`; then nothing is changed.
    """
    new, contradictions = with_packages(await asyncio.to_thread(_read, files), packages)
    async with database.transaction() as connection:
        await store.alone(connection)
        held = await declared(connection)
        every = _merge(held, new, prune=prune)
        declaration = await asyncio.to_thread(whole, every.values())
        found = await asyncio.to_thread(lambda: list(difference(held.declared.values(), every.values())))
        changes = [Change(*change) for change in found]
        warnings = [str(warning) for warning in (*contradictions, *declaration.warnings)]
        number = None
        if changes and not dry_run:
            number = await _write(connection, held, declaration, changes, author)
        return AppliedEntities(number, len(every), changes, warnings)


def _read(files: Sequence[File]) -> list[EntityDeclaration]:
    problems: list[Any] = []
    found = [one for file in files for one in entities(file.text, file.name, problems)]
    if problems:
        raise refused(problems)
    whole_names = {one.name for one in found}
    if len(whole_names) < len(found):
        whole(found)  # raises an error that names the entity declared twice, and where
    return found


def _merge(held: StoredDeclarations, new: Sequence[EntityDeclaration], *, prune: bool) -> dict[str, EntityDeclaration]:
    if prune:
        return {declared_.name: declared_ for declared_ in new}
    every = dict(held.declared)
    for declared_ in new:
        if declared_.renamed_from and declared_.name not in held.declared:
            every.pop(declared_.renamed_from, None)
        every[declared_.name] = declared_
    return every


async def _write(
    connection: Connection, held: StoredDeclarations, declaration: Declaration, changes: Sequence[Change], author: str
) -> int:
    every = declaration.by_name
    was = {change.entity: str(change.old) for change in changes if change.what == "renamed"}
    touched = dict.fromkeys(change.entity for change in changes if change.what != "removed")
    # An entity whose upstream was renamed is not changed, but its declaration contains the upstream's name.
    touched |= dict.fromkeys(link.downstream for name in was for link in declaration.graph.downstream(name))
    ended = [held.number(change.entity) for change in changes if change.what == "removed"]
    added, kept, renamed = list[tuple[str, str]](), dict[str, int](), dict[int, str]()
    # Includes the rows of removed entities: one that is declared again keeps its number.
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


def _calendar(one: EntityDeclaration) -> str:
    """A digest of the calendar, equal for entities whose ordinals have the same meaning."""
    instances = one.entity.instances
    return hashlib.sha256(repr(instances.calendar.spec if instances else "static").encode()).hexdigest()[:32]
