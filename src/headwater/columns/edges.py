"""Column lineage of a text as flat edges, for programs that want a table or a graph: `lineage(text).edges()`."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from headwater.columns import kinds
from headwater.columns.analysis import analyse
from headwater.columns.catalog import Catalog
from headwater.columns.result import Input, Level, Statement, TableName
from headwater.columns.session import Session

View = Literal["all", "direct", "value"]
ROWS = "(rows)"
"""The column of a target that stands for which rows it has: what filters, joins, groups or sorts points at it."""
_VALUE = frozenset({"CONDITIONAL", "WINDOW"})


class ColumnName(NamedTuple):
    """A column of a table. `table`: parts, outermost first; () for the result of a query, and for an owner that is not known."""

    table: TableName
    column: str

    def __str__(self) -> str:
        return ".".join((*self.table, self.column))


class Edge(msgspec.Struct, frozen=True):
    """One way in which a column depends on another.

    `kind`: IDENTITY, TRANSFORMATION or AGGREGATION where the source's value is in the target's; JOIN, FILTER, GROUP_BY, SORT, WINDOW or CONDITIONAL
    where it decides about it. `masked`: the value comes out hidden. `confidence`: 1 where the source was found by grammar and schema; less where
    it is a candidate among others, or the statement was read off its words.
    """

    source: ColumnName
    target: ColumnName
    kind: str
    masked: bool
    confidence: float

    @property
    def is_direct(self) -> bool:
        """Return whether the source's value is in the target's."""
        return self.kind in {"IDENTITY", "TRANSFORMATION", "AGGREGATION"}


class Lineage(msgspec.Struct, frozen=True):
    """The column lineage of a text. `statements`: all that is known of each of its statements."""

    statements: tuple[Statement, ...]

    @property
    def level(self) -> Level:
        """Return how far the text was understood: as far as the statement that was understood least; "nothing" for an empty text."""
        order = list(Level)
        return max((one.level for one in self.statements), key=order.index, default=Level.NOTHING)

    def edges(self, view: View = "all") -> list[Edge]:
        """Return every edge once, in the order of the text.

        `view`: "direct" has the edges by which a value reaches the target; "value" those and what a condition or a window of the column's own
        expression uses; "all" also what decides about rows, with the target column "(rows)".
        Candidates of a name with no one owner are edges with their confidence. Raises ValueError for another view.
        """
        if view not in {"all", "direct", "value"}:
            raise ValueError(f"no view is called {view!r}; there are all, direct and value")
        made = fields_made(self.statements)
        found = dict.fromkeys(edge for one in self.statements for edge in _edges(one, made))
        return [
            edge
            for edge in found
            if view == "all"
            or edge.is_direct
            or (view == "value" and edge.kind in _VALUE and edge.target.column != ROWS)
        ]

    def to_pandas(self, view: View = "all") -> Any:
        """Return a `pandas.DataFrame` with a row for each edge: source_table, source_column, target_table, target_column, kind, masked, confidence.

        Raises ImportError where pandas is not installed.
        """
        import pandas as pd

        rows = [
            (
                ".".join(edge.source.table),
                edge.source.column,
                ".".join(edge.target.table),
                edge.target.column,
                edge.kind,
                edge.masked,
                edge.confidence,
            )
            for edge in self.edges(view)
        ]
        names = ["source_table", "source_column", "target_table", "target_column", "kind", "masked", "confidence"]
        return pd.DataFrame(rows, columns=names)

    def to_networkx(self, view: View = "all") -> dict[str, Any]:
        """Return node-link data, which `networkx.node_link_graph(data, edges="edges")` makes a graph of; NetworkX is not needed here."""
        edges = self.edges(view)
        nodes = dict.fromkeys(name for edge in edges for name in (edge.source, edge.target))
        count: dict[tuple[ColumnName, ColumnName], int] = {}
        links = []
        for edge in edges:
            pair = (edge.source, edge.target)
            count[pair] = count.get(pair, -1) + 1
            links.append(
                {
                    "source": str(edge.source),
                    "target": str(edge.target),
                    "key": count[pair],
                    "kind": edge.kind,
                    "masked": edge.masked,
                    "confidence": edge.confidence,
                }
            )
        listed = [{"id": str(one), "table": ".".join(one.table), "column": one.column} for one in nodes]
        return {"directed": True, "multigraph": True, "graph": {}, "nodes": listed, "edges": links}


def lineage(
    text: str,
    dialect: str = "",
    schema: Mapping[str, Iterable[str]] | None = None,
    *,
    database: str = "",
    default_schema: str = "",
) -> Lineage:
    """Return the column lineage of SQL.

    `schema`: columns of tables, all and in order: `{"db.orders": ["id", "amount"]}`; a mapping of columns to types will do. `database`,
    `default_schema`: put before names without them. Raises ValueError for an unknown dialect, and nothing else for any text.
    """
    session = Session(database=database, schema=default_schema)
    tables: dict[str | TableName, Iterable[str]] = dict((schema or {}).items())
    return Lineage(tuple(analyse(text, dialect, Catalog(tables, dialect), session)))


_GUESSED = 0.5
"""The confidence of an edge in a statement whose tables were read off its words."""


def _edges(statement: Statement, made: frozenset[ColumnName]) -> Iterator[Edge]:
    certain = 1.0 if statement.level in {Level.FULL, Level.PARTIAL} else _GUESSED
    for flow in statement.flows:
        target = flow.target or ()
        for place, output in enumerate(flow.columns, 1):
            name = ColumnName(target, output.name or f"(column {place})")
            for one in output.inputs:
                yield from _edge(one, name, one.kinds, certain, made)
            for path, inputs in output.fields:
                if not path.endswith("*"):
                    for one in inputs:
                        yield from _edge(one, ColumnName(target, f"{name.column}.{path}"), one.kinds, certain, made)
        for one in flow.rows:
            yield from _edge(one, ColumnName(target, ROWS), one.kinds, certain, made)
    for guess in statement.unresolved:
        for index, place, bits in guess.outputs:
            flow = statement.flows[index]
            column = ROWS if place < 0 else flow.columns[place].name or f"(column {place + 1})"
            share = guess.confidence
            for nth, candidate in enumerate(guess.candidates or (Input((), guess.name, 0),)):
                rest = (1 - share) / max(len(guess.candidates) - 1, 1)
                yield from _edge(
                    candidate, ColumnName(flow.target or (), column), bits, share if nth == 0 else rest, made
                )


def _edge(
    source: Input, target: ColumnName, bits: int, confidence: float, made: frozenset[ColumnName]
) -> Iterator[Edge]:
    for path, used in source.paths or ((source.path, bits),):
        field = ColumnName(source.table, f"{source.field}.{path}")
        column = field if field in made else ColumnName(source.table, source.field)
        for kind in kinds.transformations(used):
            yield Edge(column, target, kind.subtype, bool(kind.masking), round(confidence, 3))


def fields_made(statements: Iterable[Statement]) -> frozenset[ColumnName]:
    """The fields inside columns that statements make, as `who.segment`."""
    return frozenset(
        ColumnName(flow.target or (), f"{output.name}.{path}")
        for one in statements
        for flow in one.flows
        for output in flow.columns
        for path, _ in output.fields
        if not path.endswith("*")
    )
