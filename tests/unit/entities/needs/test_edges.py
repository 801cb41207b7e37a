"""The needed and the affected instances, against periods made one by one (`periods_by_hand.py`), and the cases people know."""

import datetime as dt
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.scale import full
from tests.unit.entities.time.drawn import Drawn, edge, place
from tests.unit.entities.time.periods_by_hand import EPOCH, Period, Windows, need, periods

from headwater.entities.needs.edges import Edge, spans
from headwater.entities.time import keys
from headwater.entities.time.calendar import Calendar
from headwater.entities.time.dates import Dates
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import Ordinals

CASES = json.loads((Path(__file__).parents[3] / "cases/entities/dates.json").read_text(encoding="utf-8"))


def built(spec: dict[str, Any]) -> Calendar:
    """The calendar that a drawn one describes."""
    zone, starts = spec["tz"], spec["starts"]
    if "cron" in spec:
        return Calendar.cron(spec["cron"], zone, starts)
    if "table" in spec:
        return Calendar.table(spec["table"], zone, starts)
    return Calendar.every(f"{spec.get('many', 1)} {spec['unit']}", zone, starts, spec.get("offset"), spec.get("anchor"))


def by_hand(
    drawn: Drawn, downs: list[Period], ups: list[Period], windows: Windows, k: int, first: int | None
) -> list[int]:
    """Places of the upstream periods that one needs."""
    mine = downs[k]
    if drawn.steps < 0:
        at = next((i for i, u in enumerate(ups) if u.end > mine.start), len(ups))
        return list(range(max(at + drawn.steps, 0), at))
    if drawn.steps:
        at = next((i for i, u in enumerate(ups) if u.start >= mine.end), len(ups))
        return list(range(at, min(at + drawn.steps, len(ups))))
    alpha = None if drawn.start is None else windows.instant(k, drawn.start, False)
    assert drawn.end is not None
    found = need(ups, alpha, windows.instant(k, drawn.end, True), drawn.strict)
    return found if first is None else [u for u in found if u >= first]


def check(seed: int) -> int:
    """One edge: every downstream period near the date, and every upstream one that any of them needs. Returns the number of comparisons."""
    chance = random.Random(seed)
    drawn = edge(chance)
    down, up = built(drawn.down), built(drawn.up)
    near, far = dt.timedelta(days=500), dt.timedelta(days=2000)
    fine = drawn.down.get("unit") in {"minute", "hour"} or "cron" in drawn.down
    span = dt.timedelta(days=6) if fine else near
    if fine and drawn.up.get("unit") == "minute":
        far = dt.timedelta(days=700)
    elif drawn.up.get("unit") in {"minute", "hour"} or "cron" in drawn.up:
        far = dt.timedelta(days=1300)
    downs = periods(drawn.down, drawn.around - span, drawn.around + span)
    ups = periods(drawn.up, drawn.around - far, drawn.around + far)
    windows = Windows(drawn.down, downs, drawn.around - far, drawn.around + far)

    mine = {k: down.at(p.start) for k, p in enumerate(downs)}
    first = up.at(ups[0].start)
    assert down.begins(list(mine.values())).tolist() == [p.start for p in downs], drawn
    assert up.begins(range(first, first + len(ups) + 1)).tolist() == [*[p.start for p in ups], ups[-1].end], drawn

    starts = [p.start for p in ups]
    since = None
    if drawn.text == "everything":
        since = max(0, place(starts, downs[len(downs) // 2].start) - chance.randrange(40))
    dates = Dates.of({"dates": drawn.text, "strict": "within"} if drawn.strict else drawn.text)
    tested = Edge(Instances(down), Instances(up, None if since is None else first + since), dates)

    # Only periods whose windows are sure to lie in what was made by hand.
    middle = place(
        [p.start for p in downs], int((dt.datetime.combine(drawn.around, dt.time(), dt.UTC) - EPOCH).total_seconds())
    )
    some = sorted(k for k in {middle + i for i in range(-12, 13)} if 1 <= k < len(downs) - 1)
    reach = 900 * 86_400
    if far.days < 1300:
        some = (
            []
            if any(abs(side.months) > 5 for side in (drawn.start, drawn.end) if side) or "year" in drawn.text
            else some
        )
        reach = 400 * 86_400
    if "table" in drawn.up and drawn.steps:
        some = []
    some = (
        [k for k in some if ups[0].start + reach < downs[k].start and downs[k].end < ups[-1].end - reach]
        if "table" not in drawn.up
        else some
    )
    needed: dict[int, list[int]] = {}
    count = 0
    some = [k for k in some if len(by_hand(drawn, downs, ups, windows, k, since)) >= abs(drawn.steps)]
    for k in some:
        needed[k] = by_hand(drawn, downs, ups, windows, k, since)
        found = tested.need(Ordinals.between(mine[k], mine[k] + 1))
        assert found == Ordinals.of([first + u for u in needed[k]]), (seed, drawn, k, needed[k][:5], found)
        count += 1
    if not some:
        return 0
    low, high, _ = spans(down, up, dates.meaning).bounds(np.arange(mine[some[0]], mine[some[-1]] + 1))
    assert (np.diff(low) >= 0).all(), (seed, drawn)
    assert (np.diff(high) >= 0).all(), (seed, drawn)
    among = Ordinals.of([mine[k] for k in some])
    wanted = sorted({u for us in needed.values() for u in us})
    for u in [*chance.sample(wanted, min(len(wanted), 30)), wanted[0] - 3, wanted[-1] + 3] if wanted else []:
        users = Ordinals.of([mine[k] for k in some if u in needed[k]])
        for asked in (tested, Edge(tested.downstream, tested.upstream, dates)):
            assert asked.affected(Ordinals.between(first + u, first + u + 1)) & among == users, (seed, drawn, u)
        assert tested.affected(Ordinals.between(first + u, first + u + 1), among) == users, (seed, drawn, u)
        count += 1
    # Sets: what is true of each is true of all.
    ks = chance.sample(some, min(len(some), 7))
    assert tested.need(Ordinals.of([mine[k] for k in ks])) == Ordinals.of([first + u for k in ks for u in needed[k]]), (
        seed,
        drawn,
    )
    starts = np.array([mine[k] for k in ks])
    ends = starts + 1 + np.arange(starts.size) % 3
    for start, end, least, most, whole in zip(starts, ends, *tested.hulls(starts, ends), strict=True):
        need = tested.need(Ordinals.between(start, end))
        assert not whole or need == Ordinals.between(least, most), (seed, drawn)
        assert whole or need.runs != 1, (seed, drawn)
    us = set(chance.sample(wanted, min(len(wanted), 9)))
    users = Ordinals.of([mine[k] for k in some if us & set(needed[k])])
    assert tested.affected(Ordinals.of([first + u for u in us]), among) == users, (seed, drawn)
    return count + 2


@pytest.mark.parametrize("seed", range(full(40, 6)))
def test_random_edges_agree_with_periods_made_one_by_one(seed: int) -> None:
    check(seed)


def instances(period: dict[str, Any]) -> Instances:
    return Instances.of(period)


@pytest.mark.parametrize("case", [case for case in CASES if "of" in case], ids=lambda case: case["name"])
def test_what_an_instance_needs(case: dict[str, Any]) -> None:
    tested = Edge(instances(case["downstream"]), instances(case["upstream"]), Dates.of(case["dates"]))
    down, up = tested.downstream.calendar, tested.upstream.calendar
    k = keys.ordinal(down, case["of"])
    found = tested.need(Ordinals.of([k]))
    told = [keys.key(up, found.first), keys.key(up, found.end - 1), found.count] if found else []
    assert told == case["needs"]
    assert found.runs <= 1
    for u in [found.first, found.end - 1] if found else []:
        assert k in tested.affected(Ordinals.of([u]), Ordinals.between(k - 9, k + 9))
    for u in [found.first - 1, found.end] if found else []:
        assert k not in tested.affected(Ordinals.of([u]), Ordinals.between(k - 9, k + 9))


@pytest.mark.parametrize("case", [case for case in CASES if "changed" in case], ids=lambda case: case["name"])
def test_what_a_change_affects(case: dict[str, Any]) -> None:
    tested = Edge(instances(case["downstream"]), instances(case["upstream"]), Dates.of(case["dates"]))
    first, last = (keys.ordinal(tested.upstream.calendar, key) for key in case["changed"])
    found = tested.affected(Ordinals.between(first, last + 1))
    assert [keys.key(tested.downstream.calendar, k) for k in found.members()] == case["affects"]
