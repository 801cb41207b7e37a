"""`headwater jobs`: list jobs."""

from typing import Annotated

import typer

from headwater.cli import output, server


def jobs(
    of: Annotated[str | None, typer.Argument(metavar="JOB", help="List only jobs below this one.")] = None,
    search: Annotated[
        str | None, typer.Option("--search", "-s", help="List only names that contain this text.")
    ] = None,
    children: Annotated[
        bool, typer.Option("--children", help="List also jobs that are one statement of the job above them.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Show at most this many rows.")] = 50,
    url: Annotated[str | None, typer.Option(help=server.URL_HELP)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List jobs, the one with the latest event first.

    Statements that dbt and Airflow send as jobs of their own are folded into the job above them.

    Examples:

      headwater jobs --search orders

      headwater jobs model.shop.orders --children
    """
    parent = server.resolve(url, of, "job")["id"] if of else None
    asked = {"parent": parent, "q": search, "children": children or None, "limit": limit}
    if json:
        output.raw(server.ask(url, "/api/v2/jobs", **asked))
        return
    found = server.get(url, "/api/v2/jobs", **asked)
    output.table(
        ("job", "namespace", "jobs below", "last run", "started (UTC)"),
        [
            (
                job["name"],
                job["namespace"],
                found["children"].get(job["id"]),
                job["last_run"] and job["last_run"]["state"],
                job["last_run"] and output.moment(job["last_run"]["started_at"]),
            )
            for job in found["jobs"]
        ],
        styles={3: output.STATE_STYLES},
        empty="No jobs found. Record one with `headwater run DIR`, or send OpenLineage events to the server.",
    )
    if found["total"] > len(found["jobs"]):
        output.line(f"{len(found['jobs'])} of {found['total']:,}; --limit shows more", "dim")
