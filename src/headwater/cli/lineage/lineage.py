"""`headwater lineage X`: show where it comes from and what depends on it; and `headwater suspects`, which asks it what may be wrong."""

import enum
from typing import Annotated, Any

import typer

from headwater.cli import meaning, output, server
from headwater.cli.lineage import tables
from headwater.cli.status.instances import AsOf, Entity, Instances, Json, Url, read_instances
from headwater.errors import Ambiguous
from headwater.graph.tracing import FAN

_NAMES = ("DATASET", "JOB", "COLUMN")
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
    depth: Annotated[int, typer.Option(min=0, help="Follow this many hops from dataset to dataset.")] = 100,
    columns: Annotated[bool, typer.Option("--columns", help="Show which column feeds which.")] = False,
    column: Annotated[str | None, typer.Option(metavar="C", help="Show only what is connected to this column.")] = None,
    as_of: Annotated[
        str | None, typer.Option(metavar="TIME", help="Show the lineage as it was at this time (ISO 8601, UTC).")
    ] = None,
    namespace: Annotated[
        list[str] | None, typer.Option(help="Show only this namespace; `x*` matches a prefix. Repeatable.")
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option(
            help="Show only nodes with this tag, or with a column that has it; `x*` matches a prefix. Repeatable."
        ),
    ] = None,
    owner: Annotated[
        list[str] | None,
        typer.Option(help="Show only what this person or team owns; `x*` matches a prefix. Repeatable."),
    ] = None,
    platform: Annotated[
        list[str] | None,
        typer.Option(
            help="Show only namespaces of this scheme, as `s3` or `snowflake`; `x*` matches a prefix. Repeatable."
        ),
    ] = None,
    type: Annotated[str | None, typer.Option(help="Show only nodes of this type: `dataset` or `job`.")] = None,
    job_type: Annotated[
        str | None, typer.Option(help="Show only jobs of this type, processing type or integration.")
    ] = None,
    state: Annotated[str | None, typer.Option(help="Show only jobs whose last run ended in this state.")] = None,
    origin: Annotated[
        str | None,
        typer.Option(help="Show only edges of this origin: `observed`, `declared`, `parsed_sql` or `manual`."),
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Show only edges seen since this time (ISO 8601, UTC).")
    ] = None,
    collapse: Annotated[str | None, typer.Option(help="Draw jobs as their `parent` or `root`.")] = None,
    children: Annotated[
        bool, typer.Option("--children", help="Draw also jobs that are one statement of the job above them.")
    ] = False,
    hide: Annotated[
        list[str] | None, typer.Option(help="Hide jobs that are `ad_hoc`, `one_off` or `recurring`. Repeatable.")
    ] = None,
    group: Annotated[
        str | None, typer.Option(help="Group nodes by `namespace`, `source`, `tag`, `owner` or `parent`.")
    ] = None,
    to: Annotated[str | None, typer.Option(metavar="Y", help="Show only the shortest ways to Y, or from it.")] = None,
    wrong: Annotated[
        bool,
        typer.Option("--wrong", help="Show what may have made a run, version or instance wrong, the likeliest first."),
    ] = False,
    details: Annotated[
        bool,
        typer.Option("--details", help="Show also ids and what steps report of themselves, of a run, version or item."),
    ] = False,
    fan: Annotated[
        int, typer.Option(min=1, max=1000, help="Fold similar runs and versions when there are more than this many.")
    ] = FAN,
    format: Annotated[Format, typer.Option(help="Print in this format.")] = Format.tree,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Print Mermaid, as with --format mermaid.")] = False,
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

      headwater lineage weekly@2024-W10 --wrong

      headwater lineage raw/flights --to report.html

      headwater lineage clean-flights --format mermaid > lineage.mmd

      headwater lineage marts/daily_traffic --type dataset --namespace 'warehouse*'

      headwater lineage marts/daily_traffic --owner ana --platform snowflake --platform s3
    """
    if refresh:
        _deliver(url)
    found = meaning.find_object(url, name)
    field = column or found.get("column")
    question: dict[str, Any] = {
        "direction": "both" if upstream == downstream else ("upstream" if upstream else "downstream"),
        "depth": depth,
        "columns": columns or field is not None or None,
        "field": field,
        "as_of": server.time(as_of),
        "to": None if to is None else _end(url, to),
        "wrong": wrong or None,
        "namespace": namespace, "tag": tag, "type": type, "job_type": job_type, "state": state, "origin": origin,
        "since": server.time(since), "collapse": collapse, "group": group, "hide": hide, "platform": platform, "owner": owner,
    }  # fmt: skip
    question = {key: value for key, value in question.items() if value is not None}
    format = Format.json if json else Format.mermaid if mermaid else format
    named = found["type"] in _NAMES
    if format is Format.tree and not named:
        output.line(output.printable(meaning.described(found)), "dim")
    node = str(found["node"] if found["type"] == "COLUMN" else found["id"])
    answer = show(url, node, format=format, details=details, fan=fan, children=children, **question)
    if format is Format.tree and named and to is None and "filtered" not in answer:
        job = node if found["type"] == "JOB" else _last_writer(answer)
        last, successful = _last_runs(url, job)
        if last is not None:
            tables.print_runs(last, successful)


def show(
    url: str | None,
    node: str,
    *,
    format: Format = Format.tree,
    details: bool = False,
    fan: int = FAN,
    children: bool = False,
    **question: Any,
) -> dict[str, Any]:
    """Print the lineage of whatever this is, and return the answer; as JSON it is printed and not read.

    `children`: draw jobs that are one statement of the job above them by themselves.
    """
    from headwater.cli.lineage import lineage_tree
    from headwater.graph import graphviz, mermaid
    from headwater.graph.statements import find_parents, fold_statements, fold_ways

    if format is Format.json:
        output.raw(server.ask(url, "/api/v2/lineage", node=node, **question))
        return {}
    answer = server.get(url, "/api/v2/lineage", node=node, **question)
    if answer["candidates"]:
        candidates = [meaning.candidate(each) for each in answer["candidates"]]
        raise Ambiguous(f"{node!r} could be any of {len(candidates)}; give one of these:", candidates=candidates)
    answer["nodes"] += [group | {"type": "GROUP"} for group in answer.get("groups", ())]
    if not children and "to" not in question and "filtered" not in answer:
        answer = fold_statements(answer)
    if not children and "to" in question:
        answer = fold_statements(answer) | {
            "paths": fold_ways(answer["paths"], find_parents(answer["nodes"], answer["roots"]))
        }
    if format is Format.mermaid:
        output.line(mermaid.flowchart(answer, fan))
    elif format is Format.dot:
        output.line(graphviz.digraph(answer, fan))
    elif "to" in question:
        tables.print_ways(answer)
    elif "filtered" in answer:
        tables.print_edges(answer)
    else:
        lineage_tree.print_lineage(answer, fan=fan, details=details)
    return dict(answer)


def suspects(
    entity: Entity,
    instances: Instances = None,
    as_of: AsOf = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """List the suspects for wrong instances, the likeliest first.

    The candidates are everything that the instances were made from. The same as `headwater lineage ENTITY@INSTANCE --wrong`.

    Examples:

      headwater suspects weekly 2024-W10

      headwater suspects weekly 2024-W10 --json | jq '.suspects[0]'
    """
    entity, instances = read_instances(entity, instances)
    if json:
        where = server.path("entities", entity, "suspects")
        output.raw(server.ask(url, where, instances=instances, as_of=server.time(as_of)))
        return
    show(url, f"{entity}@{','.join(instances)}", wrong=True, depth=100, as_of=server.time(as_of))


def _end(url: str | None, text: str) -> str:
    """Return what `to` means as the server knows it: a file of this disk by its content or name."""
    found = meaning.find_object(url, text)
    return text if found["type"] == "COLUMN" else str(found["id"])


def _last_writer(answer: Any) -> str | None:
    """Return the job that wrote the root last: its last run represents the dataset."""
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
