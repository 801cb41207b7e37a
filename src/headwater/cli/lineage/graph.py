"""`headwater diff`, `headwater paths` and `headwater claims`: questions about the graph."""

from typing import Annotated, Any

import msgspec
import typer

from headwater.cli import output, server
from headwater.cli.lineage import history
from headwater.cli.lineage.why import print_difference
from headwater.errors import InvalidQuestion

Url = Annotated[str | None, typer.Option(help=server.URL_HELP)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
AsOf = Annotated[
    str | None, typer.Option(metavar="TIME", help="Show the graph as it was at this time (ISO 8601, UTC).")
]
_SIGNS = {"+": "green", "-": "red", "~": "yellow"}


def diff(
    node: Annotated[str | None, typer.Argument(metavar="X", help="A dataset or job. Default: everything.")] = None,
    old: Annotated[
        str | None,
        typer.Argument(metavar="[VERSION]", help="Compare a dataset's version, by its id or name in its storage …"),
    ] = None,
    new: Annotated[
        str | None, typer.Argument(metavar="[VERSION]", help="… with this one. Default: with the latest.")
    ] = None,
    before: Annotated[
        str | None, typer.Option("--from", metavar="T1", help="Compare the graph from this time (ISO 8601, UTC).")
    ] = None,
    after: Annotated[str | None, typer.Option("--to", metavar="T2", help="Compare to this time. Default: now.")] = None,
    namespace: Annotated[str | None, typer.Option(help="Compare everything in this namespace.")] = None,
    depth: Annotated[int, typer.Option(min=0, max=100, help="Follow this many hops from dataset to dataset.")] = 100,
    columns: Annotated[bool, typer.Option("--columns", help="Show also which column feeds which.")] = False,
    children: Annotated[
        bool, typer.Option("--children", help="Show also jobs that are one statement of the job above them.")
    ] = False,
    url: Url = None,
    json: Json = False,
) -> None:
    """Compare the graph at two times, two versions of a dataset, or two runs.

    With --from: which datasets, jobs, edges, columns and schemas were added (+), removed (-) and changed (~). Without it the latest version of
    a dataset is compared with the one before, or with the one that you name: columns, counts, the writer, its code and parameters.

    Examples:

      headwater diff marts/daily_traffic

      headwater diff marts/daily_traffic 41 42

      headwater diff 0199c0de-0000-7000-8000-000000000001 0199c0de-0000-7000-8000-000000000002

      headwater diff marts/daily_traffic --from 2026-01-01 --to 2026-02-01 --columns

      headwater diff --namespace warehouse --from 2026-01-01
    """
    if before is None:
        if node is None or after or namespace or columns:
            raise InvalidQuestion("say since when to compare: --from TIME; or name a dataset to compare its versions")
        if old is not None and new is None and (runs := _two_runs(url, node, old)):
            body = server.ask(url, server.path("runs", runs[0], "diff", runs[1]))
            output.raw(body) if json else print_difference(msgspec.json.decode(body))
        else:
            history.diff(node, old, new, url, json)
        return
    if old is not None:
        raise InvalidQuestion("--from compares the graph at two times; leave it out to compare versions")
    root = server.resolve(url, node)["id"] if node else None
    asked: dict[str, Any] = {
        "node": root,
        "from": server.time(before),
        "to": server.time(after),
        "namespace": namespace,
        "children": children or None,
    }
    answer = server.ask(url, "/api/v2/lineage/diff", **asked, depth=depth, columns=columns)
    if json:
        output.raw(answer)
        return
    found = msgspec.json.decode(answer)
    rows = [row for kind in (_node_rows, _edge_rows, _column_rows, _schema_rows) for row in kind(found)]
    if rows:
        output.table(("", "what", "", ""), rows, styles={0: _SIGNS})
    else:
        output.line("nothing changed")
    if not found["known_before"]:
        output.line("it did not exist yet at the earlier time", "yellow")
    for side in ("before", "after"):
        hidden = found[side]["hidden"]
        if hidden["nodes"]:
            output.line(f"{side}: {hidden['nodes']} nodes were left out: {hidden['reason']}", "yellow")


def _two_runs(url: str | None, one: str, other: str) -> list[str] | None:
    """Return the ids of the runs that both texts name; None if they do not."""
    found = [server.get(url, "/api/v2/objects", text=text)["object"] for text in (one, other)]
    return [each["id"] for each in found] if all(each and each["type"] == "RUN" for each in found) else None


def _node_rows(found: dict[str, Any]) -> list[tuple[object, ...]]:
    return [
        (sign, node["type"].lower(), f"{node['namespace']}:{node['name']}", "")
        for sign, key in (("+", "added"), ("-", "removed"))
        for node in found["nodes"][key]
    ]


def _edge_rows(found: dict[str, Any]) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = [
        (sign, "edge", f"{_short(e['source'])} → {_short(e['target'])}", "")
        for sign, key in (("+", "added"), ("-", "removed"))
        for e in found["edges"][key]
    ]
    return rows + [
        (
            "~",
            "edge",
            f"{_short(e['source'])} → {_short(e['target'])}",
            f"{e['origin_before']} → {e['origin_after']}".lower(),
        )
        for e in found["edges"]["changed"]
    ]


def _column_rows(found: dict[str, Any]) -> list[tuple[object, ...]]:
    return [
        (
            sign,
            "column",
            f"{_short(e['source'])}.{e['source_field'] or '*'} → {_short(e['target'])}.{e['target_field'] or '*'}",
            f"{_kinds(e['before'])} → {_kinds(e['after'])}" if key == "changed" else _kinds(e["transformations"]),
        )
        for sign, key in (("+", "added"), ("-", "removed"), ("~", "changed"))
        for e in found["column_edges"][key]
    ]


def _kinds(transformations: list[dict[str, Any]]) -> str:
    return ", ".join(sorted({t["subtype"] or t["type"] for t in transformations}))


def _schema_rows(found: dict[str, Any]) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for change in found["schemas"]:
        name = _short(change["dataset"])
        rows += [("+", "field", f"{name}.{c['name']}", c["type"]) for c in change["added"]]
        rows += [("-", "field", f"{name}.{c['name']}", c["type"]) for c in change["removed"]]
        rows += [
            ("~", "field", f"{name}.{c['name']}", f"{c['type_before']} → {c['type_after']}") for c in change["retyped"]
        ]
        if change["reordered"]:
            rows.append(("~", "order", name, "its fields are in another order"))
    return rows


def _short(node: str) -> str:
    """Return a node id without its type prefix."""
    return node.partition(":")[2]


def paths(
    start: Annotated[str, typer.Argument(metavar="A", help="The dataset or job where the paths begin.")],
    end: Annotated[str, typer.Argument(metavar="B", help="The dataset or job where they end.")],
    column: Annotated[str | None, typer.Option("--from-column", metavar="C", help="Begin at this column of A.")] = None,
    to_column: Annotated[str | None, typer.Option("--to-column", metavar="C", help="End at this column of B.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Show at most this many paths.")] = 10,
    max_length: Annotated[int, typer.Option(min=1, max=400, help="Find paths of at most this many edges.")] = 40,
    as_of: AsOf = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Find the shortest paths between two datasets, jobs or columns.

    A path includes its jobs.

    Examples:

      headwater paths raw/flights report.html

      headwater paths raw/flights marts/daily_traffic --from-column dep_delay --json
    """
    asked: dict[str, Any] = {"from": server.resolve(url, start)["id"], "to": server.resolve(url, end)["id"]}
    asked |= {
        "from_field": column,
        "to_field": to_column,
        "limit": limit,
        "max_length": max_length,
        "as_of": server.time(as_of),
    }
    answer = server.ask(url, "/api/v2/paths", **asked)
    if json:
        output.raw(answer)
        return
    found = msgspec.json.decode(answer)
    if not found["paths"]:
        output.line("no path" + (f": {found['reason']}" if found["reason"] else ""))
        return
    if found["direction"] == "upstream":
        output.line("against the requested order: the data flows the other way", "dim")
    for number, way in enumerate(found["paths"], 1):
        output.line(f"{number}.", "bold")
        for step in way["steps"]:
            output.line(f"  {output.printable(_stop(step['source'], step['source_field']))}")
            if step["job"] not in (step["source"], step["target"]):
                output.line(f"    ↓ {output.printable(_short(step['job']))}", "dim")
        last = way["steps"][-1]
        output.line(f"  {output.printable(_stop(last['target'], last['target_field']))}")
    if found["total"] > len(found["paths"]):
        output.line(f"{len(found['paths'])} of {found['total']:,} of this length; --limit shows more", "dim")


def _stop(node: str, field: str | None) -> str:
    return f"{_short(node)}.{field}" if field else _short(node)


def conflicts(
    node: Annotated[str | None, typer.Argument(help="A dataset or job. Default: all jobs.")] = None,
    namespace: Annotated[str | None, typer.Option(help="List only jobs of this namespace.")] = None,
    kind: Annotated[str | None, typer.Option(help="List only conflicts of this kind, as the table names it.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Show at most this many rows.")] = 100,
    after: Annotated[str | None, typer.Option(help="Continue after this cursor of an earlier page.")] = None,
    as_of: AsOf = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """List the edges that producers disagree about.

    Claims of runs, manifests, JobEvents, people, explicit lineage and column lineage are compared.

    Examples:

      headwater claims clean-flights

      headwater claims --kind declared_not_observed --json
    """
    about = server.resolve(url, node)["id"] if node else None
    asked = {
        "node": about,
        "namespace": namespace,
        "kind": kind,
        "limit": limit,
        "after": after,
        "as_of": server.time(as_of),
    }
    answer = server.ask(url, "/api/v2/conflicts", **asked)
    if json:
        output.raw(answer)
        return
    found = msgspec.json.decode(answer)
    if found["conflicts"]:
        output.table(
            ("conflict", "edge", "through", "claims, with the time of the last"),
            [
                (
                    c["kind"],
                    f"{_short(c['source'])} → {_short(c['target'])}",
                    "" if c["job"] in (c["source"], c["target"]) else _short(c["job"]),
                    "; ".join(f"{w['origin']} {w['says'].lower()} {output.moment(w['at'])}" for w in c["claims"]),
                )
                for c in found["conflicts"]
            ],
        )
    else:
        output.line("no conflicts")
    if found["hidden"]:
        output.line(f"{found['hidden']} more are not listed: raise --limit", "yellow")
    if found["next"]:
        output.line(f"there may be more: continue with --after {found['next']}", "dim")
