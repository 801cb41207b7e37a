"""Questions over HTTP come back as bytes, or as an error of our own tree."""

import json

import pytest

from collector import Collector
from headwater.client.ask import ask, refusal
from headwater.errors import Ambiguous, HeadwaterError, InvalidQuestion, NotFound, ServerUnavailable, error_types


def test_an_answer_is_bytes_and_parameters_are_encoded(collector: Collector) -> None:
    collector.answer = lambda _path, _events: (200, b'{"ok":1}')
    assert (
        ask(
            collector.url,
            "/api/v2/lineage",
            {"node": "dataset:file:/a b", "depth": 3, "columns": True, "as_of": None},
            "key",
        )
        == b'{"ok":1}'
    )
    path, headers, _ = collector.requests[0]
    assert path == "/api/v2/lineage?node=dataset%3Afile%3A%2Fa+b&depth=3&columns=true"
    assert headers["Authorization"] == "Bearer key"


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (404, {"code": "not_found", "message": "no x", "detail": {"name": "x"}}, NotFound),
        (
            409,
            {"code": "ambiguous", "message": "two x", "detail": {"candidates": ["a", "b"], "message": "in the way"}},
            Ambiguous,
        ),
        (400, {"code": "invalid_question", "message": "depth"}, InvalidQuestion),
        (404, None, NotFound),
        (422, {"code": "of the future", "message": "?"}, InvalidQuestion),
        (503, None, ServerUnavailable),
        (418, None, HeadwaterError),
    ],
)
def test_an_error_keeps_its_kind(
    collector: Collector, status: int, body: dict[str, object] | None, expected: type[HeadwaterError]
) -> None:
    collector.answer = lambda _path, _events: (status, json.dumps(body).encode() if body else b"<html>")
    with pytest.raises(expected) as caught:
        ask(collector.url, "/api/v2/status")
    assert type(caught.value) is expected
    assert caught.value.detail["status"] == status
    if body:
        assert caught.value.message == body["message"]
    else:
        assert f"HTTP {status}" in caught.value.message


@pytest.mark.parametrize("kind", error_types().values(), ids=error_types())
def test_every_code_is_the_error_it_was(kind: type[HeadwaterError]) -> None:
    """The exit code of a command is that of the server's error: 75 where asking again may help."""
    reply = json.dumps({"code": kind.code, "message": "m", "detail": {"name": "x"}}).encode()
    error = refusal(409, reply, "http://h/")
    assert type(error) is kind
    assert error.detail == {"name": "x", "status": 409}
    away = refusal(503, reply, "http://h/")
    assert away.permanent is kind.permanent
    assert type(away) is (kind if kind.permanent else ServerUnavailable)


def test_an_unreachable_server_is_an_error_with_advice() -> None:
    with pytest.raises(ServerUnavailable, match="headwater up"):
        ask("http://127.0.0.1:1", "/api/v2/status")
    with pytest.raises(InvalidQuestion, match="address"):
        ask("http://h:port", "/")
