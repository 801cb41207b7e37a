"""Plans over HTTP: made, worked off, stopped and gone on with, and never twice."""

from typing import Any

import pytest
from tests.api.status.test_entities import declare, made, post, say
from tests.fixtures.app import Client

from headwater.intake.plans import work as plan_work

YAML = """
entity: weather
period: {every: hour, from: 2024-01-01}
produced_by: [airflow://prod/load_weather/load]
---
entity: reads
period: {every: day, from: 2024-01-01}
produced_by: [airflow://prod/reads/compute]
depends_on: {weather: same}
---
entity: report
period: {every: week, from: 2024-01-01}
produced_by: [{job: airflow://prod/weekly/report}]
depends_on: {reads: all_week}
---
entity: notes
period: {every: week, from: 2024-01-01}
depends_on: {report: same}
"""
WEEK = "2024-03-04..2024-03-10"


@pytest.fixture
def client_(client: Client) -> Client:
    assert declare(client, YAML).status_code == 200
    say(
        client,
        made("weather", "2024-03-04..2024-03-10", code="v1", fingerprint="xxh3:1"),
        made("reads", WEEK),
        made("report", "2024-W10"),
        made("notes", "2024-W10"),
    )
    return client


def incident(client: Client, *hours: str) -> str:
    body = {"wrong": [{"entity": "weather", "instances": list(hours)}], "reason": "stuck sensor"}
    return str(post(client, "/api/v2/incidents", body).json()["id"])


def plan(client: Client, **wanted: Any) -> Any:
    answer = post(client, "/api/v2/plans", wanted)
    assert answer.status_code == 200, answer.text
    return answer.json()


def take(client: Client, id_: str, **more: Any) -> Any:
    return post(client, f"/api/v2/plans/{id_}/take", {"worker": "w1", "limit": 100, **more}).json()


def do(client: Client, item: dict[str, Any], **more: Any) -> Any:
    """Produce what an item makes, and say that it is over."""
    say(client, *(made(each["entity"], *each["instances"], code="v2", **more) for each in item["makes"]))
    body = {"attempt": item["attempt"], "run": "r"}
    return post(client, f"/api/v2/plans/{item['plan']}/items/{item['number']}/end", body).json()


def test_the_least_work_in_order(client_: Client) -> None:
    id_ = incident(client_, "2024-03-06T22..2024-03-07T01")
    found = plan(client_, incident=id_)
    assert found["counts"] == {"weather": 4, "reads": 2, "report": 1, "notes": 1}
    assert [(g["action"], g["producer"], g["items"], g["runs"]) for g in found["groups"]] == [
        ("rerun", "airflow://prod/load_weather/load", 4, ["2024-03-06T22..2024-03-07T01"]),
        ("rerun", "airflow://prod/reads/compute", 2, ["2024-03-06..2024-03-07"]),
        ("rerun", "airflow://prod/weekly/report", 1, ["2024-W10"]),
        ("manual", None, 1, ["2024-W10"]),
    ]
    assert take(client_, found["id"])["state"] == "planned"
    assert post(client_, f"/api/v2/plans/{found['id']}/apply", {}).json() == {"state": "running"}
    seen = []
    while True:
        work = take(client_, found["id"])
        seen.append([each["makes"][0]["entity"] for each in work["items"]])
        if not work["items"]:
            break
        for item in work["items"]:
            assert do(client_, item)["item"] == "done"
    assert seen == [["weather"] * 4, ["reads"] * 2, ["report"], ["notes"], []]
    shown = client_.get(f"/api/v2/plans/{found['id']}").json()
    assert (shown["plan"]["state"], shown["plan"]["done"]) == ("done", 8)
    assert [one["id"] for one in client_.get("/api/v2/plans", incident=id_).json()["plans"]] == [found["id"]]
    assert client_.get("/api/v2/plans", incident=found["id"]).json() == {"total": 0, "plans": [], "workers": []}
    assert client_.get(f"/api/v2/incidents/{id_}").json()["incident"]["wrong"] == 0
    assert post(client_, "/api/v2/plans", {"incident": id_}).json()["code"] == "invalid_plan"


def test_equal_content_needs_no_further_run(client_: Client) -> None:
    id_ = incident(client_, "2024-03-06T22")
    found = plan(client_, incident=id_)
    post(client_, f"/api/v2/plans/{found['id']}/apply", {})
    (item,) = take(client_, found["id"])["items"]
    assert do(client_, item, fingerprint="xxh3:1")["item"] == "done"
    work = take(client_, found["id"])
    assert (work["items"], work["skipped"], work["state"]) == ([], 3, "done")


def test_a_run_that_did_not_repair_is_no_success(client_: Client) -> None:
    id_ = incident(client_, "2024-03-06T22")
    found = plan(client_, incident=id_)
    post(client_, f"/api/v2/plans/{found['id']}/apply", {})
    (item,) = take(client_, found["id"])["items"]
    say(client_, made("weather", "2024-03-06T22", code="v1"))  # the same bug again
    ended = post(client_, f"/api/v2/plans/{found['id']}/items/0/end", {"attempt": 1}).json()
    assert ended["item"] == "failed"
    assert "weather 2024-03-06T22" in ended["note"]
    work = take(client_, found["id"])
    assert (work["items"], work["state"]) == ([], "failed")
    post(client_, f"/api/v2/plans/{found['id']}/retry", {})
    (item,) = take(client_, found["id"])["items"]
    assert do(client_, item)["item"] == "done"


def test_nothing_runs_twice(client_: Client) -> None:
    id_ = incident(client_, "2024-03-06T22")
    one, other = plan(client_, incident=id_), plan(client_, incident=id_)
    for each in (one, other):
        post(client_, f"/api/v2/plans/{each['id']}/apply", {})
    (item,) = take(client_, one["id"])["items"]
    assert take(client_, one["id"])["items"] == []
    work = take(client_, other["id"])
    assert (work["items"], work["wait"]) == ([], True)  # the first one makes it right now
    do(client_, item)
    work = take(client_, other["id"])
    assert work["skipped"] == 1
    assert [each["makes"][0]["entity"] for each in work["items"]] == ["reads"]
    assert take(client_, one["id"])["items"] == []


def test_items_by_number(client_: Client) -> None:
    found = plan(client_, incident=incident(client_, "2024-03-06T22..2024-03-06T23"))
    id_ = found["id"]
    post(client_, f"/api/v2/plans/{id_}/apply", {})
    work = take(client_, id_, numbers=[2, 3])
    assert (work["items"], work["wait"]) == ([], False)  # no worker is making what they need
    (second,) = take(client_, id_, numbers=[1])["items"]
    assert (second["number"], take(client_, id_, numbers=[1])["wait"]) == (1, True)
    assert take(client_, id_, numbers=[2])["wait"]
    (first,) = take(client_, id_, numbers=[2, 0])["items"]
    assert first["number"] == 0
    for item in (first, second):
        assert do(client_, item)["item"] == "done"
    (third,) = take(client_, id_, numbers=[2])["items"]
    post(client_, f"/api/v2/plans/{id_}/items/2/end", {"attempt": third["attempt"], "failed": True})
    # That nothing can be done of some items does not end a plan.
    work = take(client_, id_, numbers=[3])
    assert (work["items"], work["wait"], work["state"]) == ([], False, "running")
    assert take(client_, id_, producers=[])["state"] == "failed"
    assert post(client_, f"/api/v2/plans/{id_}/take", {"worker": "w", "numbers": [-1]}).status_code == 400


def test_what_an_item_needs_may_be_right_by_now(client_: Client) -> None:
    id_ = plan(client_, incident=incident(client_, "2024-03-06T22..2024-03-06T23"))["id"]
    post(client_, f"/api/v2/plans/{id_}/apply", {})
    (left,) = take(client_, id_, numbers=[0], lease_seconds=0.001)["items"]  # by a worker that is gone when it is made
    say(client_, made("weather", "2024-03-06T22..2024-03-06T23", code="v2"))
    work = take(client_, id_, numbers=[2])
    assert ([item["number"] for item in work["items"]], work["skipped"], left["number"]) == ([2], 2, 0)


def test_items_by_number_end_a_plan(client_: Client) -> None:
    wrong = [{"entity": "weather", "instances": ["2024-03-06T22"]}]
    id_ = plan(client_, wrong=wrong, only=True)["id"]
    post(client_, f"/api/v2/plans/{id_}/apply", {})
    say(client_, made("weather", "2024-03-06T22", code="v2"))
    work = take(client_, id_, numbers=[0])
    assert (work["items"], work["skipped"], work["state"]) == ([], 1, "done")


def test_who_is_gone_leaves_it_to_others(client_: Client) -> None:
    found = plan(client_, incident=incident(client_, "2024-03-06T22"))
    path = f"/api/v2/plans/{found['id']}"
    post(client_, f"{path}/apply", {})
    (first,) = take(client_, found["id"], lease_seconds=0.001)["items"]
    assert post(client_, f"{path}/items/0/renew", {"attempt": 1, "run": "manual__1", "lease_seconds": 0.001}).json()[
        "held"
    ]
    (second,) = take(client_, found["id"])["items"]
    assert (first["attempt"], second["attempt"], second["before"]) == (1, 2, "manual__1")
    assert not post(client_, f"{path}/items/0/renew", {"attempt": 1}).json()["held"]
    assert post(client_, f"{path}/items/0/end", {"attempt": 1}).status_code == 422
    assert do(client_, second)["item"] == "done"
    assert post(client_, f"{path}/items/0/end", {"attempt": 2}).json()["item"] == "done"


def test_paused_and_cancelled(client_: Client) -> None:
    found = plan(client_, incident=incident(client_, "2024-03-06T22"))
    path = f"/api/v2/plans/{found['id']}"
    post(client_, f"{path}/apply", {})
    (item,) = take(client_, found["id"])["items"]
    assert post(client_, f"{path}/pause", {}).json()["state"] == "paused"
    assert do(client_, item)["item"] == "done"
    assert take(client_, found["id"])["items"] == []
    post(client_, f"{path}/resume", {})
    (item,) = take(client_, found["id"])["items"]
    assert post(client_, f"{path}/cancel", {}).json()["state"] == "cancelled"
    marks = client_.get("/api/v2/entities/reads/status", instances="2024-03-06").json()["stretches"][0]["marks"]
    assert "repairing" not in [each["kind"] for each in marks]
    assert post(client_, f"{path}/apply", {}).status_code == 422


def test_limits_and_pages(client_: Client) -> None:
    found = plan(
        client_, wrong=[{"entity": "weather", "instances": ["2024-03-06"]}], only=True, total=3, newest_first=True
    )
    assert found["items"] == 24
    post(client_, f"/api/v2/plans/{found['id']}/apply", {})
    work = take(client_, found["id"])
    assert [each["makes"][0]["instances"] for each in work["items"]] == [
        ["2024-03-06T23"],
        ["2024-03-06T22"],
        ["2024-03-06T21"],
    ]
    # They were never wrong: only what is made since counts.
    assert do(client_, work["items"][0])["item"] == "done"
    page = client_.get(f"/api/v2/plans/{found['id']}", state="waiting", limit=5).json()
    assert (len(page["items"]), page["plan"]["waiting"], page["plan"]["running"]) == (5, 21, 2)


def test_what_cannot_be_repaired(client_: Client) -> None:
    declare(
        client_,
        YAML.replace(
            "entity: reads\nperiod: {every: day, from: 2024-01-01}",
            "entity: reads\nperiod: {every: day, from: 2024-01-01}\nfrozen: ..2024-03-07",
        ),
    )
    found = plan(client_, incident=incident(client_, "2024-03-06T22..2024-03-07T01"), dry_run=True)
    assert found["id"] is None
    assert found["unrepairable"] == {"frozen": [{"entity": "reads", "instances": ["2024-03-06"]}]}
    assert {each["entity"] for each in found["degraded"]} == {"report", "notes"}


def test_what_there_is_beside_what_is_wrong_counts_too(client_: Client) -> None:
    snapshot = (
        "---\nentity: members\nkind: snapshot\nperiod: {every: day, from: 2024-01-01}\ndepends_on: {reads: same}\n"
    )
    assert declare(client_, YAML + snapshot).status_code == 200
    say(client_, made("members", "2024-03-04..2024-03-08"), made("members", "2024-03-12..2024-03-20"))
    old = [{"entity": "members", "instances": ["2024-03-08"]}]
    found = plan(client_, wrong=old, only=True, dry_run=True)
    assert (found["items"], found["left"]) == (0, old), "there is a later snapshot, which is the one that is read"
    say(client_, {"entity": "reads", "what": "deleted", "instances": ["2024-03-05"], "ref": "external"})
    report = [{"entity": "report", "instances": ["2024-W10"]}]
    assert plan(client_, wrong=report, only=True, dry_run=True)["unrepairable"] == {"reads was deleted": report}
    both = [*report, {"entity": "reads", "instances": ["2024-03-05"]}]
    assert plan(client_, wrong=both, only=True, dry_run=True)["unrepairable"] == {}, "it is made again itself"


def test_what_a_failed_run_means(client_: Client) -> None:
    say(client_, {"entity": "weather", "what": "failed", "instances": ["2024-03-11T03..2024-03-11T05"], "ref": "r9"})
    body = {"dag_id": "load_weather", "start": "2024-03-11T03:00:00Z", "end": "2024-03-11T06:00:00Z"}
    found = post(client_, "/api/v2/impact", body).json()
    assert [(each["dag_id"], each["task_id"], [run["period"] for run in each["runs"]]) for each in found["clear"]] == [
        ("load_weather", "load", ["2024-03-11T03", "2024-03-11T04", "2024-03-11T05"])
    ]
    assert [(each["dag_id"], [run["period"] for run in each["runs"]]) for each in found["start"]] == [
        ("reads", ["2024-03-11"]),
        ("weekly", ["2024-W11"]),
    ]
    assert found["start"][1]["because"] == ["report 2024-W11", "reads 2024-03-11", "weather 2024-03-11T03"]
    assert found["manual"] == [{"entity": "notes", "instances": ["2024-W11"]}]
    by_run = post(client_, "/api/v2/impact", {"dag_id": "load_weather", "run_id": "r9"}).json()
    assert by_run["clear"] == found["clear"]
    wrong = {"producer": "airflow://prod/reads/compute", "execution_date": "2024-03-06T00:00:00Z", "mode": "tainted"}
    cleared = post(client_, "/api/v2/impact", wrong).json()["clear"]
    assert [(each["dag_id"], [run["period"] for run in each["runs"]]) for each in cleared] == [
        ("reads", ["2024-03-06"]),
        ("weekly", ["2024-W10"]),
    ]
    assert post(client_, "/api/v2/impact", {"dag_id": "unknown", "partition_key": "x"}).status_code == 404


TWO_AIRFLOWS = """
entity: reads
period: {every: day, from: 2024-01-01}
produced_by: airflow://prod/load/reads
---
entity: reads_of_staging
period: {every: day, from: 2024-01-01}
produced_by: airflow://staging/load/reads
---
entity: clean
period: {every: day, from: 2024-01-01}
produced_by: airflow://prod/load/clean
depends_on: {reads: same}
"""


def test_which_airflow_s_dag(client: Client) -> None:
    assert declare(client, TWO_AIRFLOWS).status_code == 200
    asked = {"dag_id": "load", "execution_date": "2024-03-06T00:00:00Z"}
    refused = post(client, "/api/v2/impact", asked)
    assert refused.status_code == 400
    assert "2 Airflows, prod, staging: name one" in refused.json()["message"]
    found = post(client, "/api/v2/impact", asked | {"airflow": "prod"}).json()["start"]
    assert [(each["airflow"], each["task_id"], [run["period"] for run in each["runs"]]) for each in found] == [
        ("prod", "reads", ["2024-03-06"]),
        ("prod", "clean", ["2024-03-06"]),
    ]
    found = post(client, "/api/v2/impact", asked | {"airflow": "staging"}).json()["start"]
    assert [each["producer"] for each in found] == ["airflow://staging/load/reads"]
    assert post(client, "/api/v2/impact", asked | {"airflow": "test"}).status_code == 404


APART = """
entity: a
period: {every: day, from: 2024-01-01}
produced_by: job/a
---
entity: b
period: {every: day, from: 2024-01-01}
produced_by: job/b
depends_on: {a: same}
---
entity: c
period: {every: day, from: 2024-01-01}
produced_by: job/c
---
entity: d
period: {every: day, from: 2024-01-01}
produced_by: job/d
depends_on: {c: same}
"""


@pytest.mark.parametrize("fails", ["a", "c"])
def test_what_waits_for_what_failed_hides_nothing(client: Client, monkeypatch: pytest.MonkeyPatch, fails: str) -> None:
    """However few items are looked at in one go."""
    monkeypatch.setattr(plan_work, "_LOOKED_AT", 1)
    assert declare(client, APART).status_code == 200
    days = "2024-03-04..2024-03-06"
    say(client, *(made(name, days, code="v1") for name in "abcd"))
    wrong = [{"entity": name, "instances": [days]} for name in "ac"]
    id_ = post(client, "/api/v2/incidents", {"wrong": wrong, "reason": "stuck"}).json()["id"]
    found = plan(client, incident=id_)
    post(client, f"/api/v2/plans/{found['id']}/apply", {})
    seen = []
    while items := (work := take(client, found["id"]))["items"]:
        for item in items:
            (entity,) = (each["entity"] for each in item["makes"])
            seen.append(entity)
            if entity == fails:
                end = {"attempt": item["attempt"], "run": "r", "failed": True}
                post(client, f"/api/v2/plans/{item['plan']}/items/{item['number']}/end", end)
            else:
                assert do(client, item)["item"] == "done"
    assert sorted(seen) == sorted([fails] * 3 + (["c", "d"] if fails == "a" else ["a", "b"]) * 3)
    assert work["state"] == "failed"
