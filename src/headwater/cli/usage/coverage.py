"""`headwater coverage`: how much of the lineage is known, and how much of the query logs was understood."""

from typing import Annotated

import msgspec
import typer

from headwater.cli import output, server
from headwater.cli.figures import Csv, Json, Limit, Namespace, Offset, Url
from headwater.cli.usage.measured import check_coverage, quality


def coverage(
    namespace: Namespace = None,
    dialect: Annotated[str | None, typer.Option(help="Of the query logs, count only this dialect.")] = None,
    since: Annotated[
        str | None, typer.Option(metavar="DAY", help="Count logs from this day (ISO 8601). Default: the last 30 days.")
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="DAY", help="Count logs to this day (ISO 8601).")] = None,
    drop: Annotated[
        float, typer.Option(min=0, max=1, help="Allow what is understood to fall by this much from day to day.")
    ] = 0.05,
    check: Annotated[
        bool, typer.Option("--check", help="Exit with 1 if it dropped by more, or no log was read.")
    ] = False,
    limit: Limit = None,
    offset: Offset = 0,
    url: Url = None,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Show how much of the lineage is known, and the parser's part in it.

    Datasets without a writer may be sources. The CSV has a row per day of the query logs.

    Examples:

      headwater coverage

      headwater coverage --namespace snowflake://acme --json

      headwater coverage --dialect snowflake --since 2026-11-01 --csv > coverage.csv

      headwater coverage --check --drop 0.02
    """
    logs = {"namespace": namespace, "dialect": dialect, "since": since, "until": until, "drop": drop}
    if csv:
        quality(**logs, check=check, limit=limit, offset=offset, url=url, json=False, csv=True)  # type: ignore[arg-type]
        return
    known = server.get(url, "/api/v2/coverage", namespace=namespace)
    parsed = server.get(url, "/api/v2/quality", **logs, limit=limit, offset=offset)
    if json:
        output.raw(msgspec.json.encode({"lineage": known, "query_logs": parsed}))
    else:
        output.table(
            ("known of the lineage", "", "of", "share"),
            [
                (what, f"{known[part]:,}", f"{known[whole]:,} {unit}", _share(known[part], known[whole]))
                for what, part, whole, unit in (
                    ("a job writes it", "written", "datasets", "datasets"),
                    ("with the columns that feed its columns", "with_columns", "written", "of those"),
                    ("only declared, seen in no run", "only_declared", "written", "of those"),
                    ("ran, and said what it reads or writes", "reporting", "jobs", "jobs"),
                )
            ],
        )
        if parsed["days"]:
            output.line()
            quality(**logs, check=False, limit=limit, offset=offset, url=url, json=False, csv=False)  # type: ignore[arg-type]
    if check:
        check_coverage(parsed)


def _share(part: int, whole: int) -> str | None:
    return f"{part / whole:.0%}" if whole else None
