"""Functions of the elements of lists and of the entries of maps: their bodies, with what a parameter stands for in its place."""

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from headwater.columns import form
from headwater.columns.form import Fields
from headwater.columns.kinds import AS_IS, BRANCHED, FILTER, TRANSFORMED
from headwater.columns.lowering.access import as_value
from headwater.columns.lowering.context import Context
from headwater.columns.lowering.walk import Stack, below_use, push

MAPPED_NAMES = frozenset({"zip_with", "forall", "any_match", "all_match", "none_match"})
"""Functions whose value is that of a function of elements, which the parser knows by name only."""
MAP_FILTER = "map_filter"


def mapped(context: Context, node: Any, use: int, stack: Stack, result: form.Expression) -> None:
    """`transform(list, x -> body)`, `exists(list, x -> body)`."""
    map_lists(context, [node.this], node.expression, use, stack, result)


def map_lists(
    context: Context, lists: Sequence[Any], function: Any, use: int, stack: Stack, result: form.Expression
) -> None:
    """Take what the body of a function of the lists' elements takes. A body without columns is not of the lists: they are CONDITIONAL."""
    if not isinstance(function, exp.Lambda):
        push(stack, [*lists, function], below_use(use, TRANSFORMED))
        return
    body = _body(context, function, [(context.value(one), form.ANY) for one in lists])
    if body.references or body.taken or body.subqueries:
        result.taken += ((body, "", below_use(use, TRANSFORMED)),)
    else:
        push(stack, list(lists), below_use(use, BRANCHED))


def filtered(context: Context, node: Any, use: int, stack: Stack, result: form.Expression) -> None:
    """`filter(list, x -> condition)`: the condition decides which elements stay."""
    filter_elements(context, "", node.this, node.expression, use, stack, result)


def filter_elements(
    context: Context, name: str, value: Any, function: Any, use: int, stack: Stack, result: form.Expression
) -> None:
    """Take a list or a map (`name`: MAP_FILTER), and what decides which of its elements stay."""
    push(stack, value, below_use(use, TRANSFORMED))
    result.taken += ((condition(context, name, value, function), "", use),)


def condition(context: Context, name: str, value: Any, function: Any) -> form.Expression:
    """Return what decides which elements of a list, or entries of a map (`name`: MAP_FILTER), stay."""
    if not isinstance(function, exp.Lambda):
        return form.Expression(taken=((context.value(function), "", TRANSFORMED),))
    whole = context.value(value)
    elements = [(whole, form.KEYS), (whole, form.VALUES)] if name == MAP_FILTER else [(whole, form.ANY)]
    return form.Expression(taken=((_body(context, function, elements), "", FILTER),))


def _body(context: Context, function: Any, values: Sequence[tuple[form.Expression, str]]) -> form.Expression:
    """Return the body of a function, its parameters replaced by the steps into these values. A further one is a place, which is no column."""
    names = [context.key(one) for one in function.expressions]
    body = context.value(as_value(function.this))
    for name, (value, step) in zip(names, values, strict=False):
        body = bound(body, name, value, step)
    body.references = [one for one in body.references if one[0][0] not in names[len(values) :]]
    return body


def parts_of(value: form.Expression) -> tuple[form.Expression, form.Expression]:
    """Return the keys and the values of a map, as they are."""
    key, each = (form.Expression(taken=((value, step, AS_IS),)) for step in (form.KEYS, form.VALUES))
    return key, each


def bound(body: form.Expression, name: str, value: form.Expression, step: str = "") -> form.Expression:
    """The body of a lambda with a parameter's value, or what is at a `step` of it, in its place."""
    made = form.Expression([one for one in body.references if one[0][0] != name], body.subqueries, body.taken)
    for parts, use, path in body.references:
        if parts[0] == name:
            steps = ".".join(one for one in (step, *parts[1:], path) if one)
            made.taken += ((value, steps, use),)
    if body.fields is not None:
        fields = body.fields
        made.fields = Fields(
            [(field, bound(one, name, value, step)) for field, one in fields.given],
            [(bound(one, name, value, step), use) for one, use in fields.like],
            bound(fields.deciding, name, value, step) if fields.deciding is not None else None,
            fields.names,
            fields.without,
            fields.keyed,
            fields.by_name,
            fields.by_place,
            fields.type_name,
        )
    return made
