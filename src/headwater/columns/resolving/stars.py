"""The columns a star means: what it leaves out, puts in the place of and renames, of one table or of all that are joined."""

from collections.abc import Mapping

from headwater.columns import form
from headwater.columns.resolving.dependencies import Dependencies
from headwater.columns.resolving.name_filter import name_filter
from headwater.columns.resolving.relation import Column, Open
from headwater.columns.resolving.scope import Scope, is_suffix


def star_columns(star: form.Star, scope: Scope, replaced: Mapping[str, Dependencies], *, once: bool) -> list[Column]:
    """Return the columns of the star in their order, under their new names; `replaced`: the values put in the place of columns.

    `once`: only the first column of a name is replaced, and the others are left out (DuckDB). A name with its table in front means that table's
    column alone, and none that USING made of several.
    """
    found = scope.star(star.qualifier)
    if not (star.like or star.excluded or star.replaced or star.renamed):
        return found
    qualified = not star.qualifier and any(len(parts) > 1 for parts in (*star.excluded, *dict(star.renamed)))
    places = _places(scope) if qualified else [None] * len(found)
    edits = {place: _edits(star, scope, place) for place in dict.fromkeys(places)}
    matches = name_filter(star.like) if star.like else None
    result: list[Column] = []
    met: set[str] = set()
    for (name, value), place in zip(found, places, strict=True):
        excluded, renamed = edits[place]
        if place == -1 and not isinstance(value, Open) and (left := _left_of(name, star, scope)) is not None:
            result += [(name, one) for one in left[:1]]
            continue
        if isinstance(value, Open):
            new_to_old = {new: old for old, new in renamed.items()}
            result.append((name, value.without([*excluded, *replaced, *renamed], new_to_old)))
        elif matches is not None and not matches(name):
            continue
        elif name in replaced:
            if not (once and name in met):
                result.append((name, replaced[name]))
            met.add(name)
        elif name not in excluded:
            result.append((renamed.get(name, name), value))
    return result + [(name, value) for name, value in replaced.items() if name not in met]


def _edits(star: form.Star, scope: Scope, place: int | None) -> tuple[set[str], dict[str, str]]:
    """The names left out and renamed among the columns of the relation at `place`; None: of every relation."""

    def here(parts: form.Parts) -> bool:
        if len(parts) == 1:
            return True
        named = _place_named(scope, parts[:-1])
        if named is None:  # Databricks: EXCEPT (s.f) leaves out a field of the column s.
            scope.leaves.doubts[f"{'.'.join(parts)}, which a star leaves out or renames, is taken to stay"] = None
            return False
        return place is None or named == place

    excluded = {parts[-1] for parts in star.excluded if here(parts)}
    return excluded, {parts[-1]: new for parts, new in star.renamed if here(parts)}


def _left_of(name: str, star: form.Star, scope: Scope) -> list[Dependencies] | None:
    """The values that a column which USING merged keeps when the star leaves out some of them; None if it leaves out none."""
    of = scope.merged_of[name]
    places = [place for place, (_, _, relation) in enumerate(scope.relations) if any(relation is one for one in of)]
    left = [place for place in places if name not in _edits(star, scope, place)[0]]
    if len(left) == len(places):
        return None
    return [value for place in left for value in scope.relations[place][2].any(name)[:1]]


def _places(scope: Scope) -> list[int | None]:
    """The place of the relation that each column of `*` is of; -1: of several, as USING merges them."""
    result: list[int | None] = [-1] * len(scope.merged)
    for place, (_, _, relation) in enumerate(scope.relations):
        shown = scope.merged_in(relation) if scope.merged else ()
        result += [place for name, value in relation.columns() if isinstance(value, Open) or name not in shown]
    return result


def _place_named(scope: Scope, qualifier: form.Parts) -> int | None:
    for place, (alias, name, _) in enumerate(scope.relations):
        if (len(qualifier) == 1 and alias == qualifier[0]) or (len(qualifier) > 1 and is_suffix(qualifier, name)):
            return place
    return None
