"""The changes of the graph between two times."""

from typing import Any

from tests.api.lineage.test_lineage import send
from tests.events import columns, dataset, facet, parent, run_event, schema

JANUARY, FEBRUARY, MARCH = (f"2026-0{month}-15T00:00:00Z" for month in (1, 2, 3))


def ask(client: Any, node: str | None, before: str, after: str | None, **question: Any) -> dict[str, Any]:
    reply = client.get("/api/v2/lineage/diff", node=node, **{"from": before, "to": after}, **question)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def ids(nodes: list[dict[str, Any]]) -> set[str]:
    return {node["id"].rsplit(":", 1)[1] for node in nodes}


def pairs(edges: list[dict[str, Any]]) -> set[tuple[str, str]]:
    return {(e["source"].rsplit(":", 1)[1], e["target"].rsplit(":", 1)[1]) for e in edges}


def world(client: Any) -> None:
    """Send two months: in January `a` makes /out of /old; in February it makes it of /new, with another schema, and `b` begins to read
    it."""
    first = dataset("/out", **schema("x", "y"), **columns({"x": [("/old", "k", "DIRECT:IDENTITY")]}))
    later = dataset("/out", **schema("z", "x", type="int"), **columns({"x": [("/new", "k", "DIRECT:AGGREGATION")]}))
    send(
        client,
        run_event("COMPLETE", 1, "a", ["/old"], [first], at="2026-01-01T00:00:00Z"),
        *(run_event("COMPLETE", n, "a", ["/new"], [later], at=f"2026-02-{n:02}T00:00:00Z") for n in range(2, 13)),
        run_event("COMPLETE", 20, "b", ["/out"], ["/end"], at="2026-02-13T00:00:00Z"),
    )


def test_what_came_and_went(client: Any) -> None:
    world(client)
    found = ask(client, "dataset:file:/out", JANUARY, FEBRUARY, columns=True)
    assert ids(found["nodes"]["added"]) == {"/new", "b", "/end"}
    assert ids(found["nodes"]["removed"]) == {"/old"}
    assert pairs(found["edges"]["added"]) == {("/new", "a"), ("/out", "b"), ("b", "/end")}
    assert pairs(found["edges"]["removed"]) == {("/old", "a")}
    assert pairs(found["column_edges"]["added"]) == {("/new", "/out")}
    assert pairs(found["column_edges"]["removed"]) == {("/old", "/out")}
    assert found["schemas"] == [
        {
            "dataset": "dataset:file:/out",
            "added": [{"name": "z", "type": "int"}],
            "removed": [{"name": "y", "type": "string"}],
            "retyped": [{"name": "x", "type_before": "string", "type_after": "int"}],
            "reordered": False,
        }
    ]
    assert found["complete"]
    assert found["known_before"]
    assert (found["before"]["nodes"], found["after"]["nodes"]) == (3, 5)
    assert found["from"] == JANUARY


def test_back_in_time_is_the_other_way_round_and_the_same_time_is_nothing(client: Any) -> None:
    world(client)
    for node, namespace in (("dataset:file:/out", None), (None, None), (None, "file")):
        for at in (JANUARY, FEBRUARY):
            found = ask(client, node, at, at, namespace=namespace, columns=True)
            assert found["nodes"] == {"added": [], "removed": []}
            assert found["edges"] == found["column_edges"] == {"added": [], "removed": [], "changed": []}
            assert found["schemas"] == []
    reply = client.get("/api/v2/lineage/diff", node="dataset:file:/out", **{"from": FEBRUARY, "to": JANUARY})
    assert reply.status_code == 400


def test_to_is_now_where_it_is_not_given(client: Any) -> None:
    world(client)
    assert ids(ask(client, "dataset:file:/out", JANUARY, None)["nodes"]["removed"]) == {"/old"}


def test_a_node_that_was_not_there_before(client: Any) -> None:
    world(client)
    found = ask(client, "dataset:file:/end", JANUARY, FEBRUARY)
    assert not found["known_before"]
    assert found["before"]["nodes"] == 0
    assert ids(found["nodes"]["added"]) == {"/end", "b", "/out", "a", "/new"}
    reply = client.get(
        "/api/v2/lineage/diff", node="dataset:file:/end", **{"from": "2025-01-01T00:00:00Z", "to": JANUARY}
    )
    assert reply.status_code == 404


def test_transformations_and_evidence_that_changed(client: Any) -> None:
    def out(kind: str) -> dict[str, Any]:
        return dataset("/out", **columns({"x": [("/in", "k", kind)]}))

    declared = {"eventTime": "2026-01-01T00:00:00Z", "producer": "p", "job": {"namespace": "test", "name": "a"}}
    send(
        client,
        declared | {"inputs": [dataset("/in")], "outputs": [out("DIRECT:IDENTITY")]},
        *(
            run_event("COMPLETE", n, "a", ["/in"], [out("DIRECT:AGGREGATION")], at=f"2026-02-{n:02}T00:00:00Z")
            for n in range(1, 12)
        ),
    )
    found = ask(client, "dataset:file:/out", JANUARY, MARCH, columns=True)
    changed = found["column_edges"]["changed"]
    assert [t["subtype"] for t in changed[0]["before"]] == ["IDENTITY"]
    assert {t["subtype"] for t in changed[0]["after"]} == {"IDENTITY", "AGGREGATION"}
    assert {(e["origin_before"], e["origin_after"]) for e in found["edges"]["changed"]} == {("DECLARED", "OBSERVED")}


def test_a_namespace_and_everything(client: Any) -> None:
    world(client)
    send(client, run_event("COMPLETE", 30, "c", [dataset("t", "db")], [], at="2026-02-01T00:00:00Z", namespace="other"))
    everything = ask(client, None, JANUARY, FEBRUARY)
    assert ids(everything["nodes"]["added"]) == {"/new", "b", "/end", "t", "c"}
    assert ids(everything["nodes"]["removed"]) == {"/old"}
    one = ask(client, None, JANUARY, FEBRUARY, namespace="db")
    assert ids(one["nodes"]["added"]) == {"t", "c"}
    assert [s["dataset"] for s in everything["schemas"]] == ["dataset:file:/out"]
    cut = ask(client, None, JANUARY, FEBRUARY, max_nodes=4)
    assert not cut["complete"]
    assert cut["after"]["hidden"] == {"nodes": 4, "reason": "max_nodes=4 reached", "at_least": False}


def test_a_dataset_without_edges_comes_too(client: Any) -> None:
    event = {"eventTime": "2026-02-01T00:00:00Z", "producer": "p", "dataset": dataset("/lonely", **schema("x"))}
    send(client, event)
    assert ids(ask(client, None, JANUARY, FEBRUARY)["nodes"]["added"]) == {"/lonely"}
    assert ids(ask(client, None, FEBRUARY, MARCH)["nodes"]["added"]) == set()


def test_questions_that_make_no_sense(client: Any) -> None:
    world(client)
    for wrong in ({"namespace": "file"}, {"direction": "sideways"}, {"depth": -1}, {"from": "soon"}):
        given = {"node": "dataset:file:/out", "from": JANUARY} | wrong
        assert client.get("/api/v2/lineage/diff", **given).status_code == 400, wrong
    assert client.get("/api/v2/lineage/diff", node="dataset:file:/out").status_code == 400
    assert client.get("/api/v2/lineage/diff", node="dataset:file:/no", **{"from": JANUARY}).status_code == 404


def test_statements_of_a_model_are_that_model(client: Any) -> None:
    """A new statement of a model is no change: its edges are the model's. `children` shows it by itself."""
    kind = {"jobType": facet(processingType="BATCH", integration="DBT", jobType="SQL")}
    below = parent(1, "model.shop.orders")
    send(
        client,
        run_event("COMPLETE", 1, "model.shop.orders", ["/old"], ["/out"], at="2026-01-01T00:00:00Z"),
        run_event("COMPLETE", 2, "model.shop.orders.sql.1", ["/old"], [], at="2026-01-01T00:00:00Z", run_facets=below, job_facets=kind),
        run_event("COMPLETE", 3, "model.shop.orders.sql.2", ["/new"], ["/out"], at="2026-02-01T00:00:00Z", run_facets=below, job_facets=kind),
    )  # fmt: skip
    for node in (None, "dataset:file:/out"):
        found = ask(client, node, JANUARY, FEBRUARY)
        assert ids(found["nodes"]["added"]) == {"/new"}
        assert pairs(found["edges"]["added"]) == {("/new", "model.shop.orders")}
        assert (found["before"]["nodes"], found["after"]["nodes"]) == (3, 4)
        opened = ask(client, node, JANUARY, FEBRUARY, children="true")
        assert ids(opened["nodes"]["added"]) == {"/new", "model.shop.orders.sql.2"}
        assert ("/new", "model.shop.orders.sql.2") in pairs(opened["edges"]["added"])
    alone = ask(client, "job:test:model.shop.orders.sql.2", JANUARY, FEBRUARY)
    assert "model.shop.orders.sql.2" in ids(alone["nodes"]["added"])
