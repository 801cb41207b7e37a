"""Asks what-if and correlation from both ends: what a change hits has the change upstream, and what an item leads to has it as an ancestor."""

import json
import random
from itertools import product
from typing import Any

import pytest
from tests.api.lineage.correlated import ITEM, ask
from tests.api.lineage.test_both_ends import FIELDS, NAMES, send
from tests.api.lineage.test_both_ends_everywhere import Asked, Pairs, asked, by_lineage, every_kind, pairs, v2_columns
from tests.events import RUN, facet, run_event
from tests.fixtures.app import Client
from tests.scale import suite_takes

SEEDS = range(200)


def hit_columns(on: Asked, place: str) -> tuple[set[str], set[str]]:
    """Return the columns that dropping one hits: those with column evidence, and those of jobs that report no columns. All rows are each column."""
    name, _, field = place.rpartition(" ")
    body = json.dumps({"drop": f"{name}.{field}"}).encode()
    reply = on.client.post("/api/v2/whatif", body, content_type="application/json")
    assert reply.status_code == 200, reply.text
    assert reply.json()["hidden"] == 0
    found: dict[bool, set[str]] = {True: set(), False: set()}
    for one in reply.json()["columns"]:
        fields = FIELDS if one["column"] is None else [one["column"]]
        found[one["kind"] == "unknown"] |= {f"{one['dataset']} {name}" for name in fields} - {place}
    return found[False], found[True]


@pytest.mark.parametrize("seed", suite_takes(SEEDS, [0, 4]))
def test_a_change_hits_the_columns_that_have_it_upstream(client: Client, seed: int) -> None:
    send(client, *every_kind(random.Random(seed)))
    on = asked(client, None)
    places = {
        f"{name} {field}"
        for name, field in product(on.datasets, FIELDS)
        if client.get("/api/v2/lineage", node=name, field=field).status_code == 200
    }
    evident, unknown = Pairs(), Pairs()
    for place in places:
        known, rest = hit_columns(on, place)
        evident |= {(place, other) for other in known & places}
        unknown |= {(place, other) for other in rest & places}
    up, _ = pairs(v2_columns, on, places)
    assert sorted(up - evident - unknown) == []
    assert sorted(evident - up) == []
    tables, _ = pairs(by_lineage, on, on.datasets)
    beside = {(one.rpartition(" ")[0], other.rpartition(" ")[0]) for one, other in unknown} - tables
    assert {one for one in beside if one[0] != one[1]} == set()


def items(draw: random.Random) -> list[dict[str, Any]]:
    """Draw steps that read and write items by id or by content, that name runs and items as their causes, in loops too."""

    def ends(side: str) -> list[dict[str, Any]]:
        found = []
        for number in {draw.randint(1, 9) for _ in range(draw.randint(0, 3))}:
            content = {"fingerprint": f"xxh3-128:{draw.randint(1, 4):032x}"}
            one = draw.choice([{"id": ITEM.format(number)}, content, {"id": ITEM.format(number)} | content])
            name = NAMES[number % len(NAMES)]
            found.append(
                {"namespace": "file", "name": name, "facets": {}, f"{side}Facets": {"headwater_item": facet(**one)}}
            )
        return found  # fmt: skip

    found = []
    for number in range(draw.randint(3, 8)):
        causes: list[dict[str, Any]] = [{"item": ITEM.format(draw.randint(1, 9))} for _ in range(draw.randint(0, 1))]
        if draw.random() < 0.4:
            other = draw.randint(0, 7)
            causes.append({"runId": RUN.format(other), "job": {"namespace": "test", "name": f"step{other % 3}"}})
        step = {"headwater_step": facet(parents=causes)} if causes else {}
        at = f"2026-01-{draw.randint(1, 9):02}T00:00:00Z"
        found.append(
            run_event("COMPLETE", number, f"step{number % 3}", ends("input"), ends("output"), at=at, run_facets=step)
        )
    draw.shuffle(found)
    return found


@pytest.mark.parametrize("seed", suite_takes(SEEDS, range(5)))
def test_what_an_item_leads_to_has_it_as_an_ancestor(client: Client, seed: int) -> None:
    send(client, *items(random.Random(seed)))
    known = {RUN.format(number) for number in range(8)} | {ITEM.format(number) for number in range(1, 10)}
    known = {one for one in known if client.get(f"/api/v2/correlation/{one}").status_code == 200}
    ends: dict[str, Pairs] = {"ancestors": set(), "descendants": set()}
    for depth in (None, "all"):
        for one, direction in product(known, ends):
            answer = ask(client, one, direction=direction, depth=depth)
            assert answer["hidden"]["count"] == 0
            others = {node["run_id"] if node["kind"] == "RUN" else node["id"] for node in answer["nodes"]} & known - {one}  # fmt: skip
            ends[direction] |= {(other, one) if direction == "ancestors" else (one, other) for other in others}
        assert ends["ancestors"] == ends["descendants"], depth
