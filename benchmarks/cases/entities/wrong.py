"""Wrong instances and their repair, through the server: closures over all entities, and plans of a million instances."""

from typing import Any

from filled import Bench, Taken
from table import Row

from headwater.entities.time import ranges
from headwater.entities.time.ordinals import Ordinals


def taint(bench: Bench) -> list[Row]:
    name = bench.hourly[0]
    of = bench.held.instances(name)
    assert of is not None
    over = of.over(bench.until)
    middle = (over.first + over.end) // 2
    every_other = Ordinals.of(range(over.first, over.end, 2))
    found = []
    for what, some, target in (
        ("10 hours in a row", Ordinals.between(middle, middle + 10), 300),
        ("all its hours, in its runs", over, 2_000),
        ("every other hour", every_other, 2_000),
    ):
        body = {"wrong": [{"entity": name, "instances": ranges.written(of, some)}], "reason": "measured"}
        found.append(
            _row(f"incident, {what}, dry run", bench.post("/api/v2/incidents", body | {"dry_run": True}), target)
        )
        if what != "every other hour":  # which would be tens of millions of marks
            found += real(bench, what, body, target)
    return found


def real(bench: Bench, what: str, body: object, target: float) -> list[Row]:
    opened = bench.post("/api/v2/incidents", body)
    row = _row(f"incident, {what}, opened", opened, target)
    if not opened.answered:
        return [row]
    gone = bench.post(f"/api/v2/incidents/{opened.answer['id']}/retract", {})
    return [row, Row("retracted", gone.at(1), "ms", note=gone.cpu)]


def _row(name: str, taken: Taken, target: float) -> Row:
    if not taken.answered:
        return Row(name, None, "ms", target=target, note=f"503 after {taken.at(1) / 1000:.0f} s, {taken.cpu}")
    answer: dict[str, Any] = taken.answer
    of = f"{len(answer['hits']):,} entities, {answer['count'] / 1e6:.2f} million instances, {len(taken.outcome.last) / 2**20:.1f} MiB"
    return Row(name, taken.at(1), "ms", target=target, note=f"{of}; {taken.cpu}")


def plan(bench: Bench) -> list[Row]:
    """Hours of the most needed entity, as many as make a million instances with what used them."""
    name = bench.hourly[0]
    of = bench.held.instances(name)
    assert of is not None
    over = of.over(bench.until)
    # A day of hours is some 130,000 instances of 10,000 entities; of fewer, more days make a million.
    days = max(8 * 10_000 // len(bench.held.ids), 1)
    some = over & Ordinals.between(over.end - 24 * days, over.end)
    wrong = [{"entity": name, "instances": ranges.written(of, some)}]
    made = bench.post("/api/v2/plans", {"wrong": wrong, "reason": "measured"})
    if not made.answered:
        return [
            Row(
                "a plan over a million instances",
                None,
                "s",
                target=5,
                note=f"503 after {made.at(1) / 1000:.0f} s, {made.cpu}",
            )
        ]
    told: dict[str, Any] = made.answer
    many = sum(ranges.read(bench.held.instances(one["entity"]), one["instances"]).count for one in told["makes"])
    first = bench.get(f"/api/v2/plans/{told['id']}?limit=100")
    far = bench.get(f"/api/v2/plans/{told['id']}?limit=100&offset={told['items'] * 3 // 4}")
    return [
        Row(f"a plan over {many / 1e6:.2f} million instances", made.at(1) / 1000, "s", target=5, note=f"{told['items']:,} items, {made.cpu}"),
        Row("its first page", first.at(1), "ms", note=first.cpu),
        Row("a page three quarters in", far.at(1), "ms", note=far.cpu),
    ]  # fmt: skip
