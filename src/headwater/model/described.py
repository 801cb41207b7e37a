"""Describe a dataset or job in text: columns, description, tags, owners and SQL, from its facets and from people's annotations.

Pure. A person's annotation overrides the events; a tag or owner that a person removed stays removed, even if events report it.
"""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from headwater.model import facets as known
from headwater.model.traits import FACETS as TRAIT_FACETS
from headwater.model.traits import traits

# The facets that a description uses.
FACETS = ("documentation", "ownership", "schema", "sql", "tags", *TRAIT_FACETS)


class AnnotationFact(msgspec.Struct, frozen=True):
    """A person's annotation. `kind`: description, owner or tag. `field`: the column's name, or empty for the dataset or job."""

    field: str
    kind: str
    key: str
    value: dict[str, Any]
    deleted: bool


class Described(msgspec.Struct):
    """Plain texts. `columns`: (name, description). `tags`: those of the dataset or job and of its columns, as `key` or `key:value`."""

    columns: list[tuple[str, str | None]]
    description: str | None
    tags: list[str]
    owners: list[str]
    sql: str | None
    traits: list[str] = []


def described(facets: Mapping[str, bytes], annotations: Sequence[AnnotationFact] = ()) -> Described:
    """Describe a dataset or job. Malformed facets are ignored."""
    columns = _columns(facets.get("schema"))
    description = _text(_plain(facets.get("documentation")).get("description"))
    tags = _tags(facets.get("tags"))
    owners = [_text(item.get("name")) for item in _items(facets.get("ownership"), "owners")]
    by_people = {a.field: _text(a.value.get("text")) for a in annotations if a.kind == "description" and not a.deleted}
    description = by_people.pop("", None) or description
    columns = [(name, by_people.pop(name, None) or text) for name, text in columns]
    columns += [(name, text) for name, text in sorted(by_people.items())]
    for annotation in annotations:
        if annotation.kind == "tag":
            tags = [tag for tag in tags if (tag[0].strip().casefold(), tag[1]) != (annotation.key, annotation.field)]
            if not annotation.deleted:
                name = str(annotation.value.get("name", annotation.key))
                tags.append((name, annotation.field, annotation.value.get("value")))
        elif annotation.kind == "owner":
            owners = [owner for owner in owners if owner != annotation.key]
            if not annotation.deleted:
                owners.append(_text(annotation.value.get("name")))
    return Described(
        columns,
        description,
        sorted({known.clean(_tag(name, value)) for name, _, value in tags if name.strip()}),
        sorted({owner for owner in owners if owner}),
        _text(_plain(facets.get("sql")).get("query")),
        traits(facets),
    )


def _columns(schema: bytes | None) -> list[tuple[str, str | None]]:
    if schema is None:
        return []
    with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return [(field.name, field.description) for field in known.schema(schema)]
    return []


def _tags(body: bytes | None) -> list[tuple[str, str, Any]]:
    """(key, column or empty, value)."""
    found = []
    for item in _items(body, "tags"):
        if isinstance(item.get("key"), str):
            field = item.get("field")
            found.append((item["key"], field if isinstance(field, str) else "", item.get("value")))
    return found


def _tag(name: str, value: Any) -> str:
    if isinstance(value, bool):
        value = "true" if value else "false"
    return name if value in (None, "", "true", name) else f"{name}:{value}"


def _items(body: bytes | None, key: str) -> list[dict[str, Any]]:
    items = _plain(body).get(key)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _plain(body: bytes | None) -> dict[str, Any]:
    if body is not None:
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            value = msgspec.json.decode(body)
            return value if isinstance(value, dict) else {}
    return {}


def _text(value: object) -> str | None:
    return known.clean(value) if isinstance(value, str) and value.strip() else None
