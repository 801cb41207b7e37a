"""Shapes of resolved relations that several kinds of plans make: names changed, two sides joined, aggregates of a part. Pure."""

import msgspec

from headwater.capture.spark import dependencies as deps
from headwater.capture.spark.connect import scope as scopes
from headwater.capture.spark.connect.scope import Attribute, Bound, attribute, literal
from headwater.capture.spark.expressions import COMPOSED
from headwater.capture.spark.plan import Node

Named = tuple[Attribute, Node]
WINDOW_OF = "headwater_window_of"
"""The field of a time window with what decides which rows have one: Spark leaves out those without a time."""


def qualified(bound: Bound, qualifier: tuple[str, ...]) -> Bound:
    """Return the relation under a name; the ids of its columns stay."""
    return Bound(bound.node, [msgspec.structs.replace(one, qualifier=qualifier) for one in bound.attributes])


def renamed(bound: Bound, names: list[str]) -> Bound:
    made = [
        (one if one.name == name else attribute(name, one.kind), one.node)
        for one, name in zip(bound.attributes, names, strict=False)
    ]
    return scopes.project(bound, made)


def joined(left: Bound, right: Bound, condition: list[Node], kind: str) -> Bound:
    node = Node("Join", {"condition": condition, "joinType": {"object": f"{kind}$"}}, [left.node, right.node])
    return Bound(node, left.attributes if kind in {"LeftSemi", "LeftAnti"} else left.attributes + right.attributes)


def laterally_joined(left: Bound, right: Bound, condition: list[Node], kind: str) -> Bound:
    """Join with a query that uses columns of the left side."""
    query = Node("LateralSubquery", {"plan": [right.node]}, [])
    fields = {"right": [query], "condition": condition, "joinType": {"object": f"{kind}$"}}
    return Bound(Node("LateralJoin", fields, [left.node]), left.attributes + right.attributes)


def joined_using(left: Bound, right: Bound, names: list[str], kind: str) -> Bound:
    """Join by columns of one name on both sides, of which one is left."""
    pairs = [(scopes.find([name], left.attributes), scopes.find([name], right.attributes)) for name in names]
    both = [(one, other) for one, other in pairs if one is not None and other is not None]
    condition = [Node("EqualTo", {}, [one, other]) for one, other in both]
    both_sides = joined(left, right, [Node("And", {}, condition)], kind)
    if kind in {"LeftSemi", "LeftAnti"}:
        return both_sides
    made: list[Named] = []
    for one, other in both:
        chosen = Node("Coalesce", {}, [one, other]) if kind == "FullOuter" else other if kind == "RightOuter" else one
        same = next((a for a in both_sides.attributes if a.id == chosen.expression_id), None)
        made.append((same or attribute(one.name, scopes.type_of(one)), chosen))
    keys = {tree.expression_id for pair in both for tree in pair}
    made += [(one, one.node) for one in both_sides.attributes if one.id not in keys]
    return scopes.project(both_sides, made)


def in_windows(below: Bound, trees: list[Node]) -> Bound:
    """Return the rows that are in a time window, where expressions make one."""
    deciding = [one for tree in trees for part in tree.walk() for one in part.fields.get(WINDOW_OF, ())]
    return Bound(Node("Filter", {"condition": deciding}, [below.node]), below.attributes) if deciding else below


def by_name(left: Bound, right: Bound) -> tuple[Bound, Bound]:
    """Return both sides with the same columns in the same order; a missing one is null."""
    names = list(dict.fromkeys(one.name.lower() for one in left.attributes + right.attributes))

    def ordered(bound: Bound, other: Bound) -> Bound:
        own = {one.name.lower(): one for one in bound.attributes}
        spelled = {one.name.lower(): one.name for one in other.attributes}
        made = [
            (own[name], own[name].node) if name in own else (attribute(spelled[name]), literal(None)) for name in names
        ]
        return scopes.project(bound, made)

    return ordered(left, right), ordered(right, left)


def of_one_value(aggregate: Node, column: Node) -> Node:
    """Return an aggregate over the rows of one value of `column`."""
    if aggregate.kind == "Alias":
        aggregate = aggregate.children[0]
    if aggregate.kind == "AggregateExpression":
        return Node(aggregate.kind, aggregate.fields, [*aggregate.children, column])
    hows = [frozenset((deps.SAME,)), frozenset((deps.How(False, deps.CONDITIONAL),))]
    return Node(COMPOSED, {"hows": hows}, [aggregate, column])


def decided(below: Node, keys: list[Node], deciding: list[Node]) -> Node:
    """Return a relation whose rows are found by `keys`, and kept by what `deciding` says."""
    joined = [frozenset((deps.How(False, deps.JOIN),))] * len(keys)
    filtered = [frozenset((deps.How(False, deps.FILTER),))] * len(deciding)
    return Node(COMPOSED, {"rows": [Node(COMPOSED, {"hows": joined + filtered}, keys + deciding)]}, [below])
