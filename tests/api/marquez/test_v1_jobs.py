"""Jobs, their versions, their names."""

from typing import Any
from urllib.parse import quote

import pytest
from tests.events import RUN, dataset, encoded, facet, parent, run_event

from headwater.answer.marquez import hashes

JOBS = "/api/v1/namespaces/test/jobs"
KEYS = {
    "id", "type", "name", "simpleName", "parentJobName", "parentJobUuid", "createdAt", "updatedAt", "namespace", "inputs", "outputs",
    "location", "description", "latestRun", "latestRuns", "facets", "currentVersion", "labels", "tags",
}  # fmt: skip


def send(client: Any, *events: dict[str, Any]) -> None:
    for event in events:
        assert client.post("/api/v1/lineage", encoded(event)).status_code == 201


def test_a_job_has_all_of_marquez_keys(client: Any) -> None:
    told = {
        "jobType": facet(processingType="BATCH", integration="SPARK", jobType="RDD_JOB"),
        "sourceCodeLocation": facet(type="git", url="https://git.example/x"),
        "documentation": facet(description="what it does"),
        "tags": facet(tags=[{"key": "nightly", "value": "true"}]),
    }
    send(
        client,
        run_event("START", 1, "j", at="2026-01-01T00:00:00Z", job_facets=told),
        run_event("COMPLETE", 1, "j", ["/b", "/a"], ["/out"], at="2026-01-01T00:01:00Z", job_facets=told),
    )
    one = client.get(f"{JOBS}/j").json()
    assert one.keys() == KEYS
    assert one["id"] == {"namespace": "test", "name": "j"}
    assert (one["name"], one["simpleName"], one["parentJobName"], one["parentJobUuid"]) == ("j", "j", None, None)
    assert (one["type"], one["labels"], one["tags"]) == ("BATCH", ["RDD_JOB", "SPARK"], ["nightly"])
    assert (one["location"], one["description"]) == ("https://git.example/x", "what it does")
    assert one["inputs"] == [{"namespace": "file", "name": "/a"}, {"namespace": "file", "name": "/b"}]
    assert one["outputs"] == [{"namespace": "file", "name": "/out"}]
    assert one["facets"].keys() == told.keys()
    assert one["latestRun"]["id"] == RUN.format(1)
    assert (one["latestRun"]["durationMs"], [run["id"] for run in one["latestRuns"]]) == (60_000, [RUN.format(1)])
    listed = client.get("/api/v1/jobs").json()
    assert listed == {"jobs": [one], "totalCount": 1} == client.get(JOBS).json()


@pytest.mark.parametrize(
    ("told", "type_"), [("STREAMING", "STREAM"), ("BATCH", "BATCH"), ("SERVICE", "SERVICE"), (None, "BATCH")]
)
def test_the_type_of_a_job(client: Any, told: str | None, type_: str) -> None:
    facets = {"jobType": facet(processingType=told, integration="FLINK", jobType="JOB")} if told else {}
    send(client, run_event("START", 1, "j", job_facets=facets))
    assert client.get(f"{JOBS}/j").json()["type"] == type_


def test_edges_are_there_from_the_start_and_stay_through_a_bare_start(client: Any) -> None:
    send(client, run_event("START", 1, "j", ["/in"], ["/out"]))
    assert client.get(f"{JOBS}/j").json()["inputs"] == [{"namespace": "file", "name": "/in"}]
    send(client, run_event("COMPLETE", 1, "j"), run_event("START", 2, "j", at="2026-01-02T00:00:00Z"))
    assert client.get(f"{JOBS}/j").json()["outputs"] == [{"namespace": "file", "name": "/out"}]


def test_a_child_goes_by_its_parents_name_and_is_moved_to_from_its_own(client: Any) -> None:
    send(client, run_event("START", 1, "dag"), run_event("START", 2, "task", run_facets=parent(1, "dag")))
    one = client.get(f"{JOBS}/dag.task").json()
    assert (one["name"], one["simpleName"], one["parentJobName"]) == ("dag.task", "task", "dag")
    assert one["parentJobUuid"] is not None
    assert (one["latestRun"]["id"], client.get(f"{JOBS}/dag").json()["latestRun"]["id"]) == (
        RUN.format(2),
        RUN.format(1),
    )
    for rest in ("", "/runs?limit=1", "/versions", f"/versions/{RUN.format(1)}"):
        moved = client.get(f"{JOBS}/task{rest}")
        assert (moved.status_code, moved.headers["location"]) == (301, f"{JOBS}/dag.task{rest}")


def test_what_is_prefixed_already_is_not_prefixed_again(client: Any) -> None:
    send(client, run_event("START", 2, "dag.task", run_facets=parent(1, "dag")))
    one = client.get(f"{JOBS}/dag.task").json()
    assert (one["name"], one["simpleName"], one["parentJobName"]) == ("dag.task", "task", "dag")
    assert client.get(f"{JOBS}/task").status_code == 404


def test_a_job_with_a_slash_is_moved_to_with_its_slash_encoded(client: Any) -> None:
    send(client, run_event("START", 2, "b/c", run_facets=parent(1, "a"), namespace="x/y"))
    moved = client.get("/api/v1/namespaces/x%2Fy/jobs/b%2Fc")
    assert (moved.status_code, moved.headers["location"]) == (301, "/api/v1/namespaces/x%2Fy/jobs/a.b%2Fc")
    assert client.get(moved.headers["location"]).json()["name"] == "a.b/c"


def test_the_latest_run_of_a_child_is_its_own(client: Any) -> None:
    send(
        client,
        run_event("START", 1, "dag", at="2026-01-01T00:00:00Z"),
        run_event("FAIL", 2, "task", run_facets=parent(1, "dag"), at="2026-01-01T00:00:05Z"),
    )
    states = {one["name"]: one["latestRun"]["state"] for one in client.get(JOBS).json()["jobs"]}
    assert states == {"dag": "RUNNING", "dag.task": "FAILED"}


def test_states_of_the_latest_run_choose_and_count(client: Any) -> None:
    kinds = {"a": "COMPLETE", "b": "FAIL", "c": "ABORT", "d": "START", "e": "OTHER"}
    send(client, *(run_event(kind, i, name) for i, (name, kind) in enumerate(kinds.items())))
    send(client, run_event("COMPLETE", 9, "b", at="2025-12-31T00:00:00Z"))

    def chosen(*states: str) -> tuple[list[str], int]:
        query = "&".join(f"lastRunStates={state}" for state in states)
        reply = client.get(f"{JOBS}?{query}").json()
        return sorted(one["name"] for one in reply["jobs"]), reply["totalCount"]

    assert chosen("FAILED") == (["b"], 1)
    assert chosen("completed", "Aborted") == (["a", "c"], 2)
    assert chosen("RUNNING") == (["d", "e"], 2)
    assert chosen("NEW") == ([], 0)
    refused = client.get(f"{JOBS}?lastRunStates=DONE")
    assert (refused.status_code, refused.json()) == (
        400,
        {
            "code": 400,
            "message": "query param lastRunStates must be one of [NEW, RUNNING, COMPLETED, ABORTED, FAILED, OTHER]",
        },
    )


def test_jobs_the_latest_spoken_of_first_in_pages(client: Any) -> None:
    send(client, *(run_event("START", i, f"j{i}", at=f"2026-01-{i:02}T00:00:00Z") for i in range(1, 6)))
    assert [one["name"] for one in client.get(JOBS, limit=2, offset=1).json()["jobs"]] == ["j4", "j3"]
    assert client.get(JOBS, limit=2).json()["totalCount"] == 5
    unknown = client.get("/api/v1/namespaces/none/jobs")
    assert (unknown.status_code, unknown.json()) == (200, {"jobs": [], "totalCount": 0})


def test_a_page_of_jobs_takes_as_many_statements_as_one_job(client: Any, statements: Any) -> None:
    for i in range(20):
        at = f"2026-01-01T00:{i:02}:00Z"
        send(
            client,
            run_event("COMPLETE", 100 + i, f"j{i}", ["/in"], [f"/out{i}"], at=at, run_facets={"mine": facet(i=i)}),
            run_event("FAIL", 200 + i, f"j{i}", ["/in"], [f"/out{i}"], at=at, run_facets={"mine": facet(i=i)}),
        )
    with statements() as one:
        client.get(JOBS, limit=1)
    with statements() as many:
        reply = client.get(JOBS).json()
    # How far the log has come is asked for beside them; `writers` only of those who write just then.
    log = {"position", "top", "writers"}
    assert [name for name in many if name not in log] == [name for name in one if name not in log]
    assert len(one) <= 24
    assert all(job["latestRun"]["facets"]["mine"] for job in reply["jobs"])
    assert all(len(job["latestRuns"]) == 2 and job["latestRuns"][1]["facets"] == {} for job in reply["jobs"])
    alone = client.get(f"{JOBS}/j3").json()
    assert [run["facets"]["mine"]["i"] for run in alone["latestRuns"]] == [3, 3]


def test_ten_latest_runs_at_most(client: Any) -> None:
    send(client, *(run_event("COMPLETE", i, "j", at=f"2026-01-{i:02}T00:00:00Z") for i in range(1, 13)))
    runs = client.get(f"{JOBS}/j").json()["latestRuns"]
    assert [run["id"] for run in runs] == [RUN.format(i) for i in range(12, 2, -1)]


def test_versions_are_what_it_read_wrote_and_was(client: Any) -> None:
    def location(revision: str) -> dict[str, Any]:
        return {"sourceCodeLocation": facet(type="git", url=f"https://git.example/{revision}")}

    send(
        client,
        run_event("COMPLETE", 1, "j", ["/a"], ["/b"], at="2026-01-01T00:00:00Z", job_facets=location("one")),
        run_event("COMPLETE", 2, "j", ["/a"], ["/b"], at="2026-01-02T00:00:00Z", job_facets=location("one")),
        run_event("COMPLETE", 3, "j", ["/a", "/c"], ["/b"], at="2026-01-03T00:00:00Z", job_facets=location("one")),
        run_event("COMPLETE", 4, "j", ["/a", "/c"], ["/b"], at="2026-01-04T00:00:00Z", job_facets=location("two")),
    )
    reply = client.get(f"{JOBS}/j/versions").json()
    assert reply.keys() == {"versions"}
    newest, middle, oldest = reply["versions"]
    assert newest.keys() == {
        "id",
        "name",
        "createdAt",
        "version",
        "namespace",
        "location",
        "inputs",
        "outputs",
        "latestRun",
    }
    assert [one["location"][-3:] for one in reply["versions"]] == ["two", "one", "one"]
    assert [one["latestRun"]["id"] for one in reply["versions"]] == [RUN.format(i) for i in (4, 3, 2)]
    assert [len(one["inputs"]) for one in reply["versions"]] == [2, 2, 1]
    assert (oldest["createdAt"], middle["createdAt"]) == ("2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z")
    # MD5 over `test:j:file:/a:file:/b:https://git.example/one`, as a UUID of version 3.
    assert oldest["version"] == str(hashes.hashed("test:j:file:/a:file:/b:https://git.example/one"))
    assert client.get(f"{JOBS}/j").json()["currentVersion"] == newest["version"]
    for one in reply["versions"]:
        assert (
            one["latestRun"]["jobVersion"] == one["id"] == {"namespace": "test", "name": "j", "version": one["version"]}
        )
        assert client.get(f"{JOBS}/j/versions/{one['version']}").json() == one
        assert client.get(f"{JOBS}/j/versions/{one['version'].upper()}").status_code == 200
    assert client.get(f"{JOBS}/j/versions", limit=1, offset=1).json()["versions"] == [middle]
    missing = client.get(f"{JOBS}/j/versions/{RUN.format(1)}")
    assert (missing.status_code, missing.json()["message"]) == (404, f"Job version '{RUN.format(1)}' not found.")


def test_a_job_that_ends_without_datasets_has_a_version_and_one_that_runs_has_none(client: Any) -> None:
    send(client, run_event("START", 1, "j"))
    assert client.get(f"{JOBS}/j").json()["currentVersion"] is None
    assert client.get(f"{JOBS}/j/versions").json() == {"versions": []}
    send(client, run_event("COMPLETE", 1, "j"))
    current = client.get(f"{JOBS}/j").json()["currentVersion"]
    assert current == str(hashes.hashed("test:j::"))
    assert client.get(f"{JOBS}/j/versions/{current}").status_code == 200


def test_a_declared_job_has_a_version_without_a_run(client: Any) -> None:
    declared = {"eventTime": "2026-01-01T00:00:00Z", "producer": "p", "job": {"namespace": "test", "name": "j"}}
    send(client, {**declared, "inputs": [dataset("/a")], "outputs": [dataset("/b")]})
    one = client.get(f"{JOBS}/j").json()
    assert (one["latestRun"], one["latestRuns"], len(one["inputs"])) == (None, None, 1)
    (version,) = client.get(f"{JOBS}/j/versions").json()["versions"]
    assert (version["version"], version["latestRun"]) == (one["currentVersion"], None)


def test_what_is_not_there(client: Any) -> None:
    send(client, run_event("START", 1, "j"))
    for path, message in {
        f"{JOBS}/x": "Job 'x' not found.",
        f"{JOBS}/x/runs": "Job 'x' not found.",
        f"{JOBS}/x/versions": "Job 'x' not found.",
        f"/api/v1/namespaces/{quote('a/b', safe='')}/jobs/x": "Namespace 'a/b' not found.",
    }.items():
        assert client.get(path).json() == {"code": 404, "message": message}
