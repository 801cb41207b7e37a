"""The places of instances in a drawing, counted by hand and, for every calendar, against dates."""

import datetime as dt
from collections import Counter
from zoneinfo import ZoneInfo

import pytest

from headwater.cli.status.calendar_drawing import SYMBOLS, Cell, Row, rows, symbols
from headwater.entities.time import keys
from headwater.entities.time.calendar import Calendar


def cells(calendar: Calendar, start: dt.datetime, end: dt.datetime) -> list[Cell]:
    """Each overlapping instance, with its key as its status, which shows its place."""
    ordinals = [each for low, high in calendar.covering(start, end) for each in range(low, high)]
    return [Cell(keys.key(calendar, each), keys.key(calendar, each)) for each in ordinals]


def drawn(calendar: Calendar, start: dt.datetime, end: dt.datetime) -> list[Row]:
    spec = calendar.spec
    return rows(cells(calendar, start, end), spec.unit, spec.many, spec.week_start)


def utc(*parts: int) -> dt.datetime:
    return dt.datetime(*parts, tzinfo=dt.UTC)  # type: ignore[misc]


def test_a_month_is_weeks() -> None:
    found = drawn(Calendar.every("day"), utc(2024, 2, 28), utc(2024, 3, 5))
    assert [(row.heading[:7], row.label, [cell and int(cell[8:]) for cell in row.cells]) for row in found] == [
        ("2024-02", "2024-02-26", [None, None, 28, 29, None, None, None]),
        ("2024-03", "2024-02-26", [None, None, None, None, 1, 2, 3]),
        ("2024-03", "2024-03-04", [4, None, None, None, None, None, None]),
    ]
    assert found[0].heading == "2024-02    Mo Tu We Th Fr Sa Su"


@pytest.mark.parametrize("week_start", range(7))
def test_every_day_stands_below_its_weekday(week_start: int) -> None:
    names = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")
    days = cells(Calendar.every("day"), utc(2023, 12, 1), utc(2025, 2, 1))
    found = rows(days, "day", 1, week_start)
    for row in found:
        for place, status in enumerate(row.cells):
            if status is None:
                continue
            date = dt.date.fromisoformat(status)
            at = len(row.label) + place * row.width
            assert row.heading[at : at + row.width].strip() == names[date.weekday()]
            assert row.heading.startswith(f"{date:%Y-%m}")
            assert dt.date.fromisoformat(row.label) + dt.timedelta(days=place) == date
    assert [status for row in found for status in row.cells if status] == [cell.key for cell in days]


def test_hours_of_days_on_which_clocks_change() -> None:
    paris = Calendar.every("hour", "Europe/Paris")
    zone = ZoneInfo("Europe/Paris")

    def day(month: int, date: int) -> Row:
        start = dt.datetime(2025, month, date, tzinfo=zone)
        (row,) = drawn(paris, start, dt.datetime(2025, month, date + 1, tzinfo=zone))
        return row

    plain, shorter, longer = day(6, 1), day(3, 30), day(10, 26)
    assert (plain.label, plain.note, [int(str(cell)[11:13]) for cell in plain.cells]) == (
        "2025-06-01",
        "",
        [*range(24)],
    )
    assert (shorter.note, shorter.cells.index(None), len(shorter.cells)) == ("+01:00 → +02:00", 2, 24)
    assert [int(cell[11:13]) for cell in shorter.cells if cell] == [0, 1, *range(3, 24)]
    assert (longer.note, len(longer.cells), None in longer.cells) == ("+02:00 → +01:00", 25, False)
    assert [int(str(cell)[11:13]) for cell in longer.cells] == [0, 1, 2, *range(2, 24)]


def test_some_hours_of_a_day_that_has_one_twice() -> None:
    asked = ["2025-10-26T02+02:00", "2025-10-26T02+01:00", "2025-10-26T05+01:00", "2025-10-27T00+01:00"]
    found = rows([Cell(key, key[11:13]) for key in asked], "hour")
    assert [(row.label, row.note, row.cells) for row in found] == [
        ("2025-10-26", "+02:00 → +01:00", [None, None, "02", "02", None, None, "05"]),
        ("2025-10-27", "", ["00"]),
    ]


def test_hours_stand_below_their_number() -> None:
    found = drawn(Calendar.every("hour"), utc(2024, 3, 9, 22), utc(2024, 3, 10, 5))
    assert [(row.label, [cell and cell[11:13] for cell in row.cells]) for row in found] == [
        ("2024-03-09", [None] * 22 + ["22", "23"]),
        ("2024-03-10", ["00", "01", "02", "03", "04"]),
    ]
    for hour in range(0, 24, 3):
        at = len(found[0].label) + hour * found[0].width + 1
        assert found[0].heading[at : at + 2] == f"{hour:02}"
    six = drawn(Calendar.every("6h"), utc(2024, 3, 9), utc(2024, 3, 10))[0]
    assert [place for place, cell in enumerate(six.cells) if cell] == [0, 6, 12, 18]


def test_weeks_months_quarters_and_years() -> None:
    weeks = drawn(Calendar.every("week"), utc(2019, 12, 30), utc(2021, 1, 11))
    assert [(row.label, len(row.cells), row.cells[0]) for row in weeks] == [
        ("2020", 53, "2020-W01"),
        ("2021", 1, "2021-W01"),
    ]
    sundays = drawn(Calendar.every("week", week_start="sunday"), utc(2023, 12, 31), utc(2025, 1, 12))
    assert [(row.label, sum(cell is not None for cell in row.cells)) for row in sundays] == [
        ("2023", 1),
        ("2024", 52),
        ("2025", 1),
    ]
    assert sundays[1].cells[0] == "2024-01-07/w-sun"
    (months,) = drawn(Calendar.every("month"), utc(2024, 3, 1), utc(2024, 6, 1))
    assert months.cells == [None, None, "2024-03", "2024-04", "2024-05"]
    at = len(months.label) + 2 * months.width
    assert months.heading[at : at + months.width] == " 03"
    (quarters,) = drawn(Calendar.every("quarter"), utc(2024, 4, 1), utc(2024, 12, 1))
    assert quarters.cells == [None, "2024-Q2", "2024-Q3", "2024-Q4"]
    years = drawn(Calendar.every("year"), utc(2018, 1, 1), utc(2021, 1, 1))
    assert [(row.label, row.cells) for row in years] == [
        ("2010", [None] * 8 + ["2018", "2019"]),
        ("2020", ["2020"]),
    ]


@pytest.mark.parametrize(
    "calendar",
    [
        Calendar.every("3 days"),
        Calendar.every("2w"),
        Calendar.every("15 minutes"),
        Calendar.every("2 months"),
        Calendar.every("year", anchor=dt.date(2024, 4, 1)),
        Calendar.cron("0 5 * * 1-5", "Europe/Paris"),
        Calendar.table([utc(2024, month, 2) for month in range(1, 13)]),
    ],
    ids=str,
)
def test_the_rest_is_a_sequence(calendar: Calendar) -> None:
    end = utc(2024, 3, 3) if calendar.spec.unit == "minute" else utc(2024, 11, 1)
    asked = cells(calendar, utc(2024, 3, 2), end)
    found = drawn(calendar, utc(2024, 3, 2), end)
    assert [status for row in found for status in row.cells] == [cell.key for cell in asked]
    assert all(row.label == row.cells[0] for row in found)
    assert max(len(row.cells) for row in found) <= 50


@pytest.mark.parametrize(
    "calendar",
    [
        Calendar.every(every, zone, week_start=start)
        for every in ("hour", "day", "week", "month", "quarter", "year", "6h")
        for zone in ("UTC", "Europe/Paris", "Asia/Kolkata", "Australia/Lord_Howe", "America/Santiago")
        for start in ("monday", "sunday")
    ],
    ids=str,
)
def test_each_instance_stands_once(calendar: Calendar) -> None:
    end = utc(2025, 12, 31) if calendar.spec.unit in {"hour", "day"} else utc(2040, 1, 1)
    asked = cells(calendar, utc(2024, 10, 1), end)
    spec = calendar.spec
    found = rows(asked, spec.unit, spec.many, spec.week_start)
    assert [status for row in found for status in row.cells if status] == [cell.key for cell in asked]
    labels = Counter((row.heading, row.label) for row in found)
    assert max(labels.values()) == 1


def test_letters() -> None:
    found = symbols(["completed", "estimated", "partial", "early", "\x1b", "missing", "completed"])
    assert {word: letter for word, (letter, _) in found.items()} == {
        "completed": "C",
        "estimated": "e",
        "partial": "p",
        "early": "a",
        "\x1b": "b",
        "missing": "-",
    }
    many = symbols([f"state{number}" for number in range(40)])
    letters = Counter(letter for letter, _ in many.values())
    assert (len(letters), letters["?"]) == (37, 4)
    assert len({letter for letter, _ in SYMBOLS.values()}) == len(SYMBOLS)
