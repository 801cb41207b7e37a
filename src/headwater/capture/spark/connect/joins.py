"""Relations of two: joins by a condition, by columns, by time, with a query of the left side; unions, differences and intersections."""

from typing import Any

from headwater.capture.spark.connect import expressions, shapes
from headwater.capture.spark.connect.scope import Bound
from headwater.capture.spark.plan import Node

_JOINS = {
    "JOIN_TYPE_FULL_OUTER": "FullOuter",
    "JOIN_TYPE_LEFT_OUTER": "LeftOuter",
    "JOIN_TYPE_RIGHT_OUTER": "RightOuter",
    "JOIN_TYPE_LEFT_ANTI": "LeftAnti",
    "JOIN_TYPE_LEFT_SEMI": "LeftSemi",
    "JOIN_TYPE_CROSS": "Cross",
}


def join(binder: Any, inner: Any, relation: Any) -> Bound:
    left, right = binder.bind(inner.left), binder.bind(inner.right)
    kind = _JOINS.get(_join_name(inner.join_type), "Inner")
    if inner.using_columns:
        return shapes.joined_using(left, right, list(inner.using_columns), kind)
    condition = []
    if inner.HasField("join_condition"):
        condition = [expressions.value(inner.join_condition, binder.scope(left, right))]
    return shapes.joined(left, right, condition, kind)


def lateral_join(binder: Any, inner: Any, relation: Any) -> Bound:
    left = binder.bind(inner.left)
    right = binder.within(inner.right, left.attributes)
    condition = []
    if inner.HasField("join_condition"):
        condition = [expressions.value(inner.join_condition, binder.scope(left, right))]
    return shapes.laterally_joined(left, right, condition, _JOINS.get(_join_name(inner.join_type), "Inner"))


def as_of_join(binder: Any, inner: Any, relation: Any) -> Bound:
    left, right = binder.bind(inner.left), binder.bind(inner.right)
    condition = [
        expressions.value(inner.left_as_of, binder.scope(left)),
        expressions.value(inner.right_as_of, binder.scope(right)),
    ]
    if inner.HasField("join_expr"):
        condition.append(expressions.value(inner.join_expr, binder.scope(left, right)))
    return shapes.joined(left, right, [Node("And", {}, condition)], "Inner")


def set_operation(binder: Any, inner: Any, relation: Any) -> Bound:
    left, right = binder.bind(inner.left_input), binder.bind(inner.right_input)
    kind = inner.SetOpType.Name(inner.set_op_type)
    if kind.endswith("_UNION"):
        if inner.by_name:
            left, right = shapes.by_name(left, right)
        node = Node("Union", {}, [left.node, right.node])
        found = Bound(node, left.attributes)
        return found if inner.is_all else Bound(Node("Distinct", {}, [node]), left.attributes)
    name = "Except" if kind.endswith("_EXCEPT") else "Intersect"
    return Bound(Node(name, {}, [left.node, right.node]), left.attributes)


def _join_name(kind: int) -> str:
    from pyspark.sql.connect.proto import relations_pb2

    return str(relations_pb2.Join.JoinType.Name(kind))
