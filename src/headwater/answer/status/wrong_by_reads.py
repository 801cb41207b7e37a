"""The answer about everything that is wrong by recorded reads: runs, versions, whom to tell, and the jobs to run again in order."""

import datetime as dt
import heapq
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from headwater.answer.lineage import node
from headwater.answer.lineage.catalog import contacts_of
from headwater.answer.lineage.run_records import RunRecords
from headwater.answer.lineage.walk import Place
from headwater.answer.status.hit_datasets import HitDataset, hit_datasets
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


T = TypeVar("T")
_SHELLS = {"bash", "sh", "shell", "zsh"}


class _Name(NamedTuple):
    """A dataset or job: as it is written in answers, and in short."""

    id: str
    label: str


class _Version(NamedTuple):
    """A wrong version, why it is wrong, and the run that wrote it; None if a DatasetEvent reported it."""

    place: Place
    why: Reason
    row: VersionRow
    writer: RunKey | None


async def describe(
    connection: Connection,
    walk: RunRecords,
    found: Spread,
    *,
    entities: Mapping[int, str] | None = None,
    right: frozenset[Place] = frozenset(),
) -> WrongByReads:
    """Return the spread in names, with what remaking takes. `walk` has met all of it.

    `entities`: their names by number; with them, how each job can be run again is part of the answer. `right`: versions that count as replaced.
    """
    # A place without a stored version: its run reported none, because it failed or has not ended.
    wrong = [
        _Version(place, why, walk.versions[place.version], walk.writer_of(place))
        for place, why in found.places.items()
        if place.version is not None and place.version in walk.versions
    ]
    ids = [one.row.id for one in wrong]
    current = await store.current(connection, ids) - {place.version for place in right}
    before = await store.before(connection, current, ids)
    jobs = {key.job for key in found.runs} | {one.writer.job for one in wrong if one.writer is not None}
    names = await node_store.by_ids(connection, jobs | {place.dataset for place in found.places})
    named = {
        id_: _Name(row.node_id, node.short_job(row.name) if row.type == "JOB" else short(row.name))
        for id_, row in names.items()
    }
    run_ids = {key: str(key.run) for key in found.runs}
    held = [one for one in wrong if one.row.id in current]
    contacts = await contacts_of(connection, {one.place.dataset for one in held})
    repeat = _repeat(walk, found, held, named, await _needed_since(connection, walk, held))
    if entities is not None:
        repeat = await _with_ways(connection, repeat, {named[id_].id: id_ for id_ in jobs}, entities)
    return WrongByReads(
        sorted(_runs(walk, found, named, run_ids), key=lambda one: (one.depth, one.started_at, one.run_id, one.job)),
        sorted(
            (_version(found, one, current, before, named, run_ids) for one in wrong),
            key=lambda one: (one.depth, one.written_at, one.dataset, one.version_id),
        ),
        len(current),
        await _unconfirmed(connection, [one for one in wrong if one.row.id not in current], named),
        repeat,
        {named[id_].id: one.owners for id_, one in contacts.items() if one.owners},
        hit_datasets(found, [one.place for one in held], contacts, names),
        found.capped,
    )


def _runs(
    walk: RunRecords, found: Spread, names: Mapping[uuid.UUID, _Name], run_ids: Mapping[RunKey, str]
) -> Iterable[WrongRun]:
    for key, why in found.runs.items():
        if (row := walk.rows.get(key)) is not None:
            job, because = names[key.job], why.because
            yield WrongRun(
                run_ids[key],
                *job,
                row.state.name,
                row.began,
                why.depth,
                why.basis,
                names[because.dataset].id if isinstance(because, Place) else None,
            )


def _version(
    found: Spread,
    one: _Version,
    current: Collection[uuid.UUID],
    before: Mapping[uuid.UUID, store.Earlier],
    names: Mapping[uuid.UUID, _Name],
    run_ids: Mapping[RunKey, str],
) -> WrongVersion:
    row = one.row
    writer = None if one.writer is None else run_ids.get(one.writer) or str(one.writer.run)
    return WrongVersion(
        *names[one.place.dataset],
        str(row.id),
        row.external_version or None,
        row.written_at,
        writer,
        names[one.writer.job].id if one.writer is not None else None,
        row.id in current,
        one.why.depth,
        one.why.basis,
        f"run:{writer}" if writer is not None and one.why.because is not None else None,
        before[row.id].external_version if row.id in before else None,
        sorted(found.columns[one.place]) if one.place in found.columns else None,
    )


async def _unconfirmed(
    connection: Connection, replaced: Iterable[_Version], names: Mapping[uuid.UUID, _Name]
) -> list[str]:
    datasets = {one.row.id: one.place.dataset for one in replaced}
    return sorted({names[datasets[id_]].id for id_ in await store.unconfirmed(connection, datasets.keys())})


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
    walk: RunRecords,
    found: Spread,
    held: Iterable[_Version],
    names: Mapping[uuid.UUID, _Name],
    since: Mapping[RunKey, Collection[RunKey]],
) -> list[Repeat]:
    """The jobs whose versions are held, each after those that wrote what its runs read, or will read. Jobs that need each other go by time."""
    made: dict[_Name, list[_Version]] = {}
    for one in held:
        if one.writer is not None:
            made.setdefault(names[one.writer.job], []).append(one)
    after: dict[_Name, set[_Name]] = {}
    for job, some in made.items():
        read = {place for one in some if one.writer is not None for place in found.read.get(one.writer, ())}
        writers = {names[writer.job] for place in read if (writer := walk.writer_of(place)) is not None}
        writers |= {names[key.job] for one in some if one.writer is not None for key in since.get(one.writer, ())}
        after[job] = {other for other in writers if other in made and other != job}
    ranks = {job: (min(one.row.written_at for one in some), job.id) for job, some in made.items()}
    return [
        Repeat(
            *job,
            sorted({names[one.place.dataset].id for one in made[job]}),
            sorted({str(one.writer.run) for one in made[job] if one.writer is not None}),
            sorted(other.id for other in after[job]),
        )
        for job in in_order(after, ranks)
    ]


async def _with_ways(
    connection: Connection, repeat: Sequence[Repeat], ids: Mapping[str, uuid.UUID], entities: Mapping[int, str]
) -> list[Repeat]:
    facets = await facet_store.of_owners(connection, [ids[one.job] for one in repeat], ("jobType", "sourceCode"))
    made: dict[str, set[str]] = {}
    for run, entity, _, _ in await store.made_by_runs(connection, [run for one in repeat for run in one.runs]):
        if entity in entities:
            made.setdefault(run, set()).add(entities[entity])
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
    ready = [(rank[job], job) for job, count in waits.items() if not count]
    heapq.heapify(ready)
    by_rank = iter(sorted(after, key=rank.__getitem__))
    order: dict[T, None] = {}
    while len(order) < len(after):
        job = heapq.heappop(ready)[1] if ready else next(each for each in by_rank if each not in order)
        if job in order:
            continue
        order[job] = None
        for other in before.get(job, ()):
            waits[other] -= 1
            if not waits[other]:
                heapq.heappush(ready, (rank[other], other))
    return list(order)
