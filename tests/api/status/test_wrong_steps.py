"""Instances that one run reports and the steps below it write: a verdict or check on a step, on what it wrote or on a content is one on its instances."""

import json
from typing import Any

import pytest
from tests.api.status.test_doubted_instances import instances as doubted_instances
from tests.api.status.test_doubted_versions import checked
from tests.api.status.test_entities import declare
from tests.api.status.test_wrong_instances import hits, produced, taint
from tests.api.status.test_wrong_versions import at, condemn, incident, runs, send
from tests.events import RUN, dataset, facet, parent, run_event
from tests.fixtures.app import Client

SCHEDULES = """
entity: parts
period: {every: day, from: 2026-01-01}
stored_in: ["file /parts"]
---
entity: sums
period: {every: week, from: 2025-12-29}
depends_on: {parts: same}
"""


def named(number: int) -> str:
    return f"xxh3-128:{number:032x}"


def version(name: str, number: int) -> dict[str, Any]:
    return dataset(name, version={**facet(), "datasetVersion": named(number)})


def step(run: int, job: str, inputs: list[Any], outputs: list[Any], minute: int, above: int = 1) -> dict[str, Any]:
    below = parent(above, "package" if above == 1 else "week")
    return run_event("COMPLETE", run, job, inputs, outputs, at=at(minute), run_facets=below)


@pytest.fixture
def package(client: Client) -> Client:
    """Run 1 reports two days; its steps 11 and 12 write one each, 13 a log. Run 2 reports both weeks; its steps 21 and 22 write one each."""
    assert declare(client, SCHEDULES).status_code == 200
    send(
        client,
        step(11, "day", ["/monday"], [version("/parts", 2)], 1),
        step(12, "day", ["/other"], [version("/parts", 6)], 2),
        step(13, "log", ["/other"], ["/log"], 3),
        run_event("COMPLETE", 1, "package", at=at(4)),
        step(21, "sum", [version("/parts", 2)], [version("/sums", 101)], 5, above=2),
        step(22, "sum", [version("/parts", 6)], [version("/sums", 102)], 6, above=2),
        run_event("COMPLETE", 2, "week", at=at(7)),
        run_event("COMPLETE", 3, "first", [version("/sums", 101)], ["/first"], at=at(8)),
        run_event("COMPLETE", 4, "second", [version("/sums", 102)], ["/second"], at=at(9)),
    )
    for entity, run, instance, content in (
        ("parts", 1, "2026-01-02", 2),
        ("parts", 1, "2026-01-06", 6),
        ("sums", 2, "2026-W01", 101),
        ("sums", 2, "2026-W02", 102),
    ):
        produced(client, entity, run, instance, fingerprint=named(content))
    return client


MADE = {("parts", named(2)), ("sums", named(101)), ("first", None)}


def written(reads: dict[str, Any]) -> set[tuple[str, str | None]]:
    return {(one["label"], one["external_version"]) for one in reads["versions"]}


FIRST = {"parts": ["2026-01-02"], "sums": ["2026-W01"]}


def test_a_step_is_what_it_made_and_nothing_of_its_siblings(package: Client) -> None:
    found = condemn(package, ("RUN", RUN.format(11)))
    assert hits(found) == FIRST
    assert (written(found["reads"]), runs(found["reads"])) == (MADE, {11, 2, 21, 3})
    shown = incident(package, found["id"])
    assert {each["entity"]: each["tainted"] + each["inherited"] for each in shown["entities"]} == FIRST
    assert (written(shown["reads"]), runs(shown["reads"])) == (MADE, {11, 2, 21, 3})
    ways = {one["label"]: one["entities"] for one in shown["reads"]["repeat"]}
    assert ways == {"first": []}


def test_the_content_that_an_instance_is(package: Client) -> None:
    found = condemn(package, ("CONTENT", named(2)))
    assert hits(found) == FIRST
    assert written(found["reads"]) == MADE


def test_a_content_that_only_a_report_names(package: Client) -> None:
    produced(package, "parts", None, "2026-01-03", fingerprint=named(3))
    assert hits(condemn(package, ("CONTENT", named(3)), dry_run=True)) == {
        "parts": ["2026-01-03"],
        "sums": ["2026-W01"],
    }
    condemn(package, ("CONTENT", named(4)), status=404)


def test_a_step_that_used_something_wrong(package: Client) -> None:
    send(package, run_event("COMPLETE", 5, "deliver", ["/src"], ["/monday"], at=at(0)))
    assert hits(condemn(package, ("RUN", RUN.format(5)), dry_run=True)) == FIRST


def test_one_version_of_a_step(package: Client) -> None:
    found = condemn(package, ("RUN", RUN.format(11)), dry_run=True)
    (id_,) = (each["version_id"] for each in found["reads"]["versions"] if each["dataset"].endswith("/parts"))
    assert hits(condemn(package, ("VERSION", id_), dry_run=True)) == FIRST


def test_steps_of_which_no_content_is_known(package: Client) -> None:
    """Without a content an instance may be anything that its run wrote to the datasets that hold it, and nothing else."""
    send(
        package,
        step(31, "bare", ["/src"], ["/parts"], 21, above=3),
        step(32, "beside", ["/src"], ["/log"], 22, above=3),
    )
    produced(package, "parts", 3, "2026-01-04")
    assert hits(condemn(package, ("RUN", RUN.format(31)), dry_run=True))["parts"] == ["2026-01-04"]
    assert hits(condemn(package, ("RUN", RUN.format(32)), dry_run=True)) == {}


def test_a_failed_check_of_what_a_step_wrote(package: Client) -> None:
    one = checked("/parts")
    one["facets"] |= version("/parts", 2)["facets"]
    send(package, run_event("COMPLETE", 41, "check", [one], at=at(30)))
    assert doubted_instances(package) == {"parts@2026-01-02", "sums@2026-W01"}


def test_what_was_made_again_is_right(package: Client) -> None:
    id_ = condemn(package, ("RUN", RUN.format(11)))["id"]
    assert package.post(f"/api/v2/incidents/{id_}/fix", b"{}", content_type="application/json").status_code == 200
    send(package, step(51, "day", ["/right"], [version("/parts", 52)], 200, above=5))
    produced(package, "parts", 5, "2026-01-02", fingerprint=named(52))
    shown = incident(package, id_)
    assert {each["entity"]: (each["repaired"], each["inherited"]) for each in shown["entities"]} == {
        "parts": (["2026-01-02"], []),
        "sums": ([], ["2026-W01"]),
    }


def test_the_same_content_made_again_was_right_all_along(package: Client) -> None:
    """Only of a run that began after the cause was fixed, and used nothing wrong: what used the content is right then, and not made again."""
    id_ = condemn(package, ("RUN", RUN.format(11)))["id"]
    body = json.dumps({"at": at(500)}).encode()
    assert package.post(f"/api/v2/incidents/{id_}/fix", body, content_type="application/json").status_code == 200

    def wrong() -> set[tuple[str, str | None]]:
        return written(incident(package, id_)["reads"])

    send(package, step(81, "day", ["/monday"], [version("/parts", 2)], 400, above=8))
    assert wrong() == MADE
    send(package, run_event("COMPLETE", 91, "copy", [version("/sums", 101)], [version("/parts", 2)], at=at(550)))
    assert wrong() >= MADE
    send(package, step(82, "day", ["/monday"], [version("/parts", 2)], 600, above=8))
    produced(package, "parts", 8, "2026-01-02", fingerprint=named(2))
    shown = incident(package, id_)
    assert (written(shown["reads"]), shown["incident"]["versions"], shown["incident"]["wrong"]) == (set(), 0, 0)
    assert shown["incident"]["mended"]


def test_an_instance_that_was_wrong_is_nothing_to_go_back_to(package: Client) -> None:
    """Not after it was made again either: the version of an incident stays wrong."""

    def part(number: int) -> dict[str, Any]:
        item = {"headwater_item": facet(id=RUN.format(900 + number), fingerprint=named(number))}
        return version("/parts/day=2026-01-02", number) | {"outputFacets": item}

    for run, content in ((5, 51), (6, 52), (7, 53)):
        send(package, step(10 * run, "day", ["/monday"], [part(content)], 100 * run, above=run))
        produced(package, "parts", run, "2026-01-02", fingerprint=named(content))
        if content == 52:
            taint(package, "parts", "2026-01-02")
    found = condemn(package, ("RUN", RUN.format(70)), dry_run=True)["reads"]["versions"]
    assert [each["right_before"] for each in found if each["external_version"] == named(53)] == [named(51)]


def test_all_that_a_dataset_holds(package: Client) -> None:
    """The instances of its schedule are meant, too, also those of which only a report is known."""
    produced(package, "parts", None, "2026-01-13")
    found = condemn(package, ("DATASET", "dataset:file:/parts"))
    assert hits(found) == {"parts": ["2026-01-02", "2026-01-06", "2026-01-13"], "sums": ["2026-W01..2026-W02"]}
