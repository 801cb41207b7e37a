"""The fields of maps: entries by their keys where those are literals, else one part for all keys and one for all values."""

from typing import Any

from sqlglot import exp

from headwater.columns import form
from headwater.columns.kinds import AGGREGATED, AS_IS, BRANCHED, TRANSFORMED
from headwater.columns.lowering.access import as_value
from headwater.columns.lowering.context import Context
from headwater.columns.lowering.elements import element
from headwater.columns.lowering.expression import lower
from headwater.columns.lowering.lambdas import bound, condition, parts_of

Fields = form.Fields
Parts = tuple[form.Expression, form.Expression]


def made_of_arrays(context: Context, node: Any) -> Fields | None:
    """`map(array(…), array(…))`, `map(key, value, …)`."""
    keys, values = node.args.get("keys"), node.args.get("values")
    if keys is None or values is None:
        return None
    if not isinstance(keys, exp.Array) or not isinstance(values, exp.Array):
        return _of_parts(element(context.value(keys), TRANSFORMED), element(context.value(values), TRANSFORMED))
    if len(keys.expressions) != len(values.expressions):
        return None
    names = [str(one.this) if isinstance(one, exp.Literal) else "" for one in keys.expressions]
    if all(names):
        given = zip(names, (context.value(one) for one in values.expressions), strict=True)
        return Fields(list(given), keyed=True)
    return _of_parts(_any_of(context, keys.expressions), _any_of(context, values.expressions))


def made_of_pairs(context: Context, node: Any) -> Fields | None:
    """`map_from_entries(array of structs)`: their first field is the key, their second the value."""
    pairs = context.value(node.this)
    key, value = (form.Expression(taken=((pairs, f"{form.ANY}.#{place}", TRANSFORMED),)) for place in (0, 1))
    return _of_parts(key, value)


def keys_of(context: Context, node: Any) -> Fields:
    """`map_keys(map)`."""
    return Fields(like=[(parts_of(context.value(node.this))[0], AS_IS)])


def called(context: Context, name: str, arguments: list[Any]) -> Fields | None:
    """A function of maps that the parser knows by name only."""
    if name in {"map_from_arrays", "map_agg"} and len(arguments) == 2:
        if name == "map_agg":
            return _of_parts(*(lower(context, one, AGGREGATED) for one in arguments))
        return _of_parts(*(element(context.value(one), TRANSFORMED) for one in arguments))
    if name == "map_entries" and len(arguments) == 1:
        key, value = parts_of(context.value(arguments[0]))
        return Fields([("key", element(key, TRANSFORMED)), ("value", element(value, TRANSFORMED))])
    if name == "map_values" and len(arguments) == 1:
        return Fields(like=[(parts_of(context.value(arguments[0]))[1], AS_IS)])
    if name == "map_concat" and arguments:
        return Fields(like=[(context.value(one), AS_IS) for one in arguments])
    if name == "map_filter" and arguments:
        decided = condition(context, name, arguments[0], arguments[-1])
        return Fields(like=[(context.value(arguments[0]), AS_IS)], deciding=decided)
    return _changed(context, name, arguments)


def _changed(context: Context, name: str, arguments: list[Any]) -> Fields | None:
    """A function of the keys and values of a map, or of two that are laid side by side: the last argument."""
    function = arguments[-1] if arguments else None
    given = _CHANGING.get(name)
    if given != len(arguments) - 1 or not isinstance(function, exp.Lambda) or len(function.expressions) != given + 1:
        return None
    maps = [parts_of(context.value(one)) for one in arguments[:-1]]
    keys = [key for key, _ in maps]
    names = [context.key(one) for one in function.expressions]
    both = _united(keys)
    body = context.value(as_value(function.this))
    for variable, part in zip(names, [both, *(each for _, each in maps)], strict=True):
        body = bound(body, variable, part)
    if name == "transform_keys":
        return _of_parts(body, maps[0][1])
    if name == "map_zip_with":
        for key in keys:
            body.taken += tuple((value, path, BRANCHED) for value, path, _ in key.taken)
    return _of_parts(both, body)


_CHANGING = {"transform_keys": 1, "transform_values": 1, "map_zip_with": 2}


def _any_of(context: Context, nodes: list[Any]) -> form.Expression:
    return _united([context.value(one) for one in nodes])


def _united(values: list[form.Expression]) -> form.Expression:
    """Return a value that may be any of several."""
    if len(values) == 1:
        return values[0]
    made = form.Expression(fields=Fields(like=[(one, AS_IS) for one in values]))
    for one in values:
        made.references += one.references
        made.subqueries += one.subqueries
        made.taken += one.taken
    return made


def _of_parts(key: form.Expression, value: form.Expression) -> Fields:
    return Fields([(form.KEYS, key), (form.VALUES, value)], keyed=True)
