"""Lineage upstream and downstream: walks, columns, time, precedence, limits."""

from typing import Any

from tests.events import columns, dataset, encoded, facet, parent, run_event, schema

LINEAGE = "/api/v1/lineage"


def send(client: Any, *events: dict[str, Any]) -> None:
    for event in events:
        assert client.post(LINEAGE, encoded(event)).status_code == 201


def ask(client: Any, node: str, **question: Any) -> dict[str, Any]:
    reply = client.get("/api/v2/lineage", node=node, **question)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def hops(answer: dict[str, Any]) -> dict[str, int]:
    return {
        node["id"].split(":", 1)[1].removeprefix("file:").removeprefix("test:"): node["hop"] for node in answer["nodes"]
    }


def chain(client: Any, length: int) -> None:
    """/0 → j1 → /1 → j2 → /2 …"""
    send(client, *(run_event("COMPLETE", i, f"j{i}", [f"/{i - 1}"], [f"/{i}"]) for i in range(1, length + 1)))


def test_up_and_down_with_depth_and_what_is_hidden(client: Any) -> None:
    chain(client, 6)
    answer = ask(client, "dataset:file:/3", depth=2)
    assert hops(answer) == {"/1": -2, "j2": -2, "/2": -1, "j3": -1, "/3": 0, "j4": 1, "/4": 1, "j5": 2, "/5": 2}
    hidden = {
        n["id"]: (n["hidden_upstream"], n["hidden_downstream"])
        for n in answer["nodes"]
        if n["hidden_upstream"] or n["hidden_downstream"]
    }
    assert hidden == {"dataset:file:/1": (1, 0), "dataset:file:/5": (0, 1)}
    assert answer["hidden"] == {"nodes": 2, "reason": "depth=2 reached", "at_least": False}
    assert hops(ask(client, "dataset:file:/3", direction="upstream", depth=100)).keys() == {
        "/0",
        "j1",
        "/1",
        "j2",
        "/2",
        "j3",
        "/3",
    }
    assert hops(ask(client, "dataset:file:/3", depth=0)) == {"/3": 0}


def test_a_job_is_a_start_too(client: Any) -> None:
    chain(client, 3)
    assert hops(ask(client, "job:test:j2", depth=1)) == {"/1": -1, "j2": 0, "/2": 1}


def test_siblings_are_no_relatives(client: Any) -> None:
    send(
        client,
        run_event("COMPLETE", 1, "a", ["/shared"], ["/left"]),
        run_event("COMPLETE", 2, "b", ["/shared"], ["/right"]),
    )
    assert "/right" not in hops(ask(client, "dataset:file:/left"))


def test_cycles_end(client: Any) -> None:
    send(client, run_event("COMPLETE", 1, "a", ["/x"], ["/y"]), run_event("COMPLETE", 2, "b", ["/y", "/x"], ["/x"]))
    assert set(hops(ask(client, "dataset:file:/x", depth=100))) == {"/x", "/y", "a", "b"}


def test_edges_stand_from_start_on_and_a_bare_start_hides_nothing(client: Any) -> None:
    send(client, run_event("START", 1, "a", ["/in"], ["/out"]))
    assert "/in" in hops(ask(client, "dataset:file:/out"))
    send(
        client,
        run_event("COMPLETE", 1, "a", at="2026-01-01T00:01:00Z"),
        run_event("START", 2, "a", at="2026-01-02T00:00:00Z"),
    )
    assert "/in" in hops(ask(client, "dataset:file:/out"))


def test_an_input_that_a_job_stopped_reading_ends_and_one_that_comes_and_goes_stays(client: Any) -> None:
    def day(number: int, *inputs: str) -> None:
        send(client, run_event("COMPLETE", number, "a", list(inputs), ["/out"], at=f"2026-01-{number:02}T00:00:00Z"))

    day(1, "/old", "/odd")
    day(2, "/new")
    assert {"/old", "/odd"}.isdisjoint(hops(ask(client, "dataset:file:/out")))
    assert {"/old", "/odd"} <= hops(ask(client, "dataset:file:/out", as_of="2026-01-01T12:00:00Z")).keys()
    day(3, "/new", "/odd")
    day(4, "/new")
    answer = ask(client, "dataset:file:/out")
    assert "/old" not in hops(answer)
    assert {one["source"]: one["intermittent"] for one in answer["edges"] if one["relation"] == "READ"} == {
        "dataset:file:/new": False,
        "dataset:file:/odd": True,
    }


def test_as_of(client: Any) -> None:
    send(
        client,
        run_event("COMPLETE", 1, "a", ["/in"], [dataset("/out", **schema("x"))], at="2026-01-01T00:00:00Z"),
        run_event("COMPLETE", 2, "b", ["/out"], ["/more"], at="2026-03-01T00:00:00Z"),
        run_event("FAIL", 3, "a", ["/in"], [dataset("/out", **schema("x", "y"))], at="2026-04-01T00:00:00Z"),
    )
    then = ask(client, "dataset:file:/out", as_of="2026-02-01T00:00:00Z")
    assert set(hops(then)) == {"/in", "a", "/out"}
    out = next(n for n in then["nodes"] if n["name"] == "/out")
    assert [f["name"] for f in out["fields"]] == ["x"]
    assert next(n for n in then["nodes"] if n["name"] == "a")["last_run"]["state"] == "COMPLETED"
    now = ask(client, "dataset:file:/out")
    assert "/more" in hops(now)
    assert next(n for n in now["nodes"] if n["name"] == "a")["last_run"]["state"] == "FAILED"
    assert client.get("/api/v2/lineage", node="dataset:file:/out", as_of="2025-01-01T00:00:00Z").status_code == 404


def told_columns(answer: dict[str, Any]) -> set[tuple[Any, ...]]:
    return {
        (
            e["source"].rsplit(":", 1)[1],
            e["source_field"],
            e["target"].rsplit(":", 1)[1],
            e["target_field"],
            t["type"],
            t["subtype"],
        )
        for e in answer["column_edges"]
        for t in e["transformations"]
    }


def test_columns_and_the_narrowing_to_one(client: Any) -> None:
    first = dataset(
        "/mid",
        **columns(
            {"x": [("/raw", "a", "DIRECT:IDENTITY")], "y": [("/raw", "b", "DIRECT:AGGREGATION")]},
            [("/raw", "k", "INDIRECT:FILTER")],
        ),
    )
    last = dataset(
        "/out", **columns({"z": [("/mid", "x", "DIRECT:TRANSFORMATION")], "w": [("/mid", "y", "DIRECT:IDENTITY")]})
    )
    send(
        client,
        run_event("COMPLETE", 1, "a", ["/raw", "/lookup"], [first]),
        run_event("COMPLETE", 2, "b", ["/mid"], [last]),
    )
    everything = told_columns(ask(client, "dataset:file:/out", columns=True))
    assert everything == {
        ("/raw", "a", "/mid", "x", "DIRECT", "IDENTITY"),
        ("/raw", "b", "/mid", "y", "DIRECT", "AGGREGATION"),
        ("/raw", "k", "/mid", None, "INDIRECT", "FILTER"),
        ("/mid", "x", "/out", "z", "DIRECT", "TRANSFORMATION"),
        ("/mid", "y", "/out", "w", "DIRECT", "IDENTITY"),
    }
    narrowed = ask(client, "dataset:file:/out", field="z")
    assert told_columns(narrowed) == {edge for edge in everything if edge[3] in {"x", "z", None}}
    assert "/lookup" not in hops(narrowed)


def test_indirect_dependencies_on_every_column_are_told_once(client: Any) -> None:
    """The Spark listener's default repeats each filter on each column."""
    edges = {c: [("/in", c, "DIRECT:IDENTITY"), ("/in", "k", "INDIRECT:FILTER")] for c in "abc"}
    send(client, run_event("COMPLETE", 1, "a", ["/in"], [dataset("/out", **columns(edges))]))
    found = [e for e in told_columns(ask(client, "dataset:file:/out", columns=True)) if e[4] == "INDIRECT"]
    assert found == [("/in", "k", "/out", None, "INDIRECT", "FILTER")]


def test_explicit_lineage_beats_the_product_of_inputs_and_outputs(client: Any) -> None:
    entries = [
        {
            "type": "DATASET",
            "namespace": "file",
            "name": "/o1",
            "inputs": [{"type": "DATASET", "namespace": "file", "name": "/i1"}],
        },
        {"type": "DATASET", "namespace": "file", "name": "/o2", "inputs": []},
    ]
    send(
        client,
        run_event("COMPLETE", 1, "a", ["/i1", "/i2"], ["/o1", "/o2"], job_facets={"lineage": facet(entries=entries)}),
    )
    assert set(hops(ask(client, "dataset:file:/o1", direction="upstream"))) == {"/o1", "a", "/i1"}
    assert set(hops(ask(client, "dataset:file:/o2", direction="upstream"))) == {"/o2", "a"}
    assert set(hops(ask(client, "dataset:file:/i1", direction="downstream"))) == {"/i1", "a", "/o1"}
    assert set(hops(ask(client, "dataset:file:/i2", direction="downstream"))) == {"/i2", "a"}


def test_columns_that_feed_a_job_reach_what_it_writes(client: Any) -> None:
    """Data collected to the driver, and a report written without Spark."""
    entries = [{"type": "JOB", "inputs": [{"type": "DATASET", "namespace": "file", "name": "/mart", "field": "x"}]}]
    mart = dataset(
        "/mart", **columns({"x": [("/raw", "a", "DIRECT:IDENTITY")], "y": [("/raw", "b", "DIRECT:IDENTITY")]})
    )
    send(
        client,
        run_event("COMPLETE", 1, "build", ["/raw"], [mart]),
        run_event("RUNNING", 2, "report", ["/mart"], job_facets={"lineage": facet(entries=entries)}),
        run_event("COMPLETE", 2, "report", [], ["/report.html"], at="2026-01-01T00:01:00Z"),
    )
    answer = ask(client, "dataset:file:/report.html", columns=True)
    assert "/raw" in hops(answer)
    fed = [(e["source_field"], e["target"]) for e in answer["column_edges"] if e["target"].startswith("job:")]
    assert fed == [("x", "job:test:report")]
    assert "/report.html" in hops(ask(client, "dataset:file:/raw", field="a"))
    assert "/report.html" not in hops(ask(client, "dataset:file:/raw", field="b"))


def declared(name: str) -> dict[str, Any]:
    return dataset(name, headwater_declared=facet(name=name))


def test_what_is_declared_yields_to_what_a_child_was_seen_doing(client: Any) -> None:
    send(client, run_event("START", 1, "package", [declared("/in"), declared("/never")], [declared("/out")]))
    before = ask(client, "dataset:file:/out")
    assert {edge["origin"] for edge in before["edges"]} == {"DECLARED"}
    send(
        client,
        run_event(
            "COMPLETE", 2, "package.out", ["/in"], ["/out"], run_facets=parent(1, "package"), at="2026-01-01T00:01:00Z"
        ),
    )
    after = ask(client, "dataset:file:/out")
    assert set(hops(after)) == {"/in", "package.out", "/out"}
    assert next(n for n in after["nodes"] if n["name"] == "package.out")["parent"] == "job:test:package"
    # The input without an observed reader is still there, as declared.
    assert [e["origin"] for e in ask(client, "dataset:file:/never")["edges"]] == ["DECLARED"]
    # One version, not two.
    assert len(client.get("/api/v2/datasets/file/%2Fout").json()["versions"]) == 1
    # The package's lineage is that of the jobs below it.
    assert {"/in", "/out"} <= hops(ask(client, "job:test:package")).keys()


def test_static_events_tell_lineage_without_runs(client: Any) -> None:
    send(
        client,
        {
            "eventTime": "2026-01-01T00:00:00Z",
            "producer": "p",
            "job": {"namespace": "test", "name": "j"},
            "inputs": [dataset("/i")],
            "outputs": [dataset("/o")],
        },
    )
    assert set(hops(ask(client, "dataset:file:/o"))) == {"/i", "j", "/o"}
    # The next declaration replaces the earlier.
    send(
        client,
        {
            "eventTime": "2026-02-01T00:00:00Z",
            "producer": "p",
            "job": {"namespace": "test", "name": "j"},
            "inputs": [dataset("/k")],
            "outputs": [dataset("/o")],
        },
    )
    assert set(hops(ask(client, "dataset:file:/o"))) == {"/k", "j", "/o"}
    assert client.get("/api/v2/runs").json()["total"] == 0


def test_a_cap_is_told(client: Any) -> None:
    send(client, run_event("COMPLETE", 1, "wide", [f"/i{n}" for n in range(20)], ["/out"]))
    answer = ask(client, "dataset:file:/out", max_nodes=10)
    assert len(answer["nodes"]) == 10
    assert answer["hidden"] == {"nodes": 12, "reason": "max_nodes=10 reached", "at_least": False}


def test_both_directions_keep_their_nearest_and_all_the_rest_is_counted(client: Any) -> None:
    chain(client, 40)
    answer = ask(client, "dataset:file:/20", depth=100, max_nodes=9)
    assert hops(answer) == {
        "/18": -2,
        "j19": -2,
        "/19": -1,
        "j20": -1,
        "/20": 0,
        "j21": 1,
        "/21": 1,
        "j22": 2,
        "/22": 2,
    }
    assert answer["hidden"] == {"nodes": 81 - 9, "reason": "max_nodes=9 reached", "at_least": False}
    beside = {n["id"]: (n["hidden_upstream"], n["hidden_downstream"]) for n in answer["nodes"]}
    assert {id_ for id_, sides in beside.items() if any(sides)} == {"dataset:file:/18", "dataset:file:/22"}
    assert beside["dataset:file:/18"] == (1, 0)
    assert beside["dataset:file:/22"] == (0, 1)
    uncounted = ask(client, "dataset:file:/20", depth=100, max_nodes=3)
    assert uncounted["hidden"] == {"nodes": 1 + 2 * 15 - 3, "reason": "max_nodes=3 reached", "at_least": True}


def test_statements_grow_with_depth_and_not_with_width(client: Any, statements: Any) -> None:
    for width in (1, 2, 60):
        send(
            client,
            run_event("COMPLETE", width, f"wide{width}", [f"/w{width}-{n}" for n in range(width)], [f"/out{width}"]),
        )
    counts = []
    for width in (1, 2, 60):
        with statements() as counted:
            ask(client, f"dataset:file:/out{width}", columns=True)
        counts.append(len(counted))
    # The first question to the graph in memory also asks what arrived.
    assert counts[0] >= counts[1] == counts[2]


def test_questions_that_make_no_sense(client: Any) -> None:
    for question in ({"node": "dataset:file:/no"}, {"node": "nonsense"}, {"node": ""}):
        assert client.get("/api/v2/lineage", **question).status_code == 404
    for wrong in ({"direction": "sideways"}, {"depth": -1}, {"depth": "x"}, {"as_of": "soon"}, {"max_nodes": 0}):
        reply = client.get("/api/v2/lineage", node="dataset:file:/no", **wrong)
        assert reply.status_code == 400, wrong
        assert set(reply.json()) == {"code", "status", "message", "detail"}
