"""Chains of the log's edges that stand for an edge of others."""

import uuid

import pytest

from headwater.answer.lineage import perspectives


def ids(*names: str) -> tuple[uuid.UUID, ...]:
    return tuple(uuid.uuid5(uuid.NAMESPACE_URL, name) for name in names)


def pairs(*told: str) -> list[tuple[uuid.UUID, uuid.UUID]]:
    return [ids(*one.split()) for one in told]  # type: ignore[misc]


LOG = pairs("a b", "b c", "c d", "d e", "e f", "f g", "c a", "x y")


@pytest.mark.parametrize(
    ("others", "found"),
    [
        (("a c", "a f"), ("a c", "a f")),
        (("a g",), ()),
        (("a y", "y x", "z a"), ()),
        (("a b", "x y", "b a"), ("a b", "x y", "b a")),
    ],
)
def test_a_chain_of_five_steps_at_most(others: tuple[str, ...], found: tuple[str, ...]) -> None:
    assert set(perspectives._in_steps(LOG, pairs(*others))) == set(pairs(*found))


def test_looking_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perspectives, "_LOOKED", 1)
    assert perspectives._in_steps(LOG, pairs("a c", "x y")) == pairs("a c")
