"""The order in which items of a plan are handed out, and the hours of the day at which any are."""

import datetime as dt
from collections import OrderedDict
from typing import Any

import pytest
from tests.api.plans.test_plans import YAML, do, incident, plan, take
from tests.api.status.test_entities import declare, made, post, say
from tests.fixtures.app import Client

from headwater.entities.plans.serialization import KEPT
from headwater.store.database import Database

DAY = "2024-03-06"
NO_TIERS = """
entity: a
period: {every: day, from: 2024-01-01}
produced_by: [airflow://prod/a/make]
---
entity: a_report
period: {every: day, from: 2024-01-01}
produced_by: [airflow://prod/a/report]
depends_on: {a: same}
---
entity: z
period: {every: day, from: 2024-01-01}
produced_by: [airflow://prod/z/make]
---
entity: z_report
period: {every: day, from: 2024-01-01}
produced_by: [airflow://prod/z/report]
depends_on: {z: same}
"""


def now_and(hours: float) -> str:
    """The time of day in UTC so many hours from now."""
    return (dt.datetime.now(dt.UTC) + dt.timedelta(hours=hours)).strftime("%H:%M")


def applied(client: Client, **wanted: Any) -> str:
    id_ = str(plan(client, **wanted)["id"])
    assert post(client, f"/api/v2/plans/{id_}/apply", {}).status_code == 200
    return id_


@pytest.mark.parametrize(
    ("tiers", "order"),
    [
        ({}, ["z", "a", "z_report", "a_report"]),
        ({"z_report": "gold"}, ["z", "z_report", "a", "a_report"]),
        ({"z_report": "tier-2", "a_report": "tier-1"}, ["a", "a_report", "z", "z_report"]),
        ({"z_report": "tier-2", "a_report": "tier-10"}, ["z", "z_report", "a", "a_report"]),
    ],
)
def test_items_that_a_better_tier_waits_for_are_taken_first(
    client: Client, tiers: dict[str, str], order: list[str]
) -> None:
    text = NO_TIERS
    for name, tier in tiers.items():
        text = text.replace(f"entity: {name}\n", f"entity: {name}\ntier: {tier}\n")
    assert declare(client, text).status_code == 200
    wrong = [{"entity": name, "instances": [DAY]} for name in order]
    id_ = applied(client, wrong=wrong, only=True)
    taken = []
    while items := take(client, id_, limit=1)["items"]:
        taken.append(items[0]["makes"][0]["entity"])
        assert do(client, items[0])["item"] == "done"
    assert taken == order
    numbers = [item["number"] for item in client.get(f"/api/v2/plans/{id_}").json()["items"]]
    assert numbers == [0, 1, 2, 3]


def test_nothing_is_handed_out_while_the_window_is_closed(client: Client) -> None:
    assert declare(client, YAML).status_code == 200
    say(client, made("weather", DAY, code="v1"), made("reads", DAY))
    between = f"{now_and(2)}-{now_and(4)}"
    hour = incident(client, f"{DAY}T22")
    id_ = applied(client, incident=hour, between=between)
    work = take(client, id_)
    assert (work["items"], work["wait"], work["state"]) == ([], True, "running")
    opens = dt.datetime.fromisoformat(work["opens"])
    assert opens.strftime("%H:%M") == between[:5]
    assert opens > dt.datetime.now(dt.UTC)
    shown = client.get(f"/api/v2/plans/{id_}").json()["plan"]
    assert (shown["between"], shown["tz"], shown["opens"]) == (between, "UTC", work["opens"])
    # Items for other workers are theirs outside of the window too, and items that are right by now are skipped.
    assert not take(client, id_, producers=["package:*"])["wait"]
    say(client, made("weather", f"{DAY}T22", code="v2"), made("reads", DAY))
    work = take(client, id_)
    assert (work["skipped"], work["state"], work["wait"]) == (2, "done", False)


def test_items_are_handed_out_while_it_is_open(client: Client) -> None:
    assert declare(client, YAML).status_code == 200
    say(client, made("weather", DAY, code="v1"), made("reads", DAY))
    between = f"{now_and(-2)}-{now_and(4)}"
    id_ = applied(client, incident=incident(client, f"{DAY}T22"), between=between)
    work = take(client, id_)
    assert ([item["number"] for item in work["items"]], work["opens"]) == ([0], None)
    assert client.get(f"/api/v2/plans/{id_}").json()["plan"]["opens"] is None
    (listed,) = client.get("/api/v2/plans").json()["plans"]
    assert (listed["between"], listed["opens"]) == (between, None)


def test_the_estimate_waits_for_the_window(client: Client) -> None:
    assert declare(client, YAML).status_code == 200
    say(client, made("weather", DAY, code="v1"), made("reads", DAY))
    id_ = incident(client, f"{DAY}T22")
    costs = [
        plan(client, incident=id_, dry_run=True, **more)["cost"]
        for more in ({}, {"between": f"{now_and(2)}-{now_and(4)}"})
    ]
    # No run of these was seen, so that they take no time; it opens in nearly two hours.
    assert costs[0]["finish_p50"] == 0
    assert 3_600 < costs[1]["finish_p50"] <= 7_200


@pytest.mark.parametrize(
    ("wanted", "code", "words"),
    [
        ({"between": "22-06"}, "invalid_plan", "write hours and minutes, as in 22:00-06:00"),
        ({"between": "22:00-22:00"}, "invalid_plan", "nothing is left out"),
        ({"between": "22:00-06:00", "tz": "Paris"}, "invalid_calendar", "there is no time zone 'Paris'"),
        ({"tz": "Europe/Paris"}, "invalid_plan", "say between which times"),
    ],
)
def test_what_is_no_window_is_refused(client: Client, wanted: dict[str, str], code: str, words: str) -> None:
    assert declare(client, YAML).status_code == 200
    answer = post(client, "/api/v2/plans", {"wrong": [{"entity": "weather", "instances": [DAY]}], **wanted})
    assert (answer.is_client_error, answer.json()["code"]) == (True, code)
    assert words in answer.json()["message"]


def test_plans_that_were_kept_before_there_were_windows_go_on(
    client: Client, database: Database, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert declare(client, YAML).status_code == 200
    say(client, made("weather", DAY, code="v1"), made("reads", DAY))
    id_ = applied(client, incident=incident(client, f"{DAY}T22"))

    async def forget() -> None:
        async with database.transaction() as connection:
            await connection.execute(
                "update plans set request = request - 'between' - 'tz', inputs = inputs - 'seconds'"
            )

    run(forget())
    monkeypatch.setattr(KEPT, "_plans", OrderedDict())
    shown = client.get(f"/api/v2/plans/{id_}").json()["plan"]
    assert (shown["between"], shown["tz"], shown["opens"]) == ("", "UTC", None)
    monkeypatch.setattr(KEPT, "_plans", OrderedDict())
    assert [item["number"] for item in take(client, id_)["items"]] == [0]
