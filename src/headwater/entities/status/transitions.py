"""The changes that a report makes to the marks of some instances: the state machine, as a table.

A report is about all of its instances at once, and is applied by runs of ordinals. Reports come twice, late and in any
order, so most are allowed at any time: a run that failed need not have been seen to start, a check that passes need not
have failed before. Only a report about a version that does not exist is refused. A report that is repeated at once
changes nothing the second time.

Which versions are wrong is not decided here (`incidents.py`); a new version leaves `tainted` and `inherited` as they
are until it is judged. Two things only the caller can know, since it has the versions and the log: a report of an older
version than the current one, and a start that comes after its own run's end, must not be passed on.
"""

import difflib
from collections.abc import Collection, Iterable, Mapping
from typing import Literal, NamedTuple, get_args

from headwater.entities.needs.graph import COMPLETED
from headwater.entities.status.marks import Kind, Mark, Marks
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.errors import InvalidStatus

PROVISIONAL = ("estimated", "partial")
"""The states that `completed` takes away; it leaves all others."""

Cause = Literal["retention", "external"]


class Started(NamedTuple):
    """A run is making the instances. What is there already stays."""

    run: str


class Produced(NamedTuple):
    """There is a new version, with these states and no others. It brings back what was deleted. `run` None: unknown."""

    run: str | None
    states: tuple[str, ...] = (COMPLETED,)


class Failed(NamedTuple):
    """A run ended without a version of the instances; earlier versions still exist."""

    run: str


class Deleted(NamedTuple):
    """The version is gone: deleted by retention, or from outside (external)."""

    cause: Cause


class StatesChanged(NamedTuple):
    """The states of the current version differ from those reported; there is no new version."""

    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


class Doubted(NamedTuple):
    """A check of the current version failed."""

    check: str


class Trusted(NamedTuple):
    """The check passes, or does not count."""

    check: str


class Withheld(NamedTuple):
    """The instances must not be read until the same author releases them."""

    who: str


class Released(NamedTuple):
    """`who` no longer withholds the instances."""

    who: str


class LeftWrong(NamedTuple):
    """A decision to leave the wrong instances of an incident as they are."""

    incident: str


class Planned(NamedTuple):
    """A plan is to make the instances again."""

    plan: str


class Unplanned(NamedTuple):
    """The plan is done with them, or was given up."""

    plan: str


Report = (
    Started
    | Produced
    | Failed
    | Deleted
    | StatesChanged
    | Doubted
    | Trusted
    | Withheld
    | Released
    | LeftWrong
    | Planned
    | Unplanned
)


class Rule(NamedTuple):
    """The condition that a report puts on an instance, and its effect on the marks. `sets` and `ends` concern the
    report's own ref, `takes` any ref.

    of: `any` instance; only one that `exists`, or that is `wrong` because of the incident: others are refused; `there`: others stay as they are.
    """

    of: Literal["any", "exists", "wrong", "there"] = "any"
    takes: tuple[Kind, ...] = ()
    ends: Kind | None = None
    sets: Kind | None = None


RULES: Mapping[type[Report], Rule] = {
    Started: Rule(sets="running"),
    # Marks of the old version do not apply to the new one. A withholding or a plan of the instance stays until its owner ends it.
    Produced: Rule(takes=("state", "deleted", "suspect", "wont_fix", "stale"), ends="running"),
    Failed: Rule(ends="running"),
    # Without a version nothing is wrong, doubted, withheld or old. Retention concerns a stretch of time, existing instances or not.
    Deleted: Rule(
        of="there",
        takes=("state", "tainted", "inherited", "suspect", "quarantined", "wont_fix", "stale"),
        sets="deleted",
    ),
    StatesChanged: Rule(of="exists"),
    Doubted: Rule(of="exists", sets="suspect"),
    Trusted: Rule(ends="suspect"),
    Withheld: Rule(of="exists", sets="quarantined"),
    Released: Rule(ends="quarantined"),
    LeftWrong: Rule(of="wrong", sets="wont_fix"),
    Planned: Rule(sets="repairing"),
    Unplanned: Rule(ends="repairing"),
}


def after(
    marks: Marks,
    report: Report,
    instances: Ordinals,
    states: Collection[str] = (COMPLETED,),
    *,
    compatible: Collection[str] = (),
) -> Marks:
    """Return the marks of an entity after a report of some of its instances. O(marks × r log r).

    `states`: those that the entity declares. `compatible`: of `estimated` and `partial` those that may stand beside
    `completed`.

    InvalidStatus, with nothing changed: for a state that is not declared (with the nearest that is), for a new version
    without a state, for states that are added and removed at once or of which none would be left, and if the report
    requires that instances exist, or are wrong, and they are not.
    """
    rule = RULES[type(report)]
    _check(report, states)
    _refuse(marks, report, rule, instances)
    if rule.of == "there":
        instances &= marks.exist
    taken = {mark: instances for mark in marks if mark.kind in rule.takes}
    given: dict[Mark, Ordinals] = {}
    if isinstance(report, StatesChanged):
        taken |= {Mark("state", state): instances for state in report.remove}
        given = {Mark("state", state): instances for state in report.add}
    elif isinstance(report, Produced):
        given = {Mark("state", state): instances for state in report.states}
        if report.run is not None:
            taken[Mark("running", report.run)] = instances
    else:
        if rule.ends:
            taken[Mark(rule.ends, report[0])] = instances
        if rule.sets:
            given[Mark(rule.sets, report[0])] = instances
    if isinstance(report, Deleted):
        given |= _remembered(marks, instances)
    found = marks.without(taken).with_(given)
    if isinstance(report, StatesChanged | Produced):
        done = found.get(Mark("state", COMPLETED), NONE) & instances
        found = found.without({Mark("state", state): done for state in PROVISIONAL if state not in compatible})
        if bare := instances - found.exist:
            raise InvalidStatus(
                f"no state would be left of {bare}; what is not there any more is reported as deleted",
                instances=str(bare),
            )
    return found


def _remembered(marks: Marks, instances: Ordinals) -> dict[Mark, Ordinals]:
    """Record that a deleted version was wrong, as for a replaced one: its readers stay wrong."""
    found: dict[Mark, Ordinals] = {}
    for mark, some in marks.items():
        if mark.kind in ("tainted", "inherited"):
            kept = Mark("repaired", mark.ref)
            found[kept] = found.get(kept, NONE) | (some & instances)
    return found


def _check(report: Report, states: Collection[str]) -> None:
    if isinstance(report, Deleted):
        _check_names("cause", [report.cause], get_args(Cause))
    elif isinstance(report, Produced):
        _check_names("state", report.states, states)
        if not report.states:
            raise InvalidStatus("a new version has at least one state; say which, or report the instances as deleted")
    elif isinstance(report, StatesChanged):
        _check_names("state", [*report.add, *report.remove], states)
        if both := sorted(set(report.add) & set(report.remove)):
            raise InvalidStatus(f"state {both[0]!r} is added and removed at once; say one of them", state=both[0])


def _check_names(what: str, names: Iterable[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(map(repr, known))}"
            raise InvalidStatus(f"there is no {what} {name!r}; {hint}", **{what: name})


def _refuse(marks: Marks, report: Report, rule: Rule, instances: Ordinals) -> None:
    said = type(report).__name__.lower()
    if rule.of in ("exists", "wrong") and (missing := instances - marks.exist):
        raise InvalidStatus(
            f"{said}: {missing} do not exist; report only instances that were produced and not deleted",
            instances=str(missing),
        )
    if isinstance(report, LeftWrong):
        wrong = marks.get(Mark("tainted", report.incident), NONE) | marks.get(Mark("inherited", report.incident), NONE)
        if right := instances - wrong:
            raise InvalidStatus(
                f"leftwrong: {right} are not wrong because of incident {report.incident!r}; leave out what is not",
                instances=str(right),
            )
