"""Spark's analyzer as the oracle of column lineage: a statement and the tables it reads to the edges of its plan, as capture reads plans.

Nothing is executed: the plan is parsed and analysed, commands too. What `toJSON` leaves out (an Expand's projections) is asked for.
"""

from collections.abc import Mapping
from typing import Any

from headwater.capture.spark import columns, dependencies
from headwater.capture.spark import plan as plans
from headwater.capture.spark.columns import Relation
from headwater.capture.spark.dependencies import Dependencies
from headwater.capture.spark.plan import Node
from tests.oracle.edges import Edges, Inputs, column_of, kinds

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
        from pyspark.errors import PySparkException

        try:
            jplan = self.state.executePlan(self.state.sqlParser().parsePlan(text), self.mode).analyzed()
        except PySparkException as error:
            raise Refused(str(error)[:1000]) from None
        root = plans.parse(str(jplan.toJSON()))
        self._complete(jplan, root)
        tables = _tables(root)
        relation = _relation(root)
        return Edges(
            [(column.name.lower(), _inputs(column.depends, tables)) for column in relation.columns],
            _inputs(relation.rows, tables),
        )

    def _complete(self, jplan: Any, root: Node) -> None:
        """Every Expand, wherever it stands, gets what its output columns are made of."""
        waiting = [node for node in _everything(root) if node.kind == "Expand"]
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
    query = root.nested("query") if not root.children else None
    return columns.resolve(query or root)


def _inputs(depends: Dependencies, tables: Mapping[str, str]) -> Inputs:
    found: dict[str, set[tuple[str, bool]]] = {}
    for source, hows in depends.items():
        if source.leaf in tables:
            said = found.setdefault(column_of(tables[source.leaf], source.field), set())
            said |= {(how.subtype, how.masking) for how in dependencies.settled(hows)}
    return {column: kinds(said) for column, said in sorted(found.items())}
