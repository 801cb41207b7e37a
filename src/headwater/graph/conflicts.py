"""Conflicts between the sources of one job's lineage. Pure.

Each source answers two questions. Edges: does the job read (or write) this dataset? Flows: does this input feed this output?
An answer is CLAIMS, DENIES (explicit lineage names everything that feeds a target) or MISSING (the source
reported on the job, or the target, without it). A source that never reported on it has no answer. A conflict is claimed and also denied or missing.
"""

import datetime as dt
import uuid
from collections.abc import Iterable, Iterator, Mapping

import msgspec

# Sources of edges: runs; a manifest (a run's own plan); a JobEvent; a person. Sources of flows: the three kinds of column evidence.
OBSERVED, MANIFEST, JOB_EVENT, MANUAL = "OBSERVED", "MANIFEST", "JOB_EVENT", "MANUAL"
EXPLICIT, COLUMN_LINEAGE, PARSED_SQL = "EXPLICIT", "COLUMN_LINEAGE", "PARSED_SQL"
INPUTS_OUTPUTS = "INPUTS_OUTPUTS"
CLAIMS, DENIES, MISSING = "CLAIMS", "DENIES", "MISSING"

# The names of conflicts, the gravest first.
KINDS = (
    "columns_against_explicit",
    "denied_by_explicit",
    "evidence_not_observed",
    "declared_not_observed",
    "manual_not_observed",
    "observed_not_declared",
    "not_in_columns",
)


class LastReport(msgspec.Struct, frozen=True, order=True):
    """The time of the last report of something, and the run that reported it (None: no run)."""

    at: dt.datetime
    run: uuid.UUID | None = None


SourceReports = Mapping[str, Mapping[uuid.UUID, LastReport]]


class Evidence(msgspec.Struct, frozen=True):
    """All reports about a job. `reads` and `writes`: source → dataset → when. `feeds`: source → target → input → when; a target may be the job.

    `reads_below`, `writes_below`: what its child jobs were observed to read and write.
    """

    job: uuid.UUID
    reads: SourceReports
    writes: SourceReports
    feeds: Mapping[str, Mapping[uuid.UUID, Mapping[uuid.UUID, LastReport]]]
    reads_below: Mapping[uuid.UUID, LastReport] = {}
    writes_below: Mapping[uuid.UUID, LastReport] = {}


class Claim(msgspec.Struct, frozen=True):
    """`said`: the time of the claim; if denied or missing, the time at which the same source last reported."""

    who: str
    says: str
    said: LastReport


class Conflict(msgspec.Struct, frozen=True):
    """About an edge, source or target is the job; about a flow both are datasets."""

    kind: str
    job: uuid.UUID
    source: uuid.UUID
    target: uuid.UUID
    claims: tuple[Claim, ...]


def conflicts(told: Evidence) -> list[Conflict]:
    """All of them, the gravest kind first."""
    found = [
        Conflict(kind, told.job, source, target, claims)
        for source, target, claims in (*_edges(told), *_flows(told))
        if (kind := _kind(claims)) is not None
    ]
    return sorted(found, key=lambda c: (KINDS.index(c.kind), c.source, c.target))


def _edges(told: Evidence) -> Iterator[tuple[uuid.UUID, uuid.UUID, tuple[Claim, ...]]]:
    fed_by: dict[str, dict[uuid.UUID, LastReport]] = {}
    fed: dict[str, dict[uuid.UUID, LastReport]] = {}
    for who, targets in told.feeds.items():
        for target, sources in targets.items():
            for source, said in sources.items():
                _latest(fed_by.setdefault(who, {}), source, said)
            if target != told.job and sources:
                _latest(fed.setdefault(who, {}), target, max(sources.values()))
    # Datasets that the jobs below pass to each other are no claim about this job.
    between = told.reads_below.keys() & told.writes_below.keys()
    for mine, evidence, below, incoming in (
        (told.reads, fed_by, told.reads_below, True),
        (told.writes, fed, told.writes_below, False),
    ):
        datasets = {d for some in (*mine.values(), *evidence.values()) for d in some} | (below.keys() - between)
        datasets.discard(told.job)
        for dataset in datasets:
            claims = tuple(_about_edge(told, dataset, mine, evidence, below))
            yield (dataset, told.job, claims) if incoming else (told.job, dataset, claims)


def _about_edge(
    told: Evidence,
    dataset: uuid.UUID,
    mine: SourceReports,
    evidence: SourceReports,
    below: Mapping[uuid.UUID, LastReport],
) -> Iterator[Claim]:
    own = mine.get(OBSERVED, {}).get(dataset)
    seen = own or below.get(dataset)
    if seen is not None:
        yield Claim(OBSERVED, CLAIMS, seen)
    elif (spoke := _spoke(told, OBSERVED)) is not None:
        yield Claim(OBSERVED, MISSING, spoke)
    for who in (MANIFEST, JOB_EVENT):
        if dataset in mine.get(who, {}):
            yield Claim(who, CLAIMS, mine[who][dataset])
        # A run that was seen doing what its own manifest declares is no longer marked as declared; what a child does is kept apart.
        elif (who == JOB_EVENT or (own is None and dataset in below)) and (spoke := _spoke(told, who)) is not None:
            yield Claim(who, MISSING, spoke)
    if dataset in mine.get(MANUAL, {}):
        yield Claim(MANUAL, CLAIMS, mine[MANUAL][dataset])
    for who in (EXPLICIT, COLUMN_LINEAGE, PARSED_SQL):
        if dataset in evidence.get(who, {}):
            yield Claim(who, CLAIMS, evidence[who][dataset])


def _spoke(told: Evidence, who: str) -> LastReport | None:
    """Return the last report of this source about anything that the job reads or writes."""
    said = [s for side in (told.reads, told.writes) for s in side.get(who, {}).values()]
    if who == OBSERVED:
        said += [*told.reads_below.values(), *told.writes_below.values()]
    return max(said, key=lambda s: s.at, default=None)


def _flows(told: Evidence) -> Iterator[tuple[uuid.UUID, uuid.UUID, tuple[Claim, ...]]]:
    reads: dict[uuid.UUID, LastReport] = {}
    writes: dict[uuid.UUID, LastReport] = {}
    for side, found in ((told.reads, reads), (told.writes, writes)):
        for some in side.values():
            for dataset, said in some.items():
                _latest(found, dataset, said)
    targets = {target for some in told.feeds.values() for target in some} - {told.job}
    for target in targets:
        sources = {s for some in told.feeds.values() for s in some.get(target, {})}
        for source in sources | (reads.keys() if target in writes else set()):
            yield source, target, tuple(_about_flow(told, source, target, reads, writes))


def _about_flow(
    told: Evidence,
    source: uuid.UUID,
    target: uuid.UUID,
    reads: Mapping[uuid.UUID, LastReport],
    writes: Mapping[uuid.UUID, LastReport],
) -> Iterator[Claim]:
    if source in reads and target in writes:
        yield Claim(INPUTS_OUTPUTS, CLAIMS, min(reads[source], writes[target], key=lambda s: s.at))
    for who, otherwise in ((EXPLICIT, DENIES), (COLUMN_LINEAGE, MISSING), (PARSED_SQL, MISSING)):
        sources = told.feeds.get(who, {}).get(target)
        if sources is None:
            continue
        if source in sources:
            yield Claim(who, CLAIMS, sources[source])
        elif (last := max(sources.values(), key=lambda s: s.at, default=writes.get(target))) is not None:
            yield Claim(who, otherwise, last)


def _latest(into: dict[uuid.UUID, LastReport], key: uuid.UUID, said: LastReport) -> None:
    if key not in into or into[key].at < said.at:
        into[key] = said


def _kind(claims: Iterable[Claim]) -> str | None:
    """Return the name of the disagreement; None when there is none."""
    says = {claim.who: claim.says for claim in claims}
    claimed = {who for who, what in says.items() if what == CLAIMS}
    if not claimed or len(claimed) == len(says):
        return None
    evidence = claimed & {EXPLICIT, COLUMN_LINEAGE, PARSED_SQL}
    if says.get(EXPLICIT) == DENIES:
        return "columns_against_explicit" if evidence else "denied_by_explicit"
    if says.get(OBSERVED) == MISSING:
        if evidence:
            return "evidence_not_observed"
        return "declared_not_observed" if claimed & {MANIFEST, JOB_EVENT} else "manual_not_observed"
    if MISSING in {says.get(MANIFEST), says.get(JOB_EVENT)}:
        return "observed_not_declared"
    return "not_in_columns"
