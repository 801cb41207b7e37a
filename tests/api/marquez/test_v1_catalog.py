"""Namespaces, sources and tags."""

from typing import Any

from tests.events import dataset, encoded, facet, run_event

LINEAGE = "/api/v1/lineage"


def send(client: Any, *events: dict[str, Any]) -> None:
    for event in events:
        assert client.post(LINEAGE, encoded(event)).status_code == 201


def names(reply: Any, what: str) -> list[str]:
    return [one["name"] for one in reply.json()[what]]


def test_a_new_server_has_the_default_namespace_and_two_tags(client: Any) -> None:
    (only,) = client.get("/api/v1/namespaces").json()["namespaces"]
    assert (only["name"], only["ownerName"], only["isHidden"]) == ("default", "anonymous", False)
    assert names(client.get("/api/v1/tags"), "tags") == ["PII", "SENSITIVE"]
    assert client.get("/api/v1/sources").json() == {"sources": []}


def test_namespaces_of_events_by_name_with_slashes_and_ports(client: Any) -> None:
    send(client, run_event("COMPLETE", 1, "j", [dataset("t", "postgres://db:5432")], [], namespace="a b"))
    assert names(client.get("/api/v1/namespaces"), "namespaces") == ["a b", "default", "postgres://db:5432"]
    one = client.get("/api/v1/namespaces/postgres%3A%2F%2Fdb%3A5432")
    assert one.json() == {
        "name": "postgres://db:5432",
        "createdAt": "2026-01-01T00:00:00Z",
        "updatedAt": "2026-01-01T00:00:00Z",
        "ownerName": "anonymous",
        "description": None,
        "isHidden": False,
    }
    assert names(client.get("/api/v1/namespaces", limit=1, offset=1), "namespaces") == ["default"]
    gone = client.get("/api/v1/namespaces/unknown")
    assert (gone.status_code, gone.json()) == (404, {"code": 404, "message": "Namespace 'unknown' not found."})


def test_sources_are_what_data_source_facets_name(client: Any) -> None:
    named = dataset("t", dataSource=facet(name="warehouse", uri="snowflake://account"))
    send(client, run_event("COMPLETE", 1, "j", [named], ["/out"]))
    assert names(client.get("/api/v1/sources"), "sources") == ["default", "warehouse"]
    one = client.get("/api/v1/sources/warehouse").json()
    assert (one["type"], one["connectionUrl"]) == ("SNOWFLAKE", "snowflake://account")
    assert client.get("/api/v1/sources/default").json()["type"] == "POSTGRESQL"
    assert client.get("/api/v1/sources/other").json() == {"code": 404, "message": "Source 'other' not found."}
    assert names(client.get("/api/v1/sources", limit=1, offset=1), "sources") == ["warehouse"]


def test_tags_facets_are_tags(client: Any) -> None:
    tagged = dataset(
        "t", tags=facet(tags=[{"key": "gold", "value": "true"}, {"key": "zone", "value": "raw", "field": "a"}])
    )
    send(client, run_event("COMPLETE", 1, "j", [tagged], []))
    assert names(client.get("/api/v1/tags"), "tags") == ["PII", "SENSITIVE", "gold", "zone:raw"]
    assert names(client.get("/api/v1/tags", limit=1, offset=2), "tags") == ["gold"]
