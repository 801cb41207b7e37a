"""Spark's `TreeNode.toJSON` as a tree of nodes.

One call to the JVM returns a whole logical plan; this module makes it walkable without Spark.
Spark writes a tree as a flat list in preorder, each node with `num-children`. It writes null for what it cannot serialise
(paths, relations, options): those are not guessed here. Does not interpret nodes.
"""

import json
from collections.abc import Iterator
from typing import Any

import msgspec

ATTRIBUTE = "AttributeReference"
# The outputs of leaves that omit theirs.
_OUTPUTS = {"HiveTableRelation": ("dataCols", "partitionCols")}


class Node(msgspec.Struct, gc=False):
    """A node of a plan or of an expression: the short class name, its own fields, its children."""

    kind: str
    fields: dict[str, Any]
    children: list["Node"]

    def walk(self) -> Iterator["Node"]:
        """Yield this node and all below it in preorder, without entering expressions."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))

    def trees(self, field: str) -> list["Node"]:
        """Return the trees of a field that holds expressions: one tree, a list of trees, or nothing."""
        value = self.fields.get(field)
        if not isinstance(value, list) or not value:
            return []
        if isinstance(value[0], Node):  # a tree that was not made from JSON
            return list(value)
        if isinstance(value[0], dict):
            return [tree(value)] if "class" in value[0] else []
        return [tree(item) for item in value if isinstance(item, list) and item and isinstance(item[0], dict)]

    def nested(self, field: str) -> "Node | None":
        """Return the inner tree of a field (a command's `query`, a subquery's `plan`)."""
        found = self.trees(field)
        return found[0] if found else None

    def attributes(self, *fields: str) -> list["Node"]:
        """Return the attributes in the first of `fields` that holds any."""
        for field in fields:
            found = [node for node in self.trees(field) if "exprId" in node.fields]
            if found:
                return found
        return []

    @property
    def expression_id(self) -> int:
        """Return the ExprId, unique within a JVM, or -1."""
        found = self.fields.get("exprId")
        return int(found["id"]) if isinstance(found, dict) else -1

    @property
    def name(self) -> str:
        return str(self.fields.get("name") or "")


def parse(text: str) -> Node:
    """Parse a plan from `toJSON`. Raises ValueError if it is not one."""
    return tree(json.loads(text))


def tree(flat: list[dict[str, Any]]) -> Node:
    """Build the tree of a preorder list. Iterative: plans can be thousands of nodes deep."""
    if not flat:
        raise ValueError("an empty list is not a plan")
    root: Node | None = None
    open_nodes: list[tuple[Node, int]] = []
    for item in flat:
        kind = str(item["class"]).rsplit(".", 1)[-1]
        if kind in _OUTPUTS and "output" not in item:
            item = {**item, "output": [tree for field in _OUTPUTS[kind] for tree in item.get(field) or []]}  # noqa: PLW2901 - the same, completed
        node = Node(kind, item, [])
        wanted = int(item.get("num-children", 0))
        if root is None:
            root = node
        else:
            while open_nodes and len(open_nodes[-1][0].children) == open_nodes[-1][1]:
                open_nodes.pop()
            if not open_nodes:
                break
            open_nodes[-1][0].children.append(node)
        if wanted:
            open_nodes.append((node, wanted))
    assert root is not None
    return root


def object_name(value: Any) -> str:
    """Return the short name of a Scala object or case class in a field: `{"object": "…Inner$"}` is `Inner`."""
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, dict):
        text = value.get("object") or value.get("product-class") or value.get("class") or ""
        return str(text).rsplit(".", 1)[-1].rstrip("$")
    return ""
