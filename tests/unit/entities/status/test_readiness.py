"""The readiness of an instance: the cases people know, and random ones against instances looked at one by one (`readiness_by_hand.py`)."""

import datetime as dt
import gc
import json
import random
import weakref
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.scale import full
from tests.unit.entities.status.readiness_by_hand import ByHand, World, marks, world

from headwater.entities.needs.graph import Dependency, Entity, Graph, Minimum
from headwater.entities.needs.kinds import Snapshot, Static, TimeSeries
from headwater.entities.status.marks import Mark, Marks
from headwater.entities.status.missing import Missing
from headwater.entities.status.readiness import Prospect, Readiness, readiness, windows
from headwater.entities.status.taint import tainted
from headwater.entities.time import keys
from headwater.entities.time.dates import Dates
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.errors import InvalidEntities, InvalidQuestion, NotFound

CASES = json.loads((Path(__file__).parents[3] / "cases/entities/readiness.json").read_text(encoding="utf-8"))
DAYS = Instances.of({"every": "day", "tz": "Europe/Paris", "from": "2024-01-03"})
WEEKS = Instances.of({"every": "week", "tz": "Europe/Paris", "from": "2024-01-01"})
MONTHS = Instances.of({"every": "month", "tz": "Europe/Paris", "from": "2023-01-01"})
HOUR, DAY = 3600, 86_400
READS = Graph(
    [
        Entity("articles_by_author", TimeSeries(), DAYS),
        Entity("words_count", TimeSeries(), DAYS, {"estimated": (), "completed": (Dependency("articles_by_author"),)}),
        Entity("word_prominence", TimeSeries(), MONTHS),
        Entity("nb_read_exact", TimeSeries(), WEEKS),
        Entity(
            "user_weekly_reads",
            TimeSeries(),
            WEEKS,
            {
                "estimated": (
                    Dependency("words_count", Dates.of("all_week")),
                    Dependency("word_prominence", Dates.of({"dates": "last_available", "within": "45 days"})),
                ),
                "completed": (
                    Dependency("words_count", Dates.of("all_week")),
                    Dependency("nb_read_exact", Dates.of("same")),
                ),
            },
        ),
    ]
)


def instant(text: str) -> int:
    return int(dt.datetime.fromisoformat(text).timestamp())


def spelt(graph: Graph, name: str, start: int, end: int) -> list[str]:
    """First and last key of a run."""
    instances = graph.entities[name].instances
    assert instances is not None
    return [keys.key(instances.calendar, start), keys.key(instances.calendar, end - 1)]


def read(graph: Graph, name: str, said: dict[str, list[list[str]]]) -> Marks:
    """`{"state completed": [[first key, last key]]}`."""
    instances = graph.entities[name].instances
    assert instances is not None
    found = {}
    for text, runs in said.items():
        kind, _, ref = text.partition(" ")
        some = [(keys.ordinal(instances.calendar, a), keys.ordinal(instances.calendar, b) + 1) for a, b in runs]
        found[Mark(kind, ref)] = Ordinals(some)
    return Marks(found)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_week_that_is_estimated_before_it_is_completed(case: dict[str, Any]) -> None:
    known = {name: read(READS, name, said) for name, said in case["known"].items()}
    now = instant(case.get("now", "2024-03-20T00:00+01:00"))
    week = keys.ordinal(WEEKS.calendar, case["of"])
    found = readiness(READS, "user_weekly_reads", week, known, now, due={"words_count": 6 * HOUR})
    assert (found.state, found.ready) == (case["state"], case["state"] is not None)
    assert {each.state: each.ready for each in found.states} == case["ready"]
    for each in found.states:
        pins = {name: [spelt(READS, name, *run) for run in some] for name, some in each.pins.items()}
        assert pins == case["pins"][each.state]
        missing = [
            [lack.entity, *spelt(READS, lack.entity, *run), lack.why, lack.ref, lack.outcome]
            for lack in each.missing
            for run in lack.instances
        ]
        assert missing == case["missing"][each.state]
        for lack in each.missing:
            if lack.entity == "words_count" and lack.why == "not_due":
                assert lack.until == instant(case["until"])


def test_a_day_needs_the_same_day() -> None:
    day = keys.ordinal(DAYS.calendar, "2024-03-04")
    one = Ordinals.of([day])
    assert windows(READS, "words_count", one) == {"articles_by_author": one}
    assert windows(READS, "words_count", one, "estimated") == {}
    for known, state in (({}, "estimated"), ({"articles_by_author": completed(one)}, "completed")):
        assert readiness(READS, "words_count", day, known, 0).state == state


def told(prospect: Prospect) -> list[tuple[str, int | None, str, str, str]]:
    return [
        (each.entity, k, each.why, each.ref, each.outcome)
        for each in prospect.missing
        for k in (each.instances.members().tolist() or [None])
    ]


def cut(drawn: World, entity: str, ordinal: int) -> dict[str, Marks]:
    """Only what `windows` asks for."""
    asked = windows(drawn.graph, entity, Ordinals.of([ordinal]))
    return {name: marks(drawn.known.get(name, {})).within(some) for name, some in asked.items()}


def check(seed: int) -> tuple[int, Counter[str]]:
    """Instances compared, and what was seen."""
    chance = random.Random(seed)
    drawn = world(chance)
    seen: Counter[str] = Counter()
    if drawn is None:
        return 0, seen
    known = {name: marks(some) for name, some in drawn.known.items()}
    count = 0
    for name, entity in drawn.graph.entities.items():
        every = drawn.graph.every(name)
        asked = range(every.first - 1, every.end + 1) if entity.instances is not None else range(1)
        for ordinal in chance.sample(asked, min(len(asked), 12)):
            found = readiness(drawn.graph, name, ordinal, known, drawn.now, due=drawn.due)
            by_hand = ByHand(drawn, name, ordinal)
            assert [each.state for each in found.states] == (list(entity.states) or ["completed"])
            good = None
            for each in found.states:
                ready, pins, lacking = by_hand.state(each.state)
                assert each.ready == ready, (seed, name, ordinal, each)
                assert {up: set(some.members().tolist()) for up, some in each.pins.items()} == pins, (
                    seed,
                    name,
                    ordinal,
                )
                assert Counter(told(each)) == Counter(lacking), (seed, name, ordinal, each)
                good = each.state if ready else good
                seen.update(f"{why} {outcome}" for _, _, why, _, outcome in lacking)
                seen["ready" if ready else "not ready"] += 1
                count += 1
                for lack in each.missing:
                    if lack.why == "not_due":
                        ends = by_hand.ends(lack.entity, lack.instances.end - 1)
                        assert lack.until == ends + drawn.due.get(lack.entity, 0) > drawn.now
                    else:
                        assert lack.until is None
            assert (found.state, found.ready) == (good, good is not None)
            if chance.random() < 0.2:
                assert (
                    readiness(drawn.graph, name, ordinal, cut(drawn, name, ordinal), drawn.now, due=drawn.due) == found
                )
                only = chance.choice(found.states)
                one = readiness(drawn.graph, name, ordinal, known, drawn.now, state=only.state, due=drawn.due)
                assert one.states == (only,)
    return count, seen


@pytest.mark.parametrize("block", range(full(6, 2)))
def test_random_entities_agree_with_instances_looked_at_one_by_one(block: int) -> None:
    assert sum(check(seed)[0] for seed in range(block * 10, block * 10 + 10)) > 0


def completed(some: Ordinals, **more: Ordinals) -> Marks:
    return Marks({Mark("state", "completed"): some, **{Mark(kind, "ref"): each for kind, each in more.items()}})


def asked(*dependencies: Dependency, now: int = 0, **known: Marks) -> Prospect:
    """Day 10 of an entity with these dependencies, of days 0 to 99 from 1970 on."""
    days = Instances(Instances.of({"every": "day"}).calendar, 0, 100)
    graph = Graph(
        [
            Entity("a", TimeSeries(), days),
            Entity("b", TimeSeries(), days),
            Entity("later", TimeSeries(), days._replace(first=50)),
            Entity("countries", Static()),
            Entity("report", TimeSeries(), days, {"completed": dependencies}),
        ]
    )
    [found] = readiness(graph, "report", 10, known, now).states
    return found


def days(first: int, last: int | None = None) -> Ordinals:
    return Ordinals.between(first, (first if last is None else last) + 1)


FIVE = Dates.of("last 5 days")


def test_what_is_accepted_is_said() -> None:
    some = completed(days(6, 9))
    told = (Missing("a", days(10), "not_due", "", 11 * DAY, "accepted"),)
    for enough in (Minimum(number=4), Minimum(share=0.8), Minimum(lacking=1), Minimum(number=0)):
        found = asked(Dependency("a", FIVE, minimum=enough), a=some)
        assert found == Prospect("completed", True, {"a": days(6, 9)}, told)
        assert found.accepted
    for few in (Minimum(number=5), Minimum(number=20), Minimum(share=0.81), Minimum(lacking=0)):
        found = asked(Dependency("a", FIVE, minimum=few), a=some)
        assert (found.ready, found.accepted, found.missing[0].outcome) == (False, False, "blocks")


def test_shares_are_not_those_of_floats() -> None:
    assert asked(
        Dependency("a", Dates.of("from -10d to 89d"), minimum=Minimum(share=0.07)), a=completed(days(0, 6))
    ).ready


def test_wrong_ones_may_be_accepted_but_nothing_withheld_or_deleted() -> None:
    some = completed(
        days(6, 10), tainted=days(6), inherited=days(7), suspect=days(8), quarantined=days(9), deleted=days(10)
    )
    found = asked(Dependency("a", FIVE, accept_tainted=True), a=some)
    assert found.pins == {"a": days(6, 8)}
    assert [(each.why, each.instances) for each in found.missing] == [("withheld", days(9)), ("deleted", days(10))]


def test_of_several_reasons_one_is_told() -> None:
    there = completed(days(6, 10), quarantined=days(6), tainted=days(6, 7), suspect=days(6, 8), running=days(6, 9))
    found = asked(Dependency("a", FIVE), a=there)
    assert [(each.why, each.instances) for each in found.missing] == [
        ("withheld", days(6)), ("wrong", days(7)), ("doubted", days(8)),
    ]  # fmt: skip
    gone = Marks(
        {Mark("running", "r"): days(6), Mark("deleted", "retention"): days(6, 7), Mark("tainted", "i"): days(8)}
    )
    found = asked(Dependency("a", FIVE), now=9 * DAY, a=gone)
    assert [(each.why, each.instances) for each in found.missing] == [
        ("running", days(6)), ("deleted", days(7)), ("late", days(8)), ("not_due", days(9, 10)),
    ]  # fmt: skip
    incidents = Marks(
        {Mark("state", "completed"): days(6, 10), Mark("tainted", "i2"): days(6), Mark("inherited", "i1"): days(6)}
    )
    assert [each.ref for each in asked(Dependency("a", FIVE), a=incidents).missing] == ["i1"]


def test_when_the_wait_is_over() -> None:
    over = 11 * DAY + HOUR
    waits = {then: Dependency("a", FIVE, wait=HOUR, then=then) for then in ("fail", "accept", "b")}
    some, other = completed(days(6, 9)), completed(days(6, 10))
    for dependency in waits.values():
        found = asked(dependency, now=over, a=some, b=other)
        assert not found.ready
        assert not found.failed
        assert asked(dependency, now=over + 1, a=other).pins == {"a": days(6, 10)}
    found = asked(waits["fail"], now=over + 1, a=some)
    assert (found.ready, found.failed, found.missing) == (
        False,
        True,
        (Missing("a", days(10), "late", outcome="failed"),),
    )
    found = asked(waits["accept"], now=over + 1, a=some)
    assert (found.ready, found.accepted, found.pins) == (True, True, {"a": days(6, 9)})
    assert asked(waits["accept"], now=over + 1).ready
    found = asked(waits["b"], now=over + 1, a=some, b=other)
    assert (found.pins, found.missing) == ({"b": days(6, 10)}, (Missing("a", days(10), "late", outcome="accepted"),))
    found = asked(waits["b"], now=over + 1, a=some)
    assert not found.ready
    assert [(each.entity, each.outcome) for each in found.missing] == [("a", "blocks"), ("b", "blocks")]


def test_optional_needs_block_no_instance() -> None:
    found = asked(Dependency("a", FIVE, optional=True), Dependency("b"), a=completed(days(8)), b=completed(days(10)))
    assert found.ready
    assert found.pins == {"a": days(8), "b": days(10)}
    assert {each.outcome for each in found.missing} == {"accepted"}


def test_of_a_group_the_first_that_will_do_is_taken() -> None:
    group = (Dependency("a", FIVE, group="reads"), Dependency("b", group="reads"))
    assert asked(*group, a=completed(days(6, 10)), b=completed(days(10))).pins == {"a": days(6, 10)}
    assert asked(*group, a=completed(days(6, 9)), b=completed(days(10))) == Prospect(
        "completed", True, {"b": days(10)}, ()
    )
    found = asked(*group, a=completed(days(6, 9)))
    assert [(each.entity, each.outcome) for each in found.missing] == [("a", "blocks"), ("b", "blocks")]


def test_of_something_static_version_0_is_read() -> None:
    assert asked(Dependency("countries"), countries=completed(days(0, 2))).pins == {"countries": days(0)}
    found = asked(Dependency("countries"), countries=completed(days(1, 2)))
    assert found.missing == (Missing("countries", days(0), "late"),)


def test_where_nothing_can_be_that_is_told_too() -> None:
    found = asked(Dependency("later", Dates.of("last_available")), later=completed(days(0, 60)))
    assert (found.ready, found.missing) == (False, (Missing("later", NONE, "empty_window"),))
    for dates in ("same", {"dates": "same", "before_start": "ignore"}):
        found = asked(Dependency("later", Dates.of(dates)), later=completed(days(0, 60)))
        assert found.ready == (dates != "same")
        assert [each.why for each in found.missing] == (["before_start"] if dates == "same" else [])


def test_a_snapshot_is_carried_on_from_the_one_before() -> None:
    some = Instances(Instances.of({"every": "day"}).calendar, 0, 100)
    graph = Graph([Entity("stock", Snapshot("carry"), some, {"estimated": (), "completed": ()})])
    assert windows(graph, "stock", days(0, 3)) == {"stock": days(0, 2)}
    assert readiness(graph, "stock", 0, {}, 0).state == "completed"
    for state, may in (("estimated", "estimated"), ("completed", "completed"), ("partial", None)):
        known = {"stock": Marks({Mark("state", state): days(4)})}
        assert readiness(graph, "stock", 5, known, 0).state == may
    assert readiness(graph, "stock", 5, {"stock": completed(days(4), tainted=days(4))}, 0).state is None


def test_something_static_takes_what_is_over() -> None:
    some = Instances(Instances.of({"every": "day"}).calendar, 0, 100)
    reads = Entity("reads", TimeSeries(), some)
    for minimum, least in ((None, 1), (Minimum(number=3), 3)):
        graph = Graph([reads, Entity("model", Static(), None, {"completed": (Dependency("reads", minimum=minimum),)})])
        for there in range(5):
            known = {"reads": completed(days(5, 4 + there) | days(12))}
            [found] = readiness(graph, "model", 7, known, 10 * DAY).states
            assert found.ready == (there >= least)
            assert found.pins == ({"reads": days(5, 4 + there)} if there else {})


def test_unknown_names_are_refused() -> None:
    with pytest.raises(NotFound, match="no entity 'word_count'"):
        readiness(READS, "word_count", 0, {}, 0)
    with pytest.raises(InvalidQuestion, match="'words_count' has no state 'partial'; it has estimated, completed"):
        windows(READS, "words_count", NONE, "partial")


def test_an_unused_graph_is_released() -> None:
    graph = Graph([Entity("a", TimeSeries(), DAYS)])
    readiness(graph, "a", 20_000, {}, 0)
    kept = weakref.ref(graph)
    del graph
    gc.collect()
    assert kept() is None


def test_what_is_taken_instead_is_a_link_and_makes_wrong_who_took_it() -> None:
    some = Instances(Instances.of({"every": "day"}).calendar, 0, 100)
    last = Dependency("a", FIVE, ("estimated",), wait=HOUR, then="b")
    has = {"estimated": ()}
    graph = Graph(
        [
            Entity("a", TimeSeries(), some, has),
            Entity("b", TimeSeries(), some, has),
            Entity("report", TimeSeries(), some, {"completed": (last,)}),
        ]
    )
    assert [(link.upstream, link.instead, link.dependency) for link in graph.upstream("report")] == [
        ("a", False, last),
        ("b", True, last),
    ]
    assert [link.downstream for link in graph.downstream("b", "estimated")] == ["report"]
    assert tainted(graph, {"b": days(10)}).hits["report"].instances == days(10, 14)


def test_what_is_said_of_waiting_has_to_make_sense() -> None:
    some = Instances(Instances.of({"every": "day"}).calendar, 0, 100)
    needs = (
        Dependency("a", wait=1, then="bb"),
        Dependency("a", wait=1, then="countries"),
        Dependency("a", FIVE, wait=1, then="countries"),
        Dependency("a", wait=1, then="a"),
        Dependency("a", then="accept"),
    )
    with pytest.raises(InvalidEntities) as caught:
        Graph(
            [
                Entity("a", TimeSeries(), some),
                Entity("b", TimeSeries(), some, {"estimated": ()}),
                Entity("countries", Static()),
                Entity("model", Static(), None, {"completed": (Dependency("a", wait=1),)}),
                Entity("report", TimeSeries(), some, {"completed": needs}),
                Entity("other", TimeSeries(), some, {"completed": (Dependency("a", wait=1, then="b"),)}),
            ]
        )
    where = "entity 'report', state 'completed'"
    assert caught.value.detail["problems"] == [
        "entity 'model', state 'completed', of 'a': wait counts from the end of a period, and a static entity has none",
        f"{where}, then: there is no entity 'bb'; did you mean 'b'?",
        f"{where}, then, of 'countries': dates 'last 5 days' need periods on both sides; write static",
        f"{where}, of 'a': then 'a' is what is waited for; name another entity, or write accept or fail",
        f"{where}, of 'a': then 'accept' needs a wait: how long after the period's end it begins to hold",
        "entity 'other', state 'completed', then: entity 'b' has no state 'completed'",
    ]


def needed(drawn: World, entity: str, ordinal: int) -> dict[str, Ordinals]:
    return windows(drawn.graph, entity, Ordinals.of([ordinal]))


def instances_of(drawn: World, chance: random.Random) -> list[tuple[str, int]]:
    """Some instances of each entity."""
    every = {name: drawn.graph.every(name).members().tolist() for name in drawn.graph.entities}
    return [(name, k) for name, some in every.items() for k in chance.sample(some, min(len(some), 8))]


def at(drawn: World, name: str, ordinal: int, known: dict[str, Marks]) -> Readiness:
    return readiness(drawn.graph, name, ordinal, known, drawn.now, due=drawn.due)


@pytest.mark.parametrize("block", range(full(3, 1)))
def test_laws(block: int) -> None:
    """Each input read is needed; each blocker is reported; more right instances never harm; and an unrelated entity changes nothing."""
    for seed in range(50_000 + block * 15, 50_000 + block * 15 + 15):
        chance = random.Random(seed)
        drawn = world(chance)
        if drawn is None:
            continue
        known = {name: marks(some) for name, some in drawn.known.items()}
        apart = Entity("apart", TimeSeries(), DAYS, {"completed": (Dependency("apart", Dates.of("previous")),)})
        more = Graph([apart, *drawn.graph.entities.values()])
        for name, ordinal in instances_of(drawn, chance):
            found = at(drawn, name, ordinal, known)
            window = needed(drawn, name, ordinal)
            assert all(some <= drawn.graph.every(up) for up, some in window.items()), seed
            for each in found.states:
                assert all(some <= window[up] for up, some in each.pins.items()), seed
                assert each.ready == all(lack.outcome == "accepted" for lack in each.missing), seed
            assert readiness(more, name, ordinal, known, drawn.now, due=drawn.due) == found, seed
            if not window:
                continue
            up = chance.choice(list(window))
            new = Ordinals.of([chance.choice(window[up].members().tolist())]) if window[up].count else NONE
            bad = {mark: new for mark in known.get(up, Marks()) if mark.kind != "state"}
            states = {Mark("state", state): new for state in drawn.graph.entities[up].states or ["completed"]}
            better = known | {up: known.get(up, Marks()).without(bad).with_(states)}
            after = at(drawn, name, ordinal, better)
            for before, now in zip(found.states, after.states, strict=True):
                assert now.ready or not before.ready, (seed, name, ordinal)
