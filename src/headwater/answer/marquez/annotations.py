"""Changes by people (tags, descriptions, owners), laid over what events reported."""

import datetime as dt
import uuid
from collections.abc import Collection, Iterable

import msgspec

from headwater.answer.people.people import text_of
from headwater.store.database import Connection
from headwater.store.people import annotations as annotation_store
from headwater.store.people.annotations import Annotation


class NodeChanges(msgspec.Struct):
    """Changes of one dataset or job. Tags that people set or removed are in `untagged` (by `model.tags.key_of`): a facet does not bring them back."""

    tags: list[str]
    untagged: set[str]
    field_tags: dict[str, list[str]]
    untagged_fields: dict[str, set[str]]
    description: str | None
    field_descriptions: dict[str, str]


class AnnotatedText(msgspec.Struct, frozen=True):
    """A text that a person gave a namespace, source or tag."""

    value: object
    at: dt.datetime


def nothing() -> NodeChanges:
    return NodeChanges([], set(), {}, {}, None, {})


def text(word: AnnotatedText | None) -> str | None:
    return word.value if word is not None and isinstance(word.value, str) and word.value else None


async def of_owners(connection: Connection, ids: Collection[uuid.UUID]) -> dict[uuid.UUID, NodeChanges]:
    """Return the changes that people made to each node, by id; a node without changes is absent."""
    return {id_: _folded(said) for id_, said in (await annotation_store.of_owners(connection, ids)).items()}


def _folded(said: Iterable[Annotation]) -> NodeChanges:
    found = nothing()
    for one in said:
        if one.kind == "tag":
            gone = found.untagged_fields.setdefault(one.field, set()) if one.field else found.untagged
            # A person's change of a tag takes precedence over events that report it, with or without its value.
            gone.add(one.key)
            if not one.deleted:
                tags = found.field_tags.setdefault(one.field, []) if one.field else found.tags
                tags.append(text_of(str(one.value["name"]), one.value.get("value")))
        elif one.kind == "description" and not one.deleted:
            if one.field:
                found.field_descriptions[one.field] = one.value["text"]
            else:
                found.description = one.value["text"]
    return found


async def created_by_people(connection: Connection, what: str) -> dict[str, dict[str, AnnotatedText]]:
    """Return the namespaces, sources or tags that people made or described: the texts by name and kind."""
    found: dict[str, dict[str, AnnotatedText]] = {}
    for one in await annotation_store.of_things(connection, what):
        name = str(one.value["name"]) if what == "tag" else one.target.partition(":")[2]
        words = found.setdefault(name, {})
        if one.kind == "owner":
            words["owner"] = AnnotatedText(one.value["name"], one.at)
        elif one.kind == "description":
            words["description"] = AnnotatedText(one.value["text"], one.at)
        elif one.kind == "source":
            words["type"] = AnnotatedText(one.value["type"], one.at)
            words["connectionUrl"] = AnnotatedText(one.value["url"], one.at)
            words["description"] = AnnotatedText(one.value["description"], one.at)
        elif one.kind == "schema":
            words["description"] = AnnotatedText(one.value["description"], one.at)
    return found


async def tags_set(connection: Connection) -> list[str]:
    """Return every tag that people set on a dataset, a column or a job."""
    return await annotation_store.tag_names(connection)
