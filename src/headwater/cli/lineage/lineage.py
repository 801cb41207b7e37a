"""`headwater lineage NAME`: show where it comes from and what depends on it."""

import enum
from typing import Annotated, Any

import typer

from headwater.cli import output, server
from headwater.errors import InvalidQuestion

_LOOKED_AT = 50
"""Runs that ended well, among which one is looked for whose children ended well, too."""


class Format(enum.StrEnum):
    tree = "tree"
    json = "json"
    mermaid = "mermaid"
    dot = "dot"


def lineage(
    name: Annotated[
        str,
        typer.Argument(
            metavar="X",
            help="A dataset or job (its name, a unique ending of it, a path, a node id), NAME.COLUMN, ENTITY@INSTANCE, DATASET@VERSION, a run's id, "
            "or a file.",
        ),
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
    """Show where something comes from and what depends on it.

    X is a dataset, column, job, run, version, instance or file. Of a dataset or job, each job has the state of its last run. Of a run or version, the
    versions that were read and written are shown; of an instance, what it was made from; of a file, the steps.

    Examples:

      headwater lineage report.html --upstream --columns

      headwater lineage marts/daily_traffic --column delay_minutes

      headwater lineage marts/daily_traffic.delay_minutes

      headwater lineage 0199c0de-0000-7000-8000-000000000001 --downstream

      headwater lineage weekly@2024-W10

      headwater lineage clean-flights --format mermaid > lineage.mmd

      headwater lineage marts/daily_traffic --type dataset --namespace 'warehouse*'
    """
    from headwater.cli import meaning
    from headwater.cli.lineage import drawing

    if refresh:
        _deliver(url)
    found = meaning.find_object(url, name)
    shape = {
        "namespace": namespace, "tag": tag, "type": type, "job_type": job_type, "state": state, "origin": origin,
        "since": server.time(since), "collapse": collapse, "group": group, "hide": hide,
    }  # fmt: skip
    if found["type"] not in {"DATASET", "JOB", "COLUMN"}:
        graph_only = {
            "columns": columns,
            "column": column,
            "format": format is not Format.tree and format is not Format.json,
        }
        _zoom(found, [word for word, value in (shape | graph_only).items() if value], upstream, downstream, depth, as_of, url,
              json or format is Format.json)  # fmt: skip
        return
    node = found if found["type"] != "COLUMN" else found | {"type": "DATASET", "id": found["node"]}
    column = column or found.get("column")
    question: dict[str, Any] = {
        "node": node["id"],
        "direction": "both" if upstream == downstream else ("upstream" if upstream else "downstream"),
        "depth": depth,
        "columns": columns or column is not None,
        "field": column,
        "as_of": server.time(as_of),
    }
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
    last, successful = _last_runs(url, _last_job(answer, node))
    drawing.print_tree(answer, last, successful)


def _zoom(
    found: dict[str, Any],
    refused: list[str],
    upstream: bool,
    downstream: bool,
    depth: int,
    as_of: str | None,
    url: str | None,
    json: bool,
) -> None:
    """Print the lineage of what is no dataset and no job: of single runs, versions, instances, items."""
    from headwater.cli import meaning
    from headwater.cli.lineage.runs import run_lineage
    from headwater.cli.lineage.trace import trace
    from headwater.cli.status.incidents import suspects

    words = meaning.described(found)
    if refused:
        options = ", ".join(f"--{word.replace('_', '-')}" for word in refused)
        raise InvalidQuestion(f"{words}; {options} is for datasets and jobs only")
    if not json:
        output.line(output.printable(words), "dim")
    if found["type"] == "RUN" or (found["type"] == "VERSION" and found.get("run")):
        run_lineage(found.get("run") or found["id"], upstream, downstream, depth, as_of, url, json)
    elif found["type"] == "INSTANCE":
        suspects(found["entity"], [found["instance"]], as_of, 50, url, json)
    elif found["type"] in {"ITEM", "CONTENT"}:
        trace(found["id"], upstream, downstream, str(depth), url=url, json=json)
    elif found["type"] == "VERSION":
        lineage(found["node"], upstream, downstream, depth, as_of=as_of, json=json, url=url)
    else:
        raise InvalidQuestion(
            f"{words}; name its instances: headwater lineage {found['id']}@INSTANCE", entity=found["id"]
        )


def _last_job(answer: Any, node: Any) -> str | None:
    """Return the job whose last run represents this node: itself, or the last writer of the dataset."""
    if node["type"] == "JOB":
        return str(node["id"])
    writers = {edge["source"] for edge in answer["edges"] if edge["target"] == answer["root"]}
    jobs = [n for n in answer["nodes"] if n["id"] in writers and n.get("last_run")]
    return str(max(jobs, key=lambda n: n["last_run"]["started_at"])["id"]) if jobs else None


def _last_runs(url: str | None, job: str | None) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Return the last run of a job, and if that was not successful the last that was."""
    if job is None:
        return None, None
    runs = server.get(url, "/api/v2/runs", job=job, limit=1)["runs"]
    if not runs or runs[0]["effective_state"] == "COMPLETED":
        return (runs[0] if runs else None), None
    # A run that ended well may have failed below it.
    good = server.get(url, "/api/v2/runs", job=job, state="COMPLETED", limit=_LOOKED_AT)["runs"]
    return runs[0], next((run for run in good if run["effective_state"] == "COMPLETED"), None)


def _deliver(url: str | None) -> None:
    from headwater.client import emitter_from_environment

    server.use_local()
    emitter = emitter_from_environment(url=url)
    if not emitter.flush(timeout=30.0):
        typer.echo("some events still wait in the spool: run `headwater doctor` to see why", err=True)
    emitter.close()
