"""The bad run that `headwater repair --run` and `--dag` are about: what has to be cleared and started because of it, and its incident."""

from __future__ import annotations

from typing import Any

from headwater.cli import output, server
from headwater.cli.people.metadata import author
from headwater.cli.plans import impact
from headwater.cli.status import wrong_reads
from headwater.cli.status.incidents import left_out
from headwater.cli.status.instances import short
from headwater.errors import InvalidQuestion


def ask(
    url: str | None,
    *,
    run: str | None,
    dag: str | None,
    airflow: str | None,
    execution_date: str | None,
    reason: str,
    dry_run: bool,
    as_: str | None,
) -> dict[str, Any]:
    """Return what `POST /api/v2/repair` answers: `incident` (who is hit), `plan` (instances to rebuild), `impact` (tasks to clear, runs to start)."""
    import msgspec

    if dag is None:
        from headwater.cli import meaning

        if run is None or airflow or execution_date:
            raise InvalidQuestion(
                "name an incident, a run with --run, or a run of a DAG with --dag and --execution-date"
            )
        found = meaning.find_object(url, run)
        if found["type"] != "RUN":
            raise InvalidQuestion(f"{meaning.described(found)}; --run takes the id of a run", given=run)
        run = str(found["id"])
    body = {
        "run": run,
        "dag": dag,
        "airflow": airflow,
        "execution_date": server.time(execution_date),
        "reason": reason,
        "dry_run": dry_run,
    }
    return dict(msgspec.json.decode(server.send(url, "POST", "/api/v2/repair", body, **author(as_))))


def show(found: dict[str, Any], limit: int) -> None:
    """Print what a dry run found."""
    from headwater.cli.plans.backfill import show_plan

    if found["impact"] is not None:
        impact.show(found["impact"])
    if (hit := found["incident"]) is None:
        return
    if hit["hits"]:
        output.line()
        rows = [
            (each["entity"], short(each["instances"]), f"{each['count']:,}", each["basis"], each["because"])
            for each in hit["hits"][:limit]
        ]
        output.table(("entity", "instances", "count", "basis", "through"), rows)
        left_out(len(hit["hits"]), limit, "entity")
    if found["plan"] is not None:
        output.line()
        show_plan(found["plan"], "")
    if hit["reads"]:
        wrong_reads.print_reads(hit["reads"], limit)
    output.line(
        "nothing was written; --reason TEXT in place of --dry-run opens the incident and stores the plan", "dim"
    )
