"""Columns go on through a rename, as tables do: from both ends, in each API, whichever name has a schema and whatever arrives first."""

import random
from typing import Any

import pytest
from tests.api.lineage.test_both_ends import column_ends, send
from tests.api.lineage.test_strange_lineage import linked, ran, renamed
from tests.events import columns, dataset, encoded, facet, run_event, schema
from tests.fixtures.app import Client

Event = dict[str, Any]
SAME = "DIRECT:IDENTITY"
BOTH = ({"/old": ("x", "z")}, {"/new": ("x", "w")})


def written(name: str, fields: tuple[str, ...]) -> Event:
    return ran(
        1,
        "w",
        ["/src"],
        [dataset(name, **columns({"x": [("/src", "x", SAME)]}), **(schema(*fields) if fields else {}))],
    )


def used(name: str, fields: tuple[str, ...], run: int = 9) -> Event:
    out = dataset("/out", **columns({"x": [(name, "x", SAME)]}))
    return ran(run, "r", [dataset(name, **(schema(*fields) if fields else {}))], [out])


def by_a_run(day: int, old: str, new: str) -> Event:
    before = {"namespace": "file", "name": old}
    change = facet(lifecycleStateChange="RENAME", previousIdentifier=before)
    return ran(day, "alter", [], [dataset(new, lifecycleStateChange=change)])


def overwritten(day: int, name: str) -> Event:
    return ran(day, "later", [], [dataset(name, lifecycleStateChange=facet(lifecycleStateChange="OVERWRITE"))])


CASES: dict[str, list[Event]] = {
    "both schemas": [written("/old", ("x", "z")), renamed(2, "/old", "/new"), used("/new", ("x", "w"))],
    "the earlier schema": [written("/old", ("x", "z")), renamed(2, "/old", "/new"), used("/new", ())],
    "the later schema": [written("/old", ()), renamed(2, "/old", "/new"), used("/new", ("x", "w"))],
    "no schema": [written("/old", ()), renamed(2, "/old", "/new"), used("/new", ())],
    "in another case": [written("/old", ("x",)), renamed(2, "/old", "/new"), used("/new", ("X",)) | {}],
    "by a run": [written("/old", ("x", "z")), by_a_run(2, "/old", "/new"), used("/new", ("x",))],
    "written since": [written("/old", ("x", "z")), by_a_run(2, "/old", "/new"), overwritten(3, "/new"), used("/new", ("x",))],
    "twice": [written("/old", ("x",)), renamed(2, "/old", "/mid"), renamed(3, "/mid", "/new"), used("/new", ())],
    "under another name": [written("/old", ("x",)), linked(2, "/new", "/other"), renamed(3, "/old", "/other"), used("/new", ())],
    "under the first name": [written("/old", ("x",)), linked(2, "/other", "/new"), renamed(3, "/old", "/other"), used("/new", ())],
    "with a link": [written("/old", ("x",)), renamed(2, "/old", "/mid"), linked(3, "/mid", "/new"), used("/new", ())],
}  # fmt: skip


@pytest.mark.parametrize("order", range(2))
@pytest.mark.parametrize("name", CASES)
def test_a_column_goes_on_from_both_ends(client: Client, name: str, order: int) -> None:
    events = list(CASES[name])
    if order:
        random.Random(name).shuffle(events)
    for event in events:
        send(client, event)
    assert ("/src", "x") in column_ends(client, "/out", "x", "upstream")
    assert ("/out", "x") in column_ends(client, "/src", "x", "downstream")
    if order:
        return
    resident = client.get("/api/v2/lineage", node="dataset:file:/out", columns="true", direction="upstream", depth=20)
    in_sql = client.get(
        "/api/v2/lineage",
        node="dataset:file:/out",
        columns="true",
        direction="upstream",
        depth=20,
        as_of="2027-01-01T00:00:00Z",
    )
    told = [
        {(e["source"], e["source_field"], e["target"], e["target_field"]) for e in one.json()["column_edges"]}
        for one in (resident, in_sql)
    ]
    assert told[0] == told[1]
    marquez = client.get("/api/v1/column-lineage", nodeId="datasetField:file:/out:x", depth=20).json()["graph"]
    assert "datasetField:file:/src:x" in {one["id"] for one in marquez}
    question = {"from": "dataset:file:/src", "to": "dataset:file:/out", "from_field": "x", "to_field": "x"}
    assert client.get("/api/v2/paths", **question).json()["paths"]
    dropped = client.post("/api/v2/whatif", encoded({"drop": "dataset:file:/src.x"}), content_type="application/json")
    assert "dataset:file:/out" in dropped.text, dropped.text


def test_a_column_that_one_name_lacks_does_not_pass(client: Client) -> None:
    for event in CASES["both schemas"]:
        send(client, event)
    edges = client.get("/api/v2/lineage", node="dataset:file:/new", columns="true", depth=20).json()["column_edges"]
    through = {(e["source_field"], e["target_field"]) for e in edges if e["target"] == "dataset:file:/new"}
    assert through == {("x", "x")}


def test_what_is_reported_of_a_column_comes_first(client: Client) -> None:
    """The event of the rename tells where `x` comes from; only `z` is taken to be the same."""
    event = renamed(2, "/old", "/new")
    event["dataset"]["facets"] |= columns({"x": [("/old", "y", "DIRECT:TRANSFORMATION")]}) | schema("x", "z")
    send(client, ran(1, "w", ["/src"], [dataset("/old", **schema("x", "y", "z"))]), event)
    edges = client.get("/api/v2/lineage", node="dataset:file:/new", columns="true", depth=20).json()["column_edges"]
    through = {(e["source_field"], e["target_field"]) for e in edges if e["target"] == "dataset:file:/new"}
    assert through == {("y", "x"), ("z", "z")}


def test_a_column_that_only_a_rename_implied_is_one_in_every_direction(client: Client) -> None:
    """The new name is known to have `y` alone, since later: until then it had what the old name had."""
    later = ran(5, "later", [], [dataset("/new", **schema("y"))])
    for event in (written("/old", ("x",)), renamed(2, "/old", "/new"), later):
        send(client, event)
    asked = {"node": "dataset:file:/new", "field": "x", "as_of": "2026-01-03T00:00:00Z"}
    for direction in ("upstream", "downstream", "both"):
        for more in ({}, {"columns": "true"}, {"depth": 0}):
            reply = client.get("/api/v2/lineage", **asked, direction=direction, **more)
            assert reply.status_code == 200, (direction, more, reply.text)
    for direction in ("upstream", "downstream"):
        wrong = client.get("/api/v2/lineage", **(asked | {"field": "w"}), direction=direction)
        assert wrong.status_code == 404


def test_a_column_that_another_job_says_is_read_is_one_in_every_direction(client: Client) -> None:
    """No schema and no report of the reader names it: explicit lineage of another job does."""
    reads = {
        "type": "JOB",
        "namespace": "test",
        "name": "reader",
        "inputs": [{"type": "DATASET", "namespace": "file", "name": "/t", "field": "x"}],
    }
    told = run_event("COMPLETE", 1, "teller", job_facets={"lineage": facet(entries=[reads])})
    for event in (told, ran(2, "writer", [], [dataset("/t", **schema("y"))])):
        send(client, event)
    for direction in ("upstream", "downstream", "both"):
        reply = client.get("/api/v2/lineage", node="dataset:file:/t", field="x", direction=direction)
        assert reply.status_code == 200, (direction, reply.text)
