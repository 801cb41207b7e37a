"""The answer about everything that is wrong by recorded reads: runs, versions, whom to tell, and the jobs to run again in order."""

import datetime as dt
import heapq
import uuid
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from headwater.answer.lineage import node
from headwater.answer.lineage.catalog import contacts_of
from headwater.answer.lineage.run_records import RunRecords
from headwater.answer.lineage.walk import Place
from headwater.answer.status.hit_datasets import HitDataset, hit_datasets
from headwater.answer.status.instance_pairs import InstancePairs
from headwater.answer.status.wrong_columns import Reason, Spread
from headwater.model.names import short
from headwater.store.database import Connection
from headwater.store.history import facets as facet_store
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage import run_lineage as run_store
from headwater.store.lineage.run_lineage import VersionRow
from headwater.store.lineage.runs import RunKey
from headwater.store.status import wrong_versions as store


class WrongRun(msgspec.Struct, frozen=True, gc=False):
    """A run that is wrong, or read what is wrong. `basis`: `exact`; or `by_time`: somewhere on the way, which version was read is judged by the time
    at which the reader began.
    """

    run_id: str
    job: str
    label: str
    state: str
    started_at: dt.datetime
    depth: int
    basis: str
    because: str | None


class WrongVersion(msgspec.Struct, frozen=True, gc=False):
    """A version that such a run wrote. `current`: its dataset holds it still. `because`: the run that wrote it; null for what was condemned itself.

    `right_before`: the version in its storage that the dataset could go back to; null if none is known. `columns`: those that may be wrong, in
    lower case; null if all may be.
    """

    dataset: str
    label: str
    version_id: str
    external_version: str | None
    written_at: dt.datetime
    run_id: str | None
    job: str | None
    current: bool
    depth: int
    basis: str
    because: str | None
    right_before: str | None
    columns: list[str] | None


class Repeat(msgspec.Struct, frozen=True, gc=False):
    """A job to run again, and what for; `after`: jobs of this list that must have run before.

    An incident's jobs say how their events would run them: `integration` and `job_type` (the facet `jobType`), `command` (the facet `sourceCode`,
    where that is a shell's); and `entities`, of which its runs made instances: their plan has these runs.
    """

    job: str
    label: str
    datasets: list[str]
    runs: list[str]
    after: list[str]
    integration: str | None = None
    job_type: str | None = None
    command: str | None = None
    entities: list[str] = []


class WrongByReads(msgspec.Struct, frozen=True):
    """Everything that is wrong by recorded reads.

    `current`: how many versions their datasets still hold. `unconfirmed`: datasets with later versions that may have
    been added to the wrong one: no event says that they replaced it. `repeat`: in order of execution. `owners`: of the
    datasets that hold a wrong version. `hit`: these datasets with their owners, teams, and the way that led to
    them. `capped`: there may be more.
    """

    runs: list[WrongRun]
    versions: list[WrongVersion]
    current: int
    unconfirmed: list[str]
    repeat: list[Repeat]
    owners: dict[str, list[str]]
    hit: list[HitDataset]
    capped: bool


WrongElsewhere = Callable[[Connection], Awaitable[Collection[uuid.UUID]]]
"""Finds the versions that are wrong or doubted because of anything."""
T = TypeVar("T")
_SHELLS = {"bash", "sh", "shell", "zsh"}


class _Name(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A dataset or job: as it is written in answers, and in short. There is one object for each, which is its own key."""

    id: str
    label: str


class _Version(NamedTuple):
    """A wrong version, why it is wrong, and the run that wrote it; None if a DatasetEvent reported it. Names are looked up once for each."""

    place: Place
    why: Reason
    row: VersionRow
    writer: RunKey | None
    run_id: str | None
    dataset: _Name
    job: _Name | None
    current: bool


async def describe(
    connection: Connection,
    walk: RunRecords,
    found: Spread,
    *,
    entities: Mapping[int, str] | None = None,
    right: frozenset[Place] = frozenset(),
    elsewhere: WrongElsewhere | None = None,
) -> WrongByReads:
    """Return the spread in names, with what remaking takes. `walk` has met all of it.

    `elsewhere`: finds what else is wrong, and so nothing to go back to.
    `entities`: their names by number; with them, how each job can be run again is part of the answer. `right`: versions that count as replaced.
    """
    # A place without a stored version: its run reported none, because it failed or has not ended.
    stored = [
        (place, why, row, walk.writer_of(place))
        for place, why in found.places.items()
        if place.version is not None and (row := walk.versions.get(place.version)) is not None
    ]
    ids = [row.id for _, _, row, _ in stored]
    replaced = {place.version for place in right}
    current = {nr for nr in await store.current_places(connection, ids) if not replaced or ids[nr] not in replaced}
    before = await store.before(connection, [ids[nr] for nr in current], ids)
    if before and elsewhere is not None:
        others = set(await elsewhere(connection))
        if not others.isdisjoint(one.id for one in before.values()):
            before = await store.before(connection, [ids[nr] for nr in current], others.union(ids))
    # The text of an id is made once for each run: it costs more than everything else that is said of it.
    run_ids = {key: str(key.run) for key in found.runs}
    run_ids |= {writer: str(writer.run) for *_, writer in stored if writer is not None and writer not in run_ids}
    names = await _names(connection, {place.dataset for place in found.places}, {key.job for key in run_ids})
    wrong = [
        _Version(
            place,
            why,
            row,
            writer,
            run_ids[writer] if writer is not None else None,
            names[place.dataset],
            names[writer.job] if writer is not None else None,
            nr in current,
        )
        for nr, (place, why, row, writer) in enumerate(stored)
    ]
    held = [one for one in wrong if one.current]
    contacts = await contacts_of(connection, {one.place.dataset for one in held})
    jobs_of = {one.place: one.job for one in wrong if one.job is not None}
    repeat = _repeat(found, held, names, jobs_of, await _needed_since(connection, walk, held))
    if entities is not None:
        repeat = await _with_ways(
            InstancePairs(connection, walk),
            found.places.keys(),
            repeat,
            {names[key.job].id: key.job for key in run_ids},
            entities,
        )
    return WrongByReads(
        sorted(_runs(walk, found, names, run_ids), key=lambda one: (one.depth, one.started_at, one.run_id, one.job)),
        sorted(
            (_version(found, one, before) for one in wrong),
            key=lambda one: (one.depth, one.written_at, one.dataset, one.version_id),
        ),
        len(current),
        await _unconfirmed(connection, [one for one in wrong if not one.current]),
        repeat,
        {names[id_].id: one.owners for id_, one in contacts.items() if one.owners},
        hit_datasets(found, [one.place for one in held], contacts, {id_: one.id for id_, one in names.items()})
        if contacts
        else [],
        found.capped,
    )


async def _names(
    connection: Connection, datasets: Collection[uuid.UUID], jobs: Collection[uuid.UUID]
) -> dict[uuid.UUID, _Name]:
    ids, border = [*datasets, *jobs], len(datasets)
    return {
        ids[nr]: _Name(f"dataset:{namespace}:{name}", short(name))
        if nr < border
        else _Name(f"job:{namespace}:{name}", node.short_job(name))
        for nr, namespace, name in await node_store.names(connection, datasets, jobs)
    }


def _runs(
    walk: RunRecords, found: Spread, names: Mapping[uuid.UUID, _Name], run_ids: Mapping[RunKey, str]
) -> Iterable[WrongRun]:
    for key, why in found.runs.items():
        if (row := walk.rows.get(key)) is not None:
            job = names[key.job]
            because = names[why.because.dataset].id if isinstance(why.because, Place) else None
            yield WrongRun(run_ids[key], job.id, job.label, row.state.name, row.began, why.depth, why.basis, because)


def _version(found: Spread, one: _Version, before: Mapping[uuid.UUID, store.Earlier]) -> WrongVersion:
    place, why, row, _, run, dataset, job, current = one
    earlier = before.get(row.id) if before else None
    return WrongVersion(
        dataset.id,
        dataset.label,
        str(row.id),
        row.external_version or None,
        row.written_at,
        run,
        job.id if job is not None else None,
        current,
        why.depth,
        why.basis,
        f"run:{run}" if run is not None and why.because is not None else None,
        earlier.external_version if earlier is not None else None,
        sorted(found.columns[place]) if place in found.columns else None,
    )


async def _unconfirmed(connection: Connection, replaced: Iterable[_Version]) -> list[str]:
    datasets = {one.row.id: one.dataset.id for one in replaced}
    return sorted({datasets[id_] for id_ in await store.unconfirmed(connection, datasets.keys())})


async def _needed_since(
    connection: Connection, walk: RunRecords, held: Sequence[_Version]
) -> dict[RunKey, set[RunKey]]:
    """Return for the runs to repeat the runs that have written something wrong into what they read since: a repetition would read that."""
    writers: dict[uuid.UUID, set[RunKey]] = {}
    for one in held:
        if one.writer is not None:
            writers.setdefault(one.place.dataset, set()).add(one.writer)
    last = max((one.row.written_at for one in held), default=None)
    early = [
        key for some in writers.values() for key in some if (row := walk.rows.get(key)) and last and row.began < last
    ]
    needed: dict[RunKey, set[RunKey]] = {}
    for use in await run_store.datasets(connection, list(dict.fromkeys(early)), "in", "infinity") if early else ():
        needed.setdefault(use.run, set()).update(writers.get(use.dataset, ()))
    return needed


def _repeat(
    found: Spread,
    held: Iterable[_Version],
    names: Mapping[uuid.UUID, _Name],
    jobs_of: Mapping[Place, _Name],
    since: Mapping[RunKey, Collection[RunKey]],
) -> list[Repeat]:
    """The jobs whose versions are held, each after those that wrote what its runs read (`jobs_of`), or will read. Jobs that need each other go by
    time."""
    made: dict[_Name, list[_Version]] = {}
    for one in held:
        if one.job is not None:
            made.setdefault(one.job, []).append(one)
    after: dict[_Name, set[_Name]] = {}
    read = found.read
    for job, some in made.items():
        after[job] = needed = set()
        for one in some:
            if one.writer is None:
                continue
            for place in read.get(one.writer, ()):
                if (other := jobs_of.get(place)) is not None and other is not job and other in made:
                    needed.add(other)
            for key in since.get(one.writer, ()) if since else ():
                if (other := names[key.job]) is not job and other in made:
                    needed.add(other)
    ranks = {job: (min([one.row.written_at for one in some]), job.id) for job, some in made.items()}
    return [
        Repeat(
            job.id,
            job.label,
            sorted({one.dataset.id for one in made[job]}),
            sorted({one.run_id for one in made[job] if one.run_id is not None}),
            sorted([other.id for other in after[job]]),
        )
        for job in in_order(after, ranks)
    ]


async def _with_ways(
    pairs: InstancePairs,
    wrong: Collection[Place],
    repeat: Sequence[Repeat],
    ids: Mapping[str, uuid.UUID],
    entities: Mapping[int, str],
) -> list[Repeat]:
    facets = await facet_store.of_owners(pairs.connection, [ids[one.job] for one in repeat], ("jobType", "sourceCode"))
    made: dict[str, set[str]] = {}
    for run, some in (await pairs.load_above([uuid.UUID(run) for one in repeat for run in one.runs])).items():
        # A step is repeated with the run above it that makes the instance again.
        wrong_ones = (
            each for maker in some for each in pairs.made_by(maker) if not pairs.homes(each).isdisjoint(wrong)
        )
        if names := {entities[each.some.entity_id] for each in wrong_ones if each.some.entity_id in entities}:
            made[str(run)] = names
    if not facets and not made:
        return list(repeat)
    found = []
    for one in repeat:
        mine = facets.get(ids[one.job], {})
        kind, source = node.plain(mine.get("jobType")), node.plain(mine.get("sourceCode"))
        is_shell = str(source.get("language", "")).casefold() in _SHELLS
        found.append(
            msgspec.structs.replace(
                one,
                integration=_text(kind.get("integration")),
                job_type=_text(kind.get("jobType")),
                command=_text(source.get("sourceCode")) if is_shell else None,
                entities=sorted({entity for run in one.runs for entity in made.get(run, ())}),
            )
        )
    return found


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def in_order(after: Mapping[T, set[T]], rank: Mapping[T, Any]) -> list[T]:
    """Return all jobs, each once and after those it needs, the lowest rank first; also if they need each other."""
    before: dict[T, list[T]] = {}
    for job, needed in after.items():
        for other in needed:
            before.setdefault(other, []).append(job)
    waits = {job: len(needed) for job, needed in after.items()}
    ranked = sorted(after, key=rank.__getitem__)
    places = {job: nr for nr, job in enumerate(ranked)}
    ready = [nr for nr, job in enumerate(ranked) if not waits[job]]
    by_rank = iter(ranked)
    order: dict[T, None] = {}
    while len(order) < len(after):
        job = ranked[heapq.heappop(ready)] if ready else next(each for each in by_rank if each not in order)
        if job in order:
            continue
        order[job] = None
        for other in before.get(job, ()):
            waits[other] -= 1
            if not waits[other]:
                heapq.heappush(ready, places[other])
    return list(order)
