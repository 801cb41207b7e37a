"""What changed between two schemas: columns added, removed, retyped, redescribed, moved. Columns are told apart by their whole name."""

from collections.abc import Sequence

import msgspec

from headwater.model.facets import Field
from headwater.model.ordering import longest_increasing


class Retyped(msgspec.Struct, frozen=True):
    column: str
    before: str | None
    after: str | None


class Moved(msgspec.Struct, frozen=True):
    """Places are counted from 0. Only columns that changed their order among those that stayed: an added column moves nobody."""

    column: str
    before: int
    after: int


class SchemaDiff(msgspec.Struct, frozen=True):
    """Columns by name. `same`: nothing changed at all."""

    same: bool
    added: list[Field]
    removed: list[Field]
    retyped: list[Retyped]
    redescribed: list[Retyped]
    moved: list[Moved]


def schema_diff(before: Sequence[Field], after: Sequence[Field]) -> SchemaDiff:
    """From one schema to the next. Of columns that share a name the first counts."""
    old, new = _by_name(before), _by_name(after)
    both = [name for name in new if name in old]
    places = {name: place for place, name in enumerate(name for name in old if name in new)}
    was, is_ = ({name: place for place, name in enumerate(names)} for names in (old, new))
    kept = set(longest_increasing([places[name] for name in both]))
    found = SchemaDiff(
        same=False,
        added=[new[name] for name in new if name not in old],
        removed=[old[name] for name in old if name not in new],
        retyped=[Retyped(n, old[n].type, new[n].type) for n in both if old[n].type != new[n].type],
        redescribed=[
            Retyped(n, old[n].description, new[n].description) for n in both if old[n].description != new[n].description
        ],
        moved=[Moved(n, was[n], is_[n]) for n in both if places[n] not in kept],
    )
    changed = found.added or found.removed or found.retyped or found.redescribed or found.moved
    return found if changed else msgspec.structs.replace(found, same=True)


def _by_name(fields: Sequence[Field]) -> dict[str, Field]:
    found: dict[str, Field] = {}
    for field in fields:
        found.setdefault(field.name, field)
    return found
