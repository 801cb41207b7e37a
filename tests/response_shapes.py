"""Replies held against the OpenAPI document: each body has the types and the fields that its status declares."""

import json
import re
from functools import cache
from typing import Any

import httpx
import jsonschema_rs
from litestar import Litestar
from litestar.serialization import encode_json

from headwater.api import openapi
from headwater.api.app import HANDLERS

_MOST = 5


class ResponseShapes:
    """The schemas of a document's 2xx replies in JSON."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self._validators: dict[tuple[str, str, int], Any] = {}
        # A text before a parameter: `/runs/compare` is no run.
        paths = sorted(document["paths"], key=lambda path: (path.count("{"), -len(path)))
        self._templates = [
            (path, re.compile(re.sub(r"\{[^}]*\}", "[^/]+", path.replace(".", "\\.")))) for path in paths
        ]
        self.held: set[tuple[str, str]] = set()

    def mistakes(self, reply: httpx.Response) -> list[str]:
        """Return where the body of a reply differs from its schema: nowhere, if it is an error or not JSON."""
        if not reply.is_success or not reply.headers.get("content-type", "").startswith("application/json"):
            return []
        sent = reply.request.url.raw_path.decode().partition("?")[0]
        path = next((path for path, template in self._templates if template.fullmatch(sent)), None)
        if path is None:
            return []
        key = (reply.request.method.lower(), path, reply.status_code)
        if key not in self._validators:
            self._validators[key] = self._validator(*key)
        if (validator := self._validators[key]) is None:
            return [f"{key} is not declared in JSON"]
        self.held.add((reply.request.method, path))
        found = []
        for error in validator.iter_errors(json.loads(reply.content, parse_int=_integer)):
            found.append(f"{path}: {'/'.join(map(str, error.instance_path))}: {error.message[:300]}")
            if len(found) == _MOST:
                break
        return found

    def _validator(self, method: str, path: str, status: int) -> Any:
        responses = self._document["paths"][path].get(method, {}).get("responses", {})
        schema = responses.get(str(status), {}).get("content", {}).get("application/json", {}).get("schema")
        if schema is None:
            return None
        return jsonschema_rs.Draft202012Validator({**schema, "components": self._document["components"]})


def _integer(digits: str) -> int:
    """Return the number; of one that Python refuses to convert, one that stands for it."""
    return int(digits[:18])


@cache
def shapes() -> ResponseShapes:
    """Those of the document that the server publishes."""
    app = Litestar(list(HANDLERS), openapi_config=openapi.config(), plugins=[openapi.VerbatimJson()])
    return ResponseShapes(json.loads(encode_json(app.openapi_schema.to_schema())))
