"""The lineage of texts as one page of HTML that needs no server and asks nothing of any: `headwater sql … --html OUT`.

The page is built from `web/src/offline` and holds the drawing of the server's page. Names and texts are untrusted: they reach the page as JSON only,
and the page's own policy forbids it every request.
"""

from collections.abc import Container, Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from headwater.cli.sql.statements import ParsedStatement, name
from headwater.columns.edges import ColumnName, fields_made
from headwater.columns.result import Input
from headwater.errors import InvalidQuestion, NotInstalled

if TYPE_CHECKING:
    from headwater.capture.dbt.project import Dependent

_BUILT = "api/static/offline/offline.html"
_PLACE = '<script type="application/json" id="lineage">null</script>'
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


class _Nodes:
    """The nodes of the drawing, in the shape of `web/src/graph/model.ts`; tables by their names, with columns as they are met."""

    def __init__(self) -> None:
        self.nodes: dict[str, dict[str, Any]] = {}
        self.fields: dict[str, dict[str, None]] = {}
        self.edges: dict[tuple[str, str], None] = {}
        self.links: dict[tuple[str, str | None, str, str | None, bool], None] = {}

    def node(self, title: str, kind: str = "dataset", detail: str = "", label: str = "") -> str:
        if title not in self.nodes:
            empty: dict[str, Any] = {"tags": [], "state": None, "tint": None, "note": None, "folded": 0, "hop": 0}
            hidden = {"hiddenUpstream": 0, "hiddenDownstream": 0}
            self.nodes[title] = (
                {"id": title, "kind": kind, "label": label or title, "detail": detail, "title": title} | empty | hidden
            )
            self.fields[title] = {}
        return title

    def table(self, table: Sequence[str]) -> str:
        return self.node(name(table), label=table[-1], detail=name(table[:-1]) if len(table) > 1 else "")

    def link(self, source: str, field: str, target: str, column: str | None, *, indirect: bool) -> None:
        self.edges[source, target] = None
        self.fields[source][field] = None
        if column is not None:
            self.fields[target][column] = None
        self.links[source, field, target, column, indirect] = None

    def feed(
        self, given: Input, made: Container[ColumnName], target: str, column: str | None, *, indirect: bool
    ) -> None:
        """Link an input: the fields of its column where statements make them (`made`), else the column."""
        for path, _ in (given.paths or ((given.path, given.kinds),)) if given.table else ():
            field = ColumnName(given.table, f"{given.field}.{path}")
            self.link(
                self.table(given.table),
                field.column if field in made else given.field,
                target,
                column,
                indirect=indirect,
            )


def graph(found: Iterable[ParsedStatement], dependents: Sequence["Dependent"] = ()) -> dict[str, Any]:
    """Return tables, their columns and what feeds them, as the drawing takes it. A field that a statement makes is a column beside its own
    (`who.segment`). A query without a target is a node of its place."""
    made, every = _Nodes(), list(found)
    fields = fields_made(one.statement for one in every)
    for one in every:
        for flow in one.statement.flows:
            target = made.table(flow.target) if flow.target else made.node(f"result of {one.place}", "job", "query")
            for table in flow.reads:
                made.edges[made.table(table), target] = None
            for place, output in enumerate(flow.columns, 1):
                column = output.name or f"(column {place})"
                parts = [(f"{column}.{path}", inputs) for path, inputs in output.fields if not path.endswith("*")]
                for field, inputs in [(column, output.inputs), *parts]:
                    made.fields[target][field] = None
                    for given in inputs:
                        direct = any(kind.type == "DIRECT" for kind in given.transformations)
                        made.feed(given, fields, target, field, indirect=not direct)
            for given in flow.rows:
                made.feed(given, fields, target, None, indirect=True)
    for user in dependents:
        if user.kind != "test":
            node = (
                made.table(user.writes)
                if user.writes
                else made.node(f"{user.kind} {user.name}", "job", user.kind, user.name)
            )
            made.edges.update(((made.table(table), node), None) for table in user.reads)
    edges = [pair for pair in made.edges if pair[0] != pair[1]]
    ends = made.nodes.keys() - {source for source, _ in edges}
    return {
        "root": next((id_ for id_ in made.nodes if id_ in ends), next(iter(made.nodes), "")),
        "nodes": [
            node | {"fields": [{"name": field, "type": None, "tags": []} for field in made.fields[id_]]}
            for id_, node in made.nodes.items()
        ],
        "edges": [{"source": source, "target": target, "declared": False, "change": None} for source, target in edges],
        "links": [
            {
                "source": source,
                "sourceField": field,
                "target": target,
                "targetField": column,
                "job": None,
                "indirect": indirect,
            }
            for source, field, target, column, indirect in made.links
            if source != target
        ],
    }


def page(title: str, summary: str, content: dict[str, Any]) -> str:
    """Return the page with this graph in it. Raises NotInstalled if the page was not built."""
    built = resources.files("headwater").joinpath(_BUILT)
    if not built.is_file():
        raise NotInstalled("the page for --html was not built: run scripts/build-web, or install a wheel, which has it")
    return filled(built.read_text(encoding="utf-8"), title, summary, content)


def filled(built: str, title: str, summary: str, content: dict[str, Any]) -> str:
    """Return the built page with this graph in it. Raises NotInstalled if the page has no place for it."""
    text = msgspec.json.encode({"title": title, "summary": summary, "graph": content}).decode()
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    before, found, after = built.partition(_PLACE)
    if not found:
        raise NotInstalled("the page for --html is of another version: run scripts/build-web")
    return f"{before}{_PLACE.replace('null', text, 1)}{after}"


def write(path: Path, text: str) -> None:
    """Write the page. Raises InvalidQuestion, which names the file, if it cannot be written."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidQuestion(f"{path}: {error.strerror or error}") from error
