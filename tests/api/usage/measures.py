"""Helpers that build the facets of a query log."""

import json
from typing import Any

from tests.events import facet

N = "snowflake://acme-eu"


def camel(fields: dict[str, Any]) -> dict[str, Any]:
    def key(name: str) -> str:
        first, *others = name.split("_")
        return first + "".join(word.capitalize() for word in others)

    return {key(name): value for name, value in fields.items() if value is not None}


def dataset(
    name: str, *, at: str = "2026-11-21T06:00:00Z", namespace: str = N, **facets: dict[str, Any]
) -> dict[str, Any]:
    """A DatasetEvent; `usage={"reads": 1}` is its `headwater_usage`."""
    told = {f"headwater_{key}": facet(**camel(fields)) for key, fields in facets.items()}
    return {"eventTime": at, "producer": "p", "dataset": {"namespace": namespace, "name": name, "facets": told}}


def job(name: str, *, at: str = "2026-11-21T06:00:00Z", namespace: str = N, **facets: dict[str, Any]) -> dict[str, Any]:
    """A JobEvent without inputs and outputs."""
    told = {f"headwater_{key}": facet(**camel(fields)) for key, fields in facets.items()}
    return {"eventTime": at, "producer": "p", "job": {"namespace": namespace, "name": name, "facets": told}}


def send(client: Any, *events: dict[str, Any]) -> None:
    reply = client.post("/api/v1/lineage/batch", json.dumps(events).encode())
    assert reply.json()["summary"]["failed"] == 0, reply.text


def ask(client: Any, path: str, **question: Any) -> dict[str, Any]:
    reply = client.get(path, **question)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def refused(client: Any, path: str, **question: Any) -> str:
    """The message of a question that makes no sense."""
    reply = client.get(path, **question)
    assert (reply.status_code, reply.json()["code"]) == (400, "invalid_question"), reply.text
    return str(reply.json()["message"])
