"""The versions that an incident makes wrong, as marks of instances: when it is opened, after a repair, and when it is
dismissed.

A version is wrong because of an incident if it was condemned, or read a version that is wrong; unless content equal to
its own replaced it and is right. Marks describe current versions. Of earlier ones they record one fact: `repaired`,
that some version of the instance was wrong and was replaced or deleted. If that is less than the versions would show,
the answer is that an instance is wrong, never that it is right:

- of an instance with `repaired`, which of its versions a reader read is not told apart when it is asked what else is wrong still;
- of a snapshot without a record of what it was carried on from, any before it may have been it: record it when it is made;
- of an instance made more than twice before an incident was opened, all versions but the current one are taken for one.

Nothing here decides what is allowed (`transitions.py`) or reads what was recorded: the caller has the versions, and
passes what they say.
"""

from collections.abc import Iterable, Mapping, Set
from typing import NamedTuple

from headwater.entities.needs.graph import Graph
from headwater.entities.needs.walk import Facts
from headwater.entities.status.histories import Histories
from headwater.entities.status.marks import Kind, Mark, Marks
from headwater.entities.status.propagation import Pairs, Spread
from headwater.entities.status.taint import closure, tainted
from headwater.entities.time.ordinals import NONE, Ordinals

Known = Mapping[str, Marks]
"""Marks by entity. Entities that nothing is known of may be left out, and so are, of answers, those of which nothing changed."""


class Incident(NamedTuple):
    """A verdict on the versions that these instances had when it was opened.

    roots: by entity and by the code that made the version, `""` if unknown. fixed: when what went wrong was put right, in seconds; None: not
    yet, or not reported.
    """

    name: str
    roots: Mapping[str, Mapping[str, Ordinals]]
    fixed: int | None = None

    def condemns(self, version: "Version") -> Ordinals:
        """The instances of a new version that are wrong themselves: named, made before it was fixed, and by the code that had made the wrong one.
        Unknown code does not count as other code.
        """
        if self.fixed is not None and version.began >= self.fixed:
            return NONE
        named = self.roots.get(version.entity, {})
        same = [some for code, some in named.items() if code == version.code or not code or not version.code]
        return (NONE.union(*same) & version.instances) - version.right


class Version(NamedTuple):
    """The version that one run wrote of some instances of an entity.

    began: when the run began, in seconds: it ran the code there was then. code: which, `""` if unknown.
    read: by upstream the instances it had read, as they were before the run wrote anything. For an upstream that is not
    in it nothing was recorded, and the declaration counts; for the entity itself, what the run makes in one go is then
    made in order, each from what it had just made.
    replaced: by upstream, what was made again with other content, or deleted, after the run had read it, or began if
    nothing is recorded. If nothing is recorded, also what would have been read otherwise: of a static upstream the
    newest version until then, of the snapshots of the entity itself those that were made since for the first time.
    same: those with the same content as the version that they replace; of a version that is judged twice all of them.
    spared: by incident the upstreams of which it did not use what is wrong.
    right: those that a person says are not wrong themselves.
    """

    entity: str
    instances: Ordinals
    began: int
    code: str = ""
    read: Mapping[str, Ordinals] = {}
    replaced: Mapping[str, Ordinals] = {}
    same: Ordinals = NONE
    right: Ordinals = NONE
    spared: Mapping[str, Set[str]] = {}


class Verdict(NamedTuple):
    """The marks of the entity after a new version. `cleared`: by incident, the instances whose wrong version was replaced by the same content
    and that are right. Their readers may be right too; see `same_content`.
    """

    marks: Marks
    cleared: Mapping[str, Ordinals]


def opened(
    incident: str, roots: Mapping[str, Ordinals], gone: Mapping[str, Ordinals], reached: Spread
) -> dict[str, Marks]:
    """The marks that a new incident sets, of all entities that get any: `tainted` on roots, `inherited` on all others that used them, `repaired` on
    those of which a version that used them is past, or deleted.

    `gone`: the instances that there are no more. `reached`: from the current versions of the roots, which exist.
    """
    found: dict[str, Marks] = {}
    for name in {**reached.current, **reached.past}:
        used, condemned = reached.current.get(name, NONE), roots.get(name, NONE)
        before = used & gone[name] if name in gone else NONE
        found[name] = Marks(
            {
                Mark("tainted", incident): condemned,
                Mark("inherited", incident): used - condemned - before,
                Mark("repaired", incident): before | reached.past.get(name, NONE),
            }
        )
    return found


def judged(graph: Graph, version: Version, known: Known, incidents: Iterable[Incident]) -> Verdict:
    """Return what is wrong of a new version, by incident.

    `known` is as it was before, or with what `status.after` made of it, which is the same here. `incidents`: those not
    retracted that name the entity. What the version used is wrong if it is marked so, so incidents that it inherits
    need not be given. KeyError for an entity that is not in the graph.
    """
    name, made = version.entity, version.instances
    marks = _of(known, name)
    condemned = {incident.name: incident.condemns(version) for incident in incidents}
    upstream = {link.upstream for link in graph.upstream(name)} | set(version.read) | {name}
    refs = dict.fromkeys(
        mark.ref
        for each in sorted(upstream)
        for mark in _of(known, each)
        if mark.kind in ("tainted", "inherited", "repaired")
    )
    taken: dict[Mark, Ordinals] = {}
    given: dict[Mark, Ordinals] = {}
    cleared: dict[str, Ordinals] = {}
    for ref in {**refs, **condemned}:
        itself = condemned.get(ref, NONE)
        inherited = _inherited(graph, version, known, ref, itself) - itself
        before = _wrong(marks, ref) & made
        taken |= {Mark("tainted", ref): made, Mark("inherited", ref): made}
        given |= {
            Mark("tainted", ref): itself,
            Mark("inherited", ref): inherited,
            Mark("repaired", ref): before - version.same,
        }
        if right := (before & version.same) - itself - inherited:
            cleared[ref] = right
    return Verdict(marks.without(taken).with_(given), cleared)


def same_content(
    graph: Graph,
    incident: str,
    known: Known,
    histories: Histories | None = None,
    cleared: Mapping[str, Ordinals] | None = None,
    unaffected: Pairs = frozenset(),
) -> dict[str, Marks]:
    """The instances that stay wrong because of an incident after others turned out to be right: those reachable, over wrong instances only, from
    what is still `tainted`, or was replaced and is `repaired`. No further instance becomes wrong.

    `known` is after the verdict on the new version. `histories`: what is recorded of what is wrong; None: nothing. `cleared`: what turned out to be
    right; of the others only declared dependents become right, for what else the rest read is unknown. `unaffected`: of an
    incident about some columns, as `Spread` has it.
    """
    wrong = {name: _wrong(marks, incident) for name, marks in known.items()}
    tainted_ = {name: some for name, marks in known.items() if (some := marks.get(Mark("tainted", incident), NONE))}
    past = {name: some for name, marks in known.items() if (some := marks.get(Mark("repaired", incident), NONE))}
    for name, some in past.items():
        # The last version of a deleted instance is no longer current, and may be the wrong one.
        if gone := some & known[name].of("deleted"):
            tainted_[name] = tainted_.get(name, NONE) | gone
    may = {name: some | past.get(name, NONE) for name, some in wrong.items()}
    if cleared is not None:
        after = closure(graph, cleared, Facts(exist=lambda name: may.get(name, NONE) | cleared.get(name, NONE)))
        for name, some in wrong.items():
            if others := some - after.get(name, NONE):
                tainted_[name] = tainted_.get(name, NONE) | others
    still = Spread((histories or Histories.unknown(graph, may))._replace(there=may), tainted_, past, unaffected).current
    changed: dict[str, Marks] = {}
    for name, some in wrong.items():
        if right := some - still.get(name, NONE):
            changed[name] = _without(known[name], incident, right, "inherited", "wont_fix")
    return changed


def confirmed(
    graph: Graph,
    incident: str,
    right: Mapping[str, Ordinals],
    known: Known,
    histories: Histories | None = None,
    unaffected: Pairs = frozenset(),
) -> dict[str, Marks]:
    """A person says that the current versions of these are not wrong: the incident's marks go from them, and from those who are wrong only because
    of them. As of `same_content`; what versions before them were is not said.
    """
    said = {
        name: _without(known[name], incident, some, "tainted", "inherited", "wont_fix", "suspect")
        for name, some in right.items()
        if name in known
    }
    return _changed(known, {**said, **same_content(graph, incident, {**known, **said}, histories, None, unaffected)})


def _inherited(graph: Graph, version: Version, known: Known, incident: str, itself: Ordinals) -> Ordinals:
    """The instances of a new version that used what is wrong because of an incident."""
    found = NONE
    spared = version.spared.get(incident, frozenset())
    for upstream, read in version.read.items():
        if upstream in spared:
            continue
        marks = _of(known, upstream)
        replaced = version.replaced.get(upstream, NONE)
        wrong = (_wrong(marks, incident) - replaced) | (marks.get(Mark("repaired", incident), NONE) & replaced)
        found |= _readers(graph, version, upstream, read & wrong)
    own = False
    for link in graph.upstream(version.entity):
        if link.upstream in spared:
            continue
        if link.upstream == version.entity:
            own = True
        elif link.upstream not in version.read:
            wrong = _could(version, known, link.upstream, incident)
            if link.edge is not None:
                found |= link.edge.affected(wrong, version.instances)
            else:
                if graph.entities[link.upstream].instances is None:
                    wrong &= _newest(_of(known, link.upstream).exist) | version.replaced.get(link.upstream, NONE)
                found |= version.instances if wrong else NONE
    return found | _onward(version, graph, known, incident, found | itself) if own else found


def _could(version: Version, known: Known, upstream: str, incident: str) -> Ordinals:
    """Return the wrong instances that a version may have used of an upstream without recorded reads: wrong now, or until they were made again."""
    marks = _of(known, upstream)
    replaced = version.replaced.get(upstream, NONE)
    return _wrong(marks, incident) | (marks.get(Mark("repaired", incident), NONE) & replaced)


def _newest(some: Ordinals) -> Ordinals:
    return Ordinals.between(some.end - 1, some.end) if some else NONE


def _readers(graph: Graph, version: Version, upstream: str, wrong: Ordinals) -> Ordinals:
    """Return the instances that read these. The run read them for all it made; if dates say for which it needed them, it was for those."""
    if not wrong:
        return NONE
    found = need = NONE
    for link in graph.upstream(version.entity):
        if link.upstream == upstream:
            if link.edge is None:
                return version.instances
            found |= link.edge.affected(wrong, version.instances)
            need |= link.edge.need(version.instances)
    return found if wrong <= need else version.instances


def _onward(version: Version, graph: Graph, known: Known, incident: str, seeds: Ordinals) -> Ordinals:
    """Return what else is wrong of a new version of an entity that needs itself: from what it had before, and from one
    instance it makes to the next."""
    made = version.instances
    read = version.read.get(version.entity)
    if read is None:
        seeds |= _could(version, known, version.entity, incident) - made
    elif not read & made:
        return NONE
    if not seeds:
        return NONE
    exist = _of(known, version.entity).exist | made | seeds
    others = exist - made
    # Over what has changed since, a snapshot may have been carried on from what is before it.
    before = others - version.replaced.get(version.entity, NONE)
    facts = Facts(
        exist=lambda name: exist if name == version.entity else NONE,
        cuts=lambda link: before if link.carried else others,
    )
    return tainted(graph, {version.entity: seeds}, facts).hits[version.entity].instances & made


def _of(known: Known, name: str) -> Marks:
    return known.get(name, _NOTHING)


def _wrong(marks: Marks, incident: str) -> Ordinals:
    return marks.get(Mark("tainted", incident), NONE) | marks.get(Mark("inherited", incident), NONE)


def _without(marks: Marks, incident: str, some: Ordinals, *kinds: Kind) -> Marks:
    return marks.without({Mark(kind, incident): some for kind in kinds})


def _changed(known: Known, found: Mapping[str, Marks]) -> dict[str, Marks]:
    return {name: marks for name, marks in found.items() if marks != _of(known, name)}


_NOTHING = Marks()
