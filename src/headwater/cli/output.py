"""Printing, for people and for programs (`--json`: the server's answer unchanged).

Names come from events and are untrusted: control characters are escaped, which keeps names from driving the terminal.
"""

import re
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime

from headwater.errors import HeadwaterError

STATE_STYLES = {"COMPLETED": "green", "FAILED": "bold red", "ABORTED": "yellow", "RUNNING": "cyan"}


def printable(text: str) -> str:
    """Escape unprintable characters, and cut an absurdly long text."""
    if len(text) > 300:
        text = f"{text[:200]}…{text[-60:]}"
    return escaped(text)


def escaped(text: str) -> str:
    """Escape unprintable characters, and keep the whole text."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    styles: dict[int, dict[str, str]] | None = None,
    empty: str | None = None,
) -> None:
    """Print a table on standard output; on a terminal within its width, ids unbroken. `styles` maps a column to its values' styles.

    `empty`: printed if there are no rows; it names the next step.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    texts = [["" if value is None else printable(str(value)) for value in row] for row in rows]
    if not texts and empty is not None:
        line(empty)
        return
    made = Table(box=None, header_style="bold", pad_edge=False)
    for place, heading in enumerate(headings):
        # A folded id cannot be copied.
        made.add_column(heading, overflow="fold", no_wrap=any(_ID.fullmatch(row[place]) for row in texts))
    for row in texts:
        made.add_row(*(Text(text, style=(styles or {}).get(i, {}).get(text, "")) for i, text in enumerate(row)))
    console = Console()
    # In a pipe, lines must not be folded at 80 columns.
    (console if console.is_terminal else Console(width=10_000)).print(made)


def line(text: str = "", style: str | None = None) -> None:
    from rich.console import Console
    from rich.text import Text

    Console(soft_wrap=True, highlight=False).print(Text(text, style=style or ""))


def pieces(parts: Iterable[tuple[str, str]]) -> None:
    """Print one line of texts, each with its style."""
    from rich.console import Console
    from rich.text import Text

    Console(soft_wrap=True, highlight=False).print(Text.assemble(*parts))


def raw(body: bytes) -> None:
    """Print the server's JSON, indented for readers."""
    import msgspec

    sys.stdout.write(msgspec.json.format(body, indent=2).decode() + "\n")


def json_line(answer: object) -> None:
    """Print JSON on one line and flush it, for programs that read along."""
    import msgspec

    sys.stdout.write(msgspec.json.encode(answer).decode() + "\n")
    sys.stdout.flush()


def moment(text: str | None) -> str:
    """Format a time to the second, as UTC."""
    return "" if text is None else datetime.fromisoformat(text).strftime("%Y-%m-%d %H:%M:%S")


def duration(milliseconds: float | None) -> str:
    if milliseconds is None:
        return ""
    seconds = milliseconds / 1000
    if seconds < 60:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02}m" if hours else f"{minutes}m {rest:02}s"


def size(count: int | None) -> str:
    if count is None:
        return ""
    value, unit = float(count), "B"
    for following in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, following
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"


def complain(error: HeadwaterError) -> None:
    """Print one error on standard error, with its candidates or places."""
    sys.stderr.write(f"headwater: {printable(error.message) if len(error.message) < 300 else error.message}\n")
    for key in ("candidates", "suggestions", "problems"):
        found = error.detail.get(key)
        for item in found if isinstance(found, list) else []:
            sys.stderr.write(f"  {printable(str(item))}\n")


def counted(number: int, noun: str) -> str:
    """Format a number and its noun, in the plural unless it is 1: `2 entities`, `3 days`."""
    plural = f"{noun[:-1]}ies" if re.search("[^aeiou]y$", noun) else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"
