"""The content of a message, and messages that are too large."""

import gzip
import tracemalloc

import pytest

from headwater.errors import InvalidEncoding, InvalidEvent, TooLarge
from headwater.intake.events import messages


def test_gzip_of_several_members_is_read_to_its_end() -> None:
    body = gzip.compress(b'[{"a":1},') + gzip.compress(b'{"b":2}]') + b"\0\0"
    assert messages.split(body, "gzip") == ([b'{"a":1}', b'{"b":2}'], True)
    with pytest.raises(InvalidEncoding):
        messages.split(gzip.compress(b"{}") + b"rest", "gzip")
    with pytest.raises(InvalidEncoding):
        messages.split(b"", "gzip")


def test_a_bomb_is_not_unpacked_whole() -> None:
    bomb = gzip.compress(b" " * 200_000_000, 1)
    tracemalloc.start()
    try:
        with pytest.raises(TooLarge):
            messages.split(bomb, "gzip", 1_000_000)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
    with pytest.raises(TooLarge):
        messages.split(gzip.compress(b" " * 600_000) * 2, "gzip", 1_000_000)


def test_an_array_of_too_many_things_is_not_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "MOST_EVENTS", 3)
    with pytest.raises(TooLarge, match="3 events"):
        messages.split(b"[1,1,1,1]", None)
    assert len(messages.split(b"[1,1,1]", None)[0]) == 3
    inside = [b'{"a": [1, 2, 3, 4], "b": "[,,,\\",\\\\", "c": 5}', b'",,]\\\\"', b"[[1,2],[3,4]]"]
    assert messages.split(b"[" + b",".join(inside) + b"]", None)[0] == inside
    with pytest.raises(InvalidEvent):
        messages.split(b'[1,"' + b'\\",' * 200_000, None)
