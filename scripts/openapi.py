"""Print the OpenAPI document of /api/v2 and /auth as the page's types need it: without errors, which are all alike."""

import sys

from litestar import Litestar
from litestar.serialization import encode_json

from headwater.api import openapi
from headwater.api.app import HANDLERS

app = Litestar(list(HANDLERS), openapi_config=openapi.config(), plugins=[openapi.VerbatimJson()])
document = app.openapi_schema.to_schema()
# In an order of their own: a handler's several paths come in any.
document["paths"] = {
    p: item for p, item in sorted(document["paths"].items()) if p.startswith(("/api/v2/", "/auth/me", "/auth/key"))
}
for item in document["paths"].values():
    for operation in item.values():
        if isinstance(operation, dict) and "responses" in operation:
            operation["responses"] = {s: r for s, r in operation["responses"].items() if s.startswith("2")}
sys.stdout.buffer.write(encode_json(document))
