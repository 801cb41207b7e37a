"""Relations that change cells or whole rows of one relation: filled, replaced and dropped nulls, Python functions over rows.

A function's inside is not seen: each column that it makes is made of all that it is given.
"""

from collections.abc import Callable
from typing import Any, cast

from headwater.capture.spark.connect.expressions import Named
from headwater.capture.spark.connect.scope import Bound, attribute, literal
from headwater.capture.spark.plan import Node


def na_fill(binder: Any, inner: Any, relation: Any) -> Bound:
    return changed(binder, inner, lambda tree: Node("Coalesce", {}, [tree, literal(None)]))


def na_replace(binder: Any, inner: Any, relation: Any) -> Bound:
    return changed(binder, inner, lambda tree: Node("CaseWhen", {}, [Node("EqualTo", {}, [tree]), literal(None), tree]))


def changed(binder: Any, inner: Any, change: Callable[[Node], Node]) -> Bound:
    below = binder.bind(inner.input)
    wanted = {name.lower() for name in inner.cols}
    values = getattr(inner, "values", None) or [one.new_value for one in getattr(inner, "replacements", ())]
    texts = any(one.WhichOneof("literal_type") == "string" for one in values)
    made: list[Named] = []
    for one in below.attributes:
        chosen = one.name.lower() in wanted if wanted else one.kind is None or (one.kind == "string") == texts
        made.append((attribute(one.name, one.kind), change(one.node)) if chosen else (one, one.node))
    return cast("Bound", binder.projected(below, made))


def na_drop(binder: Any, inner: Any, relation: Any) -> Bound:
    below = binder.bind(inner.input)
    wanted = {name.lower() for name in inner.cols}
    tested = [one.node for one in below.attributes if not wanted or one.name.lower() in wanted]
    return Bound(Node("Filter", {"condition": [Node("AtLeastNNonNulls", {}, tested)]}, [below.node]), below.attributes)


def unpivot(binder: Any, inner: Any, relation: Any) -> Bound:
    below = binder.bind(inner.input)
    scope = binder.scope(below)
    ids = binder.values(inner.ids, scope)
    taken = {one.id for one, _ in ids}
    values = (
        binder.values(inner.values.values, scope)
        if inner.HasField("values")
        else [(one, one.node) for one in below.attributes if one.id not in taken]
    )
    made = [attribute(one.name, one.kind) for one, _ in ids]
    made += [attribute(inner.variable_column_name, "string"), attribute(inner.value_column_name)]
    same = len({repr(one.kind) for one, _ in values}) == 1
    sources: list[list[tuple[int, bool]]] = [[(one.id, True)] for one, _ in ids]
    sources += [[], [(one.id, same) for one, _ in values]]
    fields = {"output": [one.node for one in made], "headwater_made_of": sources}
    return Bound(Node("Expand", fields, [below.node]), made)


def map_partitions(binder: Any, inner: Any, relation: Any) -> Bound:
    below = binder.bind(inner.input)
    return cast("Bound", binder.opaque_of(below, [(one["name"], one["type"]) for one in binder.schema(relation)]))


def group_map(binder: Any, inner: Any, relation: Any) -> Bound:
    below = binder.bind(inner.input)
    keys = [tree for _, tree in binder.values(inner.grouping_expressions, binder.scope(below))]
    names = [(one["name"], one["type"]) for one in binder.schema(relation)]
    return cast("Bound", binder.opaque_of(below, names, "FlatMapGroupsInPandas", groupingAttributes=keys))


def co_group_map(binder: Any, inner: Any, relation: Any) -> Bound:
    left, right = binder.bind(inner.input), binder.bind(inner.other)
    keys = [tree for _, tree in binder.values(inner.input_grouping_expressions, binder.scope(left))]
    keys += [tree for _, tree in binder.values(inner.other_grouping_expressions, binder.scope(right))]
    names = [(one["name"], one["type"]) for one in binder.schema(relation)]
    both = Bound(Node("Zip", {}, [left.node, right.node]), left.attributes + right.attributes)
    return cast("Bound", binder.opaque_of(both, names, "FlatMapCoGroupsInPandas", leftAttributes=keys))
