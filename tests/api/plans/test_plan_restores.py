"""Plans that go back to stored versions: which, when an item of them is handed out, and what is right afterwards."""

from typing import Any

import pytest
from tests.api.plans.test_plans import plan
from tests.api.status.test_entities import declare, made, post, say
from tests.api.status.test_status_feeder import now
from tests.events import dataset, encoded, facet, run_event
from tests.fixtures.app import Client

from headwater.client.event import PRODUCER
from headwater.intake.status.feed import Feed
from headwater.store.database import Database
from headwater.store.events.arrivals import settled

YAML = """
entity: loads
period: {every: day, from: 2024-01-01}
produced_by: [package:loads]
---
entity: reads
period: {every: day, from: 2024-01-01}
produced_by: [package:reads]
depends_on: {loads: same}
---
entity: report
period: {every: day, from: 2024-01-01}
produced_by: [package:report]
depends_on: {reads: same}
"""
DAY = "2024-03-06"


def stored(entity: str, version: int, upstream: str | None = None, **more: Any) -> dict[str, Any]:
    reads = [{"entity": upstream, "instances": [DAY]}] if upstream else []
    storage = {"delta_version": version, "table": f"/lake/{entity}"}
    more = {"fingerprint": f"{entity}{version}", "ref": f"run{version}", "reads": reads, "storage": storage, **more}
    return dict(made(entity, DAY, **more))


def history(client: Client, **more: Any) -> Client:
    """Each made twice, from what was there then; the second loads by other code."""
    assert declare(client, YAML).status_code == 200
    for version, code in ((1, "v1"), (2, "v2")):
        say(client, stored("loads", version, code=code, **more))
        say(
            client,
            stored("reads", version, "loads", code="v1", **more),
            stored("report", version, "reads", code="v1", **more),
        )
    return client


@pytest.fixture
def client_(client: Client) -> Client:
    return history(client)


def incident(client: Client, entity: str = "loads") -> str:
    body = {"wrong": [{"entity": entity, "instances": [DAY]}], "reason": "overwritten"}
    return str(post(client, "/api/v2/incidents", body).json()["id"])


def shown(found: Any) -> list[tuple[str, Any]]:
    return [(each["entity"], each["storage"]["delta_version"]) for each in found["restores"]]


def actions(found: Any) -> list[tuple[str, list[str]]]:
    return [(each["action"], each["entities"]) for each in found["groups"]]


def take(client: Client, id_: str, **more: Any) -> Any:
    return post(client, f"/api/v2/plans/{id_}/take", {"worker": "w1", "limit": 100, **more}).json()


def restore(client: Client, item: dict[str, Any], version: int) -> str:
    """Report what the item says."""
    (one,) = item["restore"]
    storage = {**one["storage"], "delta_version": version, "restored_from": one["restored_from"]}
    kept = ("entity", "instances", "seq", "reads", "code", "fingerprint", "states", "right")
    say(client, {"what": "produced", "ref": "back", "storage": storage, **{name: one[name] for name in kept}})
    body = {"attempt": item["attempt"], "run": "back"}
    return str(post(client, f"/api/v2/plans/{item['plan']}/items/{item['number']}/end", body).json()["item"])


def wrong(client: Client) -> list[str]:
    found = []
    for entity in ("loads", "reads", "report"):
        stretches = client.get(f"/api/v2/entities/{entity}/status?instances={DAY}").json()["stretches"]
        kinds = {mark["kind"] for each in stretches for mark in each["marks"]}
        found += [f"{entity} {kind}" for kind in sorted(kinds & {"wrong", "repairing"})]
    return found


def test_what_events_of_spark_told_is_enough(client: Client, database: Database, run: Any) -> None:
    """Its capture names the version of a Delta table that a query left, and the code; nothing is reported by hand."""
    yaml = "entity: loads\nperiod: {every: day, from: 2024-01-01}\nstored_in: [file /lake/loads]\n"
    assert declare(client, yaml).status_code == 200
    run(now(database))
    told = {"nominalTime": facet(nominalStartTime=f"{DAY}T00:00:00Z")}
    for number, code in ((1, "v1"), (2, "v2")):
        output = dataset(
            "/lake/loads",
            storage=facet(storageLayer="delta", fileFormat="parquet"),
            version=facet(datasetVersion=str(number)) | {"_producer": PRODUCER},
        )
        at = f"2024-03-07T0{number}:00:00Z"
        source = {"sourceCodeLocation": facet(type="git", url="https://git.test/x", version=code)}
        event = run_event("COMPLETE", number, "load", [], [output], at=at, run_facets=told, job_facets=source)
        assert client.post("/api/v1/lineage", encoded(event)).status_code == 201
    run(Feed(database).live(run(settled(database))))
    found = plan(client, incident=incident(client))
    assert (actions(found), shown(found)) == ([("restore", ["loads"])], [("loads", 1)])
    assert found["restores"][0]["storage"] == {"delta_version": 1, "table": "/lake/loads"}


@pytest.mark.parametrize("more", [{}, {"fingerprint": None}])
def test_all_go_back_upstream_first(client: Client, more: dict[str, Any]) -> None:
    client_ = history(client, **more)
    found = plan(client_, incident=incident(client_))
    assert actions(found) == [("restore", ["loads"]), ("restore", ["reads"]), ("restore", ["report"])]
    assert shown(found) == [("loads", 1), ("reads", 1), ("report", 1)]
    items = client_.get(f"/api/v2/plans/{found['id']}").json()["items"]
    assert [(each["number"], shown(each)) for each in items] == [
        (0, [("loads", 1)]),
        (1, [("reads", 1)]),
        (2, [("report", 1)]),
    ]
    assert items[0]["restores"][0]["run"] == "run1"
    post(client_, f"/api/v2/plans/{found['id']}/apply", {})
    for number, version in enumerate((7, 8, 9)):
        # An instance made from one that is not back yet waits for it.
        (item,) = take(client_, found["id"], actions=["restore"], producers=["package:other"])["items"]
        assert (item["number"], item["action"]) == (number, "restore")
        assert take(client_, found["id"])["wait"]
        assert item["restore"][0]["current"]["delta_version"] == 2
        assert restore(client_, item, version) == "done"
    assert wrong(client_) == []
    assert client_.get(f"/api/v2/plans/{found['id']}").json()["plan"]["state"] == "done"


def test_what_goes_back_may_go_back_again(client_: Client) -> None:
    found = plan(client_, incident=incident(client_))
    post(client_, f"/api/v2/plans/{found['id']}/apply", {})
    for version in (7, 8, 9):
        (item,) = take(client_, found["id"])["items"]
        assert restore(client_, item, version) == "done"
    say(client_, stored("loads", 10, code="v3"))
    assert shown(plan(client_, incident=incident(client_))) == [("loads", 7)]


def test_a_reader_of_nothing_but_what_goes_back_needs_no_run(client_: Client) -> None:
    """It was made before the day was overwritten, and is not wrong at all."""
    say(client_, stored("loads", 3, code="v3"))
    assert wrong(client_) == []
    found = plan(client_, incident=incident(client_))
    assert actions(found) == [("restore", ["loads"])]
    assert shown(found) == [("loads", 2)]


def test_who_was_made_from_something_else_does_not_go_back(client_: Client) -> None:
    """The loads go back to their second version, and what was made from the first is no more what they make."""
    say(client_, stored("loads", 3, code="v3"), stored("reads", 3, "loads", code="v1"))
    found = plan(client_, incident=incident(client_))
    assert shown(found) == [("loads", 2), ("reads", 2)]
    say(
        client_,
        stored("loads", 4, code="v2", fingerprint="else"),
        stored("loads", 5, code="v3"),
        stored("reads", 5, "loads", code="v1"),
    )
    found = plan(client_, incident=incident(client_))
    assert shown(found) == [("loads", 4)]
    assert ("rerun", ["reads"]) in actions(found)


def test_the_same_code_made_the_same_mistake(client_: Client) -> None:
    say(client_, stored("loads", 3, code="v2"), stored("loads", 4, code="v2"))
    id_ = incident(client_)
    assert shown(plan(client_, incident=id_))[0] == ("loads", 1)
    found = plan(client_, incident=id_, trust_stored=True)
    assert shown(found)[0] == ("loads", 3)
    post(client_, f"/api/v2/plans/{found['id']}/apply", {})
    (item,) = take(client_, found["id"])["items"]
    assert item["restore"][0]["right"]
    assert restore(client_, item, 9) == "done"


def test_unknown_code_does_not_count_as_other_code(client_: Client) -> None:
    say(client_, stored("loads", 3), stored("loads", 4))
    id_ = incident(client_)
    assert shown(plan(client_, incident=id_)) == []
    assert shown(plan(client_, incident=id_, trust_stored=True))[0] == ("loads", 3)


def test_what_needs_nothing_goes_back_without_a_record_of_reads(client: Client) -> None:
    assert declare(client, YAML).status_code == 200
    say(client, stored("loads", 1, code="v1", reads=None), stored("reads", 1, code="v1", reads=None))
    say(client, stored("loads", 2, code="v2", reads=None), stored("reads", 2, code="v1", reads=None))
    assert shown(plan(client, incident=incident(client))) == [("loads", 1)]


def test_nothing_goes_back_that_is_not_wanted(client_: Client) -> None:
    id_ = incident(client_)
    assert {action for action, _ in actions(plan(client_, incident=id_, restore=False))} == {"rerun"}
    named = plan(client_, wrong=[{"entity": "loads", "instances": [DAY]}])
    assert {action for action, _ in actions(named)} == {"rerun"}


@pytest.mark.parametrize(
    "between",
    [
        [{"entity": "loads", "what": "deleted", "instances": [DAY], "ref": "external"}],
        [{"entity": "loads", "what": "doubted", "instances": [DAY], "ref": "rows"}],
    ],
)
def test_what_was_deleted_or_doubted_does_not_go_back(client: Client, between: list[dict[str, Any]]) -> None:
    assert declare(client, YAML).status_code == 200
    say(client, stored("loads", 1, code="v1"))
    say(client, *between)
    say(client, stored("loads", 2, code="v2"))
    assert shown(plan(client, incident=incident(client))) == []


def test_what_changed_since_the_plan_was_made_is_not_gone_back_to(client_: Client) -> None:
    found = plan(client_, incident=incident(client_, "reads"))
    assert shown(found) == []  # its first version was made from other loads than there are
    say(client_, stored("loads", 3, code="v3", fingerprint="loads1"))
    found = plan(client_, incident=incident(client_, "reads"), trust_stored=True)
    assert shown(found) == [("reads", 1), ("report", 1)]
    post(client_, f"/api/v2/plans/{found['id']}/apply", {})
    say(client_, stored("loads", 4, code="v4"))
    work = take(client_, found["id"])
    assert (work["items"], work["state"]) == ([], "failed")
    items = client_.get(f"/api/v2/plans/{found['id']}?state=failed").json()["items"]
    assert [each["number"] for each in items] == [0, 1]
    assert "make a new plan" in items[0]["note"]
