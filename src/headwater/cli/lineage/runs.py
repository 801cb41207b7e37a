"""`headwater runs`, `headwater run show` and `headwater run lineage`: list and show runs."""

from typing import Annotated, Any

import msgspec
import typer

from headwater.cli import output, server
from headwater.cli.lineage import tables
from headwater.cli.lineage.lineage import show as show_lineage

Url = Annotated[str | None, typer.Option(help=server.URL_HELP)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def runs(
    job: Annotated[str | None, typer.Argument(help="List only runs of this job.")] = None,
    state: Annotated[
        str | None, typer.Option(help="List only runs in this state: COMPLETED, FAILED, ABORTED or RUNNING.")
    ] = None,
    stalled: Annotated[
        bool, typer.Option("--stalled", help="List only runs that fell silent, with the reason.")
    ] = False,
    label: Annotated[
        str | None, typer.Option(help="List only runs with this label, as in query=01b2 or tag:team=web.")
    ] = None,
    children: Annotated[bool, typer.Option("--children", help="List also runs that are part of another run.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Show at most this many rows.")] = 20,
    url: Url = None,
    json: Json = False,
) -> None:
    """List runs, the latest first.

    A run of a package, a DAG or dbt stands for the runs that are part of it. With a job, a state, a label or --stalled, all are listed.

    Examples:

      headwater runs --children

      headwater runs --state FAILED

      headwater runs clean-flights --json
    """
    node = server.resolve(url, job, "job")["id"] if job else None
    folded = not (children or node or state or stalled or label)
    asked = {"job": node, "state": state, "stalled": stalled or None, "label": label, "limit": limit}
    answer = server.ask(url, "/api/v2/runs", **asked, parent="none" if folded else None)
    if json:
        output.raw(answer)
        return
    found = msgspec.json.decode(answer)
    output.table(
        ("run", "job", "runs below", "state", "started (UTC)", "duration", "by", "error"),
        [
            (
                r["id"],
                r["job"].removeprefix("job:"),
                found["children"].get(r["id"]),
                r["effective_state"],
                output.moment(r["started_at"]),
                output.duration(r["duration_ms"]),
                r["user"],
                r["error"] or r["stalled_reason"],
            )
            for r in found["runs"]
        ],
        styles={3: output.STATE_STYLES},
        empty="No runs found. Record one with `headwater run DIR`, or send OpenLineage events to the server.",
    )
    if found["total"] > len(found["runs"]):
        output.line(f"{len(found['runs'])} of {found['total']:,}; --limit shows more", "dim")


def show(
    run_id: Annotated[str, typer.Argument(help="The run's id, or a unique beginning or ending of it.")],
    url: Url = None,
    json: Json = False,
) -> None:
    """Show one run: parameters, code, the versions it read and wrote, its children.

    Examples:

      headwater run show 0199c0de-0000-7000-8000-000000000001

      headwater run show 0199c0de --json
    """
    if json:
        output.raw(server.ask(url, server.path("runs", run_id)))
        return
    run = server.get(url, server.path("runs", run_id))
    tables.print_run(run)
    if run["code"]:
        dirty = " (with uncommitted changes)" if run["code"]["dirty"] else ""
        output.line(
            f"  {'code':<10}{output.printable(run['code']['version'] or '')}{dirty}  {output.printable(run['code']['url'] or '')}"
        )
    for one in run["labels"]:
        output.line(f"  {'label':<10}{output.printable(one['name'])}={output.printable(one['value'])}")
    _print_coverage(run["coverage"])
    if run["nominal_start"]:
        output.line(
            f"  {'period':<10}{output.printable(run['nominal_start'])} … {output.printable(run['nominal_end'] or '')}"
        )
    if run["parent"]:
        output.line(
            f"  {'parent':<10}{output.printable(run['parent']['job'].removeprefix('job:'))}  {run['parent']['run_id']}"
        )
    for title, values in (("Parameters", run["parameters"]),):
        if values:
            output.line()
            output.line(title, "bold")
            for key, value in values.items():
                output.line(f"  {output.printable(key)} = {output.printable(value)}")
    if run["inputs"]:
        output.line()
        output.line("Read", "bold")
        output.table(
            ("  dataset", "version", "written by"),
            [
                (
                    "  " + i["dataset"].removeprefix("dataset:") + ("  (declared)" if i["declared"] else ""),
                    i["external_version"] or i["version_id"],
                    f"{i['written_by']['job'].removeprefix('job:')}  {i['written_by']['run_id']}"
                    if i["written_by"]
                    else None,
                )
                for i in run["inputs"]
            ],
        )
    if run["outputs"]:
        output.line()
        output.line("Wrote", "bold")
        output.table(
            ("  dataset", "version", "rows", "size", "files"),
            [
                (
                    "  " + o["dataset"].removeprefix("dataset:") + ("  (declared)" if o["declared"] else ""),
                    o["external_version"] or o["version_id"],
                    None if o["rows"] is None else f"{o['rows']:,}",
                    output.size(o["bytes"]),
                    o["files"],
                )
                for o in run["outputs"]
            ],
        )
    if run["children"]:
        output.line()
        output.line("Children", "bold")
        output.table(
            ("  run", "job", "state", "duration"),
            [
                (f"  {c['id']}", c["job"].removeprefix("job:"), c["effective_state"], output.duration(c["duration_ms"]))
                for c in run["children"]
            ],
            styles={2: output.STATE_STYLES},
        )
        if run["more_children"]:
            output.line(f"  and {run['more_children']:,} more", "dim")


def _print_coverage(covered: dict[str, Any] | None) -> None:
    if covered is None:
        return
    output.line(f"  {'coverage':<10}{output.printable(covered['summary'])}")
    more = [f"{one['what']}: {one['why']}" for one in covered["reasons"][1:]]
    for text in (*more, *covered["limits"]):
        output.line(f"  {'':<10}{output.printable(text)}")


def run_lineage(
    run_id: Annotated[str, typer.Argument(help="The run's id, or a unique beginning or ending of it.")],
    upstream: Annotated[bool, typer.Option("--upstream", help="Show only what it was made from.")] = False,
    downstream: Annotated[bool, typer.Option("--downstream", help="Show only what was made from it.")] = False,
    depth: Annotated[int, typer.Option(min=0, max=100, help="Follow this many hops from version to version.")] = 100,
    as_of: Annotated[
        str | None, typer.Option(metavar="TIME", help="Show the lineage as it was at this time (ISO 8601, UTC).")
    ] = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Show which versions a run read and which runs wrote them, upstream and downstream.

    Examples:

      headwater run lineage 0199c0de --upstream

      headwater run lineage 0199c0de --downstream --depth 1 --json
    """
    typer.echo(
        "headwater: `headwater run lineage` is now `headwater lineage RUN`; the old name goes on working", err=True
    )
    direction = "both" if upstream == downstream else ("upstream" if upstream else "downstream")
    question: dict[str, Any] = {"direction": direction, "depth": depth, "as_of": server.time(as_of)}
    if json:
        output.raw(server.ask(url, server.path("runs", run_id, "lineage"), **question))
        return
    show_lineage(url, f"run:{run_id.removeprefix('run:')}", **question)
