"""A job and the jobs below it may know one dataset by different names that a symlink joins: it is drawn once, as with one name."""

import random
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from tests.events import columns, dataset, encoded, facet, parent, run_event, schema
from tests.fixtures.app import Client
from tests.scale import full

Event = dict[str, Any]
Send = Callable[..., None]
AT_TIMES = (None, "2027-01-01T00:00:00Z")
BOTH, FIRST = ("out", "in"), {"/e": "/e2", "/a": "/a2"}


@pytest.fixture(params=range(full(8, 2)))
def send(request: pytest.FixtureRequest, client: Client) -> Send:
    """Send events in a random order, some of them twice, with a question after each, so that what the server holds has to follow."""
    draw = random.Random(request.param)

    def shuffled(*events: Event) -> None:
        some = [*events, *draw.sample(events, draw.randint(0, len(events)))]
        draw.shuffle(some)
        for event in some:
            assert client.post("/api/v1/lineage", encoded(event)).status_code == 201
            for name in ("/e", "/a"):
                client.get("/api/v2/lineage", node=f"dataset:file:{name}", depth=20)

    return shuffled


def linked(name: str, other: str, **facets: Any) -> Event:
    """Return a dataset that says another of its names."""
    return dataset(name, symlinks=facet(identifiers=[{"namespace": "file", "name": other, "type": "TABLE"}]), **facets)


def declared(inputs: list[Any], outputs: list[Any], at: str = "2026-01-01T00:00:00Z") -> Event:
    event = run_event(None, 1, "above", inputs, outputs, at=at)
    del event["run"]
    return event


def ran(
    run: int, job: str, inputs: list[Any], outputs: list[Any], at: str = "2026-01-02T00:00:00Z", **more: Any
) -> Event:
    return run_event("COMPLETE", run, job, inputs, outputs, at=at, run_facets=parent(9, "above"), **more)


def told_by(who: str, written: dict[str, Any], above: dict[str, Any]) -> list[Event]:
    """Return a parent that declares /e → /a and a child that runs /e2 → /a2, with the links told by one of them or by a DatasetEvent."""
    events = {
        "the child": [declared(["/e"], [dataset("/a", **above)]), ran(2, "below", [linked("/e2", "/e")], [linked("/a2", "/a", **written)])],
        "the parent": [declared([linked("/e", "/e2")], [linked("/a", "/a2", **above)]), ran(2, "below", ["/e2"], [dataset("/a2", **written)])],
        "another": [declared(["/e"], [dataset("/a", **above)]), ran(2, "below", ["/e2"], [dataset("/a2", **written)])],
    }[who]  # fmt: skip
    if who == "another":
        for name, other in FIRST.items():
            event = run_event(None, 1, "none", at="2026-01-01T00:00:00Z")
            for field in ("run", "job", "inputs", "outputs"):
                del event[field]
            events.append(event | {"dataset": linked(other, name)})
    return events


def around(client: Client, name: str, **question: Any) -> set[str]:
    """Return the jobs and datasets around a dataset, each by the first of its names."""
    answer = client.get("/api/v2/lineage", node=f"dataset:file:{name}", depth=20, **question)
    assert answer.status_code == 200, answer.text
    return {one["name"].removesuffix("2") for one in answer.json()["nodes"]}


WHO = ("the child", "the parent", "another")


@pytest.mark.parametrize("who", WHO)
def test_the_child_stands_for_its_parent(client: Client, send: Send, who: str) -> None:
    send(*told_by(who, {}, {}))
    for as_of in AT_TIMES:
        for name in ("/e", "/e2"):
            assert around(client, name, as_of=as_of, direction="downstream") == {"/e", "below", "/a"}, (as_of, name)
        for name in ("/a", "/a2"):
            assert around(client, name, as_of=as_of, direction="upstream") == {"/e", "below", "/a"}, (as_of, name)
    for name in ("/e", "/a"):
        graph = client.get("/api/v1/lineage", nodeId=f"dataset:file:{name}").json()["graph"]
        assert {one["id"] for one in graph if one["type"] == "JOB"} == {"job:test:above.below"}
    path = client.get("/api/v2/paths", **{"from": "dataset:file:/e", "to": "dataset:file:/a"}).json()
    assert path["length"] == 2
    assert {one["name"].removesuffix("2") for one in path["nodes"]} == {"/e", "below", "/a"}
    before = client.get("/api/v2/lineage", node="dataset:file:/e", as_of="2026-01-01T12:00:00Z", depth=20).json()
    assert {one["name"] for one in before["nodes"] if one["type"] == "JOB"} == {"above"}
    early = {"node": "dataset:file:/e", "from": "2026-01-01T12:00:00Z", "to": "2026-01-02T12:00:00Z"}
    assert client.get("/api/v2/lineage/diff", **early).json()["known_before"]
    assert client.get("/api/v2/lineage", node="dataset:file:/e", as_of="2025-12-31T00:00:00Z").status_code == 404
    assert client._run(client._http.delete("/api/v1/namespaces/test/jobs/below")).status_code == 200
    for as_of in AT_TIMES:
        assert around(client, "/e", as_of=as_of) == {"/e", "above", "/a"}, as_of


@pytest.mark.parametrize("who", WHO)
def test_a_parent_keeps_what_it_alone_connects(client: Client, send: Send, who: str) -> None:
    """It declares an output that no child writes, so its input stays with it; the output that the child writes is the child's."""
    events = told_by(who, {}, {})
    events[0]["outputs"].append(dataset("/alone"))
    send(*events)
    for as_of in AT_TIMES:
        assert around(client, "/e", as_of=as_of, direction="downstream") == {"/e", "above", "/alone", "below", "/a"}, (
            as_of
        )
        assert around(client, "/a", as_of=as_of, direction="upstream") == {"/e", "below", "/a"}, as_of
        assert around(client, "/alone", as_of=as_of, direction="upstream") == {"/e", "above", "/alone"}, as_of


@pytest.mark.parametrize("who", WHO)
def test_an_ended_edge_of_a_child_hides_nothing(client: Client, send: Send, who: str) -> None:
    send(*told_by(who, {}, {}), ran(3, "below", ["/f"], ["/a2"], at="2026-01-03T00:00:00Z"))
    for as_of in AT_TIMES:
        assert around(client, "/e", as_of=as_of) == {"/e", "above"}, as_of
        assert around(client, "/a", as_of=as_of) == {"/f", "below", "/a"}, as_of
    assert around(client, "/e", as_of="2026-01-02T12:00:00Z") == {"/e", "below", "/a"}


_CHILD_COLUMNS: dict[str, dict[str, Any] | None] = {
    "none": None,
    "of another column": {"z": [("/e2", "z", "DIRECT:IDENTITY")]},
    "of the same columns": {"x": [("/f", "y", "DIRECT:IDENTITY")]},
    "of no input": {"x": []},
}


@pytest.mark.parametrize("child_columns", _CHILD_COLUMNS.values(), ids=_CHILD_COLUMNS)
@pytest.mark.parametrize("who", WHO)
def test_columns_that_the_parent_alone_tells(
    client: Client, send: Send, who: str, child_columns: dict[str, Any] | None
) -> None:
    above = schema("x", "z") | columns({"x": [("/e", "y", "DIRECT:IDENTITY")]})
    send(*told_by(who, {} if child_columns is None else schema("x", "z") | columns(child_columns), above))
    alone = child_columns is None or "x" not in child_columns
    of_child = {(source.removesuffix("2"), field, column) for column, told in (child_columns or {}).items() for source, field, _ in told}  # fmt: skip
    for as_of in AT_TIMES:
        for name in ("/a", "/e"):
            found = around(client, name, as_of=as_of)
            assert found >= {"/a", "/e", "below"}, (as_of, name)
            assert ("above" in found) == alone, (as_of, name)
        answer = client.get("/api/v2/lineage", node="dataset:file:/a", columns="true", as_of=as_of).json()
        told = {(one["source"].removeprefix("dataset:file:").removesuffix("2"), one["source_field"], one["target_field"]) for one in answer["column_edges"]}  # fmt: skip
        assert told == of_child | ({("/e", "y", "x")} if alone else set()), as_of
    for end, other, field in (("/a", "/e", "x"), ("/e", "/a", "y")):
        node = f"datasetField:file:{quote(end, safe='/')}:{field}"
        reply = client.get("/api/v1/column-lineage", nodeId=node, withDownstream="true")
        ids = {one["id"] for one in reply.json().get("graph", [])}
        assert any(one.startswith((f"datasetField:file:{other}:", f"datasetField:file:{other}2:")) for one in ids) == alone, end  # fmt: skip


@pytest.mark.parametrize("who", WHO)
def test_a_run_yields_to_the_run_below_it(client: Client, send: Send, who: str) -> None:
    """A manifest says that the run above reads and writes the tables; the run below it was seen doing so, under other names."""
    events = told_by(who, {}, {})
    manifest, below = events[:2]
    for one in (*manifest["inputs"], *manifest["outputs"]):
        one["facets"]["headwater_declared"] = facet(name=one["name"])
    run = below["run"]["facets"]["parent"]["run"]
    send(
        manifest | {"eventType": "COMPLETE", "eventTime": "2026-01-02T00:01:00Z", "run": run | {"facets": {}}},
        *events[1:],
    )
    for name in ("/a", "/a2"):
        at = quote(name, safe="")
        versions = client.get(f"/api/v2/datasets/file/{at}/versions").json()["versions"]
        assert [one["run"]["job"] for one in versions] == ["job:test:below"]
        marquez = client.get(f"/api/v1/namespaces/file/datasets/{at}/versions").json()["versions"]
        assert [one["createdByRun"]["jobVersion"]["name"] for one in marquez] == ["above.below"]
    edges = client.get(f"/api/v2/runs/{run['runId']}/lineage", depth=20).json()["edges"]
    jobs = [
        [edge[side].rsplit(":", 1)[1] for side in ("source", "target") if edge[side].startswith("run:")]
        for edge in edges
    ]
    assert jobs == [["below"], ["below"]]
