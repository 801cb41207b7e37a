"""Instances that are wrong, and who used them: by schedule, and by recorded reads of the versions that their runs wrote."""

import datetime as dt
import json
from typing import Any

from tests.api.status.test_entities import declare
from tests.api.status.test_wrong_versions import START, at, held, incident, made, of_columns, runs, send
from tests.events import RUN, dataset, facet, run_event, schema
from tests.fixtures.app import Client

DAYS_AND_WEEKS = """
entity: parts
period: {every: day, from: 2026-01-01}
---
entity: sums
period: {every: week, from: 2025-12-29}
depends_on: {parts: same}
"""


def produced(client: Client, entity: str, run: int | None, *instances: str, **more: str) -> None:
    ref = {} if run is None else {"ref": RUN.format(run)}
    body = {"reports": [{"entity": entity, "what": "produced", "instances": list(instances), **ref, **more}]}
    reply = client.post("/api/v2/instances", json.dumps(body).encode(), content_type="application/json")
    assert reply.json()["results"][0]["seq"], reply.text


def taint(client: Client, entity: str, instance: str, **more: Any) -> dict[str, Any]:
    columns = more.pop("columns", [])
    body = {"wrong": [{"entity": entity, "instances": [instance], "columns": columns}], "reason": "half", **more}
    reply = client.post("/api/v2/incidents", json.dumps(body).encode(), content_type="application/json")
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def hits(found: dict[str, Any]) -> dict[str, list[str]]:
    return {hit["entity"]: hit["instances"] for hit in found["hits"]}


def test_recorded_reads_of_what_an_instance_is_are_followed(client: Client) -> None:
    """One run made two days in one version, one run two weeks of them; a report without a schedule read either. Only one day is wrong."""
    assert declare(client, DAYS_AND_WEEKS).status_code == 200
    produced(client, "parts", 1, "2026-01-02", "2026-01-06")
    produced(client, "sums", 2, "2026-W01", "2026-W02")
    send(
        client,
        run_event("COMPLETE", 1, "load", ["/src"], ["/parts"], at=at(1)),
        run_event("COMPLETE", 2, "sum", ["/parts"], ["/sums"], at=at(2)),
        run_event("COMPLETE", 3, "report", ["/sums"], ["/report"], at=at(3)),
        run_event("COMPLETE", 4, "other", ["/src"], ["/other"], at=at(4)),
    )
    found = taint(client, "parts", "2026-01-02")
    assert hits(found) == {"parts": ["2026-01-02"], "sums": ["2026-W01"]}
    assert (held(found["reads"]), runs(found["reads"])) == ({"parts", "sums", "report"}, {2, 3})
    shown = incident(client, found["id"])
    assert (held(shown["reads"]), runs(shown["reads"])) == ({"parts", "sums", "report"}, {2, 3})
    assert {each["entity"]: each["tainted"] + each["inherited"] for each in shown["entities"]} == hits(found)


def test_a_reader_whose_schedule_does_not_say_why_is_wrong_as_a_whole(client: Client) -> None:
    """The run made weeks that need neither day, and read the version of the day all the same."""
    assert declare(client, DAYS_AND_WEEKS).status_code == 200
    produced(client, "parts", 1, "2026-01-02")
    produced(client, "sums", 2, "2026-W02", "2026-W03")
    send(
        client,
        run_event("COMPLETE", 1, "load", ["/src"], ["/parts"], at=at(1)),
        run_event("COMPLETE", 2, "sum", ["/parts"], ["/sums"], at=at(2)),
    )
    assert hits(taint(client, "parts", "2026-01-02")) == {"parts": ["2026-01-02"], "sums": ["2026-W02..2026-W03"]}


def test_an_instance_is_right_by_whoever_makes_it_again_and_its_readers_are_not(client: Client) -> None:
    assert declare(client, DAYS_AND_WEEKS).status_code == 200
    produced(client, "parts", 1, "2026-01-02")
    send(
        client,
        run_event("COMPLETE", 1, "load", ["/src"], ["/parts"], at=at(1)),
        run_event("COMPLETE", 2, "report", ["/parts"], ["/report"], at=at(2)),
    )
    id_ = taint(client, "parts", "2026-01-02")["id"]
    assert client.post(f"/api/v2/incidents/{id_}/fix", b"{}", content_type="application/json").status_code == 200
    produced(client, "parts", None, "2026-01-02")
    shown = incident(client, id_)
    assert (shown["incident"]["wrong"], held(shown["reads"]), shown["incident"]["mended"]) == (0, {"report"}, False)
    send(client, run_event("COMPLETE", 3, "report", ["/right"], ["/report"], at=at(100)))
    assert incident(client, id_)["incident"]["mended"]


def test_columns_of_an_instance_spare_readers_of_other_columns(client: Client) -> None:
    assert declare(client, DAYS_AND_WEEKS).status_code == 200
    produced(client, "parts", 1, "2026-01-02")
    send(
        client,
        run_event("COMPLETE", 1, "load", ["/src"], [dataset("/parts", **schema("a", "b"))], at=at(1)),
        run_event("COMPLETE", 2, "one", ["/parts"], [made("/x", {"ax": [("/parts", "a")]})], at=at(2)),
        run_event("COMPLETE", 3, "two", ["/parts"], [made("/y", {"by": [("/parts", "b")]})], at=at(3)),
    )
    found = taint(client, "parts", "2026-01-02", columns=["a"])
    assert held(found["reads"]) == {"parts", "x"}
    assert held(incident(client, found["id"])["reads"]) == {"parts", "x"}


COLUMNS = """
entity: parts
period: {every: day, from: 2026-01-01}
stored_in: ["file /parts"]
---
entity: sums
period: {every: day, from: 2026-01-01}
depends_on: {parts: same}
stored_in: ["file /x"]
---
entity: tops
period: {every: day, from: 2026-01-01}
depends_on: {parts: same}
stored_in: ["file /y"]
"""


def test_columns_of_a_run_spare_readers_of_other_columns(client: Client) -> None:
    """By recorded reads and by the schedule of the instances that it made."""
    assert declare(client, COLUMNS).status_code == 200
    send(
        client,
        run_event("COMPLETE", 1, "load", ["/src"], [dataset("/parts", **schema("a", "b"))], at=at(1)),
        run_event("COMPLETE", 2, "one", ["/parts"], [made("/x", {"ax": [("/parts", "a")]})], at=at(2)),
        run_event("COMPLETE", 3, "two", ["/parts"], [made("/y", {"by": [("/parts", "b")]})], at=at(3)),
    )
    for entity, number in (("parts", 1), ("sums", 2), ("tops", 3)):
        produced(client, entity, number, "2026-01-02", at=at(number))
    found = of_columns(client, 1, "a")
    assert held(found["reads"]) == {"parts", "x"}
    assert hits(found) == {"parts": ["2026-01-02"], "sums": ["2026-01-02"]}
    assert {hit["entity"]: hit["columns"] for hit in found["hits"]} == {"parts": ["a"], "sums": ["ax"]}
    shown = incident(client, found["id"])
    assert held(shown["reads"]) == {"parts", "x"}
    assert {each["entity"]: each["tainted"] + each["inherited"] for each in shown["entities"]} == hits(found)


def test_what_a_person_confirmed_leads_to_no_reader(client: Client) -> None:
    assert declare(client, DAYS_AND_WEEKS).status_code == 200
    produced(client, "parts", 1, "2026-01-02")
    send(
        client,
        run_event("COMPLETE", 1, "load", ["/src"], ["/parts"], at=at(1)),
        run_event("COMPLETE", 2, "report", ["/parts"], ["/report"], at=at(2)),
    )
    id_ = taint(client, "parts", "2026-01-02")["id"]
    body = {"right": [{"entity": "parts", "instances": ["2026-01-02"]}]}
    where = f"/api/v2/incidents/{id_}/confirm"
    assert client.post(where, json.dumps(body).encode(), content_type="application/json").status_code == 200
    shown = incident(client, id_)
    assert (shown["reads"], shown["incident"]["mended"]) == (None, True)


def test_an_instance_of_which_nothing_was_recorded_has_no_reads(client: Client) -> None:
    assert declare(client, DAYS_AND_WEEKS).status_code == 200
    produced(client, "parts", None, "2026-01-02")
    send(client, run_event("COMPLETE", 9, "unrelated", ["/src"], ["/z"], at=at(1)))
    assert taint(client, "parts", "2026-01-02", dry_run=True)["reads"] is None


def test_the_dry_run_of_a_bad_run_plans_more_stretches_than_it_lists(client: Client) -> None:
    declaration = "entity: parts\nperiod: {every: day, from: 2026-01-01}\nproduced_by: [package:parts]\n"
    assert declare(client, declaration).status_code == 200
    days = [(START + dt.timedelta(days=2 * day)).date().isoformat() for day in range(130)]
    produced(client, "parts", 1, *days)
    send(client, run_event("COMPLETE", 1, "load", ["/src"], ["/parts"], at=at(1)))
    body = json.dumps({"run": RUN.format(1)}).encode()
    found = client.post("/api/v2/repair", body, content_type="application/json").json()
    (hit,) = found["incident"]["hits"]
    assert (len(hit["instances"]), hit["more"], found["plan"]["items"]) == (100, 30, 130)


def test_the_content_of_an_instance_says_which_version_it_is(client: Client) -> None:
    """One run made two days, each a file of its own, and tells their fingerprints. The reader of the other day is right."""
    assert declare(client, DAYS_AND_WEEKS).status_code == 200
    contents = {day: f"xxh3-128:{number:032x}" for number, day in enumerate(("2026-01-02", "2026-01-03"), 1)}
    for day, content in contents.items():
        produced(client, "parts", 1, day, fingerprint=content)
    written = [dataset("/parts", version={**facet(), "datasetVersion": content}) for content in contents.values()]
    send(
        client,
        run_event("RUNNING", 1, "load", ["/src"], written[:1], at=at(1)),
        run_event("COMPLETE", 1, "load", [], written[1:], at=at(1)),
        run_event("COMPLETE", 2, "first", written[:1], ["/first"], at=at(3)),
        run_event("COMPLETE", 3, "second", written[1:], ["/second"], at=at(4)),
    )
    found = taint(client, "parts", "2026-01-02")
    assert (held(found["reads"]), runs(found["reads"])) == ({"parts", "first"}, {2})
    assert held(incident(client, found["id"])["reads"]) == {"parts", "first"}
