"""The past of facets, datasets and jobs: each body, version and schema with its span, and its changes."""

from typing import Any

from tests.events import RUN, dataset, encoded, facet, run_event, schema

LINEAGE = "/api/v1/lineage"
T = "/api/v2/datasets/file/%2Ft"


def send(client: Any, *events: dict[str, Any]) -> None:
    for event in events:
        assert client.post(LINEAGE, encoded(event)).status_code == 201


def day(number: int, hour: int = 0) -> str:
    return f"2026-01-{number:02}T{hour:02}:00:00Z"


def get(client: Any, path: str, **question: Any) -> dict[str, Any]:
    reply = client.get(path, **question)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def told(**facets: Any) -> dict[str, Any]:
    return dataset("/t", **facets)


def test_facets_of_a_dataset_over_time(client: Any) -> None:
    one, two = facet(description="one"), facet(description="two")
    gone = {**facet(), "_deleted": True}
    for number, body in ((1, one), (2, one), (3, two), (5, gone)):
        send(client, run_event("COMPLETE", number, "j", [], [told(documentation=body)], at=day(number)))
    found = get(client, f"{T}/facets", name="documentation")
    assert (found["id"], found["truncated"], [f["name"] for f in found["facets"]]) == (
        "dataset:file:/t",
        False,
        ["documentation"],
    )
    told_facet = found["facets"][0]
    assert told_facet["current"] is False
    assert [(b["first_at"], b["last_at"], b["deleted"]) for b in told_facet["bodies"]] == [
        (day(5), day(5), True), (day(3), day(3), False), (day(1), day(2), False),
    ]  # fmt: skip
    assert told_facet["bodies"][1]["changes"] == [
        {"path": "/description", "op": "changed", "before": "one", "after": "two"}
    ]
    assert told_facet["bodies"][1]["body"]["description"] == "two"
    assert [b["changes"] for b in (told_facet["bodies"][0], told_facet["bodies"][2])] == [None, None]
    assert get(client, f"{T}/facets", limit=1)["truncated"] is True
    assert client.get("/api/v2/datasets/file/%2Fnone/facets").status_code == 404


def test_facets_of_a_job_over_time(client: Any) -> None:
    for number, query in ((1, "select 1"), (2, "select 2")):
        send(client, run_event("COMPLETE", number, "j", at=day(number), job_facets={"sql": facet(query=query)}))
    bodies = get(client, "/api/v2/jobs/test/j/facets")["facets"][0]["bodies"]
    assert [b["body"]["query"] for b in bodies] == ["select 2", "select 1"]
    assert bodies[0]["change_count"] == 1


def write(client: Any, number: int, *columns: str, type: str = "int", **more: Any) -> None:
    rows = {"outputFacets": {"outputStatistics": facet(rowCount=number * 100, size=10, fileCount=1)}}
    at = day(number)
    send(
        client,
        run_event("COMPLETE", number, more.pop("job", "w"), [], [{**told(**schema(*columns, type=type), **more.pop("facets", {})), **rows}], at=at, **more),
    )  # fmt: skip


def test_versions_page_by_page(client: Any, statements: Any) -> None:
    for number in range(1, 8):
        write(client, number, *(("a", "b") if number > 3 else ("a",)))
    page = get(client, f"{T}/versions", limit=3, offset=2)
    assert page["total"] == 7
    assert [v["rows"] for v in page["versions"]] == [500, 400, 300]
    assert [v["schema_changed"] for v in page["versions"]] == [False, True, False]
    assert page["versions"][0]["run"] == {"run_id": RUN.format(5), "job": "job:test:w"}
    assert len(get(client, f"{T}/versions")["versions"]) == 7
    with statements() as few:
        get(client, f"{T}/versions", limit=1)
    with statements() as many:
        get(client, f"{T}/versions", limit=100)
    assert len(few) == len(many) <= 9


def test_the_difference_of_two_versions(client: Any) -> None:
    def run_of(revision: str, day_: str) -> dict[str, Any]:
        return {
            "run_facets": {"executionParameters": facet(parameters=[{"key": "day", "value": day_}])},
            "job_facets": {"sourceCodeLocation": facet(type="git", url="https://git.test/x", version=revision)},
        }

    write(client, 1, "a", "b", facets={"version": facet(datasetVersion="7")}, **run_of("aaa", "1"))
    # A failed run's version is not the "before" of any version.
    send(client, run_event("FAIL", 2, "w", [], [told(**schema("broken"))], at=day(2)))
    write(client, 3, "b", "a", "c", type="long", facets={"version": facet(datasetVersion="8")}, **run_of("bbb", "2"))
    found = get(client, f"{T}/versions/diff", **{"from": "7", "to": "8"})
    assert found["same"] is False
    assert [f["name"] for f in found["schema"]["added"]] == ["c"]
    assert [(f["column"], f["before"], f["after"]) for f in found["schema"]["retyped"]] == [("b", "int", "long"), ("a", "int", "long")]  # fmt: skip
    assert len(found["schema"]["moved"]) == 1
    assert found["rows"] == {"before": 100, "after": 300, "ratio": 3.0}
    assert found["bytes"] is None
    assert (found["external_version"]["before"], found["external_version"]["after"]) == ("7", "8")
    assert (found["code"]["before"], found["code"]["after"]) == ("aaa", "bbb")
    assert found["parameters"] == {"day": {"before": "1", "after": "2", "ratio": None}}
    assert found["job"] is None
    assert get(client, f"{T}/versions/diff")["before"]["external_version"] == "7"
    assert get(client, f"{T}/versions/diff", **{"from": "8", "to": "8"})["same"] is True
    whole = get(client, f"{T}/versions/{found['after']['id']}")
    assert (whole["code"]["version"], whole["parameters"], [f["name"] for f in whole["fields"]]) == ("bbb", {"day": "2"}, ["b", "a", "c"])  # fmt: skip
    assert whole["schema_changed"] is True
    assert client.get(f"{T}/versions/99").status_code == 404
    assert client.get(f"{T}/versions/diff", **{"to": "7"}).status_code == 404


def test_parts_of_versions(client: Any) -> None:
    for number, part in ((1, "2026-01-01"), (2, "2026-01-02")):
        send(client, run_event("COMPLETE", number, "w", [], [dataset(f"/t/day={part}")], at=day(number)))
    found = get(client, f"{T}/versions/diff")
    assert (found["parts_removed"], found["parts_added"]) == ([{"day": "2026-01-01"}], [{"day": "2026-01-02"}])


def test_schemas_with_their_spans(client: Any) -> None:
    for number, columns in enumerate([("a",), ("a",), ("a", "b"), ("a",), ("a",)], 1):
        write(client, number, *columns)
    # The same columns in other words (a new producer of the facet) are the same schema.
    other = {"schema": {**schema("a", type="int")["schema"], "_producer": "https://other.test"}}
    send(client, run_event("COMPLETE", 6, "w", [], [told(**other)], at=day(6)))
    found = get(client, f"{T}/schema-history")
    assert (found["source"], found["truncated"]) == ("versions", False)
    assert [([f["name"] for f in s["fields"]], s["first_at"], s["last_at"], s["versions"]) for s in found["schemas"]] == [
        (["a"], day(4), day(6), 3), (["a", "b"], day(3), day(3), 1), (["a"], day(1), day(2), 2),
    ]  # fmt: skip
    assert [f["name"] for f in found["schemas"][0]["changes"]["removed"]] == ["b"]
    assert [f["name"] for f in found["schemas"][1]["changes"]["added"]] == ["b"]
    assert found["schemas"][2]["changes"] is None
    assert found["schemas"][0]["run"]["run_id"] == RUN.format(4)


def test_schemas_of_a_source_without_a_writer(client: Any) -> None:
    for number, columns in ((1, ("a",)), (2, ("a", "b"))):
        send(client, run_event("COMPLETE", number, "r", [told(**schema(*columns))], ["/o"], at=day(number)))
    found = get(client, f"{T}/schema-history")
    assert (found["source"], [len(s["fields"]) for s in found["schemas"]]) == ("facets", [2, 1])


def code(revision: str, query: str | None = None) -> dict[str, Any]:
    told_facets = {"sourceCodeLocation": facet(type="git", url="https://git.test/x", version=revision)}
    return told_facets | ({"sql": facet(query=query)} if query else {})


def test_versions_of_a_job(client: Any, statements: Any) -> None:
    def ran(number: int, inputs: list[str], facets: dict[str, Any], end: str = "COMPLETE") -> None:
        send(client, run_event("START", number, "j", inputs, at=day(number), job_facets=facets))
        send(client, run_event(end, number, "j", inputs, ["/o"] if end == "COMPLETE" else [], at=day(number, 1)))

    ran(1, ["/a"], code("aaa", "select 1\nfrom a"))
    ran(2, ["/a"], code("aaa", "select 1\nfrom a"))
    ran(3, [], code("aaa", "select 1\nfrom a"), end="FAIL")
    ran(4, ["/a", "/b"], code("bbb", "select 2\nfrom a"))
    ran(5, ["/a", "/b"], {})
    ran(6, ["/a"], code("aaa", "select 1\nfrom a"))
    with statements() as counted:
        found = get(client, "/api/v2/jobs/test/j/versions")
    assert len(counted) <= 8
    assert (found["runs"], found["examined"]) == (6, 6)
    new, old = found["versions"]
    assert (new["runs"], new["first_run"], new["last_run"], new["current"]) == (2, RUN.format(4), RUN.format(5), False)
    assert (old["runs"], old["first_run"], old["last_run"], old["current"]) == (4, RUN.format(1), RUN.format(6), True)
    assert (old["returns"], old["statement"], old["changes"]) == (1, "SELECT", None)
    assert (new["inputs"], new["outputs"]) == (["dataset:file:/a", "dataset:file:/b"], ["dataset:file:/o"])
    changes = new["changes"]
    assert changes["inputs_added"] == ["dataset:file:/b"]
    assert [c["version"] for c in changes["code"]] == ["aaa", "bbb"]
    assert {"-select 1", "+select 2"} <= set(changes["sql_diff"])
    assert get(client, "/api/v2/jobs/test/j/versions", limit=1)["examined"] == 1
    assert client.get("/api/v2/jobs/test/none/versions").status_code == 404


def test_a_first_run_that_failed_makes_no_version_of_its_own(client: Any) -> None:
    send(client, run_event("FAIL", 1, "j", ["/a"], at=day(1), job_facets=code("aaa")))
    send(client, run_event("COMPLETE", 2, "j", ["/a"], ["/o"], at=day(2), job_facets=code("aaa")))
    (only,) = get(client, "/api/v2/jobs/test/j/versions")["versions"]
    assert (only["runs"], only["outputs"]) == (2, ["dataset:file:/o"])


def test_a_job_that_never_ran_has_the_versions_it_was_declared_with(client: Any) -> None:
    for number, inputs, query in ((1, ["/a"], "insert into o select 1"), (2, ["/a", "/b"], "insert into o select 2")):
        job = {"namespace": "test", "name": "j", "facets": {"sql": facet(query=query)}}
        sides = {"inputs": [dataset(name) for name in inputs], "outputs": [dataset("/o")]}
        send(client, {"eventTime": day(number), "producer": "p", "job": job, **sides})
    new, old = get(client, "/api/v2/jobs/test/j/versions")["versions"]
    assert (old["inputs"], old["sql"], old["first_run"], old["first_at"]) == (["dataset:file:/a"], "insert into o select 1", None, day(1))  # fmt: skip
    assert (new["current"], new["statement"], new["changes"]["inputs_added"]) == (True, "INSERT", ["dataset:file:/b"])


def test_a_schema_that_changed_within_a_run_is_in_the_history(client: Any) -> None:
    for hour, columns in ((1, ("a",)), (2, ("a", "b"))):
        send(client, run_event("RUNNING", 1, "stream", [], [told(**schema(*columns))], at=day(1, hour)))
    found = get(client, f"{T}/schema-history")["schemas"]
    assert [([f["name"] for f in s["fields"]], s["versions"]) for s in found] == [(["a", "b"], 1), (["a"], 0)]
    assert [f["name"] for f in found[0]["changes"]["added"]] == ["b"]


def test_schemas_of_a_registry_are_versions(client: Any) -> None:
    for number, columns in ((1, ("a",)), (2, ("a", "b")), (3, ("a", "b"))):
        send(client, {"eventTime": day(number), "producer": "registry", "dataset": told(**schema(*columns))})
    found = get(client, f"{T}/versions")
    assert (found["total"], [v["schema_changed"] for v in found["versions"]]) == (2, [True, False])
    assert [v["run"] for v in found["versions"]] == [None, None]
    assert [f["name"] for f in get(client, f"{T}/versions/diff")["schema"]["added"]] == ["b"]
