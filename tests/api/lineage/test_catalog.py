"""Lists of datasets and jobs: what narrows them, their order, and how many have which namespace, tag and owner."""

from typing import Any

import pytest
from tests.events import dataset, encoded, facet, parent, run_event


def send(client: Any) -> None:
    def tagged(name: str, namespace: str, tag: str, owner: str) -> dict[str, Any]:
        return dataset(
            name,
            namespace=namespace,
            tags=facet(tags=[{"key": tag}]),
            ownership=facet(owners=[{"name": owner, "type": "OWNER"}]),
        )

    events = [
        run_event(
            "COMPLETE", 1, "load", ["/plain"], [tagged("b", "s3://lake", "pii", "ana")], at="2026-01-01T00:00:00Z"
        ),
        run_event("COMPLETE", 2, "mart", [], [tagged("c", "s3://lake", "gold", "ana")], at="2026-01-02T00:00:00Z"),
        run_event("COMPLETE", 3, "copy", [], [tagged("a", "pg://shop", "pii", "bob")], at="2026-01-03T00:00:00Z"),
    ]
    for event in events:
        assert client.post("/api/v1/lineage", encoded(event)).status_code == 201


def ask(client: Any, kind: str = "datasets", **question: Any) -> dict[str, Any]:
    reply = client.get(f"/api/v2/{kind}", **question)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


@pytest.mark.parametrize(
    ("narrow", "expected"),
    [
        ({}, ["a", "c", "/plain", "b"]),
        ({"tag": "pii"}, ["a", "b"]),
        ({"owner": "ana"}, ["c", "b"]),
        ({"platform": "s3"}, ["c", "b"]),
        ({"tag": "pii", "owner": "ana"}, ["b"]),
        ({"namespace": "s3://lake", "q": "c"}, ["c"]),
        ({"sort": "name"}, ["/plain", "a", "b", "c"]),
        ({"sort": "name", "order": "desc", "tag": "pii"}, ["b", "a"]),
        ({"sort": "updated", "order": "asc"}, ["/plain", "b", "c", "a"]),
        ({"sort": "name", "limit": 2, "offset": 1}, ["a", "b"]),
        ({"tag": "nothing"}, []),
    ],
)
def test_what_narrows_and_orders_a_list(client: Any, narrow: dict[str, Any], expected: list[str]) -> None:
    send(client)
    found = ask(client, **narrow)
    assert [one["name"] for one in found["datasets"]] == expected
    assert found["total"] == (4 if "limit" in narrow else len(expected))
    assert found["facets"] is None


@pytest.mark.parametrize("narrow", [{}, {"namespace": "file"}, {"q": "ali"}, {"tag": "pii"}])
def test_a_dataset_of_several_names_is_counted_once(client: Any, narrow: dict[str, Any]) -> None:
    send(client)
    other = facet(identifiers=[{"namespace": "hive://h:9083", "name": "mart.alias", "type": "TABLE"}])
    events = [
        # The other name is known first, then it is said to be the same as the path.
        run_event("COMPLETE", 8, "write", [], [dataset("mart.alias", namespace="hive://h:9083")]),
        run_event("COMPLETE", 9, "write", [], [dataset("/alias", symlinks=other, tags=facet(tags=[{"key": "pii"}]))]),
    ]
    for event in events:
        assert client.post("/api/v1/lineage", encoded(event)).status_code == 201
    found = ask(client, **narrow)
    assert found["total"] == len(found["datasets"]) > 0
    assert [one["name"] for one in found["datasets"]].count("mart.alias") + sum(
        one["name"] == "/alias" for one in found["datasets"]
    ) == 1


def test_facets_count_what_the_other_filters_leave(client: Any) -> None:
    send(client)
    assert ask(client, facets=True, limit=0)["facets"] == {
        "namespace": {"s3://lake": 2, "file": 1, "pg://shop": 1},
        "platform": {"s3": 2, "file": 1, "pg": 1},
        "tag": {"pii": 2, "gold": 1},
        "owner": {"ana": 2, "bob": 1},
    }
    assert ask(client, facets=True, owner="ana")["facets"]["tag"] == {"gold": 1, "pii": 1}
    jobs = ask(client, "jobs", facets=True, sort="name")
    assert [one["name"] for one in jobs["jobs"]] == ["copy", "load", "mart"]
    assert jobs["facets"]["namespace"] == {"test": 3}


def test_jobs_are_listed_below_their_parents(client: Any) -> None:
    events = [
        run_event("COMPLETE", 11, "dag", at="2026-01-04T00:00:00Z"),
        *(
            run_event(
                "COMPLETE",
                number,
                f"dag.{name}",
                [],
                [f"/{name}"],
                run_facets=parent(11, "dag"),
                at="2026-01-04T00:00:00Z",
            )
            for number, name in ((12, "b"), (13, "a"))
        ),
    ]
    send(client)
    for event in events:
        assert client.post("/api/v1/lineage", encoded(event)).status_code == 201
    top = ask(client, "jobs", parent="none", sort="name")
    assert [one["name"] for one in top["jobs"]] == ["copy", "dag", "load", "mart"]
    assert (top["total"], top["children"]) == (4, {"job:test:dag": 2})
    below = ask(client, "jobs", parent="job:test:dag", sort="name")
    assert [one["name"] for one in below["jobs"]] == ["dag.a", "dag.b"]
    assert (below["total"], below["children"]) == (2, {})
    assert [one["name"] for one in ask(client, "jobs", parent="job:test:dag", limit=1)["jobs"]] == ["dag.a"]
    assert ask(client, "jobs")["total"] == 6
    assert client.get("/api/v2/jobs", parent="job:test:none").status_code == 404


@pytest.mark.parametrize("question", [{"sort": "size"}, {"order": "sideways"}])
def test_an_unknown_order_is_refused(client: Any, question: dict[str, str]) -> None:
    reply = client.get("/api/v2/datasets", **question)
    assert (reply.status_code, reply.json()["code"]) == (400, "invalid_question")


def test_before_its_first_event_a_node_says_when_that_was(client: Any) -> None:
    send(client)
    reply = client.get("/api/v2/lineage", node="dataset:s3://lake:b", as_of="2001-01-01T00:00:00Z")
    assert reply.status_code == 404
    assert reply.json()["detail"]["first_seen"].startswith("2026-01-01T00:00:00")
