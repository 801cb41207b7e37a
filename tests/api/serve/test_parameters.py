"""Parameters that a route does not have."""

from typing import Any

import pytest
from tests.fixtures.servers import inner

from headwater.api.parameters import query_parameters


@pytest.mark.parametrize(
    ("path", "name", "near"),
    [
        ("/api/v2/runs", "namespace", None),
        ("/api/v2/runs", "limmit", "limit"),
        ("/api/v2/datasets", "Limit", "limit"),
        ("/api/v2/lineage?node=dataset:file:/in", "dept", "depth"),
        ("/api/v2/status", "x", None),
        ("/api/v2/search?q=a", "", None),
    ],
)
def test_a_parameter_that_is_unknown_is_refused_with_the_nearest(
    client: Any, path: str, name: str, near: str | None
) -> None:
    reply = client.get(f"{path}{'&' if '?' in path else '?'}{name}=1")
    assert (reply.status_code, reply.json()["code"]) == (400, "invalid_question")
    assert f"no parameter {name!r}" in reply.json()["message"]
    assert near is None or f"did you mean {near!r}?" in reply.json()["message"]


def test_marquez_ignores_them(client: Any) -> None:
    assert client.get("/api/v1/namespaces?limmit=1").status_code == 200


def test_the_names_are_those_of_the_description(client: Any, app: Any) -> None:
    """No parameter of any route is refused."""
    described = client.get("/schema/openapi.json").json()["paths"]
    checked = 0
    for template, methods in inner(app).route_handler_method_map.items():
        if not template.startswith("/api/v2/"):
            continue
        item = next((item for path, item in described.items() if _shape(path) == _shape(template)), {})
        for method, handler in methods.items():
            operation = item.get(method.lower())
            if isinstance(operation, dict):
                names = {row["name"] for row in operation.get("parameters", []) if row["in"] == "query"}
                assert names <= query_parameters(handler), (method, template)
                checked += len(names)
    assert checked > 100


def _shape(path: str) -> str:
    return "/".join("{}" if part.startswith("{") else part for part in path.split("/"))


def test_what_is_remembered_of_a_route_does_not_grow_with_its_requests(client: Any) -> None:
    """A guard is handed a new copy of the handler for each request."""
    assert client.get("/api/v2/datasets", limit=1).status_code == 200
    remembered = query_parameters.cache_info().currsize
    for _ in range(20):
        assert client.get("/api/v2/datasets", limit=1).status_code == 200
    assert query_parameters.cache_info().currsize == remembered
