"""The marks of instances, as sets."""

import random

from headwater.entities.status.marks import Mark, Marks, by_entity, difference, replayed
from headwater.entities.time.ordinals import NONE, Ordinals

DONE, RUNNING = Mark("state", "completed"), Mark("running", "r1")


def test_sets_of_common_questions() -> None:
    marks = Marks(
        {
            DONE: Ordinals.between(0, 10),
            Mark("state", "estimated"): Ordinals.between(10, 12),
            Mark("tainted", "i"): Ordinals.of([3]),
            Mark("inherited", "j"): Ordinals.of([4]),
            Mark("suspect", "check"): Ordinals.of([5]),
            RUNNING: NONE,
        }
    )
    assert marks.exist == Ordinals.between(0, 12)
    assert marks.wrong == Ordinals.of([3, 4])
    assert marks.refused == Ordinals.of([3, 4, 5])
    assert marks.by_ref("state") == {"completed": Ordinals.between(0, 10), "estimated": Ordinals.between(10, 12)}
    assert marks.at(3) == {DONE, Mark("tainted", "i")}
    assert RUNNING not in marks
    assert len(marks.within(Ordinals.of([3]))) == 2


def test_what_changed_makes_the_one_of_the_other() -> None:
    before = Marks({DONE: Ordinals.between(0, 5), RUNNING: Ordinals.of([7])})
    after = before.with_({DONE: Ordinals.of([7])}).without({RUNNING: Ordinals.of([7]), DONE: Ordinals.of([0])})
    changed = list(difference(before, after))
    assert sorted(changed, key=str) == sorted(
        [(DONE, Ordinals.of([0]), False), (DONE, Ordinals.of([7]), True), (RUNNING, Ordinals.of([7]), False)], key=str
    )
    assert not list(difference(after, after))


def test_rows_by_entity() -> None:
    rows = [
        (1, "state", "completed", 0, 3),
        (1, "state", "completed", 5, 6),
        (2, "running", "r", 1, 2),
        (2, "of a later version", "", 0, 9),
    ]
    assert by_entity(rows) == {
        1: Marks({DONE: Ordinals([(0, 3), (5, 6)])}),
        2: Marks({Mark("running", "r"): Ordinals.of([1])}),
    }


def test_replayed_as_it_was_told() -> None:
    draw = random.Random(3)
    for _ in range(300):
        told, held = [], {}
        for _ in range(draw.randint(0, 40)):
            start = draw.randint(-20, 20)
            kind, ref = draw.choice([("state", "completed"), ("tainted", "a"), ("tainted", "b")])
            change = (kind, ref, start, start + draw.randint(1, 9), draw.random() < 0.6)
            told.append(change)
            for ordinal in range(change[2], change[3]):
                held[Mark(kind, ref), ordinal] = change[4]
        assert replayed(told) == Marks(
            {mark: Ordinals.of([o for (m, o), on in held.items() if m == mark and on]) for mark in {m for m, _ in held}}
        )
