"""The graph around a dataset or a job."""

from typing import Any

import pytest
from tests.events import RUN, dataset, encoded, facet, parent, run_event, schema


def send(client: Any, *events: dict[str, Any]) -> None:
    for event in events:
        assert client.post("/api/v1/lineage", encoded(event)).status_code == 201


def graph(client: Any, node: str, **more: Any) -> dict[str, dict[str, Any]]:
    reply = client.get("/api/v1/lineage", nodeId=node, **more)
    assert reply.status_code == 200, reply.text
    nodes = reply.json()["graph"]
    assert [one["id"] for one in nodes] == sorted(one["id"] for one in nodes)
    return {one["id"].removeprefix("dataset:file:").removeprefix("job:test:"): one for one in nodes}


def chain(client: Any, length: int) -> None:
    """/0 → j1 → /1 → j2 → /2 …"""
    send(client, *(run_event("COMPLETE", i, f"j{i}", [f"/{i - 1}"], [f"/{i}"]) for i in range(1, length + 1)))


def test_nodes_and_edges_have_marquez_keys(client: Any) -> None:
    out = dataset("/out", **schema("a"), tags=facet(tags=[{"key": "gold", "value": "true"}]))
    send(client, run_event("COMPLETE", 1, "j", ["/in"], [out], run_facets={"mine": facet(x=1)}))
    nodes = graph(client, "job:test:j")
    assert nodes.keys() == {"/in", "j", "/out"}
    job = nodes["j"]
    assert job.keys() == {"id", "type", "data", "inEdges", "outEdges"}
    assert job["data"].keys() == {
        "id", "type", "name", "simpleName", "parentJobName", "parentJobUuid", "currentRunUuid", "createdAt", "updatedAt", "namespace",
        "inputs", "outputs", "location", "description", "latestRun",
    }  # fmt: skip
    assert job["inEdges"] == [{"origin": "dataset:file:/in", "destination": "job:test:j"}]
    assert job["outEdges"] == [{"origin": "job:test:j", "destination": "dataset:file:/out"}]
    assert job["data"]["inputs"] == [{"namespace": "file", "name": "/in"}]
    assert job["data"]["currentRunUuid"] == job["data"]["latestRun"]["id"] == RUN.format(1)
    assert job["data"]["latestRun"]["facets"]["mine"]["x"] == 1
    written = nodes["/out"]
    assert written["data"].keys() == {
        "id", "type", "name", "physicalName", "createdAt", "updatedAt", "namespace", "sourceName", "fields", "tags", "lastModifiedAt",
        "description", "lastLifecycleState",
    }  # fmt: skip
    assert (written["data"]["tags"], written["data"]["fields"][0]["name"]) == (["gold"], "a")
    assert (written["inEdges"], written["outEdges"]) == (job["outEdges"], [])
    assert (nodes["/in"]["inEdges"], nodes["/in"]["outEdges"]) == ([], job["inEdges"])


@pytest.mark.parametrize(
    ("node", "depth", "jobs"),
    [
        ("job:test:j3", 0, "3"),
        ("job:test:j3", 1, "234"),
        ("job:test:j3", 2, "12345"),
        ("job:test:j3", -1, "3"),
        ("dataset:file:/3", 0, "34"),
        ("dataset:file:/3", 1, "2345"),
        ("dataset:file:/0", 0, "1"),
        ("job:test:j3", None, "123456"),
    ],
)
def test_depth_counts_hops_from_job_to_job_whichever_way(client: Any, node: str, depth: int | None, jobs: str) -> None:
    chain(client, 6)
    nodes = graph(client, node, depth=depth)
    assert {name for name in nodes if name.startswith("j")} == {f"j{one}" for one in jobs}
    assert {name for name in nodes if not name.startswith("j")} == {
        f"/{place}" for one in jobs for place in (int(one) - 1, int(one))
    }


def test_siblings_are_a_hop_apart(client: Any) -> None:
    send(client, *(run_event("COMPLETE", i, f"j{i}", ["/hub"], [f"/out{i}"]) for i in range(3)))
    assert {"j0", "j1", "j2"} <= graph(client, "job:test:j0", depth=1).keys()
    assert {"j1", "j2"} & graph(client, "job:test:j0", depth=0).keys() == set()


def test_a_dataset_begins_at_every_job_that_touches_it(client: Any) -> None:
    send(
        client,
        run_event("COMPLETE", 1, "writer", [], ["/t"]),
        run_event("COMPLETE", 2, "reader", ["/t"], []),
    )
    assert graph(client, "dataset:file:/t", depth=0).keys() == {"writer", "reader", "/t"}


def test_a_dataset_alone_is_a_graph(client: Any) -> None:
    send(client, {"eventTime": "2026-01-01T00:00:00Z", "producer": "p", "dataset": dataset("/t")})
    nodes = graph(client, "dataset:file:/t")
    assert (nodes.keys(), nodes["/t"]["inEdges"], nodes["/t"]["outEdges"]) == ({"/t"}, [], [])


def test_edges_are_there_from_the_start(client: Any) -> None:
    send(client, run_event("START", 1, "j", ["/in"], ["/out"]))
    assert graph(client, "dataset:file:/in").keys() == {"/in", "j", "/out"}


def test_a_hub_read_by_many_costs_as_many_statements_as_one_read_by_few(client: Any, statements: Any) -> None:
    def asked(count: int) -> tuple[int, int]:
        send(
            client,
            *(run_event("COMPLETE", i, f"h{count}j{i}", [f"/hub{count}"], [f"/o{count}{i}"]) for i in range(count)),
        )
        with statements() as counted:
            nodes = graph(client, f"dataset:file:/hub{count}", depth=4)
        return len(nodes), len(counted)

    asked(2)  # from here on, the graph in memory follows what was sent
    (few, cheap), (many, dear) = asked(3), asked(60)
    assert (few, many) == (7, 121)
    assert cheap == dear <= 40
    with statements() as counted:
        graph(client, "dataset:file:/hub60", depth=4)
    assert counted == ["position"]


@pytest.mark.parametrize(
    ("namespace", "name"),
    [
        ("postgres://db:5432", "1st.table"),
        ("jdbc:h2:mem:x", "t"),
        ("s3://bucket", "a/b:c"),
        ("a b", "c#d"),
        ("n", ":x:"),
    ],
)
def test_ids_that_can_be_read_in_several_ways(client: Any, namespace: str, name: str) -> None:
    send(client, run_event("COMPLETE", 1, f"j:{name}", [dataset(name, namespace)], [], namespace=namespace))
    for kind, one in (("dataset", name), ("job", f"j:{name}")):
        node = f"{kind}:{namespace}:{one}"
        assert node in {found["id"] for found in client.get("/api/v1/lineage", nodeId=node).json()["graph"]}


def test_a_dataset_is_found_by_any_name_and_shown_under_one(client: Any) -> None:
    link = facet(identifiers=[{"namespace": "hive://h", "name": "db.t", "type": "TABLE"}])
    send(client, run_event("COMPLETE", 1, "j", [], [dataset("/t", symlinks=link)]))
    assert graph(client, "dataset:hive://h:db.t").keys() == {"/t", "j"}


def test_a_child_is_shown_under_its_full_name_and_found_by_both(client: Any) -> None:
    send(client, run_event("COMPLETE", 2, "task", ["/in"], [], run_facets=parent(1, "dag")))
    for name in ("task", "dag.task"):
        nodes = graph(client, f"job:test:{name}")
        assert nodes.keys() == {"/in", "dag.task"}
    assert nodes["dag.task"]["data"]["parentJobName"] == "dag"
    assert nodes["dag.task"]["data"]["latestRun"]["id"] == RUN.format(2)
    assert nodes["/in"]["outEdges"] == [{"origin": "dataset:file:/in", "destination": "job:test:dag.task"}]


def test_children_are_folded_into_the_job_above_them(client: Any) -> None:
    send(
        client,
        run_event("COMPLETE", 1, "dag"),
        run_event("COMPLETE", 2, "dag.one", ["/a"], ["/b"], run_facets=parent(1, "dag")),
        run_event("COMPLETE", 3, "dag.two", ["/b"], ["/c"], run_facets=parent(1, "dag")),
        run_event("COMPLETE", 4, "deep", ["/c"], ["/d"], run_facets=parent(3, "dag.two")),
        run_event("COMPLETE", 5, "other", ["/d"], ["/e"]),
    )
    plain = graph(client, "dataset:file:/a", depth=0, aggregateByParent="false")
    assert plain.keys() == {"/a", "dag.one", "/b"}
    folded = graph(client, "dataset:file:/a", depth=0, aggregateByParent="true")
    assert folded.keys() == {"/a", "dag", "/b", "/c", "/d"}
    assert [one["name"] for one in folded["dag"]["data"]["inputs"]] == ["/a", "/b", "/c"]
    assert [one["name"] for one in folded["dag"]["data"]["outputs"]] == ["/b", "/c", "/d"]
    assert folded["dag"]["data"]["latestRun"]["id"] == RUN.format(1)
    assert graph(client, "job:test:dag", aggregateByParent="True").keys() == {
        "/a", "dag", "/b", "/c", "/d", "other", "/e",
    }  # fmt: skip


def test_large_graphs_tell_less_of_runs(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from headwater.answer.marquez import lineage

    send(client, *(run_event("COMPLETE", i, f"j{i}", ["/hub"], [], run_facets={"x": facet()}) for i in range(3)))
    assert graph(client, "dataset:file:/hub")["j1"]["data"]["latestRun"]["facets"].keys() == {"x"}
    monkeypatch.setattr(lineage, "WHOLE_RUNS_UP_TO", 2)
    run = graph(client, "dataset:file:/hub")["j1"]["data"]["latestRun"]
    assert (run["facets"], run["inputDatasetVersions"], run["state"]) == ({}, [], "COMPLETED")


@pytest.mark.parametrize(
    ("question", "status"),
    [
        ({}, 400),
        ({"nodeId": "table:a:b"}, 404),
        ({"nodeId": "dataset"}, 404),
        ({"nodeId": "dataset:a"}, 404),
        ({"nodeId": "dataset:file:/x"}, 404),
        ({"nodeId": "job:test:x"}, 404),
        ({"nodeId": "run:" + RUN.format(1)}, 404),
        ({"nodeId": "datasetField:file:/t:a"}, 404),
        ({"nodeId": "dataset:file:/t", "depth": "deep"}, 404),
        ({"nodeId": "dataset:" + "a:" * 9000}, 404),
    ],
)
def test_refusals(client: Any, question: dict[str, str], status: int) -> None:
    send(client, run_event("COMPLETE", 1, "j", [], ["/t"]))
    reply = client.get("/api/v1/lineage", **question)
    assert reply.status_code == status
    assert reply.json().keys() == ({"errors"} if status == 400 else {"code", "message"})
