"""Answers as comma-separated values (RFC 4180) that are safe to open in a spreadsheet.

Names come from events and are untrusted: a text that a spreadsheet would take for a formula gets a leading apostrophe, which makes it a text
there (OWASP, CSV injection). Numbers stay numbers, also negative ones. Null becomes an empty cell; a list is joined with `; `.
"""

import csv
import io
import sys
from collections.abc import Iterable, Sequence
from typing import Any

# Characters that begin a formula, in half and full width, and blanks that programs skip before one.
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")
_PASSED_OVER = " \xa0\u3000\ufeff"


def cell(value: object) -> str:
    """Format one value as a cell."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        value = "; ".join(map(str, value))
    text = str(value).replace("\0", "�")
    return f"'{text}" if text.lstrip(_PASSED_OVER).startswith(_FORMULA) else text


def lines(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return the heading and the rows, each ended by CR LF."""
    held = io.StringIO(newline="")
    writer = csv.writer(held, lineterminator="\r\n")
    writer.writerow(headings)
    writer.writerows([cell(value) for value in row] for row in rows)
    return held.getvalue()


def table(columns: Sequence[str], rows: Iterable[dict[str, Any]]) -> None:
    """Print these keys of each row on standard output, as UTF-8."""
    sys.stdout.flush()
    sys.stdout.buffer.write(lines(columns, ([row[name] for name in columns] for row in rows)).encode())
    sys.stdout.buffer.flush()
