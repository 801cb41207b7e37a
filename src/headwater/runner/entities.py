"""The entities of a package, its periods per run, and the place of an instance: `entity`, `entities`, `max_periods` of a dk.yaml.

Read before the rest, which may refer to what a run makes (`${HEADWATER_PERIOD}`). Does not know when periods begin.
"""

import os
from pathlib import Path

import msgspec
import yaml

from headwater.errors import InvalidManifest
from headwater.runner.document import Document, Entry, is_null

WORDS = ("entity", "entities", "max_periods")
INSTANCE, START = "{instance}", "{start}"
"""In the place of an instance: its key, and the date at which it begins."""


class PackageEntities(msgspec.Struct, frozen=True):
    """`entities`: in the order of the file. `max_periods`: of each; default 1."""

    entities: tuple[str, ...] = ()
    max_periods: int = 1


def package_entities(file: str | os.PathLike[str]) -> PackageEntities:
    """Return what the package with this dk.yaml makes. InvalidManifest if it cannot be read or names no entity."""
    document = Document(Path(file))
    root = document.read()
    found = PackageEntities()
    if isinstance(root, yaml.MappingNode):
        top = document.mapping(root, "")
        found = read_entities(document, top)
        if not found.entities and not document.problems:
            document.note(
                root,
                "entity",
                "is required with --period: name the entity that the package makes, as in `entity: reads`",
            )
    elif root is not None:
        document.note(root, "", "expected a mapping")
    if document.problems:
        raise InvalidManifest(
            f"{document.file} cannot be run with --period:\n" + "\n".join(f"  {each}" for each in document.problems),
            problems=[msgspec.to_builtins(each) for each in document.problems],
        )
    return found


def read_entities(document: Document, top: dict[str, Entry]) -> PackageEntities:
    """Read the three fields of a dk.yaml, and note their problems."""
    names: list[str] = []
    if "entity" in top and "entities" in top:
        document.note(top["entities"].key, "entities", "excludes `entity`; write only one of them")
    for word in ("entity", "entities"):
        entry = top.get(word)
        if entry is None:
            continue
        nodes = document.items(entry.value, word) if word == "entities" else [entry.value]
        for index, node in enumerate(nodes):
            field = f"{word}[{index}]" if word == "entities" else word
            name = document.scalar(node, field)
            if name is None or not name.strip():
                if isinstance(node, yaml.ScalarNode):
                    document.note(node, field, "is empty")
            elif name in names:
                document.note(node, field, f"{name!r} is listed twice")
            else:
                names.append(name)
    return PackageEntities(tuple(names), _max_periods(document, top, bool(names)))


def read_instance(
    document: Document, entries: dict[str, Entry], field: str, made: PackageEntities
) -> tuple[str | None, str | None]:
    """Read an output's entity, and the folder of one instance in it (`day={instance}`)."""
    entity = document.text(entries, "entity", field)
    if entity is not None and entity not in made.entities:
        known = f"; it makes {', '.join(made.entities)}" if made.entities else ""
        document.note(
            entries["entity"].value, f"{field}.entity", f"{entity!r} is not an entity that this package makes{known}"
        )
    place = document.text(entries, "instance", field)
    if place is None:
        return entity, None
    if not (INSTANCE in place or START in place) or place.startswith("/") or ".." in Path(place).parts:
        known = f"is a folder below the output with {INSTANCE} or {START} in it, as in day={INSTANCE}"
        document.note(entries["instance"].value, f"{field}.instance", known)
    if entity is None:
        if len(made.entities) != 1:
            document.note(
                entries["instance"].value, f"{field}.instance", "needs `entity` beside it, to name the entity"
            )
        else:
            entity = made.entities[0]
    return entity, place


def _max_periods(document: Document, top: dict[str, Entry], named: bool) -> int:
    entry = top.get("max_periods")
    if entry is None or is_null(entry.value):
        return 1
    if not named:
        document.note(entry.key, "max_periods", "goes with `entity` or `entities`")
    text = document.scalar(entry.value, "max_periods") or ""
    if text.isascii() and text.isdigit() and 1 <= int(text) <= 10_000:
        return int(text)
    document.note(entry.value, "max_periods", f"expected a whole number from 1 to 10000, got {text!r}")
    return 1
