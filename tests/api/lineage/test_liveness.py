"""Streams are never stuck, batch runs that fell silent are; who ran what kind of statement; each checkpoint is a version."""

import datetime as dt
from typing import Any

from tests.events import RUN, dataset, encoded, facet, run_event

LINEAGE = "/api/v1/lineage"
NOW = dt.datetime.now(dt.UTC).replace(microsecond=0)
STREAM = {"jobType": facet(processingType="STREAMING", integration="FLINK", jobType="JOB")}


def ago(**span: float) -> str:
    return (NOW - dt.timedelta(**span)).isoformat()


def send(client: Any, *events: dict[str, Any]) -> None:
    for event in events:
        assert client.post(LINEAGE, encoded(event)).status_code == 201


def finished(client: Any, job: str, first: int, count: int, minutes: float) -> None:
    for i in range(first, first + count):
        send(
            client,
            run_event("START", i, job, at=ago(days=i + 1)),
            run_event("COMPLETE", i, job, at=ago(days=i + 1, minutes=-minutes)),
        )


def run(client: Any, number: int) -> dict[str, Any]:
    return dict(client.get(f"/api/v2/runs/{RUN.format(number)}").json())


def test_a_stream_is_alive_however_long_it_has_been_silent(client: Any) -> None:
    send(client, run_event("START", 1, "stream", [], ["/topic"], at=ago(days=40), job_facets=STREAM))
    send(client, run_event("RUNNING", 1, "stream", at=ago(days=30)))
    told = run(client, 1)
    assert (told["state"], told["streaming"], told["stalled"]) == ("RUNNING", True, False)
    assert dt.datetime.fromisoformat(told["last_event_at"]) == NOW - dt.timedelta(days=30)
    assert client.get("/api/v2/runs", stalled="true").json() == {"total": 0, "runs": [], "children": {}}
    node = client.get("/api/v2/jobs/test/stream").json()
    assert node["streaming"] is True
    assert (node["last_run"]["streaming"], node["last_run"]["stalled"]) == (True, False)


def test_a_batch_run_far_over_its_usual_time_and_silent_is_stalled(client: Any) -> None:
    finished(client, "batch", 1, 5, minutes=12)
    send(
        client,
        run_event("START", 90, "batch", at=ago(hours=5)),
        # Speaks still: heartbeats are life.
        run_event("START", 91, "batch", at=ago(hours=6)),
        run_event("RUNNING", 91, "batch", at=ago(minutes=1)),
        # Has only just begun.
        run_event("START", 92, "batch", at=ago(minutes=30)),
    )
    assert [run(client, i)["stalled"] for i in (90, 91, 92)] == [True, False, False]
    assert "its runs usually take 12 min" in run(client, 90)["stalled_reason"]
    listed = client.get("/api/v2/runs", stalled="true").json()
    assert (listed["total"], [r["id"] for r in listed["runs"]]) == (1, [RUN.format(90)])
    assert {r["id"]: r["stalled"] for r in client.get("/api/v2/runs", job="job:test:batch", limit=3).json()["runs"]} == {
        RUN.format(90): True, RUN.format(91): False, RUN.format(92): False,
    }  # fmt: skip
    assert client.get("/api/v2/runs", stalled="true", state="FAILED").json()["total"] == 0


def test_a_run_that_missed_three_announced_signs_of_life_is_lost_until_it_speaks(client: Any) -> None:
    alive = {"headwater_heartbeat": facet(seconds=60)}
    send(
        client,
        run_event("START", 1, "app", at=ago(minutes=9), run_facets=alive),
        run_event("START", 2, "app", at=ago(minutes=9), run_facets=alive),
        run_event("RUNNING", 2, "app", at=ago(minutes=2), run_facets=alive),
        run_event("START", 3, "stream", at=ago(minutes=4), run_facets=alive, job_facets=STREAM),
        run_event("START", 4, "other", at=ago(minutes=9)),
        run_event("START", 5, "bad", at=ago(minutes=9), run_facets={"headwater_heartbeat": facet(seconds=-1)}),
        run_event("START", 6, "ended", at=ago(minutes=9), run_facets=alive),
        run_event("COMPLETE", 6, "ended", at=ago(minutes=8)),
    )
    assert [run(client, i)["lost"] for i in range(1, 7)] == [True, False, True, False, False, False]
    told = run(client, 1)
    assert (told["state"], told["stalled"]) == ("RUNNING", True)
    assert told["stalled_reason"] == "lost: no event for 9 min; it announced one every 60 s"
    assert {one["id"] for one in client.get("/api/v2/runs", stalled="true").json()["runs"]} == {
        RUN.format(1),
        RUN.format(3),
    }
    send(client, run_event("RUNNING", 1, "app", at=ago(seconds=5), run_facets=alive))
    assert (run(client, 1)["lost"], run(client, 1)["stalled_reason"]) == (False, None)


def test_without_a_history_a_day_of_silence_is_too_long(client: Any) -> None:
    send(client, run_event("START", 1, "new", at=ago(hours=23)), run_event("START", 2, "new", at=ago(hours=26)))
    assert [run(client, i)["stalled"] for i in (1, 2)] == [False, True]
    send(client, run_event("FAIL", 2, "new", at=ago(minutes=1)))
    assert run(client, 2)["stalled"] is False


def test_each_checkpoint_of_a_stream_is_a_version_and_readers_find_the_latest(client: Any) -> None:
    def topic(at: str) -> dict[str, Any]:
        return dataset("orders", "kafka://broker:9092", version=facet(datasetVersion=at))

    send(client, run_event("START", 1, "stream", at=ago(hours=5), job_facets=STREAM))
    for hour, offsets in ((4, "0:10,1:9"), (3, "0:20,1:19"), (2, "0:30,1:29")):
        send(client, run_event("RUNNING", 1, "stream", [], [topic(offsets)], at=ago(hours=hour)))
    told = client.get("/api/v2/datasets/kafka%3A%2F%2Fbroker%3A9092/orders").json()
    assert [v["external_version"] for v in told["versions"]] == ["0:30,1:29", "0:20,1:19", "0:10,1:9"]
    reader = run_event("START", 2, "reader", [dataset("orders", "kafka://broker:9092")], ["/out"], at=ago(hours=2.5))
    send(client, reader, run_event("START", 3, "reader", reader["inputs"], at=ago(hours=1)))
    assert run(client, 2)["inputs"][0]["external_version"] == "0:20,1:19"
    assert run(client, 3)["inputs"][0]["external_version"] == "0:30,1:29"


def test_offsets_beside_the_output_are_versions_too(client: Any) -> None:
    def topic(**partitions: int) -> dict[str, Any]:
        body = facet(offsets=[{"partition": int(p[1:]), "offset": o} for p, o in partitions.items()])
        return {**dataset("t", "kafka://b:1"), "outputFacets": {"kafkaOffsets": body}}

    send(client, run_event("RUNNING", 1, "s", [], [topic(p10=1, p2=7)], at=ago(hours=2), job_facets=STREAM))
    send(client, run_event("RUNNING", 1, "s", [], [topic(p10=5, p2=9)], at=ago(hours=1)))
    told = client.get("/api/v2/datasets/kafka%3A%2F%2Fb%3A1/t").json()
    assert [v["external_version"] for v in told["versions"]] == ["2:9,10:5", "2:7,10:1"]


def test_statement_and_user_stand_on_runs_and_jobs(client: Any) -> None:
    sql = {"sql": facet(query="-- nightly\nwith s as (select 1) insert into t select * from s")}
    owned = {"ownership": facet(owners=[{"name": "team:money", "type": "OWNER"}])}
    who = {"spark_applicationDetails": facet(userName="ada")}
    airflow = {"airflow": facet(dag={"dag_id": "d", "owner": "grace"}, dagRun={})}
    send(
        client,
        run_event("START", 1, "load", at=ago(hours=2), run_facets=who, job_facets={**sql, **owned}),
        run_event("COMPLETE", 1, "load", at=ago(hours=1)),
        run_event("COMPLETE", 2, "task", at=ago(hours=1), run_facets=airflow),
        run_event("COMPLETE", 3, "owned", at=ago(hours=1), job_facets=owned),
        {"eventTime": ago(hours=1), "producer": "p", "job": {"namespace": "test", "name": "told", "facets": {"sql": facet(query="MERGE INTO t USING s")}}},
    )  # fmt: skip
    assert [(run(client, i)["statement"], run(client, i)["user"]) for i in (1, 2, 3)] == [
        ("INSERT", "ada"), (None, "grace"), (None, "team:money"),
    ]  # fmt: skip
    jobs = {j["name"]: (j["statement"], j["user"]) for j in client.get("/api/v2/jobs").json()["jobs"]}
    assert jobs == {
        "load": ("INSERT", "ada"), "task": (None, "grace"), "owned": (None, "team:money"), "told": ("MERGE", None),
    }  # fmt: skip


def test_a_page_costs_the_same_for_one_run_and_for_many(client: Any, statements: Any) -> None:
    def cost(**question: Any) -> int:
        with statements() as counted:
            assert client.get("/api/v2/runs", **question).status_code == 200
        return len(counted)

    send(client, run_event("START", 1, "j0", at=ago(hours=9)), run_event("FAIL", 2, "j1", at=ago(hours=9)))
    few, listed = cost(), cost(stalled="true")
    send(client, *(run_event("START", i, f"j{i}", at=ago(hours=30)) for i in range(10, 40)))
    assert cost() == few
    assert cost(stalled="true") <= listed + 6


def test_a_run_says_how_far_it_read_a_stream(client: Any) -> None:
    def read(body: Any) -> dict[str, Any]:
        return {**dataset("t", "kafka://b:1"), "inputFacets": {"headwater_offsets": body}}

    far = facet(offsets=[{"topic": "t", "partition": "0", "offset": 42}, {"topic": "t", "partition": "1", "offset": 7}])
    send(client, run_event("RUNNING", 1, "s", [read(far)], at=ago(hours=2), job_facets=STREAM))
    send(client, run_event("RUNNING", 2, "odd", [read(facet(offsets="all"))], at=ago(hours=2), job_facets=STREAM))
    assert run(client, 1)["inputs"][0]["external_version"] == "t/0:42,t/1:7"
    assert run(client, 2)["inputs"][0]["external_version"] is None
