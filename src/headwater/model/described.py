"""What is known of a dataset or job in words: columns, description, tags, owners, SQL, from its facets and from what people said.

Pure. What a person said comes before what events said; a tag or owner a person took away is not there, whoever told it.
"""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from headwater.model import facets as known

# The facets that are read.
FACETS = ("documentation", "ownership", "schema", "sql", "tags")


class Said(msgspec.Struct, frozen=True):
    """What holds of what people said: `kind` is description, owner or tag; `field` a column's name, or empty."""

    field: str
    kind: str
    key: str
    value: dict[str, Any]
    deleted: bool


class Described(msgspec.Struct):
    """Plain texts. `columns`: (name, description); `tags`: of the whole and of its columns, as `key` or `key:value`."""

    columns: list[tuple[str, str | None]]
    description: str | None
    tags: list[str]
    owners: list[str]
    sql: str | None


def described(facets: Mapping[str, bytes], said: Sequence[Said] = ()) -> Described:
    """What is not of its facet's shape is left out."""
    columns = _columns(facets.get("schema"))
    description = _text(_plain(facets.get("documentation")).get("description"))
    tags = _tags(facets.get("tags"))
    owners = [_text(item.get("name")) for item in _items(facets.get("ownership"), "owners")]
    mended = {one.field: _text(one.value.get("text")) for one in said if one.kind == "description" and not one.deleted}
    description = mended.pop("", None) or description
    columns = [(name, mended.pop(name, None) or text) for name, text in columns]
    columns += [(name, text) for name, text in sorted(mended.items())]
    for one in said:
        if one.kind == "tag":
            tags = [tag for tag in tags if (tag[0].strip().casefold(), tag[1]) != (one.key, one.field)]
            if not one.deleted:
                tags.append((str(one.value.get("name", one.key)), one.field, one.value.get("value")))
        elif one.kind == "owner":
            owners = [owner for owner in owners if owner != one.key]
            if not one.deleted:
                owners.append(_text(one.value.get("name")))
    return Described(
        columns,
        description,
        sorted({known.clean(_tag(name, value)) for name, _, value in tags if name.strip()}),
        sorted({owner for owner in owners if owner}),
        _text(_plain(facets.get("sql")).get("query")),
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
