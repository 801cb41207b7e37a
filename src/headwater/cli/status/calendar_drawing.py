"""The calendar of an entity's states as rows of letters, for `headwater status`.

An instance's place follows from its key: days are grouped by month with weeks as rows, hours by day, weeks, months and quarters by year,
years by decade; anything else is a plain sequence. Asks no server and does not know what a state means.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SYMBOLS = {
    "completed": ("C", "green"),
    "running": ("R", "cyan"),
    "wrong": ("W", "bold red"),
    "doubted": ("?", "yellow"),
    "withheld": ("H", "magenta"),
    "deleted": ("D", "dim"),
    "missing": ("-", "yellow"),
    "not over": (".", "dim"),
}
_OTHER = "abcdefghijklmnopqrstuvwxyz0123456789"
_WEEKDAYS = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")
_SEQUENCE = 50
_HEADINGS = {
    "week": " " * 6 + "".join(f"{week:02}  " for week in range(1, 54, 4)).rstrip(),
    "month": " " * 4 + "".join(f" {month:02}" for month in range(1, 13)),
    "quarter": " " * 4 + " Q1 Q2 Q3 Q4",
    "year": " " * 4 + "".join(f"  {year}" for year in range(10)),
}
_OFFSET = re.compile(r"[+-]\d\d:\d\d(:\d\d)?$")


class Cell(NamedTuple):
    """One instance: its key and its state."""

    key: str
    status: str


class Row(NamedTuple):
    """`heading` is printed above its first row. `cells`: by column, None if empty, `width` characters each."""

    heading: str
    label: str
    width: int
    cells: list[str | None]
    note: str = ""


def symbols(statuses: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return a letter and a style for each state. A state of a declaration gets the first free letter of its name, in lower case."""
    found: dict[str, tuple[str, str]] = {}
    free = list(_OTHER)
    for status in dict.fromkeys(statuses):
        if status in SYMBOLS:
            found[status] = SYMBOLS[status]
            continue
        letter = next((char for char in status.lower() if char in free), free[0] if free else "?")
        if letter in free:
            free.remove(letter)
        found[status] = letter, "blue"
    return found


def rows(cells: Sequence[Cell], unit: str, many: int = 1, week_start: int = 0) -> list[Row]:
    """Arrange instances, in order, in rows. `unit` and `many` are the calendar's (empty: cron or a table); `week_start`: 0 is Monday."""
    special = any("/" in cell.key for cell in cells)
    match unit, many, special:
        case "day", 1, False:
            return _days(cells, week_start)
        case "hour", _, False:
            return _hours(cells)
        case "week", 1, _:
            return _placed([(cell.key[:4], _week(cell.key), cell) for cell in cells], _HEADINGS[unit], 1)
        case (("month" | "quarter"), 1, False):
            # 2024-03, 2024-Q1
            placed = [(cell.key[:4], int(cell.key[5:].lstrip("Q")) - 1, cell) for cell in cells]
            return _placed(placed, _HEADINGS[unit], 3)
        case "year", 1, False:
            return _placed([(f"{cell.key[:3]}0", int(cell.key[3]), cell) for cell in cells], _HEADINGS[unit], 3)
        case _:
            return [
                Row("", cells[at].key, 1, [cell.status for cell in cells[at : at + _SEQUENCE]])
                for at in range(0, len(cells), _SEQUENCE)
            ]


def _days(cells: Sequence[Cell], week_start: int) -> list[Row]:
    """Group by month; a row is a week, labelled with its first day."""
    names = "".join(f" {_WEEKDAYS[(week_start + place) % 7]}" for place in range(7))
    found: list[Row] = []
    for cell in cells:
        date = dt.date.fromisoformat(cell.key)
        place = (date.weekday() - week_start) % 7
        heading, label = f"{cell.key[:7]:<10}{names}", str(date - dt.timedelta(days=place))
        if not found or (found[-1].heading, found[-1].label) != (heading, label):
            found.append(Row(heading, label, 3, [None] * 7))
        found[-1].cells[place] = cell.status
    return found


def _hours(cells: Sequence[Cell]) -> list[Row]:
    """Group by day. An hour that clocks skip leaves its column empty; an hour that occurs twice moves the rest to the right, with a note."""
    heading = f"{'':11}" + "".join(f"{hour:02}    " for hour in range(0, 24, 3)).rstrip()
    found: list[Row] = []
    offsets: list[str] = []
    moved = 0
    for cell in cells:
        date, hour = cell.key[:10], int(cell.key[11:13])
        offset = _OFFSET.search(cell.key)
        if not found or found[-1].label != date:
            found.append(Row(heading, date, 2, []))
            offsets, moved = [], 0
        row = found[-1]
        moved += len(row.cells) > hour + moved
        row.cells.extend([None] * (hour + moved - len(row.cells)))
        row.cells.append(cell.status)
        if offset and offset[0] not in offsets:
            offsets.append(offset[0])
            found[-1] = row._replace(note=" → ".join(offsets) if len(offsets) > 1 else "")
    return found


def _week(key: str) -> int:
    """Return the week's place in its year, from 0: `2024-W10`, or by its first day `2024-03-10/w-sun`."""
    if key[5] == "W":
        return int(key[6:8]) - 1
    return (dt.date.fromisoformat(key[:10]).timetuple().tm_yday - 1) // 7


def _placed(placed: Sequence[tuple[str, int, Cell]], heading: str, width: int) -> list[Row]:
    """Return a row for each label, in the order of the instances."""
    found: list[Row] = []
    for label, place, cell in placed:
        if not found or found[-1].label != label:
            found.append(Row(heading, label, width, []))
        row = found[-1]
        row.cells.extend([None] * (place + 1 - len(row.cells)))
        row.cells[place] = cell.status
    return found
