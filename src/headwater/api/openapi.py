"""The OpenAPI document: its head, the statuses of errors, and the schemas that the types do not show."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import msgspec
from litestar._openapi.schema_generation import SchemaCreator
from litestar.openapi.config import OpenAPIConfig
from litestar.openapi.spec import Components, OpenAPI, Schema, SecurityScheme, Server
from litestar.plugins import OpenAPISchemaPlugin
from litestar.typing import FieldDefinition

from headwater import __version__
from headwater.answer.lineage import lineage_answer, view

_PROBLEM = {
    "type": "object",
    "required": ["code", "status", "message", "detail"],
    "properties": {
        "code": {"type": "string", "description": "The kind of the error, which never changes."},
        "status": {"type": "integer", "description": "The HTTP status."},
        "message": {"type": "string", "description": "What is wrong, where, and what to do."},
        "detail": {"type": "object", "description": "Values of the message, by name."},
    },
}
_MARQUEZ_ROUTES = ("/api/v1/", "/api/v2beta/")
# The other one is of requests that Marquez's framework refuses.
_MARQUEZ = {
    "anyOf": [
        {"$ref": "#/components/schemas/Problem"},
        {
            "type": "object",
            "required": ["code", "message"],
            "properties": {"code": {"type": "integer"}, "message": {"type": "string"}},
        },
        {
            "type": "object",
            "required": ["errors"],
            "properties": {"errors": {"type": "array", "items": {"type": "string"}}},
        },
    ]
}
# The statuses of any route besides its own, and those of a route with a body.
_ANY = {
    "400": "A parameter or the body is invalid.",
    "401": "The request has no identity: send a key or a token, or sign in.",
    "403": "The caller's role may not do this.",
    "404": "What the request names does not exist.",
    "409": "A name has several meanings; the detail has the candidates.",
    "421": "The server does not answer to this host.",
    "422": "A value can be read and makes no sense, or the database refuses it.",
    "503": "The server or its database cannot answer now: try again, as Retry-After says.",
}
_WITH_BODY = {
    "408": "The body did not arrive in time.",
    "413": "The body, or the event, is over a limit.",
}


# A plain lineage has none of what a view of it adds.
_ADDED_BY_VIEW = {
    kind.__name__: set(kind.__struct_fields__) - set(plain.__struct_fields__)
    for kind, plain in ((view.View, lineage_answer.Lineage), (lineage_answer.DrawnEdge, lineage_answer.AnswerEdge))
}


class _Document(OpenAPI):
    def to_schema(self) -> dict[str, Any]:
        document: dict[str, Any] = _any_of(super().to_schema())
        document["components"].setdefault("schemas", {}).update(Problem=_PROBLEM, MarquezError=_MARQUEZ)
        for path, item in document["paths"].items():
            shape = "MarquezError" if path.startswith(_MARQUEZ_ROUTES) else "Problem"
            for method, operation in item.items():
                if isinstance(operation, dict) and "responses" in operation:
                    _add_problems(operation, shape, _ANY | (_WITH_BODY if method in {"post", "put", "patch"} else {}))
                    _part_media_types(operation)
        _require_answered(document)
        return document


def _any_of(node: Any) -> Any:
    """Return a part of the document with each `oneOf` as `anyOf`: the kinds of a union need not exclude each other, as whole numbers and numbers."""
    if isinstance(node, dict):
        return {"anyOf" if key == "oneOf" else key: _any_of(value) for key, value in node.items()}
    return [_any_of(value) for value in node] if isinstance(node, list) else node


def _part_media_types(operation: dict[str, Any]) -> None:
    """Declare an answer that is JSON or text, as the request asks, as a body of each kind: Litestar declares the text as JSON without a type."""
    for response in operation["responses"].values():
        content = response.get("content", {})
        either = content.get("application/json", {}).get("schema", {}).get("anyOf", [])
        if {} in either:
            (schema,) = [one for one in either if one]
            content |= {"application/json": {"schema": schema}, "text/plain": {"schema": {"type": "string"}}}


def _require_answered(document: dict[str, Any]) -> None:
    """An answer of `/api/v2` has all of its fields, null if there is no value; a field of a request may be left out."""
    operations = [
        operation
        for path, item in document["paths"].items()
        if path.startswith("/api/v2/")
        for operation in item.values()
        if isinstance(operation, dict)
    ]
    schemas = document["components"]["schemas"]
    answered = _reachable([operation.get("responses") for operation in operations], schemas)
    asked = _reachable([[one.get("requestBody"), one.get("parameters")] for one in operations], schemas)
    for name in answered - asked - {"Problem", "MarquezError"}:
        if properties := schemas[name].get("properties"):
            schemas[name]["required"] = sorted(properties.keys() - _ADDED_BY_VIEW.get(name, set()))


def _reachable(node: Any, schemas: Mapping[str, Any]) -> set[str]:
    """The names of the schemas that a part of the document refers to, directly or through others."""
    found: set[str] = set()
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            name = str(one.get("$ref", "")).removeprefix("#/components/schemas/")
            if name in schemas and name not in found:
                found.add(name)
                waiting.append(schemas[name])
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
    return found


def _add_problems(operation: dict[str, Any], shape: str, statuses: Mapping[str, str]) -> None:
    """Declare each error that the operation may answer."""
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{shape}"}}}
    for status, description in statuses.items():
        operation["responses"][status] = {"description": description, "content": content}


class _Config(OpenAPIConfig):
    def to_openapi_schema(self) -> OpenAPI:
        head = super().to_openapi_schema()
        return _Document(**{field.name: getattr(head, field.name) for field in dataclasses.fields(head)})


def config(root_path: str = "") -> OpenAPIConfig:
    """Return the document's head, served at `/schema`. `root_path`: the proxy's path to the server, such as `/lineage`; empty for the root."""
    return _Config(
        "Headwater",
        __version__,
        path="/schema",
        servers=[Server(url=root_path or "/")],
        components=Components(security_schemes={"key": SecurityScheme(type="http", scheme="bearer")}),
        security=[{"key": []}],
    )


class VerbatimJson(OpenAPISchemaPlugin):
    """Describes what is answered as it was received: any JSON, mostly the object of a facet."""

    @staticmethod
    def is_plugin_supported_type(value: Any) -> bool:
        return value is msgspec.Raw

    def to_openapi_schema(self, field_definition: FieldDefinition, schema_creator: SchemaCreator) -> Schema:
        return Schema(description="As it was received.")
