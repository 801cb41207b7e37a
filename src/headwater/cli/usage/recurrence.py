"""`headwater recurrence`: list query shapes that recur, and their missing runs."""

from typing import Annotated, Any

import typer

from headwater.cli import figures, output
from headwater.cli.figures import Csv, Json, Limit, Namespace, Offset, Order, Sort, Url, count

_RECURRENCE = (
    "id", "namespace", "name", "class", "executions", "period_seconds", "runs_per_period", "first_at", "last_at", "expected_next_at", "missing",
    "unexpected", "retired", "confidence",
)  # fmt: skip
_CLASSES = {"recurring": "green", "one-off": "dim"}


def recurrence(
    name: Annotated[str | None, typer.Argument(help="Show only this job, with its missing runs.")] = None,
    missing: Annotated[bool, typer.Option("--missing", help="List only shapes with missing runs.")] = False,
    classes: Annotated[
        list[str] | None,
        typer.Option("--class", help="List only `recurring`, `ad_hoc` or `one_off` shapes. Repeatable."),
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
    """List query shapes that recur, when each is due next, and missing runs.

    The shapes with the most missing runs come first.

    Runs are due by the newest time of the log, not by today.

    Examples:

      headwater recurrence --missing

      headwater recurrence --class recurring --sort expected_next

      headwater recurrence 'MERGE marts.sales 1f0c5a2e'

      headwater recurrence --missing --csv > missing.csv
    """
    asked = figures.List(
        url, "/api/v2/recurrence", "shapes", _RECURRENCE, node=figures.node(url, name, "job"), missing=missing or None, namespace=namespace,
        sort=sort, order=order, **{"class": classes},
    )  # fmt: skip
    found = asked.fetch(as_json=json, as_csv=csv, limit=limit, offset=offset)
    if found is None:
        return
    if name is not None and len(found["shapes"]) == 1:
        _recurs(found["shapes"][0])
        return
    output.table(
        ("job", "namespace", "class", "every", "runs", "missing", "unexpected", "last (UTC)", "next (UTC)", "sure"),
        [
            (
                one["name"], one["namespace"], one["class"].replace("_", "-"), _every(one), count(one["executions"]), count(one["missing"]),
                count(one["unexpected"]), output.moment(one["last_at"]), output.moment(one["expected_next_at"]), f"{one['confidence']:.0%}",
            )
            for one in found["shapes"]
        ],
        styles={2: _CLASSES},
        empty="No query shapes found. They come from query logs: `headwater sync query-log --help`.",
    )  # fmt: skip
    totals = found["totals"]
    counts = ", ".join(f"{n:,} {kind.replace('_', '-')}" for kind, n in totals["by_class"].items() if n)
    runs = f"{output.counted(totals['missing'], 'run')} missing, {totals['unexpected']:,} unexpected"
    text = f"{output.counted(found['total'], 'shape')}: {counts}; {runs}"
    output.line(text if counts else "no such query shape", "dim")
    figures.more(len(found["shapes"]), found["total"], offset)


def _every(one: dict[str, Any]) -> str | None:
    """Describe the rhythm: how often, or how often until it retired."""
    seconds, runs = one["period_seconds"], one["runs_per_period"] or 1
    if seconds is None:
        return None
    text = output.duration(seconds * 1000)
    return f"{'was ' * one['retired']}{text}{f' ({runs} runs)' if runs > 1 else ''}"


def _recurs(one: dict[str, Any]) -> None:
    output.line(output.printable(one["label"]), "bold")
    facts = (
        ("class", f"{one['class'].replace('_', '-')}, {one['confidence']:.0%} sure"),
        ("every", _every(one)),
        ("runs", f"{one['executions']:,}, from {output.moment(one['first_at'])} to {output.moment(one['last_at'])}"),
        ("next", output.moment(one["expected_next_at"])),
        ("missing", f"{one['missing']:,}"),
        *(("", output.moment(at)) for at in one["missing_at"]),
        ("unexpected", f"{one['unexpected']:,}"),
        *(("", output.moment(at)) for at in one["unexpected_at"]),
    )
    for key, value in facts:
        if value:
            output.line(f"  {key:<13}{value}")
