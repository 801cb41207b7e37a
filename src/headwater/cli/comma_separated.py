"""Answers as comma-separated values (RFC 4180) that are safe to open in a spreadsheet.

Names come from events and are untrusted: a text that a spreadsheet would take for a formula is given an apostrophe before it, which makes it a
text there (OWASP, CSV injection). Numbers are numbers, also negative ones. What is null is empty; a list is its texts with `; ` between them.
"""

import csv
import io
import sys
from collections.abc import Iterable, Sequence
from typing import Any

# What begins a formula, in half and full width, and blanks that programs pass over to find one.
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")
_PASSED_OVER = " \xa0\u3000\ufeff"


def cell(value: object) -> str:
    """One value as a cell holds it."""
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
    """A heading and the rows, each ended by CR LF."""
    held = io.StringIO(newline="")
    writer = csv.writer(held, lineterminator="\r\n")
    writer.writerow(headings)
    writer.writerows([cell(value) for value in row] for row in rows)
    return held.getvalue()


def table(columns: Sequence[str], rows: Iterable[dict[str, Any]]) -> None:
    """These keys of each row on standard output, as UTF-8."""
    sys.stdout.flush()
    sys.stdout.buffer.write(lines(columns, ([row[name] for name in columns] for row in rows)).encode())
    sys.stdout.buffer.flush()
