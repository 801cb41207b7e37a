"""Decode the facets that list what a producer says about a dataset, job or run: tags and owners, to find the entries that violate the schema.

Answers read these facets as they came (`model.described`, `model.run_labels`) and skip such entries; the projection names them in the receipt.
"""

import msgspec

from headwater.model.parts import PartDecoder


class _Tag(msgspec.Struct):
    key: str
    value: str | int | float | bool | None = None
    source: str | None = None
    field: str | None = None


class _Tags(msgspec.Struct):
    tags: list[_Tag] | None = None


class _Owner(msgspec.Struct):
    name: str
    type: str | None = None


class _Ownership(msgspec.Struct):
    owners: list[_Owner] | None = None


_tags = PartDecoder(_Tags)
_ownership = PartDecoder(_Ownership)


def tags(body: bytes) -> list[str]:
    """The keys of a `tags` facet."""
    return [tag.key for tag in _tags.decode(body).tags or []]


def ownership(body: bytes) -> list[str]:
    """The names of an `ownership` facet."""
    return [owner.name for owner in _ownership.decode(body).owners or []]
