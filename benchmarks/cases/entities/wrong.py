"""What is wrong and what has to be made again, through the server: closures over all entities, and plans of a million instances."""

from typing import Any

from filled import Bench, Taken
from table import Row

from headwater.entities import ranges
from headwater.entities.ordinals import Ordinals


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
        wrong = [{"entity": name, "instances": ranges.written(of, some)}]
        body = {"wrong": wrong, "reason": "measured", "dry_run": True}
        found.append(_row(f"incident, {what}, dry run", bench.post("/api/v2/incidents", body, 3), target))
        if what != "every other hour":
            found += real(bench, what, wrong, target)
    return found


def real(bench: Bench, what: str, wrong: object, target: float) -> list[Row]:
    opened = bench.post("/api/v2/incidents", {"wrong": wrong, "reason": "measured"})
    row = _row(f"incident, {what}, opened", opened, target)
    gone = bench.post(f"/api/v2/incidents/{opened.answer['id']}/retract", {})
    return [row, Row("retracted", gone.at(1), "ms", note=gone.cpu)]


def _row(name: str, taken: Taken, target: float) -> Row:
    answer: dict[str, Any] = taken.answer
    of = f"{len(answer['hits']):,} entities, {answer['count'] / 1e6:.2f} million instances, {len(taken.outcome.last) / 2**20:.1f} MiB"
    return Row(name, taken.at(0.5), "ms", target=target, note=f"{of}; slowest {taken.at(1):.0f} ms, {taken.cpu}")


def plan(bench: Bench) -> list[Row]:
    """Hours of the most needed entity, as many as make a million instances with what used them."""
    name = bench.hourly[0]
    of = bench.held.instances(name)
    assert of is not None
    over = of.over(bench.until)
    hours, count = 24, 0
    while count < 1_000_000 and hours < over.count:
        hours *= 2
        some = Ordinals.between(max(over.end - hours, over.first), over.end)
        wrong = [{"entity": name, "instances": ranges.written(of, some)}]
        answer: dict[str, Any] = bench.post("/api/v2/incidents", {"wrong": wrong, "reason": "", "dry_run": True}).answer
        count = answer["count"]
    made = bench.post("/api/v2/plans", {"wrong": wrong, "reason": "measured"})
    told: dict[str, Any] = made.answer
    first = bench.get(f"/api/v2/plans/{told['id']}?limit=100")
    far = bench.get(f"/api/v2/plans/{told['id']}?limit=100&offset={told['items'] * 3 // 4}")
    return [
        Row(f"a plan over {count / 1e6:.2f} million instances", made.at(1) / 1000, "s", target=5, note=f"{told['items']:,} items, {made.cpu}"),
        Row("its first page", first.at(1), "ms", note=first.cpu),
        Row("a page three quarters in", far.at(1), "ms", note=far.cpu),
    ]  # fmt: skip
