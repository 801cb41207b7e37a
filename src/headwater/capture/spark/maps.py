"""Keys and values of maps, told apart as the fields of a struct are: a map has two fields, whose names (`KEY`, `VALUE`) no struct's field has.

What a key finds is TRANSFORMATION of the values and of what is looked for, and CONDITIONAL on the keys: they decide which value it is, as in CASE.
"""

from typing import Protocol

from headwater.capture.spark import dependencies as deps
from headwater.capture.spark import source_fields
from headwater.capture.spark.dependencies import Dependencies, Fields, Parts
from headwater.capture.spark.plan import Node
from headwater.capture.spark.source_fields import FOUND, KEY, VALUE

# Functions of keys or values, whose last child is the function.
_CHANGED = frozenset({"TransformKeys", "TransformValues", "MapZipWith"})
_PARTS = frozenset({"MapKeys", "MapValues", "MapContainsKey"})
_MADE = frozenset({"CreateMap", "MapFromArrays", "MapFromEntries"})
KINDS = FOUND | _CHANGED | _PARTS | {"MapEntries"} | _MADE


class Reader(Protocol):
    """The reader of the expression that the map is in."""

    bound: dict[int, Parts]

    def value(self, node: Node) -> Dependencies: ...

    def fields(self, node: Node) -> Fields | None: ...


def value(reader: Reader, node: Node) -> Dependencies | None:
    """Return what a function of maps depends on; None if it is another function, or its map's keys and values are not told apart."""
    kind = node.kind
    if kind in _CHANGED:
        changed = _changed(reader, node)
        return None if changed is None else _transformed(*(part.depends for part in changed))
    if kind not in FOUND | _PARTS or (found := entries(reader, node.children[0])) is None:
        return None
    key, each = found
    if kind in FOUND:
        return deps.merged([_transformed(each.depends), _found_by(reader, node, key)])
    if kind == "MapContainsKey":
        return _transformed(key.depends, *(reader.value(child) for child in node.children[1:]))
    return _transformed(key.depends if kind == "MapKeys" else each.depends)


def fields(reader: Reader, node: Node) -> Fields | None:
    """Return the fields of the value of a function in `KINDS`; None if they are not known."""
    kind, children = node.kind, node.children
    if kind in _CHANGED:
        changed = _changed(reader, node)
        return None if changed is None else {KEY: changed[0], VALUE: changed[1]}
    if kind in _MADE:
        return _new_map(reader, node)
    found = entries(reader, children[0])
    if found is None:
        return reader.fields(children[0]) if kind in FOUND else None
    key, each = found
    if kind == "MapEntries":
        return {
            "key": Parts(_transformed(key.depends), key.inner),
            "value": Parts(_transformed(each.depends), each.inner),
        }
    if kind in FOUND:
        by = _found_by(reader, node, key)
        return deps.changed_fields(each.inner, lambda one: deps.merged([one, by]))
    return {"MapKeys": key.inner, "MapValues": each.inner}.get(kind)


def entries(reader: Reader, node: Node) -> tuple[Parts, Parts] | None:
    """Return the keys and the values of the map that `node` is, made by the query or of a source; None if it is no map or they are not known."""
    made = reader.fields(node)
    if made is None:
        made = source_fields.fields_of(reader, node)
    return None if made is None or KEY not in made else (made[KEY], made[VALUE])


def _found_by(reader: Reader, node: Node, key: Parts) -> Dependencies:
    """Return what finds a value in a map, beside the value."""
    looked_for = _transformed(*(reader.value(child) for child in node.children[1:]))
    return deps.merged([looked_for, deps.deciding(key.depends, deps.CONDITIONAL, keep_indirect=True)])


def _new_map(reader: Reader, node: Node) -> Fields | None:
    kind, children = node.kind, node.children
    if kind == "CreateMap":
        return {KEY: _united(reader, children[::2]), VALUE: _united(reader, children[1::2])}
    if kind == "MapFromArrays" and len(children) == 2:
        keys, values = (Parts(_transformed(reader.value(child)), reader.fields(child)) for child in children)
        return {KEY: keys, VALUE: values}
    made = reader.fields(children[0])
    pairs = list((made if made is not None else source_fields.fields_of(reader, children[0]) or {}).values())
    return {KEY: pairs[0], VALUE: pairs[1]} if len(pairs) == 2 else None


def _united(reader: Reader, nodes: list[Node]) -> Parts:
    return Parts(
        deps.merged(reader.value(node) for node in nodes), deps.merged_fields(reader.fields(node) for node in nodes)
    )


def _changed(reader: Reader, node: Node) -> tuple[Parts, Parts] | None:
    """Return the keys and values that a function makes of those of one map, or of two that it lays side by side."""
    function, *_ = node.children[-1:]
    given = [entries(reader, child) for child in node.children[:-1]]
    maps = [one for one in given if one is not None]
    variables = function.children[1:]
    if not maps or len(maps) != len(given) or len(variables) != len(maps) + 1:
        return None
    keys = Parts(deps.merged(key.depends for key, _ in maps), deps.merged_fields(key.inner for key, _ in maps))
    for variable, part in zip(variables, [keys, *(each for _, each in maps)], strict=True):
        reader.bound[variable.expression_id] = part
    body = Parts(reader.value(function.children[0]), reader.fields(function.children[0]))
    if node.kind == "TransformKeys":
        return body, maps[0][1]
    if node.kind == "MapZipWith":
        decided = deps.deciding(keys.depends, deps.CONDITIONAL, keep_indirect=True)
        return keys, Parts(deps.merged([body.depends, decided]), body.inner)
    return keys, body


def _transformed(*parts: Dependencies) -> Dependencies:
    return deps.strengthened(deps.merged(parts), deps.TRANSFORMATION)
