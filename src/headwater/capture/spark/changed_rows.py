"""Resolve statements that change some rows of a table: MERGE, UPDATE, DELETE. Pure."""

from collections.abc import Sequence
from typing import Protocol

from headwater.capture.spark import dependencies as deps
from headwater.capture.spark.dependencies import Dependencies
from headwater.capture.spark.plan import Node
from headwater.capture.spark.relation import Column, Relation, Scope


class Walk(Protocol):
    """The walk over the plan that the statement is in."""

    def relation(self, node: Node, outer: Scope | None) -> Relation: ...

    def below(self, node: Node, outer: Scope | None) -> Relation: ...

    def value(self, expression: Node, scope: Scope) -> Dependencies: ...

    def deciding(self, trees: Sequence[Node], scope: Scope, subtype: str) -> Dependencies: ...


def merge_rows(walk: Walk, node: Node, outer: Scope | None) -> Relation:
    """Resolve MERGE into a V2 table: each instruction says what a row becomes under its condition, its first child."""
    below = walk.below(node, outer)
    scope = Scope(below.columns, outer)
    kinds = ("matchedInstructions", "notMatchedInstructions", "notMatchedBySourceInstructions")
    instructions = [tree for kind in kinds for tree in node.trees(kind)]
    made = [
        [walk.value(tree.children[at], scope) for at in tree.fields[field]]
        for tree in instructions
        for field in ("output", "otherOutput")
        if isinstance(tree.fields.get(field), list)
    ]
    columns = [
        Column(each.expression_id, each.name, deps.merged(row[at] for row in made if at < len(row)))
        for at, each in enumerate(node.attributes("output"))
    ]
    decided = walk.deciding([tree.children[0] for tree in instructions if tree.children], scope, deps.FILTER)
    return Relation(columns, deps.merged([below.rows, decided]))


def delta_merge(walk: Walk, node: Node, outer: Scope | None) -> Relation:
    """Resolve MERGE into a Delta table: columns keep their values, or get those of an action."""
    target, source = (_nested(walk, node, field, outer) for field in ("target", "source"))
    scope = Scope(target.columns + source.columns, outer)
    made = {column.name: [column.depends] for column in target.columns}
    conditions: list[Node] = []
    for kind in ("matchedClauses", "notMatchedClauses", "notMatchedBySourceClauses"):
        for clause in node.trees(kind):
            for child in clause.children:
                if child.kind == "DeltaMergeAction":
                    name = str(child.fields.get("targetColNameParts")).strip("[]").split(", ")[0]
                    made.setdefault(name, []).append(walk.value(child.children[0], scope))
                else:
                    conditions.append(child)
    ids = {column.name: column.id for column in target.columns}
    columns = [Column(ids.get(name, -1), name, deps.merged(parts)) for name, parts in made.items()]
    joined = walk.deciding(node.trees("condition"), scope, deps.JOIN)
    decided = walk.deciding(conditions, scope, deps.FILTER)
    return Relation(columns, deps.merged([target.rows, source.rows, joined, decided]))


def delta_update(walk: Walk, node: Node, outer: Scope | None) -> Relation:
    """Resolve UPDATE and DELETE of a Delta table: `updateExpressions` are in the order of the table's columns."""
    target = _nested(walk, node, "target", outer)
    scope = Scope(target.columns, outer)
    updates = node.trees("updateExpressions")
    columns = [
        Column(column.id, column.name, deps.merged([column.depends, *(walk.value(tree, scope) for tree in trees)]))
        for column, trees in zip(
            target.columns, [[tree] for tree in updates] or [[] for _ in target.columns], strict=False
        )
    ]
    decided = walk.deciding(node.trees("condition"), scope, deps.FILTER)
    return Relation(columns, deps.merged([target.rows, decided]))


def _nested(walk: Walk, node: Node, field: str, outer: Scope | None) -> Relation:
    plan = node.nested(field)
    return walk.relation(plan, outer) if plan is not None else Relation([], {})
