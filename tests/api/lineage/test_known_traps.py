"""Traps in which lineage is lost or invented elsewhere, each in random orders of arrival."""

import random
from collections.abc import Callable
from itertools import permutations
from typing import Any
from urllib.parse import quote

import pytest
from tests.events import columns, dataset, encoded, facet, parent, run_event, schema
from tests.fixtures.app import Client
from tests.scale import full

W = "postgres://w:5432"
Send = Callable[..., None]


@pytest.fixture(params=range(full(10, 2)))
def send(request: pytest.FixtureRequest, client: Client) -> Send:
    """Send events in a random order, some of them twice."""
    draw = random.Random(request.param)

    def shuffled(*events: dict[str, Any]) -> None:
        some = [*events, *draw.sample(events, draw.randint(0, len(events)))]
        draw.shuffle(some)
        for event in some:
            assert client.post("/api/v1/lineage", encoded(event)).status_code == 201

    return shuffled


def around(client: Client, node: str, **question: Any) -> set[str]:
    answer = client.get("/api/v2/lineage", node=node, depth=20, **question)
    assert answer.status_code == 200, answer.text
    return {one["name"] for one in answer.json()["nodes"]}


def test_a_merge_keeps_its_source(client: Client, send: Send) -> None:
    text = (
        "merge into db.public.totals t using (select person, sum(amount) as total from db.public.orders group by person) s on t.who = s.person "
        "when matched then update set total = s.total when not matched then insert (who, total) values (s.person, s.total)"
    )
    orders, totals = (dataset(f"db.public.{name}", W, **schema(*fields)) for name, fields in (("orders", ("person", "amount")), ("totals", ("who", "total"))))  # fmt: skip
    sql = {"sql": facet(query=text, dialect="postgres")}
    send(
        run_event("START", 1, "merge", job_facets=sql),
        run_event("RUNNING", 1, "merge", [orders, totals], at="2026-01-01T00:01:00Z"),
        run_event("COMPLETE", 1, "merge", [], [totals], at="2026-01-01T00:02:00Z", job_facets=sql),
    )
    node = f"dataset:{W}:db.public.totals"
    assert "db.public.orders" in around(client, node, direction="upstream")
    assert "db.public.totals" in around(client, f"dataset:{W}:db.public.orders", direction="downstream")
    edges = client.get("/api/v2/lineage", node=node, direction="upstream", columns="true").json()["column_edges"]
    told = {(one["source"].rsplit(".", 1)[1], one["source_field"], one["target_field"]) for one in edges}
    assert {("orders", "amount", "total"), ("orders", "person", "who")} <= told


def test_an_edge_before_the_window_does_not_hide_what_lies_behind_it(client: Client, send: Send) -> None:
    """/raw → fill → /static (in March), /static → stage → /middle (in January), /middle → daily → /out (in March); and /old, which is old alone."""
    send(
        run_event("COMPLETE", 1, "fill", ["/raw"], ["/static"], at="2026-03-01T00:00:00Z"),
        run_event("COMPLETE", 2, "stage", ["/static", "/old"], ["/middle"], at="2026-01-01T00:00:00Z"),
        run_event("COMPLETE", 3, "daily", ["/middle"], ["/out"], at="2026-03-02T00:00:00Z"),
    )
    since = "2026-02-01T00:00:00Z"
    up = around(client, "dataset:file:/out", direction="upstream", since=since)
    assert up == {"/out", "daily", "/middle", "stage", "/static", "fill", "/raw"}
    down = around(client, "dataset:file:/raw", direction="downstream", since=since)
    assert down == {"/raw", "fill", "/static", "stage", "/middle", "daily", "/out"}
    assert around(client, "dataset:file:/out", direction="upstream", since="2026-03-01T12:00:00Z") == {"/out", "daily", "/middle"}  # fmt: skip


@pytest.mark.parametrize("foreign", [False, True], ids=["its own", "of another reporter"])
def test_a_deleted_job_does_not_connect(client: Client, send: Send, foreign: bool) -> None:
    entries = [
        {"type": "JOB", "namespace": "test", "name": "middle", "inputs": [{"type": "DATASET", "namespace": "file", "name": "/in"}]},
        {"type": "DATASET", "namespace": "file", "name": "/out", "inputs": [{"type": "JOB", "namespace": "test", "name": "middle"}]},
    ]  # fmt: skip
    middle = (
        run_event("COMPLETE", 2, "planner", job_facets={"lineage": facet(entries=entries)})
        if foreign
        else run_event("COMPLETE", 2, "middle", ["/in"], ["/out"])
    )
    send(run_event("COMPLETE", 1, "first", ["/raw"], ["/in"]), middle, run_event("COMPLETE", 3, "last", ["/out"], ["/end"]))  # fmt: skip
    whole = {"/raw", "first", "/in", "middle", "/out", "last", "/end"}
    assert around(client, "dataset:file:/raw") == whole
    assert client._run(client._http.delete("/api/v1/namespaces/test/jobs/middle")).status_code == 200
    for as_of in (None, "2027-01-01T00:00:00Z"):
        assert around(client, "dataset:file:/raw", as_of=as_of) == {"/raw", "first", "/in"}
        assert around(client, "dataset:file:/end", as_of=as_of) == {"/end", "last", "/out"}
        there = client.get("/api/v2/paths", **{"from": "dataset:file:/raw", "to": "dataset:file:/end", "as_of": as_of})
        assert there.json()["length"] is None
    again = run_event("COMPLETE", 4, "middle", ["/in"], ["/out"], at="2026-01-02T00:00:00Z")
    assert client.post("/api/v1/lineage", encoded(again)).status_code == 201
    assert around(client, "dataset:file:/raw") >= whole


def test_a_deleted_edge_does_not_connect(client: Client, send: Send) -> None:
    send(run_event("COMPLETE", 1, "first", ["/raw"], ["/in"]), run_event("COMPLETE", 2, "last", ["/out"], ["/end"]))
    edge = {"source": "dataset:file:/in", "target": "job:test:last"}
    path = "/api/v2/metadata/edges"
    reply = client._run(client._http.put(path, json=edge))
    assert reply.status_code in {200, 201}, reply.text
    assert "/end" in around(client, "dataset:file:/raw")
    reply = client._run(client._http.delete(path, params=edge))
    assert reply.status_code in {200, 204}, reply.text
    assert "/end" not in around(client, "dataset:file:/raw")


@pytest.mark.parametrize("observed", [False, True], ids=["declared", "observed too"])
def test_a_parent_keeps_a_declared_input_of_what_it_alone_writes(client: Client, send: Send, observed: bool) -> None:
    """The job below it reads the same table and writes another: that edge does not stand for the parent's."""
    out = dataset("/a", **schema("y"), **columns({"y": [("/e", "y", "DIRECT:IDENTITY")]}))
    declared = run_event(None, 1, "above", ["/e"], [out], at="2026-01-01T00:00:00Z")
    del declared["run"]
    below = run_event("COMPLETE", 2, "below", ["/e"], ["/b"], at="2026-01-02T00:00:00Z", run_facets=parent(9, "above"))
    failed = [run_event("FAIL", 3, "above", [], ["/a"], at="2026-01-03T00:00:00Z")] if observed else []
    send(declared, below, *failed)
    ends = {"from": "dataset:file:/e", "to": "dataset:file:/a"}
    for as_of in (None, "2027-01-01T00:00:00Z"):
        down = around(client, "dataset:file:/e", direction="downstream", as_of=as_of)
        assert down == {"/e", "above", "/a", "below", "/b"}, as_of
        assert around(client, "dataset:file:/a", direction="upstream", as_of=as_of) == {"/a", "above", "/e"}, as_of
        for fields in ({}, {"from_field": "y", "to_field": "y"}):
            there = client.get("/api/v2/paths", **ends, **fields, direction="downstream", as_of=as_of).json()
            assert there["length"] == 2, (as_of, fields)
    graph = client.get("/api/v1/lineage", nodeId="dataset:file:/e").json()["graph"]
    edges = {(edge["origin"], edge["destination"]) for one in graph for edge in one["outEdges"]}
    assert {("dataset:file:/e", "job:test:above"), ("job:test:above", "dataset:file:/a")} <= edges


def test_a_declared_parent_yields_to_the_jobs_below_it_until_they_are_deleted(client: Client, send: Send) -> None:
    declared = run_event(None, 1, "above", ["/e"], ["/a"], at="2026-01-01T00:00:00Z")
    del declared["run"]
    above = parent(9, "above")
    send(
        declared,
        run_event("COMPLETE", 2, "one", ["/e"], ["/m"], at="2026-01-02T00:00:00Z", run_facets=above),
        run_event("COMPLETE", 3, "two", ["/m"], ["/a"], at="2026-01-03T00:00:00Z", run_facets=above),
    )
    for as_of in (None, "2027-01-01T00:00:00Z"):
        assert around(client, "dataset:file:/e", as_of=as_of) == {"/e", "one", "/m", "two", "/a"}, as_of
    for job in ("one", "two"):
        assert client._run(client._http.delete(f"/api/v1/namespaces/test/jobs/{job}")).status_code == 200
    for as_of in (None, "2027-01-01T00:00:00Z"):
        assert around(client, "dataset:file:/e", as_of=as_of) == {"/e", "above", "/a"}, as_of


@pytest.mark.parametrize("order", list(permutations(range(4)))[:: full(1, 5)])
def test_an_ended_edge_of_a_child_hides_no_declared_one_of_its_parent(client: Client, order: tuple[int, ...]) -> None:
    """The child read /e once and its newest run does not; the parent declares /e still. In any order of arrival, from either end, at each time."""
    declared = run_event(None, 1, "above", ["/e"], ["/a"], at="2026-01-01T00:00:00Z")
    del declared["run"]
    above = parent(9, "above")
    events = [
        declared,
        run_event("COMPLETE", 2, "one", ["/e"], ["/a"], at="2026-01-02T00:00:00Z", run_facets=above),
        run_event("COMPLETE", 3, "one", ["/f"], ["/a"], at="2026-01-03T00:00:00Z", run_facets=above),
        run_event("COMPLETE", 4, "one", ["/f"], ["/b"], at="2026-01-05T00:00:00Z", run_facets=above),
    ]
    for place in order:
        assert client.post("/api/v1/lineage", encoded(events[place])).status_code == 201
    # While the child reads it, the child's edge stands for both. Then the parent's is the only one. Its output is the child's until the last run.
    at_times = {
        "2026-01-01T12:00:00Z": {"/e", "above", "/a"},
        "2026-01-02T12:00:00Z": {"/e", "one", "/a"},
        "2026-01-04T00:00:00Z": {"/e", "above"},
        None: {"/e", "above", "/a"},
    }
    for as_of, expected in at_times.items():
        assert around(client, "dataset:file:/e", direction="downstream", as_of=as_of) == expected, as_of
    for as_of in ("2026-01-01T12:00:00Z", "2026-01-02T12:00:00Z", None):
        assert "/e" in around(client, "dataset:file:/a", direction="upstream", as_of=as_of), as_of
    edges = client.get("/api/v2/lineage", node="dataset:file:/e").json()["edges"]
    assert {(one["source"], one["target"], one["origin"]) for one in edges} >= {
        ("dataset:file:/e", "job:test:above", "DECLARED")
    }
    assert client.get("/api/v2/paths", **{"from": "dataset:file:/e", "to": "dataset:file:/a"}).json()["length"] == 2
    graph = client.get("/api/v1/lineage", nodeId="dataset:file:/a").json()["graph"]
    found = {(edge["origin"], edge["destination"]) for one in graph for edge in one["outEdges"]}
    assert {("dataset:file:/e", "job:test:above"), ("job:test:above", "dataset:file:/a")} <= found


_CHILD_COLUMNS: dict[str, dict[str, Any] | None] = {
    "none": None,
    "of another column": {"z": [("/e", "z", "DIRECT:IDENTITY")]},
    "of the same columns": {"x": [("/f", "y", "DIRECT:IDENTITY")]},
    "of no input": {"x": []},
}


@pytest.mark.parametrize("child_columns", _CHILD_COLUMNS.values(), ids=_CHILD_COLUMNS)
def test_a_parent_keeps_the_columns_that_it_alone_tells(
    client: Client, send: Send, child_columns: dict[str, Any] | None
) -> None:
    """The job below writes the same table and does not say where `x` comes from; its parent does. Of what the child tells, the child's is the answer."""
    out = dataset("/a", **schema("x", "z"), **columns({"x": [("/e", "y", "DIRECT:IDENTITY")]}))
    declared = run_event(None, 1, "above", [dataset("/e", **schema("y"))], [out], at="2026-01-01T00:00:00Z")
    del declared["run"]
    written = "/a" if child_columns is None else dataset("/a", **schema("x", "z"), **columns(child_columns))
    child = run_event("COMPLETE", 2, "below", ["/e"], [written], at="2026-01-02T00:00:00Z", run_facets=parent(9, "above"))  # fmt: skip
    send(declared, child)
    alone = child_columns is None or "x" not in child_columns
    jobs = {"below", "above"} if alone else {"below"}
    of_child = {(source, field, column) for column, told in (child_columns or {}).items() for source, field, _ in told}
    expected = of_child | ({("/e", "y", "x")} if alone else set())
    for as_of in (None, "2027-01-01T00:00:00Z"):
        for end in ("/a", "/e"):
            assert around(client, f"dataset:file:{end}", as_of=as_of) >= {"/a", "/e", *jobs}, (as_of, end)
            assert "above" in jobs or "above" not in around(client, f"dataset:file:{end}", as_of=as_of)
        answer = client.get("/api/v2/lineage", node="dataset:file:/a", columns="true", as_of=as_of).json()
        found = {(one["source"].removeprefix("dataset:file:"), one["source_field"], one["target_field"]) for one in answer["column_edges"]}  # fmt: skip
        assert found == expected, as_of
    graph = client.get("/api/v1/column-lineage", nodeId="datasetField:file:/a:x").json()["graph"]
    assert ("datasetField:file:/e:y" in {one["id"] for one in graph}) == alone
    fields = {"from": "dataset:file:/e", "to": "dataset:file:/a", "from_field": "y", "to_field": "x"}
    for direction in ("downstream", "upstream"):
        ends = fields if direction == "downstream" else {"from": fields["to"], "to": fields["from"], "from_field": "x", "to_field": "y"}  # fmt: skip
        assert (client.get("/api/v2/paths", **ends, direction=direction).json()["length"] == 2) == alone, direction
    at_first = client.get("/api/v2/lineage", node="dataset:file:/a", columns="true", as_of="2026-01-01T12:00:00Z").json()  # fmt: skip
    assert {(one["source_field"], one["target_field"]) for one in at_first["column_edges"]} == {("y", "x")}


def test_runs_that_read_different_inputs_keep_their_edges(client: Client, send: Send) -> None:
    """A job that reads one region a run: each comes back, so all of them stay, and say that only some runs have them."""
    send(*(run_event("COMPLETE", n, "regions", [f"/region/{n % 3}"], ["/all"], at=f"2026-01-{n:02}T00:00:00Z") for n in range(1, 10)))  # fmt: skip
    assert around(client, "dataset:file:/all", direction="upstream") == {"/all", "regions", "/region/0", "/region/1", "/region/2"}  # fmt: skip
    for n in range(3):
        assert "/all" in around(client, f"dataset:file:/region/{n}", direction="downstream")
    edges = client.get("/api/v2/lineage", node="dataset:file:/all").json()["edges"]
    assert {one["intermittent"] for one in edges if one["source"].startswith("dataset:file:/region")} == {True}


def test_columns_that_come_and_go_do_not_bring_back_an_input_that_ended(client: Client, send: Send) -> None:
    """The set with /d alone comes and goes, while five of six runs read /d, and the newest does not: that edge has ended."""
    read = [["/d"], ["/d", "/b"], ["/d", "/b"], ["/d", "/b"], ["/d"], ["/b"]]
    found = []
    for n, names in enumerate(read, 1):
        out = dataset("/c", **schema("x"), **columns({"x": [(name, "y", "DIRECT:IDENTITY") for name in names]}))
        found.append(run_event("COMPLETE", n, "often", names, [out], at=f"2026-01-{n:02}T00:00:00Z"))
    send(*found)
    for as_of in (None, "2027-01-01T00:00:00Z"):
        answer = client.get("/api/v2/lineage", node="dataset:file:/c", columns="true", as_of=as_of).json()
        assert {one["source"] for one in answer["edges"]} == {"dataset:file:/b", "job:test:often"}, as_of
        assert {one["source"] for one in answer["column_edges"]} == {"dataset:file:/b"}, as_of
    graph = client.get("/api/v1/column-lineage", nodeId="datasetField:file:/c:x").json()["graph"]
    assert {one["id"] for one in graph} == {"datasetField:file:/c:x", "datasetField:file:/b:y"}


@pytest.mark.parametrize(
    "facets",
    [{"columnLineage": facet(fields=[1])}, {"columnLineage": 7}, {"schema": facet(fields="x")}, {"symlinks": facet(identifiers={})}],
    ids=["fields", "number", "schema", "symlinks"],
)  # fmt: skip
def test_no_edge_is_dropped_under_a_success(client: Client, send: Send, facets: dict[str, Any]) -> None:
    """A facet that cannot be read takes no edge with it, and the receipt says so; the other columns of the run are there."""
    good = dataset("/good", **columns({"x": [("/in", "a", "DIRECT:IDENTITY")]}))
    bad = run_event("COMPLETE", 1, "load", ["/in"], [dataset("/bad", **facets), good])
    send(bad)
    assert around(client, "dataset:file:/in", direction="downstream") == {"/in", "load", "/bad", "/good"}
    assert around(client, "dataset:file:/bad", direction="upstream") == {"/bad", "load", "/in"}
    told = client.get("/api/v2/lineage", node="dataset:file:/good", columns="true").json()["column_edges"]
    assert [(one["source_field"], one["target_field"]) for one in told] == [("a", "x")]
    (receipt,) = client.get("/api/v2/receipts", producer="https://example.test").json()["receipts"]
    shown = client.get(f"/api/v2/receipts/{quote(receipt['id'])}").json()
    assert [one["code"] for one in shown["warnings"]], shown
