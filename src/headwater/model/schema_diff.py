"""Compare two schemas: columns added, removed, retyped, redescribed and moved. Columns are matched by their full name."""

from collections.abc import Sequence

import msgspec

from headwater.model.facets import Field
from headwater.model.ordering import longest_increasing


class Retyped(msgspec.Struct, frozen=True):
    column: str
    before: str | None
    after: str | None


class Moved(msgspec.Struct, frozen=True):
    """A column that changed its order relative to the other common columns; adding a column moves none. Indexes start at 0."""

    column: str
    before: int
    after: int


class SchemaDiff(msgspec.Struct, frozen=True):
    """The differences. `same`: the schemas are equal."""

    same: bool
    added: list[Field]
    removed: list[Field]
    retyped: list[Retyped]
    redescribed: list[Retyped]
    moved: list[Moved]


def schema_diff(before: Sequence[Field], after: Sequence[Field]) -> SchemaDiff:
    """Compare a schema with its successor. If columns share a name, the first counts."""
    old, new = _by_name(before), _by_name(after)
    both = [name for name in new if name in old]
    places = {name: place for place, name in enumerate(name for name in old if name in new)}
    was, is_ = ({name: place for place, name in enumerate(names)} for names in (old, new))
    unmoved = set(longest_increasing([places[name] for name in both]))
    diff = SchemaDiff(
        same=False,
        added=[new[name] for name in new if name not in old],
        removed=[old[name] for name in old if name not in new],
        retyped=[Retyped(n, old[n].type, new[n].type) for n in both if old[n].type != new[n].type],
        redescribed=[
            Retyped(n, old[n].description, new[n].description) for n in both if old[n].description != new[n].description
        ],
        moved=[Moved(n, was[n], is_[n]) for n in both if places[n] not in unmoved],
    )
    changed = diff.added or diff.removed or diff.retyped or diff.redescribed or diff.moved
    return diff if changed else msgspec.structs.replace(diff, same=True)


def _by_name(fields: Sequence[Field]) -> dict[str, Field]:
    by_name: dict[str, Field] = {}
    for field in fields:
        by_name.setdefault(field.name, field)
    return by_name
