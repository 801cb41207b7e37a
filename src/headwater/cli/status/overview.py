"""`headwater status` of nothing: what needs a person now, in lines of at most 100 columns; `--json` has everything."""

from typing import Any

import msgspec

from headwater.cli import output, server
from headwater.cli.serve import local
from headwater.cli.status.incidents import KIND_STYLES, say_unjudged

_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = {"what": 44, "why": 38}


def show_overview(url: str | None, *, json: bool) -> None:
    """Print the overview, and the state of the server."""
    found, state = server.get(url, "/api/v2/overview"), local.read_state(url)
    if json:
        output.raw(msgspec.json.encode(state | {"overview": found}))
        return
    print_overview(found)
    local.print_state(state)


def print_overview(found: dict[str, Any]) -> None:
    """Print the worst incidents, who fell silent, and a line for each other figure."""
    open_ = {kind: count for kind, count in found["incidents"].items() if count}
    output.line("Needs you", "bold")
    for one in found["first"]:
        output.pieces(_row(one["kind"], one["label"].removeprefix("job:"), one["text"], KIND_STYLES[one["kind"]]))
    for one in found["silent"]:
        output.pieces(_row(one["cause"], one["id"].removeprefix("job:"), one["text"], "yellow"))
    if not open_ and not found["silent"]:
        output.line("  nothing: nothing is wrong, doubted, fails, is late or fell silent", "green")
    more = sum(open_.values()) - len(found["first"]) + found["more_silent"]
    if more > 0:
        output.line(f"  and {more:,} more", "dim")
    say_unjudged(found["left_out"])
    coverage, events = found["coverage"], found["events"]
    odd = ", ".join(f"{count:,} {code}" for code, count in events["warnings"].items())
    rows = (
        ("incidents", ", ".join(f"{count:,} {kind}" for kind, count in open_.items()) or "none", "incident open"),
        ("silent", f"{len(found['silent']) + found['more_silent']:,}", "doctor"),
        ("odd events", f"{odd or 'none'} of {events['events']:,} in 7 days", "events producers"),
        ("coverage", _coverage_line(coverage), "coverage"),
    )
    output.line()
    for kind, numbers in found["days"].items():
        if kind != "first" and any(numbers):
            output.line(
                f"  {kind:<12}{draw_bars(numbers)}  {sum(numbers):,} in {len(numbers)} days, {numbers[-1]:,} today"
            )
    for name, text, command in rows:
        output.pieces([(f"  {name:<12}", ""), (output.printable(text), ""), (f"  headwater {command}", "dim")])


def _row(kind: str, what: str, why: str, style: str) -> list[tuple[str, str]]:
    return [
        (f"  {kind:<10}", style),
        (f"{shorten(output.printable(what), _WIDTH['what']):<{_WIDTH['what']}}  ", ""),
        (shorten(output.printable(why), _WIDTH["why"]), "dim"),
    ]


def shorten(text: str, most: int) -> str:
    """Cut the middle: names are told apart by their ends."""
    return text if len(text) <= most else f"{text[: most // 3]}…{text[-(most - most // 3 - 1) :]}"


def draw_bars(numbers: list[int]) -> str:
    """Return a character for each number: a dot for none, the tallest bar for the largest."""
    most = max(numbers, default=0)
    return "".join(_BARS[(n * len(_BARS) - 1) // most] if n else "·" for n in numbers)


def _coverage_line(coverage: dict[str, Any]) -> str:
    written, datasets, columns = coverage["written"], coverage["datasets"], coverage["with_columns"]
    return (
        f"a writer of {written:,} of {datasets:,} datasets, columns of {columns:,}" if datasets else "no datasets yet"
    )
