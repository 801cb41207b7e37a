"""The instances that incidents make wrong: each rule by hand, and random histories of versions told one by one (`drawn_versions.py`)."""

import random

import numpy as np
import pytest
from tests.scale import full
from tests.unit.entities.status.drawn_versions import World, drawn_graph, retracted

from headwater.entities.needs.graph import Dependency, Entity, Graph
from headwater.entities.needs.kinds import Snapshot, Static, TimeSeries
from headwater.entities.status.entity_sets import Together
from headwater.entities.status.histories import Histories
from headwater.entities.status.incidents import (
    Incident,
    Version,
    confirmed,
    judged,
    opened,
    same_content,
)
from headwater.entities.status.marks import Mark, Marks
from headwater.entities.status.propagation import Spread
from headwater.entities.status.recorded_reads import Reads, Versions, histories
from headwater.entities.status.transitions import Deleted, Doubted, LeftWrong, Produced, after
from headwater.entities.time.dates import Dates
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.errors import InvalidEntities


def agree(world: World, seed: object) -> tuple[int, int]:
    """Assert that each wrong instance is marked, and no other where marks can know it. Return the number of versions compared, and of
    those marked too often."""
    compared = over = 0
    for incident, condemned in world.condemned.items():
        versions = world.wrong(incident)
        wrong = {at for at, version in world.current.items() if version in versions}
        itself = {
            at
            for at, version in world.current.items()
            if version in condemned and version not in world.pardoned[incident]
        }
        assert held(world, "tainted", incident) == itself, (seed, incident)
        marked = itself | held(world, "inherited", incident)
        assert wrong <= marked <= set(world.current), (seed, incident, wrong - marked)
        if incident not in world.loose:
            assert marked == wrong, (seed, incident, marked - wrong)
        compared += len(world.current)
        over += len(marked - wrong)
    return compared, over


def held(world: World, kind: str, incident: str) -> set[tuple[str, int]]:
    return {
        (name, k)
        for name, marks in world.known.items()
        for k in marks.get(Mark(kind, incident), NONE).members().tolist()  # type: ignore[arg-type]
    }


def check(seed: int, steps: int, *, informed: bool, tables: float = 0.0) -> tuple[int, int, int]:
    chance = random.Random(seed)
    graph = drawn_graph(chance, tables)
    if graph is None:
        return 0, 0, 0
    world = World(chance, graph, informed=informed)
    compared = over = 0
    for place in range(steps):
        (world.begin if place < 10 else world.step())()
        some, more = agree(world, (seed, place))
        compared, over = compared + some, over + more
    return steps, compared, over


@pytest.mark.parametrize("block", range(full(6, 2)))
def test_it_is_what_the_versions_say(block: int) -> None:
    """If all is recorded, the marks equal the versions' own answer; if little is, they are never less than it."""
    compared = exact = 0
    for seed in range(block * 4, block * 4 + 4):
        _, some, over = check(seed, 70, informed=True)
        compared, exact = compared + some, exact + some - over
        check(seed, 50, informed=False)
    assert exact > 0.97 * compared > 500


def test_so_it_is_where_needs_are_listed() -> None:
    assert sum(check(seed, 40, informed=bool(seed % 2), tables=0.6)[1] for seed in range(6)) > 0


def series(name: str, every: str = "day", **needs: str) -> Entity:
    period = {"every": every, "from": "2025-01-06", "until": "2025-12-29"}
    states = {"completed": tuple(Dependency(upstream, Dates.of(dates)) for upstream, dates in needs.items())}
    return Entity(name, TimeSeries(), Instances.of(period), states)


DAYS = Graph([series("a"), series("b", a="same"), series("c", b="same")])
FIRST = DAYS.every("a").first


def days(*numbers: int) -> Ordinals:
    return Ordinals.of([FIRST + number for number in numbers])


def there(graph: Graph) -> dict[str, Marks]:
    return {name: Marks({Mark("state", "completed"): graph.every(name)}) for name in graph.entities}


def incident(name: str = "i", at: Ordinals = NONE, code: str = "v1", fixed: int | None = None) -> Incident:
    return Incident(name, {"a": {code: at}}, fixed)


def open_on_a(name: str = "i", at: Ordinals | None = None, graph: Graph = DAYS) -> dict[str, Marks]:
    return told(there(graph), at or days(3), name, graph)


def told(
    known: dict[str, Marks],
    at: Ordinals,
    name: str = "i",
    graph: Graph = DAYS,
    histories: Histories | None = None,
    **more: Ordinals,
) -> dict[str, Marks]:
    """Return the marks once these of `a`, and `more`, are reported as wrong; `histories` None: nothing is recorded."""
    roots = {entity: some & known[entity].exist for entity, some in {"a": at, **more}.items()}
    reached = Spread(histories or Histories.unknown(graph, alive(known)), roots, {})
    found = opened(name, roots, {entity: marks.of("deleted") for entity, marks in known.items()}, reached)
    return known | {entity: known[entity].with_(marks) for entity, marks in found.items()}


def alive(known: dict[str, Marks]) -> dict[str, Ordinals]:
    return {name: marks.exist | marks.of("deleted") for name, marks in known.items()}


def recorded(
    known: dict[str, Marks],
    versions: list[tuple[str, int, int, int]],
    reads: list[tuple[int, str, int, int, int]],
    graph: Graph = DAYS,
) -> Histories:
    """`versions`: entity, seq, first day and end. `reads`: seq, upstream, first day and end, as of which seq."""
    all_ = Together(graph.entities)
    made = np.array([(all_.rank[name], seq, FIRST + start, FIRST + end) for name, seq, start, end in versions]).T
    read = np.array([(seq, all_.rank[name], FIRST + a, FIRST + b, at) for seq, name, a, b, at in reads])
    rows = Versions(*made, made[1], np.ones(made.shape[1], dtype=np.bool_), np.full(made.shape[1], -1))
    every = {name: graph.every(name) for name in graph.entities}
    return histories(
        graph, all_, all_.union(alive(known)), every, rows, Reads(*read.reshape(-1, 5).astype(np.int64).T)
    )[0]


def of(known: dict[str, Marks], name: str, kind: str, ref: str = "i") -> Ordinals:
    return known[name].get(Mark(kind, ref), NONE)  # type: ignore[arg-type]


def test_an_incident_is_on_its_roots_and_on_all_that_used_them() -> None:
    known = open_on_a()
    assert of(known, "a", "tainted") == of(known, "b", "inherited") == of(known, "c", "inherited") == days(3)
    assert not of(known, "a", "inherited") | of(known, "b", "tainted")


def test_what_is_not_there_is_not_condemned() -> None:
    known = there(DAYS)
    known["a"] = after(known["a"], Deleted("external"), days(3))
    assert told(known, days(3)) == known
    with pytest.raises(InvalidEntities, match="no entity 'x'"):
        Spread(Histories.unknown(DAYS, {}), {"x": days(3)}, {})


def test_what_was_deleted_since_passed_it_on_while_it_was_there() -> None:
    known = there(DAYS)
    known["b"] = after(known["b"], Deleted("retention"), days(3))
    known = told(known, days(3, 4))
    assert of(known, "c", "inherited") == days(3, 4)
    assert of(known, "b", "inherited") == days(4)
    assert of(known, "b", "repaired") == days(3)


def test_who_used_only_what_was_there_before_is_not_wrong() -> None:
    known = there(DAYS)
    versions = [("a", 1, 3, 5), ("b", 2, 3, 5), ("a", 3, 3, 4)]
    known = told(known, days(3, 4), histories=recorded(known, versions, [(2, "a", 3, 5, 1)]))
    assert of(known, "b", "inherited") == of(known, "c", "inherited") == days(4)
    assert not of(known, "a", "repaired"), "what was before was not condemned"


def test_what_was_read_decides_where_it_is_recorded() -> None:
    graph = Graph([series("a"), series("b", a="last_available"), series("c", b="same")])
    versions = [("a", 1, 0, 10), ("b", 2, 2, 3), ("b", 3, 3, 4)]
    histories = recorded(there(graph), versions, [(2, "a", 0, 1, 1), (3, "a", 2, 3, 1)], graph)
    found = Spread(histories, {"a": days(0)}, {})
    assert found.current["b"] == found.current["c"] == graph.every("b") - days(3)
    assert found.exact == {"a": days(0), "b": days(2)}


@pytest.mark.parametrize(
    ("code", "began", "fixed", "right", "wrong"),
    [
        ("v1", 10, None, NONE, True),
        ("v2", 10, None, NONE, False),
        ("", 10, None, NONE, True),
        ("v1", 10, 11, NONE, True),
        ("v1", 11, 11, NONE, False),
        ("v1", 10, None, days(3), False),
    ],
)
def test_the_same_bug_again_launders_nothing(
    code: str, began: int, fixed: int | None, right: Ordinals, wrong: bool
) -> None:
    known = open_on_a()
    version = Version("a", days(3), began, code, right=right)
    known["a"] = judged(DAYS, version, known, [incident(at=days(3), fixed=fixed)]).marks
    assert of(known, "a", "tainted") == (days(3) if wrong else NONE)
    assert of(known, "a", "repaired") == days(3)
    assert of(known, "b", "inherited") == days(3)


def test_the_same_bug_again_after_other_code_or_a_deletion() -> None:
    known = open_on_a()
    for report, code in ((Deleted("external"), "v1"), (Produced("r"), "v2"), (Produced("r"), "v1")):
        known["a"] = after(known["a"], report, days(3))
        if isinstance(report, Deleted):
            assert not known["a"].wrong
            continue
        known["a"] = judged(DAYS, Version("a", days(3), 10, code), known, [incident(at=days(3))]).marks
        assert of(known, "a", "tainted") == (days(3) if code == "v1" else NONE)


def test_unknown_code_is_not_taken_for_other_code() -> None:
    known = open_on_a()
    version = Version("a", days(3), 10, "v2")
    assert judged(DAYS, version, known, [incident(at=days(3), code="")]).marks.wrong == days(3)


@pytest.mark.parametrize(
    ("read", "replaced", "wrong"),
    [
        ({}, {}, days(3)),
        ({"a": days(2, 3, 4)}, {}, days(3)),
        ({"a": days(4)}, {}, NONE),
        ({"a": days(3)}, {"a": days(3)}, NONE),
        ({"other": days(9)}, {}, days(3)),
        ({"a": days(3, 4), "c": days(3)}, {}, days(2, 3, 4)),
    ],
)
def test_a_new_version_is_as_right_as_what_it_read(
    read: dict[str, Ordinals], replaced: dict[str, Ordinals], wrong: Ordinals
) -> None:
    known = open_on_a()
    verdict = judged(DAYS, Version("b", days(2, 3, 4), 10, read=read, replaced=replaced), known, [])
    assert verdict.marks.wrong == wrong
    assert of({"b": verdict.marks}, "b", "repaired") == days(3)


def test_what_no_dates_explain_was_read_for_all_that_was_made() -> None:
    known = open_on_a()
    version = Version("b", days(8, 9), 10, read={"a": days(3)})
    assert judged(DAYS, version, known, []).marks.wrong == days(3, 8, 9)


def test_a_wrong_version_read_before_it_was_repaired() -> None:
    """Told by what was recorded, and where nothing was, taken to have been."""
    known = open_on_a()
    known["a"] = judged(DAYS, Version("a", days(3), 10, "v2"), known, [incident(at=days(3))]).marks
    for read in ({}, {"a": days(3)}):
        late = Version("b", days(3), 5, read=read, replaced={"a": days(3)})
        assert of({"b": judged(DAYS, late, known, []).marks}, "b", "inherited") == days(3)
        early = late._replace(replaced={})
        assert not judged(DAYS, early, known, []).marks.wrong


def test_a_version_judged_twice() -> None:
    known = open_on_a()
    once_ = judged(DAYS, Version("b", days(3), 10), known, [])
    twice = judged(DAYS, Version("b", days(3), 10, same=days(3)), known | {"b": once_.marks}, [])
    assert twice.marks == once_.marks


def test_the_same_content_was_never_wrong() -> None:
    known = open_on_a(at=days(3, 4))
    version = Version("a", days(3, 4), 10, "v2", same=days(3))
    verdict = judged(DAYS, version, known, [incident(at=days(3, 4))])
    known["a"] = verdict.marks
    known["b"] = after(known["b"], LeftWrong("i"), days(3, 4))
    assert verdict.cleared == {"i": days(3)}
    assert of(known, "a", "repaired") == days(4)
    known |= same_content(DAYS, "i", known)
    assert of(known, "b", "inherited") == of(known, "c", "inherited") == of(known, "b", "wont_fix") == days(4)
    assert same_content(DAYS, "i", known) == {}


def test_the_same_content_in_the_middle_clears_only_what_comes_after() -> None:
    known = open_on_a()
    known["a"] = judged(DAYS, Version("a", days(3), 10, "v2"), known, [incident(at=days(3))]).marks
    verdict = judged(DAYS, Version("b", days(3), 11, same=days(3)), known, [])
    known["b"] = verdict.marks
    known |= same_content(DAYS, "i", known)
    assert verdict.cleared == {"i": days(3)}
    assert not known["b"].wrong | known["c"].wrong


def test_equal_content_that_is_still_wrong_clears_no_reader() -> None:
    known = open_on_a()
    verdict = judged(DAYS, Version("b", days(3), 11, same=days(3)), known, [])
    assert verdict.cleared == {}
    assert of({"b": verdict.marks}, "b", "inherited") == days(3)
    assert not of({"b": verdict.marks}, "b", "repaired")


def test_an_older_wrong_version_is_not_forgotten() -> None:
    """Made again while still wrong, and with other content: who read the one before stays wrong when the second turns out right."""
    known = open_on_a()
    known["b"] = judged(DAYS, Version("b", days(3), 10), known, []).marks
    verdict = judged(DAYS, Version("a", days(3), 11, "v2", same=days(3)), known, [incident(at=days(3))])
    known["a"] = verdict.marks
    known |= same_content(DAYS, "i", known)
    assert not known["b"].wrong
    assert of(known, "c", "inherited") == days(3)


def test_a_person_judges_a_version_right() -> None:
    known = open_on_a(at=days(3, 4))
    known |= confirmed(DAYS, "i", {"a": days(3)}, known)
    assert of(known, "a", "tainted") == of(known, "b", "inherited") == of(known, "c", "inherited") == days(4)


def test_a_false_alarm_leaves_nothing_and_others_are_others() -> None:
    before = open_on_a("j", days(3, 5))
    known = told(before, days(3))
    known["b"] = after(known["b"], LeftWrong("i"), days(3))
    known["b"] = after(known["b"], Doubted("i"), days(7))
    known["a"] = judged(DAYS, Version("a", days(3), 10, "v2"), known, [incident(at=days(3))]).marks
    assert of(known, "a", "tainted", "j") == days(5), "without a report about j, it is right by j, too"
    known = known | retracted("i", known)
    assert not {mark for marks in known.values() for mark in marks if mark.ref == "i"}
    assert {name: of(known, name, "inherited", "j") for name in "bc"} == {"b": days(3, 5), "c": days(3, 5)}
    assert retracted("i", known) == {}


@pytest.mark.parametrize("recorded", [False, True])
def test_what_a_run_makes_in_one_go_of_itself(recorded: bool) -> None:
    """Nothing recorded: in order, each of what it had just made, so that a repair repairs. Recorded: it read what was there before."""
    graph = Graph([series("a"), series("b", a="same", b="previous")])
    known = open_on_a(graph=graph)
    end = graph.every("b").end
    assert of(known, "b", "inherited") == Ordinals.between(FIRST + 3, end)
    known["a"] = judged(graph, Version("a", days(3), 10, "v2"), known, [incident(at=days(3))]).marks
    made = Ordinals.between(FIRST + 3, end)
    read = {"b": Ordinals.between(FIRST + 2, end - 1), "a": made} if recorded else {}
    marks = judged(graph, Version("b", made, 11, read=read), known, []).marks
    assert marks.wrong == (Ordinals.between(FIRST + 4, end) if recorded else NONE)


def test_within_one_go_what_is_wrong_goes_on_to_the_next() -> None:
    graph = Graph([series("a"), series("b", a="same", b="previous")])
    known = open_on_a(at=days(6), graph=graph)
    marks = judged(graph, Version("b", days(3, 4, 5, 6, 7, 9), 10), known, []).marks
    assert marks.wrong == Ordinals.between(FIRST + 6, graph.every("b").end)
    again = judged(graph, Version("b", days(3, 4, 5), 10), known, []).marks
    assert again.wrong == marks.wrong


def test_a_snapshot_is_carried_on_over_what_is_right() -> None:
    carry = Entity("s", Snapshot("carry"), series("s").instances, {"completed": (Dependency("a", Dates.of("same")),)})
    graph = Graph([series("a"), carry])
    known = open_on_a(graph=graph)
    known["a"] = judged(graph, Version("a", days(3), 10, "v2"), known, [incident(at=days(3))]).marks
    marks = judged(graph, Version("s", days(3, 4), 11), known, []).marks
    assert marks.wrong == Ordinals.between(FIRST + 5, graph.every("s").end)
    marks = judged(graph, Version("s", days(4), 11), known, []).marks
    assert 4 + FIRST in marks.wrong


@pytest.mark.parametrize(
    ("read", "replaced", "wrong"),
    [({}, NONE, False), ({}, Ordinals.between(0, 1), True), ({"s": Ordinals.between(0, 1)}, NONE, True), ({"s": Ordinals.between(1, 2)}, NONE, False)],
)  # fmt: skip
def test_of_something_static_the_newest_version_is_used(
    read: dict[str, Ordinals], replaced: Ordinals, wrong: bool
) -> None:
    graph = Graph([Entity("s", Static()), series("a", s="static")])
    known = {
        "s": Marks({Mark("state", "completed"): Ordinals.between(0, 2), Mark("tainted", "i"): Ordinals.between(0, 1)})
    }
    verdict = judged(graph, Version("a", days(3), 10, read=read, replaced={"s": replaced}), known, [])
    assert verdict.marks.wrong == (days(3) if wrong else NONE)


def test_something_static_may_have_used_any_day() -> None:
    graph = Graph([series("a"), Entity("s", Static(), None, {"completed": (Dependency("a"),)})])
    known = {"a": Marks({Mark("state", "completed"): graph.every("a"), Mark("tainted", "i"): days(3)})}
    version = Version("s", Ordinals.between(0, 1), 10)
    assert judged(graph, version, known, []).marks.wrong == Ordinals.between(0, 1)
    assert not judged(graph, version._replace(read={"a": days(4)}), known, []).marks.wrong


CARRY = Graph(
    [
        series("a"),
        Entity(
            "s",
            Snapshot("carry"),
            series("s").instances,
            {"completed": (Dependency("a", Dates.of("same")), Dependency("s", Dates.of("previous 2")))},
        ),
    ]
)


def some_of(name: str, state: Ordinals, **marks: Ordinals) -> dict[str, Marks]:
    return {name: Marks({Mark("state", "completed"): state} | {Mark(k, "i"): some for k, some in marks.items()})}  # type: ignore[arg-type]


def test_of_what_was_made_more_than_once_an_older_version_may_be_wrong_too() -> None:
    known = there(DAYS)
    versions = [("b", 2, 3, 5), ("b", 3, 3, 4)]
    known = told(known, days(3), histories=recorded(known, versions, [(2, "a", 3, 5, 1), (3, "a", 4, 5, 1)]))
    assert of(known, "b", "repaired") == of(known, "c", "inherited") == days(3)
    assert not of(known, "b", "inherited") | of(known, "a", "repaired") | of(known, "c", "repaired")


def test_what_is_wrong_itself_has_not_inherited_it() -> None:
    graph = Graph([series("a"), series("b", a="same", b="previous")])
    known = told(there(graph), days(3), graph=graph, b=days(3, 8))
    assert not of(known, "b", "inherited") & days(3, 8)
    assert of(known, "b", "tainted") == days(3, 8)
    both = Incident("i", {"a": {"v1": days(3)}, "b": {"v1": days(3, 8)}})
    marks = judged(graph, Version("b", days(3, 4), 10, "v1"), known, [both]).marks
    assert of({"b": marks}, "b", "tainted") & days(3, 4) == days(3)
    assert of({"b": marks}, "b", "inherited") & days(3, 4) == days(4)


def test_in_one_go_what_is_wrong_itself_goes_on_to_the_next() -> None:
    graph = Graph([series("b", b="previous")])
    known = {"b": Marks({Mark("state", "completed"): days(3), Mark("tainted", "i"): days(3)})}
    marks = judged(graph, Version("b", days(3, 4), 10, "v1"), known, [Incident("i", {"b": {"v1": days(3)}})]).marks
    assert of({"b": marks}, "b", "inherited") == days(4)


def test_nothing_is_marked_any_more_but_it_was_when_it_was_read() -> None:
    known = some_of("a", days(3), repaired=days(3))
    assert judged(DAYS, Version("b", days(3), 5, replaced={"a": days(3)}), known, []).marks.wrong == days(3)
    assert not judged(DAYS, Version("b", days(3), 5), known, []).marks.wrong


def test_what_did_not_read_the_one_before_does_not_go_on_from_it() -> None:
    graph = Graph([series("a"), series("b", a="same", b="previous")])
    known = some_of("a", days(3, 4), tainted=days(3))
    version = Version("b", days(3, 4), 10, read={"a": days(3, 4), "b": days(1, 2, 3)})
    assert judged(graph, version, known, []).marks.wrong == days(3, 4)
    assert judged(graph, version._replace(read={"a": days(3, 4), "b": days(1)}), known, []).marks.wrong == days(3)


def test_a_snapshot_that_read_a_wrong_one_is_wrong_whichever_it_was_carried_on_from() -> None:
    known = some_of("s", days(3), inherited=days(3))
    version = Version("s", days(4, 7), 10, read={"s": days(3), "a": NONE})
    assert judged(CARRY, version, known, []).marks.wrong == days(3, 4, 7)


@pytest.mark.parametrize(
    ("known", "replaced", "wrong"),
    [
        (some_of("s", days(1, 3, 4), inherited=days(1)), NONE, False),
        (some_of("s", days(1, 3, 4), inherited=days(1)), days(3, 4), True),
        (some_of("s", days(1, 4), inherited=days(1)), days(4), True),
        (some_of("s", days(1), repaired=days(4)), days(4), True),
        (some_of("s", days(1), repaired=days(4)), NONE, False),
    ],
)
def test_a_snapshot_may_have_been_carried_on_from_what_was_there_when_its_run_began(
    known: dict[str, Marks], replaced: Ordinals, wrong: bool
) -> None:
    version = Version("s", days(8), 10, read={"a": NONE}, replaced={"s": replaced})
    assert (FIRST + 8 in judged(CARRY, version, known, []).marks.wrong) == wrong


def test_a_snapshot_of_which_nothing_was_recorded_passes_over_those_of_which_something_was() -> None:
    plain = Entity("s", Snapshot("carry"), series("s").instances, {"completed": (Dependency("a", Dates.of("same")),)})
    graph = Graph([series("a"), plain])
    known = some_of("a", days(1)) | some_of("s", days(1, 2, 3))
    known = told(known, days(1), graph=graph, histories=recorded(known, [("s", 1, 2, 3)], [], graph))
    assert of(known, "s", "inherited") == days(1, 3)
