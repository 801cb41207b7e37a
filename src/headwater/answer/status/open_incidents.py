"""Everything that needs a person now, in one list: what is wrong or doubted, jobs that fail, datasets that are late, runs that fell silent.

One cause is one entry: a late dataset whose job fails, and what is late because that is, stand under the failing job; what was made from a doubted
version, and the job that failed because its check did, under that version. Computed for each question, so a good run ends an entry by itself.
"""

import datetime as dt
import uuid
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from headwater.answer.lineage import node
from headwater.answer.lineage.catalog import owners_of
from headwater.answer.lineage.runs import errors_of, stalled_runs
from headwater.answer.status import incidents
from headwater.answer.status.doubted_instances import DoubtedInstances
from headwater.answer.status.doubted_versions import Doubt, describe_check, doubted_versions
from headwater.answer.status.freshness import Freshness, freshness
from headwater.answer.status.hit_objects import Cause, HitObject, cause_of, hit_by, label_instances, owners_of_cause
from headwater.answer.status.upstream import load_upstream
from headwater.answer.status.wrong_by_reads import in_order
from headwater.errors import InvalidQuestion, NotFound
from headwater.graph.first_cause import first_cause
from headwater.model.names import DatasetName, short
from headwater.model.run import RunState
from headwater.model.version import dataset_id
from headwater.store.database import Connection, Database
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage.nodes import NodeRow
from headwater.store.lineage.run_lineage import VersionRow
from headwater.store.privacy import violations as violation_store
from headwater.store.status import open_incidents as store

KINDS = ("wrong", "policy", "failed", "doubted", "late", "stalled")
_WINDOW = dt.timedelta(days=30)
"""A job that failed longer ago and never ran again is no news."""
_MOST = 1000
_MOST_JOBS = 10
_FAR = dt.datetime.max.replace(tzinfo=dt.UTC)


class OpenIncident(msgspec.Struct, frozen=True):
    """`kind`: wrong, policy, failed, doubted, late or stalled. `id`: of the job or dataset, of the incident, or `policy:` and a violation.

    `text`: what is the matter. `hit`: what is wrong, late, doubted or fails because of it, the cause left out. `owners`: of the cause. `plan`:
    what mends it, a command or the jobs to run, in order; `jobs`: these. `look`: the command that shows more. `version_id`: of a doubted
    dataset, which version.
    """

    kind: str
    id: str
    label: str
    since: dt.datetime | None
    text: str
    owners: list[str]
    hit: list[HitObject]
    cause: Cause
    plan: str
    look: str
    version_id: str | None = None
    jobs: list[str] = []


class OpenIncidents(msgspec.Struct, frozen=True):
    """The worst kind first, then what lasts longest. `counts`: entries by kind; `total` in the kinds asked for.

    `left_out`: what was not looked at, because there is more of it than one answer can judge: by kind (of `wrong`, recorded incidents that may be
    mended), and `unjudged`, datasets that may be late. Empty: nothing.
    """

    total: int
    counts: dict[str, int]
    incidents: list[OpenIncident]
    left_out: dict[str, int]


class _Trouble(msgspec.Struct, frozen=True):
    """A failing or silent job, a late dataset or a doubted one, before it is known what caused it. `run`: the job's."""

    kind: str
    since: dt.datetime | None
    text: str
    look: str
    run: uuid.UUID | None = None
    version: uuid.UUID | None = None


async def open_incidents(
    database: Database, *, kind: str | None = None, owner: str | None = None, limit: int = 100, offset: int = 0
) -> OpenIncidents:
    """The list; of one kind, or of all; of causes and hit objects that this person owns, or of any. InvalidQuestion for a kind that there is not."""
    if kind is not None and kind not in KINDS:
        raise InvalidQuestion(f"kind {kind[:40]!r} is not one of {', '.join(KINDS)}", parameter="kind")
    found, left_out = await _all(database)
    if owner is not None:
        found = [one for one in found if _concerns(one, owner.casefold())]
    counts = {each: sum(one.kind == each for one in found) for each in KINDS}
    wanted = [one for one in found if kind in {None, one.kind}]
    wanted.sort(key=lambda one: (KINDS.index(one.kind), one.since or _FAR, one.id))
    shown = await _with_errors(database, wanted[offset : offset + limit])
    return OpenIncidents(len(wanted), counts, shown, left_out)


def _concerns(one: OpenIncident, owner: str) -> bool:
    return any(owner == name.casefold() for names in (one.owners, *(hit.owners for hit in one.hit)) for name in names)


async def open_incident(database: Database, id_: str) -> OpenIncident:
    """Return the entry with this id. NotFound if there is none, or no longer."""
    for one in (await _all(database))[0]:
        if one.id == id_:
            return (await _with_errors(database, [one]))[0]
    raise NotFound(
        f"no incident is open for {id_[:300]!r}; a later good run or a verdict ended it, or there was none",
        id=id_[:300],
    )


async def _with_errors(database: Database, shown: list[OpenIncident]) -> list[OpenIncident]:
    """Add to the text of each failing job the error of the run that is its cause, if an event tells it."""
    runs = {one.id: uuid.UUID(one.cause.id) for one in shown if one.kind == "failed" and one.cause.kind == "run"}
    if not runs:
        return shown
    async with database.snapshot() as connection:
        errors = await errors_of(connection, runs.values())
    return [
        msgspec.structs.replace(one, text=f"{one.text}; {errors[runs[one.id]]}") if runs.get(one.id) in errors else one
        for one in shown
    ]


async def _all(database: Database) -> tuple[list[OpenIncident], dict[str, int]]:
    """The entries, and what was left out."""
    late = await freshness(database, state="late", namespace=None, limit=_MOST, offset=0)
    wrong, earlier = await _wrong(database)
    caused, failing = await _caused(database, late.freshness)
    left_out = {
        "wrong": earlier,
        "failed": failing,
        "late": late.total - len(late.freshness),
        "unjudged": late.datasets - late.examined,
    }
    return [*wrong, *await _broken(database), *caused], {kind: count for kind, count in left_out.items() if count}


async def _wrong(database: Database) -> tuple[list[OpenIncident], int]:
    """The recorded incidents that are not mended, and how many earlier ones were not looked at."""
    found = []
    unmended, earlier = await incidents.unmended(database, _MOST)
    for one in unmended:
        view = one.incident
        found.append(
            OpenIncident(
                "wrong",
                str(view.id),
                view.reason,
                view.opened_at,
                f"{view.wrong:,} instances, {view.versions:,} versions",
                owners_of_cause(one),
                hit_by(one),
                cause_of(one),
                f"headwater repair {view.id} --apply --dry-run",
                f"headwater repair {view.id} --dry-run",
            )
        )
    return found, earlier


async def _broken(database: Database) -> list[OpenIncident]:
    """Return the violations of applied policies, one for each policy and dataset."""
    async with database.snapshot() as connection:
        found = await violation_store.load_open(connection)
        owners = await owners_of(connection, {one.dataset for one in found}) if found else {}
    grouped: dict[tuple[str, str], list[violation_store.StoredViolation]] = {}
    for one in found:
        grouped.setdefault((one.policy, one.subject), []).append(one)
    incidents_found = []
    for (_, subject), some in grouped.items():
        first = some[0]
        columns = ", ".join(sorted({each.field for each in some if each.field}))
        text = f"{columns}: {first.text}" if columns else first.text
        incidents_found.append(
            OpenIncident(
                "policy", f"policy:{first.id}", first.label, first.since, text, owners.get(first.dataset, []), [],
                Cause("dataset", subject, first.label), "change the job, or add an exception to the policy", "headwater privacy policies",
            )
        )  # fmt: skip
    return incidents_found


async def _caused(database: Database, late: Iterable[Freshness]) -> tuple[list[OpenIncident], int]:
    """Return failing and silent jobs, late and doubted datasets, each under the first of them upstream; and how many failing jobs were left out."""
    now = dt.datetime.now(dt.UTC)
    async with database.snapshot() as connection:
        failing, all_failing = await store.failing(connection, now - _WINDOW, _MOST)
        troubles = await _stalled(connection)
        troubles |= {one.job: _failed(one) for one in failing}
        troubles |= {dataset_id(DatasetName(each.namespace, each.name)): _late(each) for each in late}
        doubted = await doubted_versions(connection)
        roots = [one for one in doubted.doubts if one.cause is None]
        for one in reversed(roots):  # the first root of a dataset counts
            troubles[one.place.dataset] = _doubted(one, troubles.get(one.place.dataset))
        above = await _above(connection, troubles, roots)

        def order(id_: uuid.UUID) -> tuple[int, dt.datetime, uuid.UUID]:
            return KINDS.index(troubles[id_].kind), troubles[id_].since or _FAR, id_

        causes = {id_: first for id_ in troubles if (first := first_cause(id_, above, troubles, order)) is not None}
        reached: dict[uuid.UUID, dict[uuid.UUID, dt.datetime]] = {}
        for one in roots:
            reached.setdefault(one.place.dataset, {}).update(_inherited(one, doubted.rows, troubles))
        instances: dict[uuid.UUID, list[HitObject]] = {}
        for one in roots:
            instances.setdefault(one.place.dataset, []).extend(_instances_hit(each) for each in one.instances)
        ids = {*troubles, *above, *(id_ for some in (*above.values(), *reached.values()) for id_ in some)}
        names = await node_store.by_ids(connection, ids)
        owners = await owners_of(connection, {*troubles, *(id_ for some in reached.values() for id_ in some)})
    below: dict[uuid.UUID, list[uuid.UUID]] = {}
    for id_, cause in causes.items():
        below.setdefault(cause, []).append(id_)

    def label(id_: uuid.UUID) -> str:
        row = names[id_]
        return short(row.name) if row.type == "DATASET" else node.short_job(row.name)

    def hits(id_: uuid.UUID) -> list[HitObject]:
        some = [
            HitObject(troubles[each].kind, names[each].node_id, label(each), troubles[each].since, owners.get(each, []))
            for each in below.get(id_, ())
        ]
        known = {id_, *below.get(id_, ())}
        some += [each for cause in sorted(known & instances.keys()) for each in instances[cause]]
        for cause in sorted(known & reached.keys()):
            for each, since in reached[cause].items():
                if each not in known:
                    known.add(each)
                    some.append(HitObject("doubted", names[each].node_id, label(each), since, owners.get(each, [])))
        return sorted(some, key=lambda one: one.id)

    def origin(id_: uuid.UUID) -> Cause:
        trouble = troubles[id_]
        if trouble.version is not None:
            return Cause("version", str(trouble.version), label(id_))
        if trouble.run is not None:
            return Cause("run", str(trouble.run), label(id_))
        return Cause("dataset", names[id_].node_id, label(id_))

    def jobs_of(id_: uuid.UUID) -> list[str]:
        if troubles[id_].kind == "doubted":
            return []
        return [names[each].node_id for each in _jobs_in_order(id_, below.get(id_, ()), above, names)]

    def plan(id_: uuid.UUID) -> str:
        if troubles[id_].kind == "doubted" and troubles[id_].version is None:
            return f"mend it, and check it again; who reads it: headwater lineage '{names[id_].node_id}' --downstream"
        if troubles[id_].kind == "doubted":
            return f"headwater verdict '{names[id_].node_id}' wrong, or fine"
        jobs = [each.removeprefix("job:") for each in jobs_of(id_)]
        more = f" and {len(jobs) - _MOST_JOBS:,} more" if len(jobs) > _MOST_JOBS else ""
        listed = ", then ".join(jobs[:_MOST_JOBS])
        return f"run {listed}{more} again" if jobs else f"find who writes it: headwater lineage '{names[id_].node_id}'"

    return [
        OpenIncident(
            trouble.kind, names[id_].node_id, label(id_), trouble.since, trouble.text, owners.get(id_, []), hits(id_), origin(id_), plan(id_),
            trouble.look.format(id=names[id_].node_id), str(trouble.version) if trouble.version else None,
            jobs_of(id_),
        )
        for id_, trouble in troubles.items()
        if id_ in names and id_ not in causes
    ], all_failing - len(failing)  # fmt: skip


async def _stalled(connection: Connection) -> dict[uuid.UUID, _Trouble]:
    """The jobs with a run that fell silent, unless a run that began later was good; of several runs the one that is silent for longest."""
    found = await stalled_runs(connection)
    good = await store.recovered(connection, [(row.job_id, row.first_event_at) for row, _ in found])
    troubles: dict[uuid.UUID, _Trouble] = {}
    for nr, (row, why) in enumerate(found):
        if nr not in good:
            one = _Trouble("stalled", row.last_event_at, why, f"headwater run show {row.run_id}", row.run_id)
            troubles.setdefault(row.job_id, one)
    return troubles


def _jobs_in_order(
    id_: uuid.UUID,
    hit: Iterable[uuid.UUID],
    above: Mapping[uuid.UUID, set[uuid.UUID]],
    names: Mapping[uuid.UUID, NodeRow],
) -> list[uuid.UUID]:
    """The jobs to run again: that of an entry, and those downstream of it that make what it hits, each after what it needs."""
    below: dict[uuid.UUID, set[uuid.UUID]] = {}
    for down, some in above.items():
        for up in some:
            below.setdefault(up, set()).add(down)
    downstream, fresh = {id_}, [id_]
    while fresh:
        new = below.get(fresh.pop(), set()) - downstream
        downstream |= new
        fresh += new
    makers = {up for each in hit for up in (each, *above.get(each, ())) if up in downstream}
    makers |= {id_, *(above.get(id_, ()) if names[id_].type == "DATASET" else ())}
    jobs = {each for each in makers if each in names and names[each].type == "JOB"}
    after = {job: {far for up in above.get(job, ()) for far in (up, *above.get(up, ()))} & jobs - {job} for job in jobs}
    return in_order(after, {job: names[job].node_id for job in jobs})


def _failed(one: store.FailingJob) -> _Trouble:
    state = RunState(one.state).name.lower()
    times = f"; {one.failures:,} runs since a good one" if one.failures > 1 else ""
    return _Trouble("failed", one.since, f"the last run {state}{times}", f"headwater run show {one.run}", one.run)


def _late(one: Freshness) -> _Trouble:
    missed = f", {one.missed:,} updates missed" if one.missed > 1 else ""
    text = f"{one.state.replace('_', ' ')}, usually updated {one.cadence.name or 'regularly'}{missed}"
    return _Trouble("late", one.expected_next, text, "headwater status '{id}'")


def _doubted(one: Doubt, other: _Trouble | None) -> _Trouble:
    """A doubted dataset; `other`: what else is the matter with it."""
    text = "; ".join(describe_check(each) for each in one.checks)
    return _Trouble(
        "doubted",
        one.since,
        f"{text}; {other.text}" if other is not None else text,
        "headwater status '{id}'",
        version=one.place.version,
    )


def _instances_hit(one: DoubtedInstances) -> HitObject:
    """The doubted instances of one entity, its first ones by name."""
    label = label_instances(one.entity, one.instances)
    return HitObject("doubted", f"instances:{one.entity}", label, one.since, one.owners)


def _inherited(
    one: Doubt, rows: Mapping[uuid.UUID, VersionRow], troubles: Mapping[uuid.UUID, _Trouble]
) -> dict[uuid.UUID, dt.datetime]:
    """The datasets that hold a version made from a doubted one, and since when."""
    found: dict[uuid.UUID, dt.datetime] = {}
    for place in one.reached:
        if place.version in one.held and place.dataset != one.place.dataset and place.dataset not in troubles:
            found.setdefault(place.dataset, rows[place.version].written_at)
    return found


async def _above(
    connection: Connection, troubles: Mapping[uuid.UUID, _Trouble], doubts: Sequence[Doubt]
) -> dict[uuid.UUID, set[uuid.UUID]]:
    """Return what is directly upstream of each trouble, and of their neighbours."""
    checking = {check.run.job for one in doubts for check in one.checks}
    above, parents = await load_upstream(connection, troubles, checking)
    for one in doubts:  # a run fails because its check did, and so does what the run is part of
        for check in one.checks:
            job = check.run.job
            for each in (job if check.direction == "in" else None, parents.get(job)):
                if each is not None:
                    above.setdefault(each, set()).add(one.place.dataset)
    return above
