"""A relation of a plan: its columns, what decides about its rows, and what an expression over it sees."""

from typing import NamedTuple

import msgspec

from headwater.capture.spark.dependencies import Dependencies, Fields
from headwater.capture.spark.plan import Node


class Column(msgspec.Struct, gc=False):
    """A column of a relation: ExprId, name, dependencies; `fields`: of a struct that the query makes."""

    id: int
    name: str
    depends: Dependencies
    fields: Fields | None = None


class EarlierColumn(NamedTuple):
    """A column of a plan that Spark cut off. `rows`: what decided about the rows of that plan."""

    depends: Dependencies
    fields: Fields | None
    rows: Dependencies


class Relation(msgspec.Struct, gc=False):
    """The output of a node: its columns in order, and the dependencies of its rows."""

    columns: list[Column]
    rows: Dependencies


def leaf_key(node: Node) -> str:
    """Return a leaf's key: the ExprId of its first column (the leaf of a relation has the same ids everywhere), or empty."""
    columns = node.attributes("output")
    return str(columns[0].expression_id) if columns else ""


class Scope:
    """Columns visible to an expression: those of the children, then those of the outer query (correlated subqueries)."""

    def __init__(self, columns: list[Column], outer: "Scope | None") -> None:
        self.columns = {column.id: column.depends for column in columns}
        self.made = {column.id: column.fields for column in columns if column.fields}
        self.outer = outer

    def fields(self, expression_id: int) -> Fields | None:
        """Return the fields of a column, if the query makes it as a struct."""
        found = self.made.get(expression_id)
        return found if found or self.outer is None else self.outer.fields(expression_id)

    def __call__(self, expression_id: int) -> Dependencies:
        found = self.columns.get(expression_id)
        if found is not None:
            return found
        return self.outer(expression_id) if self.outer else {}
