"""A failed check of a table that no run wrote is an incident, and its owner is told; a check that passes later ends it."""

import datetime as dt
from typing import Any

import pytest
from tests.api.alerts.test_subscriptions import subscribe, told
from tests.api.status.test_open_incidents import ask
from tests.events import encoded, facet, run_event
from tests.fixtures.app import Client

from headwater.intake.events.accept import Intake
from headwater.store.database import Database

Event = dict[str, Any]
OWNER = {"ownership": facet(owners=[{"name": "ada", "type": "maintainer"}])}


def at(hours: float) -> str:
    return (dt.datetime.now(dt.UTC) - dt.timedelta(hours=hours)).isoformat()


def assertions(success: bool) -> Event:
    return {"dataQualityAssertions": facet(assertions=[{"assertion": "not_null", "column": "id", "success": success}])}


def raw(**more: Any) -> Event:
    return {"namespace": "file", "name": "/raw", "facets": OWNER, **more}


def by_assertion(success: bool, hours: float) -> Event:
    return run_event("COMPLETE", 1 + success, "check", [raw(inputFacets=assertions(success))], [], at=at(hours))


def by_test(success: bool, hours: float) -> Event:
    """Return the event of a dbt test: results of the run, which read the source."""
    results = {"test": facet(tests=[{"name": "not_null", "status": "pass" if success else "fail"}])}
    return run_event("COMPLETE", 1 + success, "dbt test", [raw()], [], at=at(hours), run_facets=results)


def by_great_expectations(success: bool, hours: float) -> Event:
    results = facet(assertions=[{"expectationType": "not_null", "column": "id", "success": success}])
    read = raw(inputFacets={"greatExpectations_assertions": results})
    return run_event("COMPLETE", 1 + success, "validate", [read], [], at=at(hours))


def by_dataset_event(success: bool, hours: float) -> Event:
    return {"eventTime": at(hours), "producer": "p", "dataset": raw(facets=OWNER | assertions(success))}


EVENTS = [by_assertion, by_test, by_great_expectations, by_dataset_event]


def send(client: Client, *events: Event) -> None:
    for event in events:
        assert client.post("/api/v1/lineage", encoded(event)).status_code == 201


@pytest.mark.parametrize("event", EVENTS)
def test_a_failed_check_is_an_incident_until_it_passes(client: Client, event: Any) -> None:
    send(client, event(False, 2))
    (found,) = ask(client)["incidents"]
    assert (found["kind"], found["id"], found["owners"]) == ("doubted", "dataset:file:/raw", ["ada"])
    assert found["cause"] == {"kind": "dataset", "id": "dataset:file:/raw", "label": "raw"}
    assert found["text"].startswith("check not_null")
    assert (
        found["plan"] == "mend it, and check it again; who reads it: headwater lineage 'dataset:file:/raw' --downstream"
    )
    send(client, event(True, 1))
    assert ask(client)["incidents"] == []


@pytest.mark.parametrize("event", EVENTS[:2])
def test_a_check_that_passed_before_changes_nothing(client: Client, event: Any) -> None:
    send(client, event(False, 1), event(True, 2))
    assert [one["kind"] for one in ask(client)["incidents"]] == ["doubted"]


def test_it_is_about_all_names_of_the_table(client: Client) -> None:
    links = {"symlinks": facet(identifiers=[{"namespace": "hive", "name": "raw", "type": "TABLE"}])}
    linked = {"eventTime": at(3), "producer": "p", "dataset": raw(facets=links)}
    send(client, by_assertion(False, 2), linked)
    assert len(ask(client)["incidents"]) == 1
    other = {"namespace": "hive", "name": "raw", "inputFacets": assertions(True)}
    send(client, run_event("COMPLETE", 7, "check", [other], [], at=at(1)))
    assert ask(client)["incidents"] == []


def test_a_table_that_is_written_later_is_another(client: Client) -> None:
    send(client, by_assertion(False, 2), run_event("COMPLETE", 5, "load", [], ["/raw"], at=at(1)))
    assert ask(client)["incidents"] == []


def test_a_warning_and_a_write_of_another_table_are_none(client: Client) -> None:
    warned = facet(assertions=[{"assertion": "not_null", "success": False, "severity": "warn"}])
    read = raw(inputFacets={"dataQualityAssertions": warned})
    send(client, run_event("COMPLETE", 1, "check", [read], ["/report"], at=at(1)))
    assert ask(client)["incidents"] == []


@pytest.mark.parametrize("event", EVENTS)
def test_its_owner_is_told(served: Any, database: Database, run: Any, event: Any) -> None:
    server = served(alerts={"enabled": False}, entities={"feed": False})
    assert subscribe(server, "dataset:file:/raw", events=["failed_check"]).status_code == 200
    run(Intake(database).accept_each([encoded(event(False, -0.001))]))
    assert {address for some in told(database, run).values() for address in some} == {"ana@example.com"}
