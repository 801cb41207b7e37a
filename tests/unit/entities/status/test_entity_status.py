"""The effect of each report in each situation, as a table; and random sequences of reports, instance by instance with sets of words."""

import random
from pathlib import Path

import pytest
from tests.scale import full

from headwater.entities.status.marks import Mark, Marks
from headwater.entities.status.transitions import (
    RULES,
    Deleted,
    Doubted,
    Failed,
    LeftWrong,
    Planned,
    Produced,
    Released,
    Report,
    Started,
    StatesChanged,
    Trusted,
    Unplanned,
    Withheld,
    after,
)
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.errors import InvalidStatus

TRANSITIONS = Path(__file__).parents[3] / "cases/entities/transitions.txt"
STATES = ("estimated", "partial", "completed", "checked")
WRITTEN: dict[str, Report] = {
    "started r": Started("r"),
    "produced r completed": Produced("r", ("completed",)),
    "produced r estimated": Produced("r", ("estimated",)),
    "produced r completed+estimated+checked": Produced("r", ("completed", "estimated", "checked")),
    "produced by an unknown run": Produced(None, ("completed",)),
    "failed r": Failed("r"),
    "deleted retention": Deleted("retention"),
    "deleted external": Deleted("external"),
    "said completed": StatesChanged(("completed",)),
    "said partial": StatesChanged(("partial",)),
    "said checked": StatesChanged(("checked",)),
    "said not completed": StatesChanged((), ("completed",)),
    "said estimated, not completed": StatesChanged(("estimated",), ("completed",)),
    "doubted c": Doubted("c"),
    "trusted c": Trusted("c"),
    "withheld w": Withheld("w"),
    "released w": Released("w"),
    "leftwrong i": LeftWrong("i"),
    "planned p": Planned("p"),
    "unplanned p": Unplanned("p"),
}
ONE, OTHER = Ordinals.between(5, 6), Ordinals.between(6, 7)


def read(text: str) -> frozenset[Mark]:
    """`state completed, running r`; `nothing`."""
    return frozenset(
        Mark(*part.split()) if " " in part else Mark(part)  # type: ignore[arg-type]
        for part in text.split(", ")
        if part != "nothing"
    )


def transitions() -> list[tuple[str, str, str]]:
    lines = TRANSITIONS.read_text(encoding="utf-8").splitlines()
    return [
        (was.strip(), report.strip(), now.strip())
        for was, report, now in (line.split("|") for line in lines if line and not line.startswith("#"))
    ]


def test_every_report_in_every_situation() -> None:
    """Those of the instance change as the table says, and its unreported neighbour keeps its marks."""
    wrong = []
    for was, report, expected in transitions():
        marks = Marks(dict.fromkeys(read(was), ONE | OTHER))
        try:
            found = after(marks, WRITTEN[report], ONE, STATES)
        except InvalidStatus:
            if expected != "refused":
                wrong.append((was, report, "refused"))
            continue
        if expected == "refused" or found.at(5) != read(expected):
            wrong.append((was, report, found.at(5)))
        assert found.at(6) == read(was)
        assert after(found, WRITTEN[report], ONE, STATES) == found, (was, report)
    assert not wrong


def test_the_table_has_every_report_in_every_situation() -> None:
    rows = transitions()
    situations = dict.fromkeys(was for was, _, _ in rows)
    assert [(was, report) for was, report, _ in rows] == [(was, report) for was in situations for report in WRITTEN]
    assert {type(report) for report in WRITTEN.values()} == set(RULES)
    assert sum(now == "refused" for _, _, now in rows) == 95


@pytest.mark.parametrize(
    ("report", "message"),
    [
        (Produced("r", ("complete",)), "no state 'complete'; did you mean 'completed'"),
        (Produced("r", ("xyz",)), "no state 'xyz'; there are 'estimated', 'partial'"),
        (StatesChanged(("chekced",)), "did you mean 'checked'"),
        (StatesChanged((), ("partal",)), "did you mean 'partial'"),
        (Produced("r", ()), "at least one state"),
        (StatesChanged(("completed",), ("completed",)), "added and removed at once"),
        (StatesChanged((), ("completed", "partial", "estimated")), r"no state would be left of \{5\}"),
        (Deleted("retained"), "no cause 'retained'; there are 'retention', 'external'"),  # type: ignore[arg-type]
        (Doubted("c"), r"doubted: \{6..9\} do not exist"),
        (LeftWrong("i"), r"leftwrong: \{6..9\} do not exist"),
    ],
)
def test_a_refusal_says_what_and_where(report: Report, message: str) -> None:
    marks = Marks({Mark("state", "completed"): ONE})
    some = ONE if "left of" in message else Ordinals.between(5, 10)
    with pytest.raises(InvalidStatus, match=message):
        after(marks, report, some, STATES)


def test_left_wrong_is_only_what_is_wrong_because_of_the_incident() -> None:
    marks = Marks({Mark("state", "completed"): ONE | OTHER, Mark("tainted", "i"): ONE, Mark("tainted", "j"): OTHER})
    assert after(marks, LeftWrong("i"), ONE)[Mark("wont_fix", "i")] == ONE
    with pytest.raises(InvalidStatus, match=r"\{6\} are not wrong because of incident 'i'"):
        after(marks, LeftWrong("i"), ONE | OTHER)


def test_a_state_may_be_declared_to_stand_beside_completed() -> None:
    marks = after(Marks(), Produced("r", ("estimated", "partial")), ONE, STATES)
    done = after(marks, StatesChanged(("completed",)), ONE, STATES, compatible=("partial",))
    assert done.at(5) == {Mark("state", "completed"), Mark("state", "partial")}
    assert after(done, Produced("r"), OTHER, STATES).at(5) == done.at(5), "the others were not reported"


def test_callbacks_in_any_order() -> None:
    """An end before its start, a retry, a clear: nothing of it is refused, and the version stays while it is made anew."""
    marks = after(Marks(), Failed("r"), ONE)
    assert marks == Marks()
    for report in (Produced("r"), Started("r"), Started("again"), Failed("r")):
        marks = after(marks, report, ONE)
    assert marks.at(5) == {Mark("state", "completed"), Mark("running", "again")}
    assert after(marks, Produced("again"), ONE).at(5) == {Mark("state", "completed")}
    assert after(marks, Trusted("never doubted"), ONE) == marks


def test_a_wrong_version_that_is_deleted_is_remembered() -> None:
    marks = Marks({Mark("state", "completed"): ONE, Mark("tainted", "i"): ONE, Mark("inherited", "j"): ONE})
    gone = after(marks, Deleted("retention"), Ordinals.between(0, 10))
    assert gone.at(5) == {Mark("deleted", "retention"), Mark("repaired", "i"), Mark("repaired", "j")}
    assert not gone.wrong
    assert gone.of("deleted") == ONE, "retention deletes nothing where nothing was"


def oracle(had: set[str], report: Report) -> set[str] | None:
    """Return the words of one instance after a report; None where the report is refused."""
    there = any(word.startswith("state ") for word in had)
    match report:
        case Started(run):
            return had | {f"running {run}"}
        case Produced(run, states):
            of_version = ("state ", "deleted ", "suspect ", "wont_fix ", "stale")
            left = {word for word in had if not word.startswith(of_version)} - {f"running {run}"}
            return left | {
                f"state {s}" for s in states if "completed" not in states or s not in ("estimated", "partial")
            }
        case Failed(run):
            return had - {f"running {run}"}
        case Deleted(cause):
            if not there:
                return had
            wrong = {word.split()[1] for word in had if word.split()[0] in ("tainted", "inherited")}
            kept = {word for word in had if word.split()[0] in ("running", "repairing", "repaired")}
            return kept | {f"deleted {cause}"} | {f"repaired {incident}" for incident in wrong}
        case StatesChanged(add, remove):
            now = (had - {f"state {s}" for s in remove}) | {f"state {s}" for s in add}
            if "state completed" in now:
                now -= {"state estimated", "state partial"}
            return now if there and any(word.startswith("state ") for word in now) else None
        case Doubted(check):
            return had | {f"suspect {check}"} if there else None
        case Trusted(check):
            return had - {f"suspect {check}"}
        case Withheld(who):
            return had | {f"quarantined {who}"} if there else None
        case Released(who):
            return had - {f"quarantined {who}"}
        case LeftWrong(incident):
            wrong = had & {f"tainted {incident}", f"inherited {incident}"}
            return had | {f"wont_fix {incident}"} if there and wrong else None
        case Planned(plan):
            return had | {f"repairing {plan}"}
        case Unplanned(plan):
            return had - {f"repairing {plan}"}


def report(chance: random.Random) -> Report:
    ref = chance.choice("abc")
    some = tuple(s for s in STATES if chance.random() < 0.4)
    kind = chance.choice([*RULES, Produced, Produced, StatesChanged])
    if kind is Produced:
        return Produced(chance.choice([ref, None]), some or ("completed",))
    if kind is StatesChanged:
        return StatesChanged(some, tuple(s for s in STATES if s not in some and chance.random() < 0.3))
    return Deleted(chance.choice(["retention", "external"])) if kind is Deleted else kind(ref)  # type: ignore[call-arg]


def check(seed: int, steps: int) -> int:
    """Some reports in a row of random runs; how many were accepted."""
    chance = random.Random(seed)
    marks, words = Marks(), {k: set[str]() for k in range(12)}
    accepted = 0
    for _ in range(steps):
        if chance.random() < 0.15:
            # Verdicts come from elsewhere.
            mark, some = (
                Mark(chance.choice(["tainted", "inherited"]), chance.choice("abc")),
                marks.exist & drawn(chance),
            )
            marks = marks.with_({mark: some})
            for k in some.members().tolist():
                words[k].add(f"{mark.kind} {mark.ref}")
        said, some = report(chance), drawn(chance)
        if isinstance(said, Doubted | Withheld | StatesChanged) and chance.random() < 0.8:
            some &= marks.exist
        if isinstance(said, LeftWrong) and chance.random() < 0.8:
            some &= marks.get(Mark("tainted", said.incident), NONE)
        expected = {k: oracle(words[k], said) for k in some.members().tolist()}
        if None in expected.values():
            with pytest.raises(InvalidStatus):
                after(marks, said, some, STATES)
            continue
        marks = after(marks, said, some, STATES)
        words |= {k: now for k, now in expected.items() if now is not None}
        assert {k: {f"{m.kind} {m.ref}" for m in marks.at(k)} for k in words} == words, (seed, said)
        assert after(marks, said, some, STATES) == marks, (seed, said)
        accepted += 1
    return accepted


def drawn(chance: random.Random) -> Ordinals:
    return Ordinals.of([k for k in range(12) if chance.random() < chance.choice([0.2, 0.9])])


@pytest.mark.parametrize("block", range(full(4, 2)))
def test_it_is_what_happens_to_each_instance(block: int) -> None:
    assert sum(check(seed, 60) for seed in range(block * 8, block * 8 + 8)) > 300


def test_it_costs_what_runs_there_are() -> None:
    """Three years of hours are one run all along, whatever is said of them."""
    hours = Ordinals.between(500_000, 526_280)
    marks = Marks()
    for said in (Started("r"), Produced("r"), Doubted("c"), Withheld("w"), Planned("p")):
        marks = after(marks, said, hours)
    assert {some.runs for some in marks.values()} == {1}
    assert len(marks) == 4
