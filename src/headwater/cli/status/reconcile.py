"""`headwater reconcile`: compare storage with an entity's recorded instances. Runs where the storage is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli import output, server
from headwater.errors import InvalidQuestion

if TYPE_CHECKING:
    from headwater.capture.storage.listing import Listing
    from headwater.capture.storage.reconciler import Compared, ReconcileReport

_KINDS = (
    ("retention", "gone, older than its retention", ""),
    ("external", "gone, and not reported as removed", "bold red"),
    ("unknown", "there, and not reported", "yellow"),
    ("unfinished", "there, though its period is not over", "dim"),
    ("underway", "being made, or reported meanwhile", "dim"),
)


def reconcile(
    entity: Annotated[str, typer.Argument(help="The entity's name, as declared.")],
    files: Annotated[
        str | None,
        typer.Option(
            metavar="PATTERN",
            help="Look for files or folders of this pattern: '/data/reads/{year}-{month}-{day}.csv', '{period}'. Repeatable.",
        ),
    ] = None,
    hive: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="Look in a table's folder that has dt=2024-03-10/hour=05 and the like."),
    ] = None,
    delta: Annotated[str | None, typer.Option(metavar="PATH", help="Look in this Delta table.")] = None,
    sql: Annotated[
        str | None,
        typer.Option(
            metavar="DSN", help="Ask this database, or env:NAME for a variable with its address. Needs --query."
        ),
    ] = None,
    query: Annotated[
        str | None, typer.Option(metavar="SQL", help="Ask with this query of one column: dates, timestamps or keys.")
    ] = None,
    driver: Annotated[str, typer.Option(help="Use this Python driver (PEP 249) for --sql.")] = "psycopg",
    columns: Annotated[
        str | None,
        typer.Option(
            help="Name the partition columns that are the time: dt,hour or period=event_date,hour=h. Default: by name."
        ),
    ] = None,
    within: Annotated[
        list[str] | None,
        typer.Option(
            metavar="INSTANCES", help="Compare only these: 2024-03, or 2024-03-01.. for all from then on. Repeatable."
        ),
    ] = None,
    report: Annotated[bool, typer.Option("--report", help="Report missing instances as deleted.")] = False,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="Report unknown instances as produced, with --report.")
    ] = False,
    state: Annotated[str, typer.Option(help="Adopt instances in this state.")] = "completed",
    empty: Annotated[bool, typer.Option("--empty", help="Report even if storage holds nothing at all.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Exit with 1 if any instance is missing or unknown.")] = False,
    url: Annotated[str | None, typer.Option(help=server.URL_HELP)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare an entity's instances with what storage holds.

    It deletes nothing. Without --report it changes nothing.

    Examples:

      headwater reconcile reads --files '/data/reads/{year}-{month}-{day}.csv'

      headwater reconcile reads --hive s3://lake/reads --columns dt,hour --report

      headwater reconcile reads --delta /lake/reads --report --adopt

      headwater reconcile reads --sql env:WAREHOUSE --query 'select distinct day from reads' --json
    """
    from headwater.capture.storage import reconciler

    if adopt and not report:
        raise InvalidQuestion("--adopt needs --report; add --report, or omit --adopt to list unknown instances only")
    at = reconciler.Server(server.address(url), server.key(url))
    since = reconciler.began(at, entity)
    listing = _listing(files, hive, delta, sql, query, driver, columns)
    found = reconciler.compare(at, entity, listing, since, within or [])
    reported = reconciler.report(at, found, listing, adopt=adopt, state=state, empty=empty) if report else None
    if json:
        output.json_line(_answer(found, reported))
    else:
        _say(found, reported)
    if (reported is not None and reported.refused) or (check and _differs(found)):
        raise typer.Exit(1)


def _listing(
    files: str | None,
    hive: str | None,
    delta: str | None,
    sql: str | None,
    query: str | None,
    driver: str,
    columns: str | None,
) -> Listing:
    given = [each for each in (files, hive, delta, sql) if each is not None]
    if len(given) != 1:
        raise InvalidQuestion(f"give exactly one of --files, --hive, --delta and --sql; {len(given)} are given")
    if (sql is None) != (query is None):
        raise InvalidQuestion("--sql and --query go together: give the database and the query")
    if columns is not None and (files is not None or sql is not None):
        raise InvalidQuestion(
            "--columns goes with --hive and --delta only; a pattern and a query name the time themselves"
        )
    if files is not None:
        from headwater.capture.storage.files import files as listed

        return listed(files)
    if hive is not None:
        from headwater.capture.storage.hive import hive as partitions

        return partitions(hive, columns)
    if delta is not None:
        from headwater.capture.storage.delta import delta as live

        return live(delta, columns)
    from headwater.capture.storage.query import query as rows

    return rows(sql or "", query or "", driver)


def _differs(found: Compared) -> bool:
    return bool(found.drift.retention.count + found.drift.external.count + found.drift.unknown.count)


def _answer(found: Compared, reported: ReconcileReport | None) -> dict[str, Any]:
    return {
        "drift": found.drift,
        "texts": found.texts,
        "refused": [{"text": text, "why": why} for text, why in found.refused],
        "more_refused": found.more_refused,
        "ignored": found.ignored,
        "reported": reported,
    }


def _say(found: Compared, reported: ReconcileReport | None) -> None:
    drift = found.drift
    for kind, meaning, style in _KINDS:
        some = getattr(drift, kind)
        if some.count:
            shown = ", ".join(output.printable(each) for each in some.instances[:20])
            more = f" and {len(some.instances) - 20:,} more stretches" if len(some.instances) > 20 else ""
            output.line(f"{some.count:,} {meaning}: {shown}{more}", style)
    for text, why in found.refused[:20]:
        output.line(f"not an instance: {output.printable(text)}: {output.printable(why)}", "yellow")
    if left := len(found.refused[20:]) + found.more_refused:
        output.line(f"and {left:,} more that are no instance", "yellow")
    traces = f"; {found.ignored:,} other entries ignored" if found.ignored else ""
    output.line(f"{drift.agree:,} agree{traces}", "dim")
    if reported is not None:
        adopted = f", {reported.adopted:,} adopted" if reported.adopted else ""
        output.line(f"reported: {reported.retention + reported.external:,} deleted{adopted}")
        for each in reported.refused:
            output.line(f"refused: {output.printable(each)}", "bold red")
    elif _differs(found):
        output.line("nothing was changed; add --report to report it to the server", "dim")
