"""The writes of a dataset as a table, for `headwater log`."""

from typing import Any

from headwater.cli import output

_STYLES = {"forced": "yellow", "correction": "cyan", "failed": "red", "dropped": "red", "same": "dim"}


def show(answer: dict[str, Any]) -> None:
    """Print an answer of `/api/v2/update-log`, the latest write first."""
    output.table(
        ("written (UTC)", "what", "content", "job", "by", "code", "rows", "size", "run"),
        [_row(one) for one in answer["updates"]],
        styles={1: _STYLES},
        empty="No run was seen writing it.",
    )
    if answer["total"] > len(answer["updates"]):
        output.line(f"{len(answer['updates'])} of {answer['total']:,}; --limit shows more", "dim")
    if answer["cut"]:
        output.line("older ones are left out", "dim")


def _row(one: dict[str, Any]) -> tuple[Any, ...]:
    again = f" over {', '.join(run[:13] for run in one['overrides'])}" if one["overrides"] else ""
    return (
        output.moment(one["at"]),
        one["kind"],
        (one["content"] or "")[:22],
        (one["job"] or "").removeprefix("job:"),
        one["by"],
        one["code"],
        None if one["rows"] is None else f"{one['rows']:,}",
        output.size(one["bytes"]),
        (one["run"] or "") + again,
    )
