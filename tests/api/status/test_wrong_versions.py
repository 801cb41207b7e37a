"""Runs, versions and contents that are wrong: who used them, by recorded reads; what is to be run again; and when it is over."""

import datetime as dt
import json
import random
from typing import Any, NamedTuple

import pytest
from tests.api.lineage.correlated import content, tell
from tests.api.status.test_entities import declare
from tests.events import RUN, columns, dataset, encoded, facet, run_event, schema
from tests.fixtures.app import Client
from tests.scale import full

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def at(minute: int) -> str:
    return (START + dt.timedelta(minutes=minute)).isoformat()


def send(client: Client, *events: dict[str, Any]) -> None:
    for event in events:
        assert client.post("/api/v1/lineage", encoded(event)).status_code == 201


def condemn(client: Client, *origins: tuple[str, str], status: int = 200, **more: Any) -> dict[str, Any]:
    body = {"origins": [{"kind": kind, "ref": ref} for kind, ref in origins], "reason": "half is missing", **more}
    reply = client.post("/api/v2/incidents", json.dumps(body).encode(), content_type="application/json")
    assert reply.status_code == status, reply.text
    return dict(reply.json())


def incident(client: Client, id_: str) -> dict[str, Any]:
    reply = client.get(f"/api/v2/incidents/{id_}")
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def runs(reads: dict[str, Any]) -> set[int]:
    return {int(one["run_id"][-12:]) for one in reads["runs"]}


def held(reads: dict[str, Any]) -> set[str]:
    return {one["dataset"].rsplit("/", 1)[-1] for one in reads["versions"] if one["current"]}


def days(client: Client, count: int) -> None:
    """Every day `load` writes /a, `build` makes /b of it, `report` makes /c of that; runs are 10 × day + 1, 2, 3."""
    for day in range(1, count + 1):
        send(
            client,
            run_event("COMPLETE", 10 * day + 1, "load", ["/src"], ["/a"], at=at(100 * day)),
            run_event("COMPLETE", 10 * day + 2, "build", ["/a"], ["/b"], at=at(100 * day + 1)),
            run_event("COMPLETE", 10 * day + 3, "report", ["/b"], ["/c"], at=at(100 * day + 2)),
        )


def test_a_run_and_what_was_made_from_it_and_nothing_else(client: Client) -> None:
    days(client, 3)
    found = condemn(client, ("RUN", RUN.format(31)), dry_run=True)
    assert (found["id"], found["hits"], runs(found["reads"])) == (None, [], {31, 32, 33})
    assert held(found["reads"]) == {"a", "b", "c"}
    assert [(each["label"], [job.rsplit(":", 1)[-1] for job in each["after"]]) for each in found["reads"]["repeat"]] == [
        ("load", []), ("build", ["load"]), ("report", ["build"])
    ]  # fmt: skip
    assert {each["basis"] for each in found["reads"]["runs"]} == {"exact", "by_time"}
    assert client.get("/api/v2/incidents").json()["total"] == 0, "a dry run writes nothing"
    old = condemn(client, ("RUN", RUN.format(21)), dry_run=True)["reads"]
    assert (runs(old), held(old), old["repeat"]) == ({21, 22, 23}, set(), []), "every version of that day was replaced"


def test_owners_teams_and_the_path_of_each_who_is_hit(client: Client) -> None:
    days(client, 1)
    facets = {"ownership": facet(owners=[{"name": "ada"}]), "tags": facet(tags=[{"key": "team", "value": "sales"}])}
    send(
        client,
        run_event("COMPLETE", 14, "report", ["/b"], [dataset("/c", **facets)], at=at(110)),
        run_event("COMPLETE", 15, "beside", ["/src"], [dataset("/d", **facets)], at=at(111)),
    )
    found = condemn(client, ("RUN", RUN.format(11)), dry_run=True)["reads"]
    path = [
        "job:test:load",
        "dataset:file:/a",
        "job:test:build",
        "dataset:file:/b",
        "job:test:report",
        "dataset:file:/c",
    ]
    assert found["hit"] == [{"dataset": "dataset:file:/c", "owners": ["ada"], "teams": ["sales"], "path": path}]


def test_an_incident_is_over_when_nothing_wrong_is_held(client: Client) -> None:
    days(client, 2)
    id_ = condemn(client, ("RUN", RUN.format(21)))["id"]
    for run, job, read, written, left in (
        (91, "load", "/src", "/a", 2),
        (92, "build", "/a", "/b", 1),
        (93, "report", "/b", "/c", 0),
    ):
        send(client, run_event("COMPLETE", run, job, [read], [written], at=at(1000 + run)))
        shown = incident(client, id_)
        assert (shown["incident"]["versions"], shown["incident"]["mended"], shown["reads"]["current"]) == (
            left,
            not left,
            left,
        )
    (listed,) = client.get("/api/v2/incidents").json()["incidents"]
    assert (listed["mended"], listed["state"]) == (True, "open")
    send(client, run_event("FAIL", 94, "report", ["/b"], ["/c"], at=at(2000)))
    assert incident(client, id_)["incident"]["mended"], "a failed run replaces nothing"


def test_what_may_have_been_added_to_is_said(client: Client) -> None:
    """No event says whether the second version of /kept replaced the first or was added to it."""
    over = {"lifecycleStateChange": facet(lifecycleStateChange="OVERWRITE")}
    send(
        client,
        run_event("COMPLETE", 1, "load", ["/src"], ["/kept", dataset("/replaced", **over)], at=at(1)),
        run_event("COMPLETE", 2, "load", ["/src"], ["/kept", dataset("/replaced", **over)], at=at(2)),
    )
    found = condemn(client, ("RUN", RUN.format(1)), dry_run=True)["reads"]
    assert (found["current"], found["unconfirmed"]) == (0, ["dataset:file:/kept"])


def test_a_repair_in_the_wrong_order_is_no_repair(client: Client) -> None:
    days(client, 1)
    id_ = condemn(client, ("RUN", RUN.format(11)))["id"]
    send(
        client,
        run_event("COMPLETE", 92, "build", ["/a"], ["/b"], at=at(1001)),
        run_event("COMPLETE", 91, "load", ["/src"], ["/a"], at=at(1002)),
        run_event("COMPLETE", 93, "report", ["/b"], ["/c"], at=at(1003)),
    )
    found = incident(client, id_)["reads"]
    assert (held(found), runs(found)) == ({"b", "c"}, {11, 12, 13, 92, 93})
    assert [each["label"] for each in found["repeat"]] == ["build", "report"]


def test_a_failed_run_that_read_something_wrong_left_nothing(client: Client) -> None:
    days(client, 1)
    send(client, run_event("FAIL", 14, "report", ["/b"], ["/c"], at=at(200)))
    found = condemn(client, ("RUN", RUN.format(11)), dry_run=True)["reads"]
    assert runs(found) == {11, 12, 13, 14}
    assert {(each["run_id"][-2:], each["current"]) for each in found["versions"]} == {
        ("11", True), ("12", True), ("13", True), ("14", False)
    }  # fmt: skip


def test_one_version_and_what_to_go_back_to(client: Client) -> None:
    def table(version: str) -> dict[str, Any]:
        return dataset("/t", version=facet(datasetVersion=version))

    for number in (1, 2, 3):
        send(client, run_event("COMPLETE", number, "load", ["/src"], [table(str(number))], at=at(number)))
    send(
        client,
        run_event("COMPLETE", 11, "old", [table("2")], ["/old"], at=at(11)),
        run_event("COMPLETE", 12, "new", [table("3")], ["/new"], at=at(12)),
        run_event("COMPLETE", 13, "any", ["/t"], ["/any"], at=at(13)),
    )
    written = {
        each["external_version"]: each["version_id"]
        for number in (1, 2, 3)
        for each in client.get(f"/api/v2/runs/{RUN.format(number)}/lineage", depth=1).json()["nodes"]
        if each["type"] == "VERSION" and each["version_id"]
    }
    found = condemn(client, ("VERSION", written["3"]))["reads"]
    assert (runs(found), held(found)) == ({12, 13}, {"t", "new", "any"})
    basis = {each["label"]: each["basis"] for each in found["runs"]}
    assert basis == {"new": "exact", "any": "by_time"}, (
        "the one names the version, the other was there when it was current"
    )
    before = {each["label"]: each["right_before"] for each in found["versions"]}
    assert before["t"] == "2"
    assert runs(condemn(client, ("VERSION", written["2"]))["reads"]) == {11}
    assert condemn(client, ("VERSION", "x"), status=400)["message"].startswith("'x' is not the id of a version")
    condemn(client, ("VERSION", RUN.format(999)), status=404)
    condemn(client, ("RUN", RUN.format(999)), status=404)


def test_a_part_goes_back_to_what_it_was_itself(client: Client) -> None:
    """Not to what the dataset's other parts were written with since. A number counts the snapshots of a whole table, whatever part a run wrote."""

    def part(hour: str, content: str, item: int | None = None, name: str = "/parts") -> dict[str, Any]:
        subset = {"type": "partition", "partitions": [{"identifier": hour, "dimensions": {"hour": hour}}]}
        facets = {"subset": facet(outputCondition=subset)}
        if item is not None:
            id_ = f"0199c0de-2222-7000-8000-{item:012d}"
            facets, name = {"headwater_item": facet(id=id_, fingerprint=content)}, f"{name}/hour={hour}"
        return dataset(name, version=facet(datasetVersion=content)) | {"outputFacets": facets}

    names = {hour: [f"xxh3-128:{hour}{number}" for number in (1, 2)] for hour in "abc"}
    send(
        client,
        run_event("COMPLETE", 1, "load", ["/s"], [part("a", names["a"][0], 1), part("b", names["b"][0], 2)], at=at(1)),
        run_event("COMPLETE", 2, "load", ["/s"], [part("b", names["b"][1], 3), part("c", names["c"][0], 4)], at=at(2)),
        run_event("COMPLETE", 3, "load", ["/s"], [part("a", names["a"][1], 5)], at=at(3)),
        *(
            run_event("COMPLETE", 10 + n, "copy", ["/s"], [part(hour, f"etag-{n}", name="/etags")], at=at(n))
            for n, hour in enumerate("aba")
        ),
        *(
            run_event("COMPLETE", 20 + n, "snap", ["/s"], [part(hour, str(n), name="/snapshots")], at=at(n))
            for n, hour in enumerate("aba")
        ),
    )
    found = {
        one["external_version"]: one["right_before"]
        for number in (2, 3, 11, 12, 22)
        for one in condemn(client, ("RUN", RUN.format(number)), dry_run=True)["reads"]["versions"]
        if one["current"]
    }
    assert found == {
        names["b"][1]: names["b"][0], names["c"][0]: None, names["a"][1]: names["a"][0],
        "etag-1": None, "etag-2": "etag-0", "2": "1",
    }  # fmt: skip


def test_what_was_wrong_before_is_nothing_to_go_back_to(client: Client) -> None:
    def table(version: int) -> dict[str, Any]:
        return dataset("/t", version=facet(datasetVersion=str(version)))

    for number in range(1, 6):
        send(client, run_event("COMPLETE", number, "load", ["/src"], [table(number)], at=at(number)))
    version = next(
        one["version_id"]
        for one in client.get(f"/api/v2/runs/{RUN.format(3)}/lineage", depth=1).json()["nodes"]
        if one.get("external_version") == "3"
    )
    retracted = condemn(client, ("RUN", RUN.format(4)))["id"]
    condemn(client, ("VERSION", version))
    condemn(client, ("RUN", RUN.format(2)))

    def right_before() -> str | None:
        (found,) = condemn(client, ("RUN", RUN.format(5)), dry_run=True)["reads"]["versions"]
        return str(found["right_before"])

    assert right_before() == "1"
    reply = client.post(f"/api/v2/incidents/{retracted}/retract", b"{}", content_type="application/json")
    assert reply.status_code == 200, reply.text
    assert right_before() == "4"


def test_what_was_made_from_something_wrong_is_nothing_to_go_back_to(client: Client) -> None:
    """An incident about a run says so, or a failed check."""

    def named(table: str, number: int) -> dict[str, Any]:
        return dataset(table, version=facet(datasetVersion=f"{table}-{number}"))

    for day in range(1, 5):
        send(
            client,
            run_event("COMPLETE", 10 * day + 1, "load", ["/src"], [named("/a", day)], at=at(100 * day)),
            run_event("COMPLETE", 10 * day + 2, "build", [named("/a", day)], [named("/b", day)], at=at(100 * day + 1)),
        )

    def right_before() -> list[str]:
        found = condemn(client, ("RUN", RUN.format(42)), dry_run=True)["reads"]["versions"]
        return [one["right_before"] for one in found]

    assert right_before() == ["/b-3"]
    id_ = condemn(client, ("RUN", RUN.format(31)))["id"]
    assert right_before() == ["/b-2"]
    failed = {"dataQualityAssertions": facet(assertions=[{"assertion": "not_null", "success": False}])}
    checked = dataset("/a", version=facet(datasetVersion="/a-2"), **failed)
    send(client, run_event("COMPLETE", 90, "check", [checked], at=at(210)))
    assert right_before() == ["/b-1"]
    assert client.post(f"/api/v2/incidents/{id_}/retract", b"{}", content_type="application/json").status_code == 200
    assert right_before() == ["/b-3"]


def test_a_part_that_was_written_again_leaves_the_others_as_they_are(client: Client) -> None:
    """A run writes three parts, each with a content of its own; another writes one of them again: two are still held, and the run is to be repeated."""

    def part(hour: str, content: str, item: int) -> dict[str, Any]:
        told = {"headwater_item": facet(id=f"0199c0de-2222-7000-8000-{item:012d}", fingerprint=content)}
        return dataset(f"/parts/hour={hour}", version=facet(datasetVersion=content)) | {"outputFacets": told}

    first = [part(hour, f"xxh3-128:{hour}1", n) for n, hour in enumerate("abc")]
    send(
        client,
        run_event("COMPLETE", 1, "load", ["/s"], first, at=at(1)),
        run_event("COMPLETE", 2, "load", ["/s"], [part("b", "xxh3-128:b2", 9)], at=at(2)),
    )
    found = condemn(client, ("RUN", RUN.format(1)), dry_run=True)["reads"]
    assert {one["external_version"] for one in found["versions"] if one["current"]} == {"xxh3-128:a1", "xxh3-128:c1"}
    assert [one["job"] for one in found["repeat"]] == ["job:test:load"]
    whole = condemn(client, ("DATASET", "dataset:file:/parts"), dry_run=True)["reads"]
    assert {one["external_version"] for one in whole["versions"]} == {"xxh3-128:a1", "xxh3-128:b2", "xxh3-128:c1"}
    send(
        client,
        run_event("COMPLETE", 3, "load", ["/s"], ["/parts"], at=at(3)),
        run_event("FAIL", 4, "load", ["/s"], ["/parts"], at=at(4)),
    )
    (one,) = condemn(client, ("DATASET", "dataset:file:/parts"), dry_run=True)["reads"]["versions"]
    assert one["run_id"] == RUN.format(3)
    refused = condemn(client, ("DATASET", "dataset:file:/s"), dry_run=True, status=400)
    assert "no version of dataset:file:/s is recorded" in refused["message"]
    condemn(client, ("DATASET", "dataset:file:/never"), dry_run=True, status=404)


def test_a_content_and_the_steps_that_read_it(client: Client) -> None:
    """One delivered file reaches everything; one series only its sum and the descendants of that; the weather nothing."""
    told = tell(client, "flow")
    whole = condemn(client, ("CONTENT", content(told, "/landing/meters_202101.csv.gz")), dry_run=True)["reads"]
    assert {each["run_id"][-2:] for each in whole["runs"]} == {"01", "02", "03", "04", "08", "09"}
    part = condemn(client, ("CONTENT", content(told, "TS01")), dry_run=True)["reads"]
    assert {each["run_id"][-2:] for each in part["runs"]} == {"03", "04", "08", "09"}
    assert {each["basis"] for each in part["runs"]} == {"exact"}
    condemn(client, ("CONTENT", "xxh3-128:" + "0" * 32), status=404)
    condemn(client, ("CONTENT", "no fingerprint"), status=400)


def item(name: str, number: int, side: str) -> dict[str, Any]:
    fingerprint = f"xxh3-128:{number:032x}"
    return dataset(name) | {side: {"headwater_item": facet(id=RUN.format(number), fingerprint=fingerprint)}}


def test_a_reader_that_names_its_items_is_hit_through_those_only(client: Client) -> None:
    """Both items are in one dataset, whose current version was written by the second run when both readers began."""
    send(
        client,
        run_event("COMPLETE", 1, "one", ["/src"], [item("/parts", 501, "outputFacets")], at=at(1)),
        run_event("COMPLETE", 2, "two", ["/src"], [item("/parts", 502, "outputFacets")], at=at(2)),
        run_event("COMPLETE", 3, "reads one", [item("/parts", 501, "inputFacets")], ["/x"], at=at(3)),
        run_event("COMPLETE", 4, "reads two", [item("/parts", 502, "inputFacets")], ["/y"], at=at(4)),
        run_event("COMPLETE", 5, "reads what is there", ["/parts"], ["/z"], at=at(5)),
    )
    first = condemn(client, ("RUN", RUN.format(1)), dry_run=True)["reads"]
    assert runs(first) == {1, 3}
    second = condemn(client, ("RUN", RUN.format(2)), dry_run=True)["reads"]
    assert runs(second) == {2, 4, 5}
    assert {each["label"]: each["basis"] for each in second["runs"]}["reads two"] == "exact"


SCHEDULED = """
entity: parts
period: {every: day, from: 2026-01-01}
stored_in: ["file /parts"]
---
entity: sums
owner: grace
tags: {team: sales}
period: {every: week, from: 2025-12-29}
depends_on: {parts: same}
"""


def test_schedules_and_recorded_reads_meet(client: Client) -> None:
    """The run made a day; the week needs the day; the run that made the week wrote a table that has no schedule, and that was read."""
    assert declare(client, SCHEDULED).status_code == 200
    for entity, instance, run in (("parts", "2026-01-02", 1), ("parts", "2026-01-03", 9), ("sums", "2026-W01", 2)):
        body = {"reports": [{"entity": entity, "what": "produced", "instances": [instance], "ref": RUN.format(run)}]}
        reply = client.post("/api/v2/instances", json.dumps(body).encode(), content_type="application/json")
        assert reply.json()["results"][0]["seq"], reply.text
    send(
        client,
        run_event("COMPLETE", 1, "load", ["/src"], ["/elsewhere"], at=at(1)),
        run_event("COMPLETE", 2, "sum", ["/unseen"], ["/sums"], at=at(2)),
        run_event("COMPLETE", 3, "report", ["/sums"], ["/report"], at=at(3)),
    )
    found = condemn(client, ("RUN", RUN.format(1)))
    hits = {hit["entity"]: hit["instances"] for hit in found["hits"]}
    assert hits == {"parts": ["2026-01-02"], "sums": ["2026-W01"]}
    assert {hit["entity"]: (hit["owners"], hit["teams"]) for hit in found["hits"]} == {
        "parts": ([], []),
        "sums": (["grace"], ["sales"]),
    }
    assert runs(found["reads"]) == {1, 2, 3}
    shown = incident(client, found["id"])
    assert (runs(shown["reads"]), shown["incident"]["wrong"], shown["incident"]["versions"]) == ({1, 2, 3}, 2, 3)
    assert shown["origins"] == [{"kind": "RUN", "ref": RUN.format(1), "columns": []}]
    reply = client.post(f"/api/v2/incidents/{found['id']}/retract", b"{}", content_type="application/json")
    assert reply.status_code == 200
    assert incident(client, found["id"])["incident"]["mended"]


def made(name: str, fields: dict[str, list[tuple[str, str]]]) -> dict[str, Any]:
    """A dataset with its columns, and what each is made from."""
    told = {column: [(read, field, "DIRECT:IDENTITY") for read, field in sources] for column, sources in fields.items()}
    return dataset(name, **schema(*fields), **columns(told))


def of_columns(client: Client, run: int, *names: str) -> dict[str, Any]:
    body = {"origins": [{"kind": "RUN", "ref": RUN.format(run), "columns": list(names)}], "reason": "wrong unit"}
    reply = client.post("/api/v2/incidents", json.dumps(body).encode(), content_type="application/json")
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def test_who_used_no_wrong_column_is_spared(client: Client) -> None:
    """/raw has a, b; `one` uses a, `two` uses b, `three` tells no columns, `four` writes nothing; `five` uses what `one` made of a."""
    send(
        client,
        run_event("COMPLETE", 1, "load", ["/src"], [dataset("/raw", **schema("a", "b"))], at=at(1)),
        run_event("COMPLETE", 2, "one", ["/raw"], [made("/x", {"ax": [("/raw", "a")], "k": []})], at=at(2)),
        run_event("COMPLETE", 3, "two", ["/raw"], [made("/y", {"by": [("/raw", "b")]})], at=at(3)),
        run_event("COMPLETE", 4, "three", ["/raw"], ["/z"], at=at(4)),
        run_event("COMPLETE", 5, "four", ["/raw"], [], at=at(5)),
        run_event(
            "COMPLETE",
            6,
            "five",
            ["/x"],
            [made("/v", {"v": [("/x", "ax")]}), made("/w", {"w": [("/x", "k")]})],
            at=at(6),
        ),
    )
    opened = of_columns(client, 1, "A")
    found = opened["reads"]
    assert runs(found) == {1, 2, 4, 5, 6}
    shown = {each["label"]: each["columns"] for each in found["versions"]}
    assert {name: shown[name] for name in ("raw", "x", "v", "z")} == {"raw": ["a"], "x": ["ax"], "v": ["v"], "z": None}
    assert "y" not in shown
    assert [each["label"] for each in found["repeat"]] == ["load", "one", "three", "five"]
    assert incident(client, opened["id"])["reads"] == found, "the columns are stored with the verdict"
    assert incident(client, opened["id"])["origins"][0]["columns"] == ["A"]
    assert runs(of_columns(client, 1, "b")["reads"]) == {1, 3, 4, 5}
    assert runs(of_columns(client, 1)["reads"]) == {1, 2, 3, 4, 5, 6}


@pytest.mark.parametrize("seed", range(full(12, 4)))
def test_random_columns_equal_brute_force(client: Client, seed: int) -> None:
    """Cell by cell: a column of a version is wrong if it is condemned, or made from a wrong column of the version that was current."""
    chance = random.Random(seed)
    tables = {f"/t{number}": [f"c{number}{letter}" for letter in "pqr"] for number in range(6)}
    jobs: dict[str, tuple[list[str], str, dict[str, list[tuple[str, str]]]]] = {}
    for number in range(6):
        reads, writes = chance.sample(list(tables), 2), chance.choice(list(tables))
        fed = {
            column: [(read, chance.choice(tables[read])) for read in reads if chance.random() < 0.4]
            for column in tables[writes]
        }
        jobs[f"job{number}"] = reads, writes, fed
    holds: dict[str, tuple[int, set[str]]] = {}
    history: list[tuple[int, str, dict[str, tuple[int, set[str]]]]] = []
    for number in range(1, 31):
        job = chance.choice(list(jobs))
        reads, writes, fed = jobs[job]
        send(client, run_event("COMPLETE", number, job, reads, [made(writes, fed)], at=at(number)))
        history.append((number, job, {read: holds[read] for read in reads if read in holds}))
        holds[writes] = (number, set())
    root, job, _ = history[chance.randint(0, 12)]
    bad = chance.sample(tables[jobs[job][1]], 1)
    wrong: dict[int, set[str]] = {root: set(bad)}
    for number, job, met in history:
        if number > root:
            cells = {
                column
                for column, sources in jobs[job][2].items()
                if any(read in met and field in wrong.get(met[read][0], ()) for read, field in sources)
            }
            if cells:
                wrong[number] = cells
    found = of_columns(client, root, *bad)["reads"]
    assert runs(found) == set(wrong)
    assert {int(each["run_id"][-12:]): set(each["columns"]) for each in found["versions"]} == wrong


class Job(NamedTuple):
    reads: list[str]
    writes: list[str]


class World:
    """Runs of random jobs, and by brute force which run read what: the last run that wrote a dataset and did not fail."""

    def __init__(self, chance: random.Random) -> None:
        names = [f"/d{number}" for number in range(7)]
        self.jobs = {
            f"job{number}": Job(chance.sample(names, chance.randint(0, 3)), chance.sample(names, chance.randint(1, 2)))
            for number in range(6)
        }
        self.chance, self.minute = chance, 0
        self.read: dict[int, set[int]] = {}
        self.holds: dict[str, int] = {}
        self.job_of: dict[int, str] = {}

    def run(self, job: str) -> dict[str, Any]:
        self.minute += 1
        number, one = self.minute, self.jobs[job]
        failed = self.chance.random() < 0.1
        self.read[number] = {self.holds[name] for name in one.reads if name in self.holds}
        self.job_of[number] = job
        if not failed:
            self.holds |= dict.fromkeys(one.writes, number)
        return run_event("FAIL" if failed else "COMPLETE", number, job, one.reads, one.writes, at=at(number))

    def wrong(self, root: int) -> set[int]:
        found = {root}
        for run in sorted(self.read):
            if run > root and self.read[run] & found:
                found.add(run)
        return found

    def held(self, wrong: set[int]) -> set[str]:
        return {name.rsplit("/", 1)[-1] for name, run in self.holds.items() if run in wrong}


@pytest.mark.parametrize("seed", range(full(25, 8)))
def test_random_worlds_equal_brute_force_and_the_plan_mends_them(client: Client, seed: int) -> None:
    world = World(random.Random(seed))
    send(client, *(world.run(world.chance.choice(list(world.jobs))) for _ in range(40)))
    root = world.chance.choice(sorted(set(world.holds.values())))
    opened = condemn(client, ("RUN", RUN.format(root)))
    wrong = world.wrong(root)
    assert (runs(opened["reads"]), held(opened["reads"])) == (wrong, world.held(wrong))
    repeat = [each["job"].rsplit(":", 1)[-1] for each in opened["reads"]["repeat"]]
    assert len(repeat) == len(set(repeat)), "each job once"
    assert set(repeat) == {world.job_of[run] for run in world.holds.values() if run in wrong}, "and nothing else"
    world.chance.random = lambda: 1.0  # type: ignore[method-assign]  # nothing fails while it is mended
    for job in repeat:
        send(client, world.run(job))
    wrong = world.wrong(root)
    shown = incident(client, opened["id"])
    assert (runs(shown["reads"]), held(shown["reads"])) == (wrong, world.held(wrong))
    if not any(loops(world, job) for job in repeat):
        assert shown["incident"]["mended"]


def loops(world: World, job: str) -> bool:
    """Return whether a job reads its own output, in one or more steps: then wrong is made from wrong, and running it again is no repair."""
    seen, fresh = set[str](), set(world.jobs[job].writes)
    while fresh:
        seen |= fresh
        fresh = {name for one in world.jobs.values() if seen & set(one.reads) for name in one.writes} - seen
    return bool(seen & set(world.jobs[job].reads))
