"""Declarations as documents and back, and what changed between two of them."""

import copy
import json
import random
from typing import Any

import pytest
from tests.unit.entities.declaration import drawn_declarations as drawn

from headwater.entities.declaration.canonical import document, from_document
from headwater.entities.declaration.difference import Change, difference
from headwater.entities.declaration.reading import read
from headwater.errors import InvalidEntities

NAMES = ["a", "b", "no", "2024", "d-e.f"]


def drawn_documents(chance: random.Random) -> list[dict[str, Any]]:
    return [drawn.document(chance, name, NAMES) for name in NAMES]


def test_however_it_is_written_it_is_the_same_document() -> None:
    chance = random.Random(41)
    for _ in range(120):
        for said in drawn_documents(chance):
            text = drawn.text(chance, copy.deepcopy(said))
            [declared] = read(text, "e.yaml")
            assert document(declared) == said, text
            stored = from_document(json.loads(json.dumps(said, sort_keys=True)))
            assert stored == declared._replace(places={}), text


def test_what_is_no_document_is_refused() -> None:
    for said in ({}, {"entity": "a"}, {"entity": "a", "period": "day", "due": {1, 2}}, {"entity": 1.5j}):
        with pytest.raises(InvalidEntities):
            from_document(said)


def test_each_change_is_found_and_nothing_else() -> None:
    """One word of a document is left out: that is the only change, and the way back is its mirror."""
    chance = random.Random(42)
    left_out = 0
    for _ in range(150):
        before = drawn_documents(chance)
        after = copy.deepcopy(before)
        one = chance.choice(after)
        words = [
            word
            for word in one
            if word in {"description", "owners", "tags", "tier", "due", "retention", "transparent", "compatible"}
        ]
        needs = [
            (state["state"], name, what)
            for state in one["states"]
            for need in state.get("depends_on", [])
            for name, what in need.items()
            if name != "any_of" and what
        ]
        old, new = ([from_document(each) for each in side] for side in (before, after))
        assert difference(old, new) == []
        if words:
            word = chance.choice(words)
            expected = Change("changed", one["entity"], word, one.pop(word))
            if word == "tags" and not expected.old:
                continue
        elif needs:
            state, name, what = chance.choice(needs)
            word = chance.choice([word for word in what if word not in {"dates", "wait"}] or ["dates"])
            if word not in what or set(what) & {"strict", "before_start"}:
                continue
            expected = Change("changed", one["entity"], f"states.{state}.{name}.{word}", what.pop(word))
        else:
            continue
        left_out += 1
        new = [from_document(each) for each in after]
        chance.shuffle(new)
        assert difference(old, new) == [expected]
        assert difference(new, old) == [expected._replace(old=None, new=expected.old)]
    assert left_out > 75


def test_entities_come_go_and_are_renamed() -> None:
    old = read(
        "entities: [{entity: a, period: day}, {entity: b, period: day, depends_on: a}, {entity: c, period: day}]", "e"
    )
    new = read(
        "entities: [{entity: z, renamed_from: a, period: day}, {entity: b, period: day, depends_on: z}, {entity: d, period: day}]",
        "e",
    )
    day = {"kind": "timeseries", "period": {"every": "day", "tz": "UTC"}, "states": [{"state": "completed"}]}
    assert difference(old, new) == [
        Change("removed", "c", "", {"entity": "c", **day}),
        Change("added", "d", "", None, {"entity": "d", **day}),
        Change("renamed", "z", "entity", "a", "z"),
    ]
    assert difference(new, new) == []


def test_a_change_has_a_path() -> None:
    old = read(
        "entity: a\nperiod: {every: day, from: 2024-01-01}\nstates: {estimated: {depends_on: [b, {b: previous}]}, completed: {depends_on: {any_of: [c, d]}}}",
        "e",
    )
    new = read(
        "entity: a\nperiod: {every: day, from: 2023-01-01}\nstates: {completed: {depends_on: {any_of: [c, {d: all_week}]}}, estimated: {depends_on: [b, {b: previous 2}]}, rough: }",
        "e",
    )
    assert [(each.path, each.old, each.new) for each in difference(old, new)] == [
        ("period.from", "2024-01-01", "2023-01-01"),
        ("states.completed.any_of 1.d.dates", None, "all_week"),
        ("states.estimated.b (2).dates", "previous", "previous 2"),
        ("states.rough", None, {}),
    ]
    turned = read("entity: a\nperiod: day\nstates: [completed, estimated]", "e")
    assert difference(read("entity: a\nperiod: day\nstates: [estimated, completed]", "e"), turned) == [
        Change("changed", "a", "order of states", ["estimated", "completed"], ["completed", "estimated"])
    ]
