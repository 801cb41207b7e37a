"""Spark's analyzer as the oracle of column lineage: a statement and the tables it reads to the edges of its plan, as capture reads plans.

Nothing is executed: the plan is parsed and analysed, commands too. Parts that `toJSON` leaves out (an Expand's projections) are asked for.
"""

import re
from collections.abc import Mapping
from typing import Any

from headwater.capture.spark import columns, dependencies
from headwater.capture.spark import plan as plans
from headwater.capture.spark.dependencies import Dependencies
from headwater.capture.spark.plan import Node
from headwater.capture.spark.relation import Column, Relation
from tests.oracle.edges import Edges, Inputs, column_of, kinds

_CHANGES = frozenset({"MergeIntoTable", "UpdateTable", "DeleteFromTable"})
_ACTIONS = ("matchedActions", "notMatchedActions", "notMatchedBySourceActions")
_BROKEN = re.compile(r"^[\s:+-]*!", re.MULTILINE)
Schemas = Mapping[str, Mapping[str, str]]


class Refused(Exception):
    """Spark does not accept the statement."""


class Analyzer:
    """A session whose catalog has empty tables. `schemas`: each table's columns and their types."""

    def __init__(self, spark: Any, schemas: Schemas, database: str = "default") -> None:
        self.spark = spark
        self.state = spark._jsparkSession.sessionState()
        modes = spark._jvm.org.apache.spark.sql.execution.CommandExecutionMode
        self.mode = getattr(modes, "ALL")()  # noqa: B009 - a Scala enumeration's value
        spark.conf.set("spark.sql.ansi.enabled", "true")
        spark.conf.set("spark.sql.ansi.doubleQuotedIdentifiers", "true")
        spark.sql(f"create database if not exists {database}")
        spark.sql(f"use {database}")
        for table, fields in schemas.items():
            said = ", ".join(f"{name} {kind}" for name, kind in fields.items())
            spark.sql(f"create table if not exists {table} ({said}) using parquet")

    def edges(self, text: str) -> Edges:
        """The edges of one statement. Raises Refused."""
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        # The parser reads the settings of the session that is the thread's, not of the one it belongs to.
        self.spark._jvm.SparkSession.setActiveSession(self.spark._jsparkSession)
        try:
            jplan = self.state.executePlan(self.state.sqlParser().parsePlan(text), self.mode).analyzed()
        except (PySparkException, Py4JJavaError) as error:
            raise Refused(f"{type(error).__name__}: {error}"[:1000]) from None
        if _BROKEN.search(str(jplan.toString())):
            raise Refused("the analyzer let a plan pass that misses its own columns")
        root = plans.parse(str(jplan.toJSON()))
        self._complete(jplan, root)
        tables = _tables(root)
        relation = _relation(root)
        return Edges(
            [(column.name.lower(), _inputs(column.depends, tables)) for column in relation.columns],
            _inputs(relation.rows, tables),
        )

    def _complete(self, jplan: Any, root: Node) -> None:
        """Every Expand, wherever it stands, gets what its output columns are made of.

        And every cast counts: capture calls one that changes nothing IDENTITY, but a text does not tell types.
        """
        nodes = _everything(root)
        for node in nodes:
            if node.kind == "Cast":
                node.fields["dataType"] = "as the text says"
        waiting = [node for node in nodes if node.kind == "Expand"]
        if not waiting:
            return
        made: dict[tuple[int, ...], list[list[tuple[int, bool]]]] = {}
        todo = [jplan]
        while todo:
            jnode = todo.pop()
            todo += [*_items(jnode.children()), *_items(jnode.innerChildren())]
            todo += [inner.plan() for inner in _subqueries(jnode)]
            if str(jnode.nodeName()) == "Expand":
                ids = tuple(int(item.exprId().id()) for item in _items(jnode.output()))
                rows = [
                    [plans.parse(str(cell.toJSON())) for cell in _items(row)] for row in _items(jnode.projections())
                ]
                made[ids] = [sorted({i for cell in place for i in _ids(cell)}) for place in zip(*rows, strict=True)]
        for node in waiting:
            node.fields["headwater_made_of"] = made[tuple(item.expression_id for item in node.attributes("output"))]


def _items(sequence: Any) -> list[Any]:
    iterator, found = sequence.iterator(), []
    while iterator.hasNext():
        found.append(iterator.next())
    return found


def _subqueries(jnode: Any) -> list[Any]:
    found = []
    waiting = _items(jnode.expressions())
    while waiting:
        expression = waiting.pop()
        waiting += _items(expression.children())
        if str(expression.getClass().getSimpleName()) in {"ScalarSubquery", "ListQuery", "Exists", "LateralSubquery"}:
            found.append(expression)
    return found


def _ids(cell: Node) -> list[tuple[int, bool]]:
    bare = cell.kind == plans.ATTRIBUTE
    return [(node.expression_id, bare) for node in cell.walk() if node.kind == plans.ATTRIBUTE]


def _everything(root: Node) -> list[Node]:
    """Every node, of the plan and of the plans inside its expressions."""
    found, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting.extend(node.children)
        for field, value in node.fields.items():
            if isinstance(value, list) and value and field not in {"output", "metadata"}:
                waiting.extend(node.trees(field))  # the same fields as any other tree of them
    return found


def _tables(root: Node) -> dict[str, str]:
    """The table of each leaf."""
    found = {}
    for node in _everything(root):
        if not node.children and "catalogTable" in node.fields:
            identifier = (node.fields["catalogTable"] or {}).get("identifier")
            if identifier:
                found[columns.leaf_key(node)] = str(identifier["table"]).lower()
    return found


def _relation(root: Node) -> Relation:
    """Return the relation that a query makes, or that a command puts into its target, by name."""
    if root.kind in _CHANGES:
        return _changed(root)
    return columns.resolve(root.nested("query") if not root.children and root.nested("query") else root)


def _changed(root: Node) -> Relation:
    """MERGE, UPDATE, DELETE: each assigned column is made of its values; ON joins, every other condition filters.

    One plan for all of them: a Project of the values over the join, and a Filter for each condition.
    """
    plan = root.children[0]
    if len(root.children) == 2:
        plan = _node("Join", plan, root.children[1], condition=root.fields["mergeCondition"])
    actions = [tree for field in _ACTIONS for tree in root.trees(field)] or [root]
    values: list[tuple[str, Node]] = []
    for action in actions:
        condition = action.fields.get("condition")
        if isinstance(condition, list) and condition:
            plan = _node("Filter", plan, condition=condition)
        below = root.trees("assignments") if action is root else action.children
        values += [(one.children[0].name, one.children[1]) for one in below if one.kind == "Assignment"]
    said = [
        [{"class": "Alias", "num-children": 1, "name": name, "exprId": {"id": -position}}, *_flat(value)]
        for position, (name, value) in enumerate(values, 2)
    ]
    relation = columns.resolve(_node("Project", plan, projectList=said))
    merged: dict[str, Dependencies] = {}
    for column in relation.columns:
        merged[column.name] = dependencies.merged([merged.get(column.name, {}), column.depends])
    return Relation([Column(-1, name, depends) for name, depends in merged.items()], relation.rows)


def _flat(node: Node) -> list[dict[str, Any]]:
    return [node.fields, *(item for child in node.children for item in _flat(child))]


def _node(kind: str, *children: Node, **fields: Any) -> Node:
    return Node(kind, fields, list(children))


def _inputs(depends: Dependencies, tables: Mapping[str, str]) -> Inputs:
    found: dict[str, set[tuple[str, bool]]] = {}
    for source, hows in depends.items():
        if source.leaf in tables:
            said = found.setdefault(column_of(tables[source.leaf], source.field), set())
            said |= {(how.subtype, how.masking) for how in dependencies.settled(hows)}
    return {column: kinds(said) for column, said in sorted(found.items())}
