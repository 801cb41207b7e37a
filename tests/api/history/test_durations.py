"""The durations of runs, and the job that became slower since when."""

import datetime as dt
import json
from typing import Any

from tests.events import RUN, encoded, facet, run_event

NOW = dt.datetime.now(dt.UTC).replace(microsecond=0)


def ran(client: Any, job: str, first: int, minutes: list[float], *, last_day: int = 1, **more: Any) -> None:
    """One run a day, the last so many days ago."""
    events = []
    for i, took in enumerate(minutes):
        began = NOW - dt.timedelta(days=last_day + len(minutes) - 1 - i)
        events += [
            run_event("START", first + i, job, at=began.isoformat(), **more),
            run_event("COMPLETE", first + i, job, at=(began + dt.timedelta(minutes=took)).isoformat(), **more),
        ]
    reply = client.post("/api/v1/lineage/batch", json.dumps(events).encode())
    assert reply.json()["summary"]["failed"] == 0, reply.text


def get(client: Any, path: str, **question: Any) -> dict[str, Any]:
    reply = client.get(path, **question)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def test_a_job_that_became_slower_since_a_run(client: Any) -> None:
    ran(client, "j", 100, [10, 11, 10, 12, 10, 11, 10, 11, 40, 10, 11, 30, 31, 29, 30, 30, 32])
    # A failed run says nothing about how long a run takes.
    client.post("/api/v1/lineage", encoded(run_event("FAIL", 99, "j", at=NOW.isoformat())))
    found = get(client, "/api/v2/jobs/test/j/durations")
    assert (len(found["runs"]), found["runs"][0]["duration_ms"]) == (17, 600_000)
    assert found["percentiles"] == {
        "p50": 660_000,
        "p90": 1_884_000,
        "p99": 2_323_200,
        "min": 600_000,
        "max": 2_400_000,
    }
    slower = found["slower"]
    assert (slower["first_run"], slower["runs_before"], slower["runs_after"]) == (RUN.format(111), 11, 6)
    assert (slower["before_ms"], slower["after_ms"], slower["factor"]) == (660_000, 1_800_000, 2.73)
    assert slower["confidence"] >= 0.95
    assert slower["added_ms"] == (30 + 31 + 29 + 30 + 30 + 32 - 6 * 11) * 60_000
    assert [(level["runs"], level["median_ms"]) for level in found["levels"]] == [(11, 660_000), (6, 1_800_000)]
    before = get(client, "/api/v2/jobs/test/j/durations", as_of=(NOW - dt.timedelta(days=6, hours=12)).isoformat())
    assert (len(before["runs"]), before["slower"]) == (11, None)
    assert get(client, "/api/v2/jobs/test/j/durations", limit=5)["slower"] is None


def test_a_job_without_runs_and_none_at_all(client: Any) -> None:
    client.post("/api/v1/lineage", encoded(run_event("START", 1, "j")))
    found = get(client, "/api/v2/jobs/test/j/durations")
    assert (found["runs"], found["percentiles"], found["levels"], found["slower"]) == ([], None, [], None)
    assert client.get("/api/v2/jobs/test/none/durations").status_code == 404


def test_the_jobs_that_became_slower_the_dearest_first(client: Any, statements: Any) -> None:
    with statements() as none:
        assert get(client, "/api/v2/slower")["slower"] == []
    ran(client, "a little", 100, [10] * 12 + [15] * 5)
    ran(client, "a lot", 200, [60] * 12 + [120] * 5)
    ran(client, "steady", 300, [10, 11] * 8)
    ran(client, "faster", 400, [30] * 12 + [10] * 5)
    ran(client, "long ago", 500, [10] * 10 + [30] * 40)
    ran(client, "stream", 600, [10] * 12 + [30] * 5, job_facets={"jobType": facet(processingType="STREAMING")})
    with statements() as counted:
        found = get(client, "/api/v2/slower")
    assert [one["job"] for one in found["slower"]] == ["job:test:a lot", "job:test:a little"]
    assert (found["jobs"], found["examined"], found["total"]) == (6, 6, 2)
    assert len(none) <= len(counted) <= 5
    assert "job:test:long ago" in [
        one["job"] for one in get(client, "/api/v2/slower", since=(NOW - dt.timedelta(days=60)).isoformat())["slower"]
    ]
    assert [one["job"] for one in get(client, "/api/v2/slower", limit=1, offset=1)["slower"]] == ["job:test:a little"]
    assert get(client, "/api/v2/jobs/test/stream/durations")["slower"] is None
