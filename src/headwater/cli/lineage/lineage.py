"""`headwater lineage NAME`: show where it comes from and what depends on it."""

import enum
from typing import Annotated, Any

import typer

from headwater.cli import output, server


class Format(enum.StrEnum):
    tree = "tree"
    json = "json"
    mermaid = "mermaid"
    dot = "dot"


def lineage(
    name: Annotated[
        str, typer.Argument(help="A dataset or job: its name, a unique ending of it, a path, or a node id.")
    ],
    upstream: Annotated[bool, typer.Option("--upstream", help="Show only where it comes from.")] = False,
    downstream: Annotated[bool, typer.Option("--downstream", help="Show only what depends on it.")] = False,
    depth: Annotated[int, typer.Option(min=0, max=100, help="Follow this many hops from dataset to dataset.")] = 100,
    columns: Annotated[bool, typer.Option("--columns", help="Show which column feeds which.")] = False,
    column: Annotated[str | None, typer.Option(metavar="C", help="Show only what is connected to this column.")] = None,
    as_of: Annotated[
        str | None, typer.Option(metavar="TIME", help="Show the lineage as it was at this time (ISO 8601, UTC).")
    ] = None,
    namespace: Annotated[
        list[str] | None, typer.Option(help="Show only this namespace; `x*` matches a prefix. Repeatable.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="Show only nodes with this tag; `x*` matches a prefix. Repeatable.")
    ] = None,
    type: Annotated[str | None, typer.Option(help="Show only nodes of this type: `dataset` or `job`.")] = None,
    job_type: Annotated[
        str | None, typer.Option(help="Show only jobs of this type, processing type or integration.")
    ] = None,
    state: Annotated[str | None, typer.Option(help="Show only jobs whose last run ended in this state.")] = None,
    origin: Annotated[
        str | None, typer.Option(help="Show only edges of this origin: `observed`, `declared` or `manual`.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Show only edges seen since this time (ISO 8601, UTC).")
    ] = None,
    collapse: Annotated[str | None, typer.Option(help="Draw jobs as their `parent` or `root`.")] = None,
    hide: Annotated[
        list[str] | None, typer.Option(help="Hide jobs that are `ad_hoc`, `one_off` or `recurring`. Repeatable.")
    ] = None,
    group: Annotated[
        str | None, typer.Option(help="Group nodes by `namespace`, `source`, `tag`, `owner` or `parent`.")
    ] = None,
    format: Annotated[Format, typer.Option(help="Print in this format.")] = Format.tree,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, as with --format json.")] = False,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Deliver the events that wait in the local spool first.")
    ] = False,
    url: Annotated[str | None, typer.Option(help=server.URL_HELP)] = None,
) -> None:
    """Show where a dataset or job comes from and what depends on it.

    Each job has the state of its last run.

    Examples:

      headwater lineage report.html --upstream --columns

      headwater lineage marts/daily_traffic --column delay_minutes

      headwater lineage clean-flights --format mermaid > lineage.mmd

      headwater lineage marts/daily_traffic --type dataset --namespace 'warehouse*'
    """
    from headwater.cli.lineage import drawing

    if refresh:
        _deliver(url)
    node = server.resolve(url, name)
    question: dict[str, Any] = {
        "node": node["id"],
        "direction": "both" if upstream == downstream else ("upstream" if upstream else "downstream"),
        "depth": depth,
        "columns": columns or column is not None,
        "field": column,
        "as_of": server.time(as_of),
    }
    shape = {
        "namespace": namespace, "tag": tag, "type": type, "job_type": job_type, "state": state, "origin": origin,
        "since": server.time(since), "collapse": collapse, "group": group, "hide": hide,
    }  # fmt: skip
    question |= {key: value for key, value in shape.items() if value}
    if json or format is Format.json:
        output.raw(server.ask(url, "/api/v2/lineage", **question))
        return
    answer = server.get(url, "/api/v2/lineage", **question)
    if shaped := "filtered" in answer:
        answer["nodes"] += [group | {"type": "GROUP"} for group in answer["groups"]]
    if format is Format.mermaid:
        output.line(drawing.mermaid(answer))
        return
    if format is Format.dot:
        output.line(drawing.dot(answer))
        return
    if shaped:
        drawing.print_edges(answer)
        return
    runs = (
        server.get(url, "/api/v2/runs", job=_last_job(answer, node), limit=1)["runs"] if _last_job(answer, node) else []
    )
    drawing.print_tree(answer, runs[0] if runs else None)


def _last_job(answer: Any, node: Any) -> str | None:
    """Return the job whose last run represents this node: itself, or the last writer of the dataset."""
    if node["type"] == "JOB":
        return str(node["id"])
    writers = {edge["source"] for edge in answer["edges"] if edge["target"] == answer["root"]}
    jobs = [n for n in answer["nodes"] if n["id"] in writers and n.get("last_run")]
    return str(max(jobs, key=lambda n: n["last_run"]["started_at"])["id"]) if jobs else None


def _deliver(url: str | None) -> None:
    from headwater.client import emitter_from_environment

    server.use_local()
    emitter = emitter_from_environment(url=url)
    if not emitter.flush(timeout=30.0):
        typer.echo("some events still wait in the spool: run `headwater doctor` to see why", err=True)
    emitter.close()
