"""Is it there, is it fresh, is it good."""

import datetime as dt
from typing import Any

import pytest
from tests.events import RUN, dataset, encoded, facet, run_event

LINEAGE = "/api/v1/lineage"
NOW = dt.datetime.now(dt.UTC).replace(microsecond=0)
STREAM = {"jobType": facet(processingType="STREAMING", integration="FLINK", jobType="JOB")}


def ago(**span: float) -> str:
    return (NOW - dt.timedelta(**span)).isoformat()


def send(client: Any, *events: dict[str, Any]) -> None:
    for event in events:
        assert client.post(LINEAGE, encoded(event)).status_code == 201


def hourly(client: Any, name: str, last: float, first: int, end: str = "COMPLETE", count: int = 12) -> None:
    """Updated each hour until `last` hours ago."""
    for i in range(count):
        send(client, run_event(end, first + i, f"w{name}", [], [name], at=ago(hours=last + count - 1 - i)))


def health(client: Any, name: str, **question: Any) -> dict[str, Any]:
    reply = client.get(f"/api/v2/datasets/file/{name.replace('/', '%2F')}/freshness", **question)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def test_on_time_late_and_very_late(client: Any) -> None:
    hourly(client, "/fresh", 0.1, 100)
    hourly(client, "/late", 1.9, 200)
    hourly(client, "/dead", 50, 300)
    hourly(client, "/young", 50, 400, count=3)
    fresh, late, dead, young = (health(client, name) for name in ("/fresh", "/late", "/dead", "/young"))
    assert [one["state"] for one in (fresh, late, dead, young)] == ["on_time", "late", "very_late", "unknown"]
    assert (late["cadence"]["name"], late["cadence"]["updates"], late["missed"]) == ("hourly", 12, 1)
    assert dt.datetime.fromisoformat(late["expected_next"]) == NOW - dt.timedelta(hours=0.9)
    assert abs(late["late_seconds"] - 0.9 * 3600) < 60
    assert (dead["missed"] >= 47, dead["available"]) == (True, True)
    assert late["last_run"] == {"run_id": RUN.format(211), "job": "job:test:w/late"}
    assert young["cadence"]["rhythm"] == "unknown"
    listed = client.get("/api/v2/freshness", state="late").json()
    assert [(f["name"], f["state"]) for f in listed["freshness"]] == [("/late", "late"), ("/dead", "very_late")]
    assert (listed["total"], listed["datasets"], listed["examined"]) == (2, 4, 4)
    assert listed["counts"] == {"on_time": 1, "late": 1, "very_late": 1, "unknown": 1}
    assert [
        f["name"] for f in client.get("/api/v2/freshness", state="late", limit=1, offset=1).json()["freshness"]
    ] == ["/dead"]
    assert client.get("/api/v2/freshness", state="soon").status_code == 400
    # At the time it was on time.
    assert health(client, "/dead", as_of=ago(hours=49.9))["state"] == "on_time"


@pytest.mark.parametrize("counts", [True, False])
def test_a_stream_that_failed_updated_what_it_had_written(client: Any, counts: bool) -> None:
    for hour, type_ in enumerate(["START", *["RUNNING"] * 11, "FAIL"]):
        offsets = {"headwater_offsets": facet(offsets=[{"partition": "batch", "offset": hour}])} if counts else {}
        told = dataset("/t", **offsets)
        send(client, run_event(type_, 1, "stream", [], [told], at=ago(hours=20 - hour), job_facets=STREAM))
    found = health(client, "/t")
    assert found["last_update"] == ago(hours=8).replace("+00:00", "Z")  # when it spoke for the last time
    assert (found["failures_since"], found["last_run"]["run_id"]) == (1, RUN.format(1))


def test_what_failed_updated_nothing(client: Any) -> None:
    hourly(client, "/t", 4, 100)
    hourly(client, "/t", 0.5, 200, end="FAIL", count=3)
    # Still running: it has written nothing yet.
    send(client, run_event("START", 300, "w/t", [], ["/t"], at=ago(minutes=5)))
    found = health(client, "/t")
    assert (found["state"], found["failures_since"]) == ("very_late", 3)
    assert dt.datetime.fromisoformat(found["last_update"]) == NOW - dt.timedelta(hours=4)
    assert dt.datetime.fromisoformat(found["failing_since"]) == NOW - dt.timedelta(hours=2.5)


def test_the_end_of_the_run_is_when_it_was_updated(client: Any) -> None:
    send(
        client, run_event("START", 1, "w", [], ["/t"], at=ago(hours=3)), run_event("COMPLETE", 1, "w", at=ago(hours=1))
    )
    assert dt.datetime.fromisoformat(health(client, "/t")["last_update"]) == NOW - dt.timedelta(hours=1)


def test_irregular_datasets_are_never_late(client: Any) -> None:
    hours = [2000, 1990, 1700, 1699, 1600, 1100, 1090, 900, 620, 612, 601, 300]
    for i, at in enumerate(hours):
        send(client, run_event("COMPLETE", i, "w", [], ["/t"], at=ago(hours=at)))
    found = health(client, "/t")
    assert (found["cadence"]["rhythm"], found["state"], found["expected_next"]) == ("irregular", "unknown", None)


def test_a_stream_is_fresh_as_long_as_it_speaks(client: Any) -> None:
    def stream(run: int, name: str, last: float) -> None:
        send(client, run_event("START", run, f"s{name}", [], [name], at=ago(hours=last + 12), job_facets=STREAM))
        send(client, *(run_event("RUNNING", run, f"s{name}", at=ago(hours=last + i)) for i in range(11, -1, -1)))

    stream(1, "/alive", 0.5)
    stream(2, "/quiet", 9)
    alive, quiet = health(client, "/alive"), health(client, "/quiet")
    assert (alive["state"], alive["streaming"], alive["cadence"]["name"]) == ("on_time", True, "hourly")
    assert (quiet["state"], quiet["streaming"]) == ("very_late", True)


def test_sources_and_what_was_dropped(client: Any) -> None:
    send(client, run_event("COMPLETE", 1, "r", ["/source"], ["/t"], at=ago(hours=2)))
    gone = dataset("/t", lifecycleStateChange=facet(lifecycleStateChange="DROP"))
    assert (health(client, "/source")["available"], health(client, "/t")["available"]) == (None, True)
    send(client, run_event("COMPLETE", 2, "d", [], [gone], at=ago(hours=1)))
    assert health(client, "/t")["available"] is False
    assert client.get("/api/v2/datasets/file/%2Fnone/freshness").status_code == 404


def checked(name: str, **results: bool) -> dict[str, Any]:
    items = [{"assertion": "not_null", "column": column, "success": success} for column, success in results.items()]
    metrics = facet(rowCount=7, columnMetrics={})
    return {
        **dataset(name),
        "inputFacets": {"dataQualityAssertions": facet(assertions=items), "dataQualityMetrics": metrics},
    }


def test_quality_is_the_latest_result_of_each_check(client: Any) -> None:
    send(client, run_event("COMPLETE", 1, "w", [], ["/t"], at=ago(hours=5)))
    assert health(client, "/t")["quality"]["state"] == "unknown"
    send(client, run_event("COMPLETE", 2, "test a", [checked("/t", a=False, b=True)], at=ago(hours=4)))
    failing = health(client, "/t")["quality"]
    assert (failing["state"], failing["passed"], failing["failed"]) == ("failing", 1, 1)
    assert (failing["assertions"][0]["column"], failing["assertions"][0]["run"]["run_id"]) == ("a", RUN.format(2))
    assert failing["metrics"]["rowCount"] == 7
    send(client, run_event("COMPLETE", 3, "test a", [checked("/t", a=True)], at=ago(hours=3)))
    passing = health(client, "/t")["quality"]
    assert (passing["state"], passing["passed"], passing["failed"]) == ("passing", 2, 0)
    # dbt reports it with the dataset.
    with_it = dataset(
        "/t", dataQualityAssertions=facet(assertions=[{"assertion": "unique", "success": False}, {"bad": 1}])
    )
    send(client, run_event("COMPLETE", 4, "dbt", [with_it], at=ago(hours=2)))
    assert health(client, "/t")["quality"]["failed"] == 1


def test_the_cost_does_not_grow_with_the_datasets(client: Any, statements: Any) -> None:
    def cost() -> int:
        with statements() as counted:
            assert client.get("/api/v2/freshness").status_code == 200
        return len(counted)

    send(client, run_event("COMPLETE", 1, "w", [], ["/t"], at=ago(hours=5), job_facets=STREAM))
    few = cost()
    send(
        client,
        *(run_event("COMPLETE", i, f"w{i}", [], [f"/t{i}"], at=ago(hours=5), job_facets=STREAM) for i in range(2, 30)),
    )
    assert cost() == few <= 6


def test_available_fresh_quality(client: Any) -> None:
    """Seed 000's three needs of data, the lower ones first: it must be available, then fresh, then good."""

    def needs() -> tuple[bool | None, str, str]:
        one = health(client, "/needs")
        return one["available"], one["state"], one["quality"]["state"]

    def checked(number: int, success: bool) -> None:
        assertions = facet(assertions=[{"assertion": "not_null", "success": success, "column": "id"}])
        read = dataset("/needs") | {"inputFacets": {"dataQualityAssertions": assertions}}
        send(client, run_event("COMPLETE", number, "check", [read], [], at=ago(minutes=9 - number % 10)))

    send(client, run_event("COMPLETE", 700, "reader", ["/needs"], [], at=ago(days=1)))
    assert needs() == (None, "unknown", "unknown")
    hourly(client, "/needs", 1.9, 710)
    assert needs() == (True, "late", "unknown")
    send(client, run_event("COMPLETE", 730, "w/needs", [], ["/needs"], at=ago(minutes=10)))
    assert needs() == (True, "on_time", "unknown")
    checked(741, success=False)
    assert needs() == (True, "on_time", "failing")
    checked(742, success=True)
    assert needs() == (True, "on_time", "passing")
    dropped = dataset("/needs", lifecycleStateChange=facet(lifecycleStateChange="DROP"))
    send(client, run_event("COMPLETE", 750, "w/needs", [], [dropped], at=ago(seconds=30)))
    assert needs()[0] is False
