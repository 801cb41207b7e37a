"""Drafts in which no instance needs itself: what is lost is a cycle's, as little as may be, and the same in any order."""

import random

from headwater.entities.declaration.canonical import from_document
from headwater.entities.inference.draft import Draft, Need, document
from headwater.entities.inference.fitting import fitted
from headwater.entities.needs.graph import Graph
from headwater.errors import InvalidEntities

PERIOD = {"every": "day", "from": "2024-01-01"}


def draft(name: str, *needs: Need) -> Draft:
    return Draft(name, PERIOD, "", "high", needs=needs)


def makes_sense(drafts: list[Draft]) -> bool:
    try:
        Graph(from_document(document(each)).entity for each in drafts)
    except InvalidEntities:
        return False
    return True


def test_of_a_cycle_what_has_evidence_stays() -> None:
    found = fitted(
        [draft("b", Need("a", None, "seen", "high")), draft("a", Need("b"), Need("a", "previous", "", "high"))]
    )
    assert [(each.name, [bool(need.left_out) for need in each.needs]) for each in found] == [
        ("a", [True, False]),
        ("b", [False]),
    ]
    assert "a cycle without lag" in found[0].needs[0].left_out


def test_links_with_lag_and_what_is_declared_elsewhere_stay() -> None:
    drafts = [draft("a", Need("b"), Need("declared")), draft("b", Need("a", "previous", "", "high"))]
    assert fitted(drafts) == drafts


def test_random_graphs_lose_no_more_than_they_must() -> None:
    for seed in range(60):
        chosen = random.Random(seed)
        names = "abcdef"[: chosen.randint(2, 6)]
        drafts = [
            draft(name, *(
                Need(upstream, chosen.choice([None, "same", "previous", "previous 2"]), "", chosen.choice([None, "high"]))
                for upstream in names if chosen.random() < 0.5
            ))
            for name in names
        ]  # fmt: skip
        found = fitted(drafts)
        assert makes_sense(found)
        chosen.shuffle(drafts)
        assert fitted(drafts) == found
        # Every one that was left out would make a cycle with those that stayed.
        for place, each in enumerate(found):
            for nth, need in enumerate(each.needs):
                if need.left_out:
                    back = each._replace(needs=(*each.needs[:nth], need._replace(left_out=""), *each.needs[nth + 1 :]))
                    assert not makes_sense([*found[:place], back, *found[place + 1 :]])
