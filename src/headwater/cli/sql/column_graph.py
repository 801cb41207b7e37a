"""Column lineage as a Mermaid flowchart or a Graphviz graph: tables are groups of their columns, or single nodes at table level.

A column that decides which rows a target has points at its node `(rows)`. Names are untrusted and never cut.
"""

from collections.abc import Sequence

from headwater.cli.sql.statements import ParsedStatement, name
from headwater.graph.graphviz import quoted
from headwater.graph.mermaid import mermaid_text

ROWS = "(rows)"


class Graph:
    """Tables with their columns in order of first mention, and edges between columns, direct or indirect.

    A query's own result is a table named by the query's place.
    """

    def __init__(self, found: Sequence[ParsedStatement], *, tables_only: bool = False) -> None:
        self.tables: dict[str, dict[str, str]] = {}
        """Table to its columns to their node ids; at table level the one column is empty."""
        self.edges: dict[tuple[str, str], tuple[dict[str, None], bool]] = {}
        self._count = 0
        for one in found:
            for flow in one.statement.flows:
                target = name(flow.target) if flow.target is not None else f"result of {one.place}"
                if tables_only:
                    self.node(target, "")
                    for table in flow.reads:
                        self.edge(self.node(name(table), ""), self.node(target, ""), [flow.action], True)
                    continue
                for place, output in enumerate(flow.columns, 1):
                    to = self.node(target, output.name or f"(column {place})")
                    for given in output.inputs:
                        kinds = given.transformations
                        self.edge(
                            self.node(name(given.table), given.field),
                            to,
                            [kind.subtype + (" masked" if kind.masking else "") for kind in kinds],
                            any(kind.type == "DIRECT" for kind in kinds),
                        )
                for given in flow.rows:
                    kinds = given.transformations
                    self.edge(
                        self.node(name(given.table), given.field),
                        self.node(target, ROWS),
                        [kind.subtype for kind in kinds],
                        False,
                    )

    def node(self, table: str, column: str) -> str:
        columns = self.tables.setdefault(table, {})
        if column not in columns:
            columns[column] = f"c{self._count}"
            self._count += 1
        return columns[column]

    def edge(self, source: str, target: str, kinds: Sequence[str], direct: bool) -> None:
        known, was = self.edges.get((source, target), ({}, False))
        self.edges[source, target] = ({**known, **dict.fromkeys(kinds)}, direct or was)


def mermaid(graph: Graph) -> str:
    lines = ["flowchart LR"]
    for number, (table, columns) in enumerate(graph.tables.items()):
        if set(columns) == {""}:
            lines.append(f'  {columns[""]}[("{mermaid_text(table)}")]')
            continue
        lines.append(f'  subgraph t{number}["{mermaid_text(table)}"]')
        lines += [f'    {node}["{mermaid_text(column)}"]' for column, node in columns.items()]
        lines.append("  end")
    for (source, target), (kinds, direct) in graph.edges.items():
        arrow = "-->" if direct else "-.->"
        label = "" if [*kinds] == ["IDENTITY"] else f'|"{mermaid_text(", ".join(kinds))}"|'
        lines.append(f"  {source} {arrow}{label} {target}")
    return "\n".join(lines)


def dot(graph: Graph) -> str:
    lines = ["digraph columns {", "  rankdir=LR;", "  node [shape=box];"]
    for number, (table, columns) in enumerate(graph.tables.items()):
        if set(columns) == {""}:
            lines.append(f"  {columns['']} [label={quoted(table)} shape=cylinder];")
            continue
        lines.append(f"  subgraph cluster_{number} {{")
        lines.append(f"    label={quoted(table)};")
        lines += [f"    {node} [label={quoted(column)}];" for column, node in columns.items()]
        lines.append("  }")
    for (source, target), (kinds, direct) in graph.edges.items():
        style = "" if direct else " style=dotted"
        label = "" if [*kinds] == ["IDENTITY"] else f"label={quoted(', '.join(kinds))}"
        lines.append(f"  {source} -> {target} [{label}{style}];")
    return "\n".join([*lines, "}"])
