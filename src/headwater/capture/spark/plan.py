"""A plan as a tree of nodes, from Spark's `TreeNode.toJSON` or from `PlanText.java`.

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

    def rows(self, field: str) -> list[list["Node"]]:
        """Return the rows of a field that holds lists of trees; nothing if Spark left them out."""
        value = self.fields.get(field)
        rows = value if isinstance(value, list) and all(isinstance(row, list) for row in value) else []
        return [[cell if isinstance(cell, Node) else tree(cell) for cell in row] for row in rows]

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


def read(document: dict[str, Any], ids: list[int]) -> Node:
    """Return the tree of a plan as `PlanText.java` writes it: as `parse` would from Spark's JSON, but for what no reader asks.

    `ids`: the ExprIds by their number in the document.
    """
    return _Reading(document["attributes"], ids).tree(document["plan"])


class _Reading:
    """One plan of `PlanText.java`. A negative number stands for an attribute: -1 for the first."""

    def __init__(self, attributes: list[Any], ids: list[int]) -> None:
        self._ids = ids
        self._attributes = [
            Node(
                ATTRIBUTE,
                {"class": ATTRIBUTE, "num-children": 0, "name": name, "dataType": kind, "exprId": {"id": ids[number]}},
                [],
            )
            for number, name, kind in attributes
        ]

    def tree(self, flat: list[Any]) -> Node:
        root: Node | None = None
        open_nodes: list[tuple[list[Node], int]] = []
        for item in flat:
            if isinstance(item, int):
                node, wanted = self._attributes[-1 - item], 0
            else:
                wanted = item["num-children"]
                node = Node(item["class"], item, [])
                for name, value in item.items():
                    if isinstance(value, list) and value:
                        item[name] = self._field(name, value)
                    elif name == "exprId" and value is not None:
                        value["id"] = self._ids[value["id"]]
                if node.kind in _OUTPUTS and "output" not in item:
                    item["output"] = [tree for field in _OUTPUTS[node.kind] for tree in item.get(field) or []]
            if root is None:
                root = node
            else:
                while len(open_nodes[-1][0]) == open_nodes[-1][1]:
                    open_nodes.pop()
                open_nodes[-1][0].append(node)
            if wanted:
                open_nodes.append((node.children, wanted))
        assert root is not None
        return root

    def _field(self, name: str, value: list[Any]) -> list[Any]:
        first = value[0]
        if name == "outputAttrIds":
            return [{"id": self._ids[one["id"]]} for one in value]
        if isinstance(first, dict):
            return [self.tree(value)] if "class" in first else value
        if isinstance(first, int) and first >= 0:
            return value  # places of children
        return [self._element(one) for one in value]

    def _element(self, value: Any) -> Any:
        if isinstance(value, int) and value < 0:
            return self._attributes[-1 - value]
        if isinstance(value, list):
            if value and isinstance(value[0], dict) and "class" in value[0]:
                return self.tree(value)
            return [self._element(one) for one in value]
        return value


def object_name(value: Any) -> str:
    """Return the short name of a Scala object or case class in a field: `{"object": "…Inner$"}` is `Inner`."""
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, dict):
        text = value.get("object") or value.get("product-class") or value.get("class") or ""
        return str(text).rsplit(".", 1)[-1].rstrip("$")
    return ""
