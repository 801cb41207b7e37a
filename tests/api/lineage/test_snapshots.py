"""Events that announce a complete snapshot (`emissionPattern` of `jobType`) replace what their run stated before; all others add to it."""

import random
from itertools import permutations
from typing import Any

import pytest
from tests.api.lineage.test_both_ends import column_ends, reached, send
from tests.events import RUN, columns, dataset, facet, parent, run_event
from tests.fixtures.app import Client

Event = dict[str, Any]
SNAPSHOT, ADDS = "COMPLETE_SNAPSHOT", "ACCUMULATIVE"


def emitted(minute: int, inputs: list[Any], outputs: list[Any], mode: str | None = SNAPSHOT, *, run: int = 1, state: str = "RUNNING", **more: Any) -> Event:  # fmt: skip
    """Return an event of a service. `mode`: of its emission pattern, None for an event without one."""
    pattern = {"eventTrigger": "PERIODIC", "eventContentMode": mode, "windowDuration": 60}
    kind = facet(processingType="STREAMING", integration="X", **({"emissionPattern": pattern} if mode else {}))
    job_facets = {"jobType": kind, **more}
    return run_event(state, run, "service", inputs, outputs, at=f"2026-01-01T00:{minute:02}:00Z", job_facets=job_facets)


def orders(events: list[Event]) -> list[list[Event]]:
    """Return orders of arrival, each with one event twice."""
    draw = random.Random(len(events))
    return [[*order, draw.choice(events)] for order in draw.choices(list(permutations(events)), k=1)] + [
        events,
        events[::-1],
    ]


CASES: dict[str, tuple[list[Event], set[str]]] = {
    "a snapshot replaces": ([emitted(1, ["/a"], ["/c"]), emitted(2, ["/b"], ["/c"])], {"/b"}),
    "others add up": ([emitted(1, ["/a"], ["/c"], ADDS), emitted(2, ["/b"], ["/c"], ADDS)], {"/a", "/b"}),
    "without a pattern they add up": ([emitted(1, ["/a"], ["/c"], None), emitted(2, ["/b"], ["/c"], None)], {"/a", "/b"}),
    "what follows a snapshot adds up": ([emitted(1, ["/a"], ["/c"]), emitted(2, ["/b"], ["/c"]), emitted(3, ["/d"], ["/c"], ADDS)], {"/b", "/d"}),
    "a snapshot replaces what was added": ([emitted(1, ["/a"], ["/c"], ADDS), emitted(2, ["/b"], ["/c"], None), emitted(3, ["/d"], ["/c"])], {"/d"}),
    "it comes back": ([emitted(1, ["/a"], ["/c"]), emitted(2, ["/b"], ["/c"]), emitted(3, ["/a"], ["/c"])], {"/a"}),
    "a snapshot without datasets replaces nothing": ([emitted(1, ["/a"], ["/c"]), emitted(2, [], [], state="COMPLETE")], {"/a"}),
    "another run's is its own": ([emitted(1, ["/a"], ["/c"]), emitted(2, ["/b"], ["/c"], run=2)], {"/a", "/b"}),
    "each run's own": ([emitted(1, ["/a"], ["/c"]), emitted(2, ["/b"], ["/c"], run=2), emitted(3, ["/d"], ["/c"])], {"/b", "/d"}),
    "after it ended": ([emitted(1, ["/a"], ["/c"]), emitted(2, ["/b"], ["/c"]), emitted(3, ["/d"], ["/c"], state="COMPLETE")], {"/d"}),
    "explicit lineage": (
        [
            emitted(minute, [], [], lineage=facet(entries=[{"type": "DATASET", "namespace": "file", "name": "/c", "inputs": [{"type": "DATASET", "namespace": "file", "name": name}]}]))
            for minute, name in ((1, "/a"), (2, "/b"))
        ],
        {"/b"},
    ),
    "explicit lineage of another job": (
        [
            emitted(minute, [], [], lineage=facet(entries=[{"type": "JOB", "namespace": "test", "name": "o", "inputs": [{"type": "DATASET", "namespace": "file", "name": name}]}, {"type": "DATASET", "namespace": "file", "name": "/c", "inputs": [{"type": "JOB", "namespace": "test", "name": "o"}]}]))
            for minute, name in ((1, "/a"), (2, "/b"))
        ],
        {"/b"},
    ),
    "an odd pattern adds up": ([emitted(1, ["/a"], ["/c"]), run_event("RUNNING", 1, "service", ["/b"], ["/c"], at="2026-01-01T00:02:00Z", job_facets={"jobType": facet(emissionPattern="COMPLETE_SNAPSHOT")})], {"/a", "/b"}),
}  # fmt: skip


@pytest.mark.parametrize("order", range(3))
@pytest.mark.parametrize("name", CASES)
def test_a_snapshot_replaces_and_others_add_up(client: Client, name: str, order: int) -> None:
    events, expected = CASES[name]
    for event in orders(events)[order]:
        send(client, event)
    assert reached(client, "/c", "upstream") & {"/a", "/b", "/d"} == expected
    mentioned = {one for one in ("/a", "/b", "/d") if one in repr(events)}
    assert {one for one in mentioned if "/c" in reached(client, one, "downstream")} == expected


@pytest.mark.parametrize("order", range(3))
def test_the_run_its_columns_and_its_past_follow(client: Client, order: int) -> None:
    first, second = (dataset("/c", **columns({"x": [(name, "x", "DIRECT:IDENTITY")]})) for name in ("/a", "/b"))
    events = [emitted(1, ["/a"], [first]), emitted(3, ["/b"], [second]), emitted(5, ["/b"], [second], state="COMPLETE")]
    for event in orders(events)[order]:
        send(client, event)
    assert column_ends(client, "/c", "x", "upstream") == {("/b", "x")}
    assert column_ends(client, "/a", "x", "downstream") == set()
    run = client.get(f"/api/v2/runs/{RUN.format(1)}").json()
    assert [one["dataset"].removeprefix("dataset:file:") for one in run["inputs"]] == ["/b"]
    marquez = client.get(f"/api/v1/jobs/runs/{RUN.format(1)}").json()
    assert [one["datasetVersionId"]["name"] for one in marquez["inputDatasetVersions"]] in ([], ["/b"])

    def at(minute: int) -> set[str]:
        moment = f"2026-01-01T00:{minute:02}:30Z"
        answer = client.get("/api/v2/lineage", node="dataset:file:/c", direction="upstream", as_of=moment)
        return {one["name"] for one in answer.json()["nodes"]} & {"/a", "/b"}

    assert [at(minute) for minute in (1, 2, 3, 5)] == [{"/a"}, {"/a"}, {"/b"}, {"/b"}]


def test_what_snapshots_replaced_is_not_intermittent(client: Client) -> None:
    """In half of ten runs /a is stated first and replaced; it is never an input in the end."""
    for run in range(10):
        day = f"2026-02-{run + 1:02}T00:0"
        first = emitted(1, ["/a", "/b"] if run % 2 else ["/b"], ["/c"], run=run)
        send(client, first | {"eventTime": f"{day}1:00Z"})
        send(client, emitted(2, ["/b"], ["/c"], run=run, state="COMPLETE") | {"eventTime": f"{day}2:00Z"})
    assert reached(client, "/c", "upstream") == {"/b"}


def at_minute(client: Client, name: str, direction: str, minute: int | None) -> set[str]:
    """Return the names of what is reached from a dataset as of a minute, jobs too; None: now."""
    as_of = None if minute is None else f"2026-01-01T00:{minute:02}:30Z"
    reply = client.get("/api/v2/lineage", node=f"dataset:file:{name}", direction=direction, depth=20, as_of=as_of)
    assert reply.status_code == 200, reply.text
    return {one["name"] for one in reply.json()["nodes"]} - {name}


def below(event: Event) -> Event:
    """Return the event as one of a job below `above`."""
    event["run"]["facets"] |= parent(9, "above")
    return event


@pytest.mark.parametrize("order", range(3))
def test_an_input_that_a_child_replaced_hides_none_that_its_parent_declares(client: Client, order: int) -> None:
    declared = run_event(None, 9, "above", ["/e"], ["/a"], at="2026-01-01T00:00:00Z")
    del declared["run"]
    events = [declared, below(emitted(2, ["/e"], ["/a"])), below(emitted(4, ["/f"], ["/a"]))]
    for event in orders(events)[order]:
        send(client, event)
    assert at_minute(client, "/e", "downstream", 1) == {"above", "/a"}
    assert at_minute(client, "/e", "downstream", 3) == {"service", "/a"}
    for minute in (5, None):
        assert at_minute(client, "/e", "downstream", minute) == {"above"}, minute
        assert at_minute(client, "/a", "upstream", minute) == {"service", "/f"}, minute


@pytest.mark.parametrize("order", range(3))
def test_an_output_that_a_parent_replaced_does_not_keep_it_beside_its_child(client: Client, order: int) -> None:
    def told(name: str) -> Event:
        return dataset(name, headwater_declared=facet(name=name))

    first, second = emitted(1, [told("/e")], ["/x"], run=9), emitted(3, [told("/e")], [told("/a")], run=9)
    for event in (first, second):
        event["job"]["name"] = "above"
    events = [first, second, below(emitted(2, ["/e"], ["/a"], None))]
    for event in orders(events)[order]:
        send(client, event)
    assert at_minute(client, "/e", "downstream", 2) == {"above", "/x", "service", "/a"}
    for minute in (4, None):
        assert at_minute(client, "/e", "downstream", minute) == {"service", "/a"}, minute
        assert at_minute(client, "/a", "upstream", minute) == {"service", "/e"}, minute


@pytest.mark.parametrize("order", range(3))
def test_edges_of_other_jobs_are_replaced_at_each_time(client: Client, order: int) -> None:
    events, _ = CASES["explicit lineage of another job"]
    for event in orders(events)[order]:
        send(client, event)
    for minute, source in ((1, "/a"), (2, "/b"), (5, "/b"), (None, "/b")):
        assert at_minute(client, "/c", "upstream", minute) == {"o", source}, minute
    assert at_minute(client, "/a", "downstream", 1) == {"o", "/c"}
    assert at_minute(client, "/a", "downstream", 5) == set()


def test_edges_of_other_jobs_that_snapshots_replaced_are_not_intermittent(client: Client) -> None:
    """In half of ten runs another job's /a is stated first and replaced by /b; it is never an input in the end."""
    (of_a, of_b), _ = CASES["explicit lineage of another job"]
    for run in range(10):
        end = of_b | {"eventType": "COMPLETE", "run": of_b["run"] | {"runId": RUN.format(run)}}
        first = of_a | {"run": of_a["run"] | {"runId": RUN.format(run)}}
        send(
            client,
            (first if run % 2 else end | {"eventType": "RUNNING"}) | {"eventTime": f"2026-02-{run + 1:02}T00:01:00Z"},
        )
        send(client, end | {"eventTime": f"2026-02-{run + 1:02}T00:02:00Z"})
    assert at_minute(client, "/c", "upstream", None) == {"o", "/b"}
    reply = client.get("/api/v2/lineage", node="dataset:file:/c", direction="upstream", as_of="2026-03-01T00:00:00Z")
    assert {one["name"] for one in reply.json()["nodes"]} == {"/c", "o", "/b"}
