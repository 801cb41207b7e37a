"""An answer of `/api/v2` has all of its fields: a value that is absent is null, never left out."""

from collections.abc import Iterator
from typing import Any

import msgspec


def _answers(kind: type[msgspec.Struct] = msgspec.Struct) -> Iterator[type[msgspec.Struct]]:
    for each in kind.__subclasses__():
        yield from _answers(each)
        if each.__module__.startswith(("headwater.answer.", "headwater.api.routes.v2.")):
            yield each


def test_no_class_leaves_a_field_out(client: Any) -> None:
    """`client`: the application imports them all."""
    found = [one for one in _answers() if ".marquez" not in one.__module__]
    assert len(found) > 100
    assert [one.__qualname__ for one in found if one.__struct_config__.omit_defaults] == []
    optional = [
        (one.__qualname__, f.name) for one in found for f in msgspec.structs.fields(one) if f.default is msgspec.UNSET
    ]
    assert optional == []


def test_the_document_says_so(client: Any) -> None:
    document = client.get("/schema/openapi.json").json()
    schemas = document["components"]["schemas"]
    for name in ("FoundObject", "Ready", "MarkView", "ReadyInstance"):
        assert schemas[name]["required"] == sorted(schemas[name]["properties"]), name
    asked = next(value for key, value in schemas.items() if key.endswith("Readiness") or "Ask" in key)
    assert set(asked.get("required", [])) < set(asked["properties"])


def test_absent_is_null(client: Any) -> None:
    found = client.get("/api/v2/objects", text="nothing-of-this-name").json()
    assert found["object"] is None
    ready = client.post("/api/v2/readiness", b'{"ask": []}', content_type="application/json").json()
    assert ready["intervals"] is None
