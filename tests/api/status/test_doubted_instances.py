"""Failed checks and schedules: the instances that a check doubts in another run than the one that made them, and what needs them."""

import datetime as dt
import json
import random
from typing import Any

import pytest
from tests.api.status.test_doubted_versions import at, checked, condemn, doubted, event_of, send
from tests.api.status.test_entities import declare
from tests.events import RUN, run_event
from tests.fixtures.app import Client
from tests.scale import FULL

SCHEDULES = """
entity: parts
period: {every: day, from: 2026-01-01}
stored_in: ["file /parts"]
owner: ada
---
entity: sums
period: {every: week, from: 2025-12-29}
depends_on: {parts: same}
owner: grace
"""


def report(client: Client, *reports: dict[str, Any]) -> None:
    reply = client.post(
        "/api/v2/instances", json.dumps({"reports": list(reports)}).encode(), content_type="application/json"
    )
    assert reply.status_code == 200, reply.text
    assert all(one["seq"] for one in reply.json()["results"]), reply.text


def made(entity: str, instance: str, run: int, minute: float, **more: Any) -> dict[str, Any]:
    """A report that a run made an instance; it began and ended at that minute."""
    return {
        "entity": entity,
        "what": "produced",
        "instances": [instance],
        "ref": RUN.format(run),
        "at": at(minute),
        **more,
    }


def instances(client: Client) -> set[str]:
    found = client.get("/api/v2/open-incidents", kind="doubted").json()["incidents"]
    return {each["label"] for one in found for each in one["hit"] if each["id"].startswith("instances:")}


def one(client: Client, entity: str, instance: str) -> dict[str, Any]:
    return dict(client.get(f"/api/v2/entities/{entity}/instances/{instance}").json())


@pytest.fixture
def scheduled(client: Client) -> Client:
    """Run 1 makes day 2 in /parts; run 2 makes the week of it, elsewhere: only the schedule knows that it used day 2. Run 3 reads what run 2 wrote."""
    assert declare(client, SCHEDULES).status_code == 200
    send(
        client,
        run_event("COMPLETE", 1, "load", ["/src"], ["/elsewhere"], at=at(1)),
        run_event("COMPLETE", 2, "sum", ["/unseen"], ["/sums"], at=at(2)),
        run_event("COMPLETE", 3, "report", ["/sums"], ["/report"], at=at(3)),
    )
    report(client, made("parts", "2026-01-02", 1, 1), made("parts", "2026-01-03", 9, 1), made("sums", "2026-W01", 2, 2))
    return client


def test_a_check_in_another_run_doubts_the_instance_and_what_needs_it(scheduled: Client) -> None:
    send(scheduled, run_event("COMPLETE", 5, "check", [checked("/elsewhere", column="id")], at=at(5)))
    assert instances(scheduled) == {"parts@2026-01-02", "sums@2026-W01"}
    assert doubted(scheduled)["elsewhere"] == ["parts@2026-01-02", "report", "sums", "sums@2026-W01"]
    (entry,) = scheduled.get("/api/v2/open-incidents").json()["incidents"]
    assert {each["label"]: each["owners"] for each in entry["hit"]}["sums@2026-W01"] == ["grace"]
    assert one(scheduled, "sums", "2026-W01")["doubts"] == ["dataset:file:/elsewhere: check not_null(id) failed"]
    assert one(scheduled, "parts", "2026-01-03")["doubts"] == []


def test_a_check_without_a_run_doubts_them_too(scheduled: Client) -> None:
    send(scheduled, event_of("/elsewhere", 5))
    assert instances(scheduled) == {"parts@2026-01-02", "sums@2026-W01"}
    send(scheduled, event_of("/elsewhere", 6, success=True))
    assert instances(scheduled) == set()


def test_good_runs_in_order_end_it_and_the_wrong_order_does_not(scheduled: Client) -> None:
    send(scheduled, run_event("COMPLETE", 5, "check", [checked("/elsewhere")], at=at(5)))
    report(scheduled, made("sums", "2026-W01", 32, 32))
    assert instances(scheduled) == {"parts@2026-01-02", "sums@2026-W01"}, "the week was made again from the doubted day"
    report(scheduled, made("parts", "2026-01-02", 33, 33))
    assert instances(scheduled) == {"sums@2026-W01"}, "the day is good, the week was made before"
    report(
        scheduled,
        {"entity": "sums", "what": "started", "instances": ["2026-W01"], "ref": RUN.format(34), "at": at(32.5)},
        made("sums", "2026-W01", 34, 34),
    )
    assert instances(scheduled) == {"sums@2026-W01"}, "that run began before the day was good"
    report(scheduled, made("sums", "2026-W01", 35, 35))
    assert instances(scheduled) == set()


def test_the_record_of_reads_counts_for_more_than_the_need(scheduled: Client) -> None:
    seq = scheduled.get("/api/v2/entities/sums/instances/2026-W01").json()["seq"]
    reads = [{"entity": "parts", "instances": ["2026-01-03"]}]
    report(scheduled, made("sums", "2026-W01", 36, 4, reads=reads, seq=seq))
    send(scheduled, run_event("COMPLETE", 5, "check", [checked("/elsewhere")], at=at(5)))
    assert instances(scheduled) == {"parts@2026-01-02"}
    reads = [{"entity": "parts", "instances": ["2026-01-02"]}]
    report(scheduled, made("sums", "2026-W01", 37, 4.5, reads=reads, seq=seq))
    assert instances(scheduled) == {"parts@2026-01-02", "sums@2026-W01"}


def test_verdicts_on_an_instance_and_on_the_version(scheduled: Client) -> None:
    send(scheduled, run_event("COMPLETE", 5, "check", [checked("/elsewhere")], at=at(5)))
    trusted = {"entity": "sums", "what": "trusted", "instances": ["2026-W01"], "ref": "made from doubted"}
    report(scheduled, trusted)
    assert doubted(scheduled) == {"elsewhere": ["parts@2026-01-02"]}, "nor what was made from the week"
    (entry,) = scheduled.get("/api/v2/open-incidents", kind="doubted").json()["incidents"]
    condemn(scheduled, "VERSION", entry["version_id"])
    assert doubted(scheduled) == {}, "it is wrong, so it is a doubt no more"


@pytest.mark.parametrize("seed", range(60 if FULL else 3))
def test_random_schedules_equal_brute_force(client: Client, seed: int) -> None:
    """Days, weeks of days, weeks of the same week before; made in any order, checked by chance: version by version, who used which."""
    chance = random.Random(seed)
    weekly = """
---
entity: tops
period: {every: week, from: 2025-12-29}
depends_on: {sums: same}
"""
    assert declare(client, SCHEDULES + weekly).status_code == 200
    days = [f"2026-01-{day:02}" for day in range(1, 12)]
    week_of = {day: f"2026-W{dt.date.fromisoformat(day).isocalendar().week:02}" for day in days}
    weeks = sorted(set(week_of.values()))
    needs = {("sums", week): {("parts", day) for day in days if week_of[day] == week} for week in weeks}
    needs |= {("tops", week): {("sums", week)} for week in weeks}
    current: dict[tuple[str, str], int] = {}
    used: dict[int, set[int]] = {}
    bad: set[int] = set()
    for number in range(1, 36):
        entity = chance.choice(["parts", "parts", "sums", "tops"])
        instance = chance.choice(days if entity == "parts" else weeks)
        used[number] = {current[need] for need in needs.get((entity, instance), ()) if need in current}
        current[entity, instance] = number
        failed = entity == "parts" and chance.random() < 0.3
        send(
            client,
            run_event("COMPLETE", number, f"make {entity}", [f"/src/{number}"], [f"/out/{number}"], at=at(number)),
        )
        report(client, made(entity, instance, number, number))
        if failed:
            bad.add(number)
            send(client, event_of(f"/out/{number}", 100 + number))
    for number in sorted(used):
        if used[number] & bad:
            bad.add(number)
    found: set[str] = set()
    for label in instances(client):
        entity, _, texts = label.partition("@")
        for text in texts.split(","):
            first, _, last = text.partition("..")
            all_ = days if entity == "parts" else weeks
            found |= {f"{entity}@{each}" for each in all_ if first <= each <= (last or first)}
    assert found == {f"{entity}@{instance}" for (entity, instance), number in current.items() if number in bad}
