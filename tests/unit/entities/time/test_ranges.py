"""Sets of instances as they are written."""

import random

import pytest

from headwater.entities.time import ranges
from headwater.entities.time.calendar import Calendar
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.errors import InvalidPeriod

DAYS = Instances.of({"every": "day", "tz": "Europe/Paris", "from": "2019-01-01"})
HOURS = Instances.of({"every": "hour", "tz": "Europe/Paris", "from": "2019-01-01"})


@pytest.mark.parametrize(
    ("instances", "texts", "count"),
    [
        (DAYS, ["2024-03-10"], 1),
        (DAYS, ["2024-03-01..2024-03-31"], 31),
        (DAYS, ["2024-02"], 29),
        (DAYS, ["2024-02..2024-03-02"], 31),
        (DAYS, ["2024-W10"], 7),
        (DAYS, ["2024"], 366),
        (DAYS, ["2024-Q1", "2024-03-30..2024-04-02"], 93),
        (DAYS, ["..2019-01-05"], 5),
        (DAYS, ["2018-12-30..2019-01-05"], 5),  # cut to what there is
        (HOURS, ["2024-03-31"], 23),
        (HOURS, ["2024-10-27"], 25),
        (HOURS, ["2024-10-27T02+02:00..2024-10-27T02+01:00"], 2),
        (Instances.of({"every": "week", "from": "2019-01-07"}), ["2024-03"], 5),
        (None, ["static"], 1),
        (None, ["*"], 1),
        (DAYS, [], 0),
    ],
)
def test_what_is_named(instances: Instances | None, texts: list[str], count: int) -> None:
    assert ranges.read(instances, texts).count == count


@pytest.mark.parametrize(
    ("instances", "text", "said"),
    [
        (DAYS, "2024-03-10..2024-03-01", "ends before it begins"),
        (DAYS, "2018-12-31", "outside what the entity has"),
        (DAYS, "yesterday", "written like 2024-07-01"),
        (DAYS, "", "written like"),
        (HOURS, "2024-10-27T02", "lacks its offset"),
        (None, "2024", "write static"),
    ],
)
def test_what_is_refused(instances: Instances | None, text: str, said: str) -> None:
    with pytest.raises(InvalidPeriod, match=said):
        ranges.read(instances, [text])


def test_written_and_read_back() -> None:
    draw = random.Random(7)
    for calendar in (
        DAYS.calendar,
        HOURS.calendar,
        Instances.of({"every": "week", "starts": "sunday"}).calendar,
        Calendar.cron("0 6 * * *", "America/Sao_Paulo"),
    ):
        instances = Instances(calendar)
        middle = (calendar.first + calendar.end) // 2
        for _ in range(200):
            some = Ordinals(
                (start, start + draw.randint(1, 9))
                for start in (middle + draw.randint(0, 400) for _ in range(draw.randint(0, 6)))
            )
            assert ranges.read(instances, ranges.written(instances, some)) == some
    assert ranges.written(None, NONE) == []
    assert ranges.written(None, Ordinals.between(0, 1)) == ["static"]
