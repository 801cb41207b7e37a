"""Turn `DataFrame.mergeInto` into the tree of a MERGE that `capture.spark.columns` reads.

`updateAll` and `insertAll` go by name: columns of the target that the source has. With schema evolution the target gets the source's others too.
"""

from typing import Any

from headwater.capture.spark.connect import expressions
from headwater.capture.spark.connect.relations import Binder
from headwater.capture.spark.connect.scope import Attribute, Bound
from headwater.capture.spark.plan import ATTRIBUTE, Node

_STARS = frozenset({"ACTION_TYPE_UPDATE_STAR", "ACTION_TYPE_INSERT_STAR"})


def merge(inner: Any, binder: Binder, target: Bound, source: Bound) -> tuple[Node, list[Attribute]]:
    """Return the tree of a merge, and the columns that the target has after it. `inner`: the message; `target`, `source`: its sides, bound."""
    columns = list(target.attributes)
    if inner.with_schema_evolution:
        names = {one.name.lower() for one in columns}
        columns += [one for one in source.attributes if one.name.lower() not in names]
    fields: dict[str, Any] = {
        "target": [target.node],
        "source": [source.node],
        "condition": [expressions.value(inner.merge_condition, binder.scope(target, source))],
    }
    sides = {
        "matchedClauses": (inner.match_actions, (target, source)),
        "notMatchedClauses": (inner.not_matched_actions, (source,)),
        "notMatchedBySourceClauses": (inner.not_matched_by_source_actions, (target,)),
    }
    for field, (actions, seen) in sides.items():
        fields[field] = [_clause(one.merge_action, binder, target, source, seen, columns) for one in actions]
    return Node("MergeIntoCommand", fields, []), columns


def _clause(
    action: Any, binder: Binder, target: Bound, source: Bound, seen: tuple[Bound, ...], columns: list[Attribute]
) -> Node:
    """Return a clause: its condition, and what it gives to each column."""
    scope = binder.scope(*seen)
    children = [expressions.value(action.condition, scope)] if action.HasField("condition") else []
    if action.ActionType.Name(action.action_type) in _STARS:
        given = {one.name.lower(): one for one in source.attributes}
        children += [
            _assignment(one.name, given[one.name.lower()].node) for one in columns if one.name.lower() in given
        ]
    for assigned in action.assignments:
        key = expressions.value(assigned.key, binder.scope(target))
        while key.kind != ATTRIBUTE and key.children:
            key = key.children[0]  # a field of a struct changes its column
        name = next((one.name for one in columns if one.id == key.expression_id), "")
        if name:
            children.append(_assignment(name, expressions.value(assigned.value, scope)))
    return Node("DeltaMergeClause", {}, children)


def _assignment(column: str, value: Node) -> Node:
    return Node("DeltaMergeAction", {"targetColNameParts": f"[{column}]"}, [value])
