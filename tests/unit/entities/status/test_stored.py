"""Texts of storage: which instance each means, on calendars with odd days."""

import datetime as dt
import random
from zoneinfo import ZoneInfo

import pytest

from headwater.entities.status.stored_names import named
from headwater.entities.time import keys
from headwater.entities.time.instances import Instances
from headwater.errors import InvalidPeriod


def key(period: dict[str, object], text: str) -> str:
    instances = Instances.of(period)
    return keys.key(instances.calendar, named(instances, text))


DAY = {"every": "day", "from": "2024-01-01"}
PARIS = {"every": "day", "tz": "Europe/Paris", "from": "2024-01-01"}
HOUR = {"every": "hour", "from": "2024-01-01"}
PARIS_HOUR = {"every": "hour", "tz": "Europe/Paris", "from": "2024-01-01"}


@pytest.mark.parametrize(
    ("period", "text", "means"),
    [
        (DAY, "2024-03-10", "2024-03-10"),
        (DAY, "20240310", "2024-03-10"),
        (DAY, "2024031005", "2024-03-10"),
        (DAY, "2024-03-10T05", "2024-03-10"),
        (DAY, "2024-03-10 23:59:59.999999999", "2024-03-10"),
        (DAY, "2024-03-10T23:30:00-01:00", "2024-03-11"),
        (DAY, "2024-03-10 23:30:00.5+00", "2024-03-10"),
        (PARIS, "2024-03-10T23:30:00Z", "2024-03-11"),
        (PARIS, "2024-03-10 23:30", "2024-03-10"),
        (PARIS, "2024-10-27 02:30", "2024-10-27"),  # twice, and both times that day
        (HOUR, "2024-03-10T05", "2024-03-10T05"),
        (HOUR, "2024031005", "2024-03-10T05"),
        (HOUR, "2024-03-10 05:59:59", "2024-03-10T05"),
        (PARIS_HOUR, "2024-03-10T05", "2024-03-10T05+01:00"),
        (PARIS_HOUR, "2024-10-27T02+01:00", "2024-10-27T02+01:00"),
        (PARIS_HOUR, "2024-10-27T00:30Z", "2024-10-27T02+02:00"),
        ({"every": "week", "from": "2024-01-01"}, "2024-03-10", "2024-W10"),
        ({"every": "month", "from": "2024-01-01"}, "202403", "2024-03"),
        ({"every": "month", "from": "2024-01-01"}, "2024-03-31", "2024-03"),
        ({"every": "quarter", "from": "2024-01-01"}, "2024-03", "2024-Q1"),
        ({"every": "day", "offset": "6h", "from": "2024-01-01"}, "2024-03-10", "2024-03-10"),
        ({"every": "day", "offset": "6h", "from": "2024-01-01"}, "2024-03-10T05", "2024-03-09"),
    ],
)
def test_what_a_text_means(period: dict[str, object], text: str, means: str) -> None:
    assert key(period, text) == means


@pytest.mark.parametrize(
    ("period", "text", "why"),
    [
        (DAY, "2024-03", "31 instances"),
        (DAY, "2023-12-31", "outside"),
        (DAY, "2024-02-30", "no period"),
        (DAY, "2024-02-30T05", "no time"),
        (DAY, "*", "no period"),
        (DAY, "2024-03-01..2024-03-02", "no period"),
        (DAY, "__HIVE_DEFAULT_PARTITION__", "no period"),
        (DAY, "../../etc/passwd", "no period"),
        (DAY, "", "no period"),
        (DAY, "9999-12-31T23:00:00Z", "outside"),
        (HOUR, "2024-03-10", "24 instances"),
        (PARIS_HOUR, "2024-10-27T02", "twice"),
        (PARIS_HOUR, "2024-03-31T02", "never was"),
        ({"every": "30 minutes", "from": "2024-01-01"}, "2024-03-10 05", "longer"),
        ({"every": "month", "from": "2024-01-01"}, "2024-W09", "2 instances"),
    ],
)
def test_what_is_no_instance(period: dict[str, object], text: str, why: str) -> None:
    with pytest.raises(InvalidPeriod, match=why):
        key(period, text)


def test_what_has_no_periods() -> None:
    assert named(None, "static") == 0
    with pytest.raises(InvalidPeriod, match="static"):
        named(None, "2024-03-10")


ZONES = ["UTC", "Europe/Paris", "Australia/Lord_Howe", "Asia/Kolkata", "America/Sao_Paulo", "Asia/Beirut"]


def changes(info: dt.tzinfo) -> list[dt.datetime]:
    """Days of two years on which clocks change."""
    days = [dt.datetime(2017, 1, 1, tzinfo=dt.UTC) + dt.timedelta(days=each) for each in range(730)]
    return [
        day for day in days if len({(day + dt.timedelta(each)).astimezone(info).utcoffset() for each in (0, 1)}) > 1
    ]


def test_times_of_the_clock_are_those_of_the_instants() -> None:
    """A clock's time at an instant means the period of that instant, unless the clock shows the same at another instant of another
    period."""
    draw = random.Random(20240310)
    refused = 0
    near = {zone: changes(ZoneInfo(zone)) or [dt.datetime(2017, 3, 1, tzinfo=dt.UTC)] for zone in ZONES}
    for _ in range(1000):
        zone, every = draw.choice(ZONES), draw.choice(["15 minutes", "hour", "6h", "day", "week", "month"])
        instances = Instances.of({"every": every, "tz": zone})
        info = ZoneInfo(zone)
        at = draw.choice(near[zone]) + dt.timedelta(minutes=draw.randrange(0, 1440))
        local = at.astimezone(info).replace(tzinfo=None)
        around = [at + dt.timedelta(minutes=by) for by in range(-180, 181, 30)]
        meant = {instances.calendar.at(each) for each in around if each.astimezone(info).replace(tzinfo=None) == local}
        assert instances.calendar.at(at) in meant
        assert named(instances, at.isoformat()) == instances.calendar.at(at)
        if len(meant) == 1:
            assert named(instances, local.isoformat(" ")) in meant
        else:
            refused += 1
            with pytest.raises(InvalidPeriod, match="twice"):
                named(instances, local.isoformat(" "))
    assert refused >= 5
