"""`headwater claims --sources`: compare the graphs that the query log, dbt, Airflow and other producers report."""

from typing import Annotated, Any

import msgspec
import typer

from headwater.cli import comma_separated, output, server

_DISAGREEMENTS = ("in_no_dag", "untold_by_its_job", "never_seen")
_SAID = {
    "in_no_dag": "in the log, in no DAG",
    "untold_by_its_job": "in the log, not reported by its job",
    "never_seen": "reported, never seen in the log",
}
_PAGE = 10_000


def perspectives(
    namespace: Annotated[str | None, typer.Option(help="List only edges that touch this namespace.")] = None,
    perspective: Annotated[
        str | None,
        typer.Option(
            "--perspective", help="List only edges that this producer reports: `query-log`, `dbt`, `airflow` and so on."
        ),
    ] = None,
    disagreement: Annotated[
        list[str] | None,
        typer.Option(
            help="List only `in_no_dag`, `untold_by_its_job` or `never_seen`. Repeatable. Default: all three."
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Include edges on which all producers agree.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=_PAGE, help="Show at most this many edges.")] = 50,
    offset: Annotated[int, typer.Option(min=0, help="Skip this many edges first.")] = 0,
    url: Annotated[str | None, typer.Option(help=server.URL_HELP)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
) -> None:
    """Compare the graphs that the query log, dbt, Airflow and others report.

    Lists the edges that one reports and another does not.

    Examples:

      headwater claims --sources

      headwater claims --sources --disagreement never_seen --namespace snowflake://acme-eu

      headwater claims --sources --perspective dbt --all --json
    """
    kinds = disagreement or (None if every else list(_DISAGREEMENTS))
    body = server.ask(
        url, "/api/v2/perspectives", namespace=namespace, perspective=perspective, disagreement=kinds, limit=limit, offset=offset
    )  # fmt: skip
    if json:
        output.raw(body)
        return
    found = msgspec.json.decode(body)
    if csv:
        comma_separated.table(
            ("source", "target", "perspectives", "disagreement", "jobs", "reported_at"),
            [one | {"jobs": [job for jobs in one["jobs"].values() for job in jobs]} for one in found["edges"]],
        )
        return
    output.table(
        ("perspective", "jobs", "edges", "reported by it alone"),
        [(one["name"], f"{one['jobs']:,}", f"{one['edges']:,}", f"{one['alone']:,}") for one in found["perspectives"]],
    )
    if found["edges"]:
        output.table(
            ("", "from", "to", "reported by", "through"),
            [
                (_SAID.get(one["disagreement"], ""), _short(one["source"]), _short(one["target"]), ", ".join(one["perspectives"]), _through(one))
                for one in found["edges"]
            ],
        )  # fmt: skip
    _sum(found, offset)


def _sum(found: dict[str, Any], offset: int) -> None:
    if not found["perspectives"]:
        output.line("no job reads and writes", "dim")
        return
    if not found["covered"]:
        output.line("no query log was read, so nothing is compared with one", "dim")
    counts = "; ".join(f"{_SAID[kind]}: {count:,}" for kind, count in found["disagreements"].items())
    output.line(f"reported by more than one: {found['agreed']:,}; {counts}", "dim")
    if found["total"] > len(found["edges"]):
        where = f" from {offset + 1:,}" if offset else ""
        output.line(f"{len(found['edges']):,} of {found['total']:,}{where}; --limit shows more", "dim")


def _short(node: str) -> str:
    """Return `dataset:postgres://db:5432:s.t` without its kind."""
    return node.partition(":")[2]


def _through(one: dict[str, Any]) -> str:
    jobs = [_short(job) for jobs in one["jobs"].values() for job in jobs]
    return jobs[0] + (f" and {len(jobs) - 1} more" if len(jobs) > 1 else "") if jobs else ""
