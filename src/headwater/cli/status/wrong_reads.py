"""Tables of what is wrong by recorded reads: versions, and the jobs to run again."""

from __future__ import annotations

from typing import Any

from headwater.cli import output


def print_reads(reads: dict[str, Any], limit: int) -> None:
    """Print the versions that datasets still hold, the jobs to run again in order, and the owners to tell."""
    held = [each for each in reads["versions"] if each["current"]]
    runs, replaced = output.counted(len(reads["runs"]), "run"), len(reads["versions"]) - len(held)
    output.line()
    output.line(
        f"by recorded reads: {runs}; {output.counted(len(held), 'version')} still held, {replaced:,} replaced since",
        "bold",
    )
    some_columns = any(each["columns"] is not None for each in held)
    if held:
        output.table(
            (
                "dataset",
                "version",
                "written (UTC)",
                "by job",
                "run",
                "basis",
                "right before",
                *(("columns",) if some_columns else ()),
            ),
            [
                (
                    _name(each["dataset"]),
                    each["external_version"],
                    output.moment(each["written_at"]),
                    _name(each["job"] or ""),
                    each["run_id"],
                    each["basis"].replace("_", " "),
                    each["right_before"],
                    *((", ".join(each["columns"] or ["all"]),) if some_columns else ()),
                )
                for each in held[:limit]
            ],
            styles={5: {"by time": "yellow"}},
        )
        _left_out(len(held), limit, "version")
    if any(each["basis"] == "by_time" for each in held):
        output.line(
            "by time: no event names the version that was read; it was the current one when the run began", "dim"
        )
    if some := reads["unconfirmed"]:
        shown = ", ".join(_name(dataset) for dataset in some[:5]) + (
            f" and {len(some) - 5:,} more" if len(some) > 5 else ""
        )
        output.line(
            f"replaced since, as far as events tell: {output.printable(shown)}: none says whether later runs replaced what was wrong or added to it",
            "yellow",
        )
    if repeat := reads["repeat"]:
        output.line()
        output.line("run again, in this order", "bold")
        output.table(
            ("#", "job", "makes", "after"),
            [
                (
                    number,
                    _name(each["job"]),
                    ", ".join(_name(dataset) for dataset in each["datasets"]),
                    ", ".join(_name(job) for job in each["after"]),
                )
                for number, each in enumerate(repeat[:limit], 1)
            ],
        )
        _left_out(len(repeat), limit, "job")
    if hit := reads["hit"]:
        output.line()
        output.line("whom to tell", "bold")
        rows = [
            (
                _name(each["dataset"]),
                ", ".join(each["owners"]),
                ", ".join(each["teams"]),
                " → ".join(_name(step) for step in each["path"]),
            )
            for each in hit[:limit]
        ]
        output.table(("dataset", "owners", "teams", "path"), rows)
        _left_out(len(hit), limit, "dataset")
    if reads["capped"]:
        output.line("there is more than was looked at", "yellow")


def _name(node: str) -> str:
    return node.removeprefix("dataset:").removeprefix("job:")


def _left_out(number: int, limit: int, what: str) -> None:
    if number > limit:
        output.line(f"{output.counted(number - limit, what)} more; --limit shows more", "dim")
