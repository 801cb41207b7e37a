"""What people said of things: tags, descriptions, owners; laid over what events told."""

import datetime as dt
import uuid
from collections.abc import Collection

import msgspec

from headwater.store.database import Connection


class Said(msgspec.Struct):
    """Of one dataset or job. Tags that were taken away are in `untagged`, so that a facet does not bring them back."""

    tags: list[str]
    untagged: set[str]
    field_tags: dict[str, list[str]]
    untagged_fields: dict[str, set[str]]
    description: str | None


class Word(msgspec.Struct, frozen=True):
    """One thing said of a namespace, source or tag."""

    value: object
    at: dt.datetime


def nothing() -> Said:
    return Said([], set(), {}, {}, None)


def text(word: Word | None) -> str | None:
    return word.value if word is not None and isinstance(word.value, str) and word.value else None


async def of_owners(connection: Connection, ids: Collection[uuid.UUID]) -> dict[uuid.UUID, Said]:
    """id → what was said of it; what nobody spoke of is absent."""
    return {}


async def made(connection: Connection, what: str) -> dict[str, dict[str, Word]]:
    """Namespaces, sources or tags that people made or spoke of: name → kind → what they said."""
    return {}


async def tags_set(connection: Connection) -> list[str]:
    """Every tag that people set on a dataset, a column or a job."""
    return []
