"""Many entities at once: problems across files, what is odd, and that large declarations are quick."""

import itertools
import time
from pathlib import Path

import pytest
import yaml

from headwater.entities.declaration.whole import first_full, gathered, nested
from headwater.entities.time.calendar import Calendar
from headwater.errors import InvalidEntities

ODD = yaml.safe_load((Path(__file__).parents[3] / "cases/entities/declaration_odd.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", ODD, ids=lambda case: case["why"])
def test_what_is_odd_is_said(case: dict[str, object]) -> None:
    found = gathered([("e.yaml", str(case["text"]))])
    assert [str(warning) for warning in found.warnings] == case["warnings"]


def test_problems_say_their_file() -> None:
    with pytest.raises(InvalidEntities) as caught:
        gathered(
            [
                ("b.yaml", "entity: b\nperiod: day\ndepends_on: {a: {states: [rough]}}"),
                ("a.yaml", "entity: a\nperiod: day"),
                ("c.yaml", "\nentity: a\nperiod: week\n---\nentity: c\nperiod: day\ndepends_on: x"),
            ]
        )
    assert caught.value.detail["problems"] == [
        "b.yaml:3:14: entity 'b', state 'completed': entity 'a' has no state 'rough'",
        "c.yaml:2:1: entity 'a' is declared twice, the first time in a.yaml:1",
        "c.yaml:7:13: entity 'c', state 'completed': there is no entity 'x'",
    ]


def test_the_first_full_instance() -> None:
    found = gathered(
        [
            (
                "e.yaml",
                "entity: a\nperiod: {every: day, from: 2024-01-10}\n---\nentity: b\nperiod: {every: day, from: 2024-01-01}\n"
                "depends_on: [{a: last 3 days}, {a: last_available within 3 days}, {a: everything}]",
            )
        ]
    ).graph
    days = found.entities["b"].instances
    assert days is not None
    firsts = {link.dates.text: first_full(link.edge) for link in found.upstream("b") if link.edge is not None}
    date = {text: str(days.calendar.interval(first)[0].date()) for text, first in firsts.items() if first is not None}
    assert date == {
        "last 3 days": "2024-01-12",
        "last_available within 3 days": "2024-01-10",
        "everything": "2024-01-01",
    }


def test_what_fits_into_what() -> None:
    """Compared with the bounds of two years, one by one."""
    calendars = [
        Calendar.every(every, zone, starts)
        for every in ("hour", "6h", "90 minutes", "day", "2 days", "week", "month", "quarter")
        for zone in ("UTC", "Europe/Paris", "Asia/Kolkata")
        for starts in (("monday", "sunday") if every == "week" else ("monday",))
    ]
    calendars.append(Calendar.cron("0 0 1 * *", "UTC"))
    since, until = 1_704_067_200, 1_767_225_600  # 2024-01-01 to 2026-01-01

    def bounds(calendar: Calendar) -> set[int]:
        first = int(calendar.at(since))
        starts = (int(calendar.begins([first + n])[0]) for n in itertools.count())
        return {start for start in itertools.takewhile(lambda start: start <= until, starts) if start >= since}

    cuts = {calendar: bounds(calendar) for calendar in calendars}
    for one, other in itertools.combinations(calendars, 2):
        fewer, more = sorted((cuts[one], cuts[other]), key=len)
        assert nested(one, other, since) == (fewer <= more), (one, other)


def test_thousands_of_entities_are_read_in_seconds() -> None:
    def entity(n: int) -> str:
        needs = "".join(f"\n      e{up}: {{dates: all_week, columns: [a, b]}}" for up in {n // 2, n // 3 + 1} if up < n)
        every = ("hour", "day", "week")[n % 3]
        return (
            f"entity: e{n}\nperiod: {{every: {every}, from: 2024-01-01, tz: Europe/Paris}}\nowner: [a, b]\n"
            f"states:\n  estimated:\n  completed:\n    depends_on:\n      e{n}: previous{needs}"
        )

    started = time.process_time()
    found = gathered([("large.yaml", "\n---\n".join(map(entity, range(2_000))))])
    assert len(found.by_name) == 2_000
    assert time.process_time() - started < 8
