"""`headwater usage`, `headwater cost`, `headwater prune`, `headwater coverage`: figures from query logs."""

from typing import Annotated, Any

import typer

from headwater.cli import figures, output, server
from headwater.cli.figures import Csv, Json, Limit, Namespace, Offset, Order, Sort, Url, count, money, share
from headwater.errors import NotFound

_STATUS = {"active": "green", "stale": "yellow", "one_off": "yellow", "unread": "bold red", "dropped": "dim"}
_USAGE = (
    "id", "namespace", "name", "status", "reads", "writes", "reads_by_people", "reads_by_services", "reads_by_bi", "reads_by_pipelines",
    "reads_by_unknown", "readers", "people", "last_read_at", "last_read_by_person_at", "last_written_at", "first_seen_at", "active_days",
)  # fmt: skip


def usage(
    name: Annotated[str | None, typer.Argument(help="Show only this dataset, with its readers.")] = None,
    status: Annotated[
        list[str] | None,
        typer.Option(help="List only `active`, `stale`, `one_off`, `unread` or `dropped` datasets. Repeatable."),
    ] = None,
    actor_kind: Annotated[
        str | None, typer.Option(help="List only what a `person`, `service`, `bi`, `pipeline` or `unknown` reads.")
    ] = None,
    unread_since: Annotated[
        str | None, typer.Option(metavar="TIME", help="List only datasets that were not read since then (ISO 8601).")
    ] = None,
    namespace: Namespace = None,
    sort: Sort = None,
    order: Order = None,
    limit: Limit = None,
    offset: Offset = 0,
    url: Url = None,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Show who reads and writes which datasets, how often, and when last.

    The most-read datasets come first. Counts come from query logs; of one dataset, the jobs are listed, too, whose runs read or wrote it.

    Examples:

      headwater usage --status unread --sort writes

      headwater usage --actor-kind person --sort last_read

      headwater usage marts.sales

      headwater usage --unread-since 2026-08-01 --csv > unread.csv
    """
    asked = figures.List(
        url, "/api/v2/usage", "datasets", _USAGE, node=figures.node(url, name, "dataset"), namespace=namespace, status=status, actor_kind=actor_kind,
        unread_since=server.time(unread_since), sort=sort, order=order,
    )  # fmt: skip
    found = asked.fetch(as_json=json, as_csv=csv, limit=limit, offset=offset)
    if found is None:
        return
    if name is not None:
        if found["datasets"]:
            _used(found["datasets"][0])
        elif found["jobs"]:
            output.line("no query log reports it; what follows is by the events of jobs", "dim")
        _print_jobs(found["jobs"])
        if found["datasets"] or found["jobs"]:
            return
    output.table(
        ("dataset", "namespace", "status", "reads", "people", "bi", "pipelines", "services", "writes", "last read (UTC)", "last by a person"),
        [
            (
                one["name"], one["namespace"], one["status"], count(one["reads"]), count(one["reads_by_people"]), count(one["reads_by_bi"]),
                count(one["reads_by_pipelines"]), count(one["reads_by_services"]), count(one["writes"]), output.moment(one["last_read_at"]),
                output.moment(one["last_read_by_person_at"]),
            )
            for one in found["datasets"]
        ],
        styles={2: _STATUS},
        empty="No usage found. It comes from query logs: `headwater sync query-log --help`.",
    )  # fmt: skip
    counts = ", ".join(f"{n:,} {status.replace('_', '-')}" for status, n in found["totals"]["by_status"].items() if n)
    output.line(
        f"{output.counted(found['total'], 'dataset')}: {counts}" if counts else "no query log reports any dataset",
        "dim",
    )
    figures.more(len(found["datasets"]), found["total"], offset)


def _print_jobs(jobs: list[dict[str, Any]]) -> None:
    if jobs:
        output.table(
            ("job", "does", "runs in 30 days", "last (UTC)", "owners"),
            [
                (
                    one["id"].removeprefix("job:"),
                    one["does"],
                    count(one["runs"]),
                    output.moment(one["last_at"]),
                    ", ".join(one["owners"]),
                )
                for one in jobs
            ],
        )


def _used(one: dict[str, Any]) -> None:
    output.line(output.printable(one["label"]), "bold")
    facts = (
        ("status", one["status"].replace("_", "-")),
        ("reads", f"{one['reads']:,}: people {one['reads_by_people']:,}, BI {one['reads_by_bi']:,}, pipelines {one['reads_by_pipelines']:,}, "
                  f"services {one['reads_by_services']:,}, unknown {one['reads_by_unknown']:,}"),
        ("readers", f"{one['readers']:,}, {one['people']:,} of them people, on {one['active_days']:,} days"),
        ("last read", output.moment(one["last_read_at"])),
        ("by a person", output.moment(one["last_read_by_person_at"])),
        ("writes", f"{one['writes']:,}"),
        ("last written", output.moment(one["last_written_at"])),
        ("first seen", output.moment(one["first_seen_at"])),
    )  # fmt: skip
    for key, value in facts:
        if value:
            output.line(f"  {key:<13}{value}")
    if one["top_readers"]:
        output.table(
            ("  reader", "kind", "reads", "last (UTC)"),
            [
                (
                    f"  {reader['actor']}",
                    reader["kind"],
                    count(reader["reads"]),
                    output.moment(reader["last_read_at"]),
                )
                for reader in one["top_readers"]
            ],
        )


_COST = (
    "id", "grain", "namespace", "name", "executions", "money", "bytes_billed", "slot_ms", "duration_ms", "credits", "share", "keep_month",
    "last_at", "recurrence", "writes", "unused",
)  # fmt: skip


def cost(
    name: Annotated[str | None, typer.Argument(help="Show only this dataset or job.")] = None,
    by: Annotated[
        str | None, typer.Option("--by", help="Add up by `table`, `shape`, `user`, `task`, `model` or `tool`.")
    ] = None,
    tool: Annotated[str | None, typer.Option(help="Count only shapes that this tool ran, or this tool itself.")] = None,
    actor_kind: Annotated[
        str | None, typer.Option(help="Count only shapes run by a `person`, `service`, `bi`, `pipeline` or `unknown`.")
    ] = None,
    namespace: Namespace = None,
    sort: Sort = None,
    order: Order = None,
    limit: Limit = None,
    offset: Offset = 0,
    url: Url = None,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Show what tables, queries, users, tasks and tools cost, the dearest first.

    Examples:

      headwater cost --by user --limit 10

      headwater cost --by task                          # with what each makes that nothing needs

      headwater cost --by shape --tool looker

      headwater cost marts.sales

      headwater cost --by model --csv > models.csv
    """
    node = None if name is None else server.resolve(url, name)
    grain = by or ("shape" if node is not None and node["type"] == "JOB" else "table")
    asked = figures.List(
        url, "/api/v2/cost", "costs", _COST, grain=grain, node=node and node["id"], namespace=namespace, tool=tool, actor_kind=actor_kind, sort=sort,
        order=order,
    )  # fmt: skip
    found = asked.fetch(as_json=json, as_csv=csv, limit=limit, offset=offset)
    if found is None:
        return
    keeps = _OWN.get(grain, ())
    output.table(
        (grain, "namespace", "money", *keeps, "share", "executions", "billed", "slot time", "time", "last (UTC)"),
        [
            (
                one["name"], one["namespace"], money(one["money"]), *_own(one, grain), share(one["share"]),
                count(one["executions"]), output.size(one["bytes_billed"]), output.duration(one["slot_ms"]), output.duration(one["duration_ms"]),
                output.moment(one["last_at"]),
            )
            for one in found["costs"]
        ],
        empty="No costs found. They come from query logs: `headwater sync query-log --help`.",
    )  # fmt: skip
    totals = found["totals"]
    spent = f"{money(totals['money'])} in " if totals["money"] is not None else ""
    output.line(f"{found['total']:,}: {spent}{totals['executions']:,} executions", "dim")
    if found["hidden"]:
        output.line(f"{found['hidden']:,} users and tools that cost less are not listed", "dim")
    figures.more(len(found["costs"]), found["total"], offset)


_OWN = {"table": ("to keep a month",), "shape": ("recurs",), "task": ("makes unused",), "model": ("makes unused",)}
"""The columns that only one grain has."""


def _own(one: dict[str, Any], grain: str) -> list[str | None]:
    """Return the columns that only this grain has."""
    if grain == "shape":
        return [(one["recurrence"] or "").replace("_", "-")]
    if grain in {"task", "model"}:
        return [f"{len(one['unused'])} of {one['writes']}" if one["unused"] else ""]
    return [money(one["keep_month"])] if grain == "table" else []


_PRUNE = (
    "wave", "id", "namespace", "name", "reason", "money_month", "money_once", "confidence", "vouches_days", "evidence", "reads", "writes",
    "last_read_at", "last_read_by_person_at", "last_written_at",
)  # fmt: skip


def prune(
    namespace: Namespace = None,
    last_wave: Annotated[int | None, typer.Option("--wave", min=1, help="List waves up to this one.")] = None,
    min_confidence: Annotated[
        float, typer.Option(min=0, max=1, help="List only datasets with at least this confidence.")
    ] = 0.0,
    sort: Sort = None,
    order: Order = None,
    limit: Limit = None,
    offset: Offset = 0,
    url: Url = None,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """List unused datasets in a safe order of removal, with the monthly saving.

    Each dataset has a confidence. Nothing is deleted.

    A wave is safe to remove after the waves before it. Datasets that other jobs, people, entities or the tag `keep` need are listed apart.

    Examples:

      headwater prune --min-confidence 0.8

      headwater prune --sort money_month --limit 10

      headwater prune --wave 1 --csv > first-wave.csv
    """
    asked = figures.List(
        url, "/api/v2/pruning", "datasets", _PRUNE, namespace=namespace, last_wave=last_wave, min_confidence=min_confidence, sort=sort, order=order,
    )  # fmt: skip
    found = asked.fetch(as_json=json, as_csv=csv, limit=limit, offset=offset)
    if found is None:
        return
    output.table(
        ("wave", "dataset", "namespace", "a month", "once", "sure", "seen for", "last read (UTC)", "writes", "why"),
        [
            (
                one["wave"], one["name"], one["namespace"], money(one["money_month"]), money(one["money_once"]), f"{one['confidence']:.0%}",
                "" if one["vouches_days"] is None else f"{one['vouches_days']} d",
                output.moment(one["last_read_at"]) or "never", count(one["writes"]), one["reason"],
            )
            for one in found["datasets"]
        ],
        empty="No unused datasets found. They are found in query logs: `headwater sync query-log --help`.",
    )  # fmt: skip
    saved = (
        ""
        if found["money_month"] is None
        else f" {'saves' if found['total'] == 1 else 'save'} {money(found['money_month'])} a month"
    )
    datasets, waves = output.counted(found["total"], "dataset"), output.counted(len(found["waves"]), "wave")
    output.line(f"{datasets} in {waves}{saved}", "dim")
    figures.more(len(found["datasets"]), found["total"], offset)
    if found["blocked"]:
        output.line()
        output.table(
            ("in use outside of the log", "namespace", "used by", "", "last use (UTC)"),
            [
                (one["name"], one["namespace"], use["by"], use["kind"], output.moment(use["last_used_at"]))
                for one in found["blocked"]
                for use in one["uses"][:_USES]
            ],
        )
        stay = "stays" if found["blocked_total"] == 1 else "stay"
        output.line(f"{output.counted(found['blocked_total'], 'dataset')} {stay}, for use outside of the log", "dim")


_USES = 3
_QUALITY = (
    "day", "namespace", "dialect", "executions", "full_executions", "partial_executions", "tables_executions", "nothing_executions",
    "idle_executions", "textless_executions", "shapes", "full_shapes", "partial_shapes", "tables_shapes", "nothing_shapes", "idle_shapes",
    "unresolved", "quarantined", "named_executions", "named_agreed", "named_only", "parsed_only", "coverage_executions", "coverage_shapes",
    "table_coverage", "named_agreement",
)  # fmt: skip


def quality(
    namespace: Namespace = None,
    dialect: Annotated[str | None, typer.Option(help="Count only this dialect.")] = None,
    since: Annotated[
        str | None, typer.Option(metavar="DAY", help="Count from this day (ISO 8601). Default: the last 30 days.")
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="DAY", help="Count to this day (ISO 8601).")] = None,
    drop: Annotated[
        float, typer.Option(min=0, max=1, help="Allow coverage to fall by this much from one day to the next.")
    ] = 0.05,
    check: Annotated[
        bool, typer.Option("--check", help="Exit with 1 if coverage dropped by more, or no log was read.")
    ] = False,
    limit: Limit = None,
    offset: Offset = 0,
    url: Url = None,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Show how much of the query logs was understood, and whether that dropped.

    The CSV has a row per day.

    Examples:

      headwater coverage

      headwater coverage --dialect snowflake --since 2026-11-01 --csv > quality.csv

      headwater coverage --check --drop 0.02
    """
    asked = figures.List(
        url, "/api/v2/quality", "days", _QUALITY, namespace=namespace, dialect=dialect, since=since, until=until, drop=drop,
    )  # fmt: skip
    found = asked.fetch(as_json=json, as_csv=csv, limit=limit, offset=offset)
    if found is not None:
        _sources(found)
    if check:
        coverage = found or server.get(
            url, "/api/v2/quality", namespace=namespace, dialect=dialect, since=since, until=until, drop=drop, limit=0
        )
        check_coverage(coverage)


def check_coverage(found: dict[str, Any]) -> None:
    """End the command with 1 if the coverage of a query log dropped, or if no day was measured: of nothing, nothing is known to be well."""
    if not found["sources"]:
        raise NotFound(
            f"no query log was read for days from {found['since']} to {found['until']}: run `headwater sync query-log`"
        )
    if found["dropped"]:
        raise typer.Exit(1)


def _sources(found: dict[str, Any]) -> None:
    output.table(
        ("namespace", "dialect", "understood", "tables", "last day", "before", "", "executions", "unresolved", "quarantined", "agrees"),
        [
            (
                one["namespace"], one["dialect"], share(one["coverage_executions"]), share(one["table_coverage"]), share(one["coverage_last"]),
                share(one["coverage_before"]), "dropped" if one["dropped"] else "", count(one["executions"]), count(one["unresolved"]),
                count(one["quarantined"]), share(one["named_agreement"]),
            )
            for one in found["sources"]
        ],
        styles={6: {"dropped": "bold red"}},
    )  # fmt: skip
    for one in found["sources"]:
        if one["quarantined_by"]:
            codes = ", ".join(f"{code} {rows:,}" for code, rows in sorted(one["quarantined_by"].items()))
            output.line(f"quarantined of {output.printable(one['dialect'])}: {output.printable(codes)}", "dim")
    if not found["sources"]:
        output.line(f"no query log was read for days from {found['since']} to {found['until']}", "dim")
