"""The fields of an expression's value: the form's, with the values of what it names."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from headwater.columns import form
from headwater.columns.kinds import AS_IS
from headwater.columns.resolving.dependencies import (
    NOTHING,
    Dependencies,
    StructValue,
    alike,
    element_use,
    passed_on,
    union,
)
from headwater.columns.resolving.relation import Open, Relation

Evaluate = Callable[[form.Expression], Dependencies]


def struct_value(
    value: Dependencies, fields: form.Fields, evaluate: Evaluate, types: Mapping[str, Sequence[str]]
) -> Dependencies:
    """`value` with its fields."""
    given = {name: evaluate(one) for name, one in fields.given}
    deciding = NOTHING
    if fields.deciding is not None:
        deciding = evaluate(fields.deciding)
    like = tuple((evaluate(one), use) for one, use in fields.like)
    if fields.by_place and (met := _by_place(value, [passed_on(one, use, deciding) for one, use in like])) is not None:
        return met
    made = StructValue(value, given, like, deciding=deciding, without=tuple(fields.without), keyed=fields.keyed)
    if fields.type_name:
        return renamed(made, [(name, []) for name in types.get(fields.type_name, ())], value)
    return renamed(made, fields.names, value, by_name=fields.by_name) if fields.names else made


def _by_place(whole: Dependencies, values: Sequence[Dependencies]) -> StructValue | None:
    """Structs whose fields meet at their places, under the names of the first; None if they cannot."""
    listed = [one.listed() if isinstance(one, StructValue) else None for one in values]
    names = list(listed[0] or ())
    if not names or any(one is None or len(one) != len(names) for one in listed):
        return None
    places = zip(*(one.values() for one in listed if one is not None), strict=True)
    return StructValue(whole, {name: together(list(found)) for name, found in zip(names, places, strict=True)})


def together(values: list[Dependencies]) -> Dependencies:
    """Values that stand for one: those of a set operation's column, elements of a list, branches."""
    return _by_place(union(values), values) or alike(values)


def renamed(value: Dependencies, names: list[Any], whole: Dependencies, *, by_name: bool = False) -> Dependencies:
    """A struct under the fields' names of a type, which it gets by place, or `by_name`; a value with unknown fields keeps none."""
    listed = value.listed() if isinstance(value, StructValue) else None
    if listed is None or len(listed) != len(names):
        return StructValue(whole, {})
    if by_name and {one.lower() for one in listed} == {one.lower() for one, _ in names}:
        return value
    fields = {
        name or own: renamed(one, inner, one) if inner else one
        for (name, inner), (own, one) in zip(names, listed.items(), strict=True)
    }
    return StructValue(whole, fields)


def names_in(value: StructValue) -> list[tuple[str, Any]]:
    """The names of a value's fields, each with those inside it; none, if others may exist."""
    return [
        (name, names_in(one) if isinstance(one, StructValue) else []) for name, one in (value.listed() or {}).items()
    ]


def paths(
    value: StructValue, deeper: Callable[[Dependencies, str], Dependencies]
) -> Iterator[tuple[tuple[str, ...], Dependencies]]:
    """The fields inside a value that a query makes, by path; under `*` what has every other field of a name."""
    if value.declared:
        return
    for name, one in value.fields.items():
        yield from _below((_SHOWN.get(name, name),), one, deeper)
    if not (value.fields or any(isinstance(one, StructValue) for one, _ in value.like)):
        return
    listed = value.listed() if value.like else {}
    if listed is not None:
        for name, one in listed.items():
            if name not in value.fields:
                yield from _below((name,), one, deeper)
        return
    others = [(one, use) for one, use in value.like if not isinstance(one, StructValue) or one.declared]
    for one, use in value.like:
        if isinstance(one, StructValue) and not one.declared:
            for path, inner in paths(one, deeper):
                if path[0] not in value.fields and path[0] not in value.without:
                    yield path, passed_on(inner, element_use(one, use), value.deciding)
                    for other, way in others:
                        yield path, passed_on(deeper(other, ".".join(path)), element_use(other, way), value.deciding)
    if others:
        yield ("*",), union(passed_on(one, use, value.deciding) for one, use in others)


_SHOWN = {form.KEYS: "key", form.VALUES: "value"}


def _below(
    path: tuple[str, ...], value: Dependencies, deeper: Callable[[Dependencies, str], Dependencies]
) -> Iterator[tuple[tuple[str, ...], Dependencies]]:
    yield path, value
    if isinstance(value, StructValue):
        yield from (((*path, *inner), one) for inner, one in paths(value, deeper))


def fields_listed(value: Dependencies) -> list[tuple[str, Dependencies | Open]]:
    """All fields of a value; none, where others may exist."""
    return list((value.listed() or {}).items()) if isinstance(value, StructValue) else []


def row_of(relation: Relation) -> Dependencies:
    """The whole row, whose columns are its fields."""
    whole = union(relation.first_values())
    if relation.inside is not None and len(relation.columns()) == 1:  # UNNEST: the row is the element.
        return relation.inside.value
    named = {name: value for name, value in relation.columns() if not isinstance(value, Open)}
    return StructValue(whole, named, tuple((one.star(), 0) for one in relation.opens)) if named else whole


def of_subquery(relation: Relation, standing: int, rows: Dependencies, whole: Dependencies) -> Dependencies:
    """The value of a subquery in an expression, with fields: its first column's, or its columns."""
    columns = relation.columns()
    if relation.opens or not columns:
        return whole
    first = columns[0][1]
    if isinstance(first, StructValue) and (standing == form.SCALAR or len(columns) == 1):
        return passed_on(first, AS_IS, rows)
    if standing != form.WHOLE:
        return whole
    return StructValue(whole, {name: union([value, rows]) for name, value in columns if not isinstance(value, Open)})
