"""The details of a run: its state, what it read and wrote in which version, its parameters, its code, its children."""

import datetime as dt
import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from headwater.answer.lineage import liveness, node, run_log
from headwater.answer.lineage.find import node_row
from headwater.answer.lineage.run_coverage import RunCoverage, read_coverage
from headwater.answer.lineage.run_facets import Code, code_of, parameters_of, read_amounts
from headwater.answer.lineage.run_records import named_version
from headwater.errors import InvalidQuestion, NotFound
from headwater.model import facets as known
from headwater.model import version
from headwater.model.run import RunState
from headwater.store.database import Connection, Database
from headwater.store.history import facets as facet_store
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage import run_lineage as version_store
from headwater.store.lineage import runs as run_store
from headwater.store.lineage.nodes import NodeRow
from headwater.store.lineage.runs import ReadVersion, RunRow, RunsBelow
from headwater.store.status import wrong_versions as origin_store

# The most runs without an end that are looked at: those silent for longest.
_MOST_OPEN = 20_000
_LONGEST_ERROR = 300
_MOST_CHILDREN = 500
NO_PARENT = "none"
"""As a parent: runs, or jobs, that are part of no other."""


class RunRef(msgspec.Struct):
    run_id: str
    job: str


class Run(msgspec.Struct, kw_only=True):
    """One run of one job. `effective_state` is the worst of its own and of those below it; of a run that
    only those mention (`state` NEW), also its times are theirs. `lost`: it missed three signs of life it announced."""

    id: str
    external_id: str | None
    job: str
    state: str
    effective_state: str
    started_at: dt.datetime
    ended_at: dt.datetime | None
    duration_ms: int | None
    nominal_start: dt.datetime | None
    nominal_end: dt.datetime | None
    parent: RunRef | None
    error: str | None
    last_event_at: dt.datetime | None = None
    streaming: bool = False
    stalled: bool = False
    stalled_reason: str | None = None
    lost: bool = False
    statement: str | None = None
    user: str | None = None


class RunInput(msgspec.Struct):
    """`rows`, `bytes`, `files`: read of it, by `inputStatistics`, else by `dataQualityMetrics`."""

    dataset: str
    declared: bool
    version_id: str | None
    external_version: str | None
    written_by: RunRef | None
    rows: int | None
    bytes: int | None
    files: int | None
    facets: dict[str, msgspec.Raw]
    parts: list[dict[str, str]]


class RunOutput(msgspec.Struct):
    dataset: str
    declared: bool
    version_id: str | None
    external_version: str | None
    rows: int | None
    bytes: int | None
    files: int | None
    facets: dict[str, msgspec.Raw]
    parts: list[dict[str, str]]


class Label(msgspec.Struct, frozen=True):
    """A label of a run: `query`, `engine`, `tag:KEY`, `variable:NAME`."""

    name: str
    value: str


class RunDetail(Run, kw_only=True):
    """`more_children`: how many runs below it are not in `children`."""

    labels: list[Label]
    facets: dict[str, msgspec.Raw]
    job_facets: dict[str, msgspec.Raw]
    inputs: list[RunInput]
    outputs: list[RunOutput]
    children: list[Run]
    more_children: int
    parameters: dict[str, str]
    code: Code | None
    coverage: RunCoverage | None = None


class Runs(msgspec.Struct):
    """`children`: of the runs listed, how many runs are directly below each; absent: none."""

    total: int
    runs: list[Run]
    children: dict[str, int] = msgspec.field(default_factory=dict)


async def runs(
    database: Database,
    *,
    job: str | None,
    state: str | None,
    parent: str | None,
    limit: int,
    offset: int,
    stalled: bool = False,
    label: str | None = None,
) -> Runs:
    """A page of runs, the latest first; `stalled`: only those, silent for longest first. `label`: `NAME=VALUE` of a label. `parent`: the run above
    them, or `NO_PARENT`. Raises InvalidQuestion.
    """
    name, equals, value = (label or "").partition("=")
    if label is not None and not (name and equals):
        raise InvalidQuestion(
            f"label {label[:80]!r} is not NAME=VALUE, as in query=01b2 or tag:team=web", parameter="label"
        )
    if label is not None and stalled:
        raise InvalidQuestion("label cannot be combined with stalled", parameter="label")
    wanted = None
    if state is not None:
        if state.upper() not in RunState.__members__:
            raise InvalidQuestion(f"state {state!r} is not one of {', '.join(RunState.__members__)}", parameter="state")
        wanted = RunState[state.upper()]
    async with database.snapshot() as connection:
        job_id = None
        if job is not None:
            row = await node_row(connection, job)
            if row.type != "JOB":
                raise InvalidQuestion(f"{job!r} is a dataset; runs belong to jobs", parameter="job")
            job_id = row.id
        top = parent == NO_PARENT
        parent_id = version.run_id(parent)[0] if parent and not top else None
        if stalled and top:
            raise InvalidQuestion(
                "parent=none cannot be combined with stalled: stalled runs are listed one by one", parameter="parent"
            )
        if stalled:
            if wanted not in {None, RunState.RUNNING}:
                return Runs(0, [])
            rows = [row for row, _ in await stalled_runs(connection, job_id, parent_id)]
            return Runs(len(rows), await _runs(connection, rows[offset : offset + limit]))
        rows, total = await run_store.page(
            connection, job=job_id, state=wanted, parent=parent_id, limit=limit, offset=offset,
            label=(name, value) if label is not None else None, top=top,
        )  # fmt: skip
        below = await run_store.child_counts(connection, {row.run_id for row in rows})
        return Runs(total, await _runs(connection, rows), {str(id_): count for id_, count in below.items()})


async def stalled_runs(
    connection: Connection, job: uuid.UUID | None = None, parent: uuid.UUID | None = None
) -> list[tuple[RunRow, str]]:
    """Return the runs that are thought to be stalled, and why, the one that is silent for longest first."""
    rows = await run_store.open_runs(connection, job=job, parent=parent, limit=_MOST_OPEN)
    alive = await liveness.load(connection, rows, dt.datetime.now(dt.UTC))
    return [(row, why) for row in rows if (why := alive[row.run_id, row.job_id].stalled)]


async def _runs(connection: Connection, rows: list[RunRow]) -> list[Run]:
    names = await node_store.by_ids(
        connection, {row.job_id for row in rows} | {row.parent_job_id for row in rows if row.parent_job_id}
    )
    below = await run_store.below(connection, [row.run_id for row in rows])
    alive = await liveness.load(connection, rows, dt.datetime.now(dt.UTC))
    owners = await facet_store.of_owners(connection, {row.job_id for row in rows}, ["ownership"])
    # Only what went wrong is asked of the log here: most runs of a page went well.
    wrong = await run_log.load(connection, [row for row in rows if row.state in {RunState.FAILED, RunState.ABORTED}])
    return [
        Run(
            **_values(
                row,
                names,
                below.get(row.run_id),
                wrong.get((row.run_id, row.job_id), run_log.empty()).run,
                alive[row.run_id, row.job_id],
                owners.get(row.job_id, {}).get("ownership"),
            )
        )
        for row in rows
    ]


def _values(
    row: RunRow,
    names: dict[uuid.UUID, NodeRow],
    below: RunsBelow | None,
    facets: dict[str, bytes],
    alive: liveness.Liveness,
    ownership: bytes | None,
) -> dict[str, Any]:
    parent = names.get(row.parent_job_id) if row.parent_job_id else None
    effective, followed = node.followed(row, below)
    return {
        "id": str(row.run_id),
        "external_id": row.external_id,
        "job": names[row.job_id].node_id,
        "state": row.state.name,
        "effective_state": effective.name,
        "started_at": followed.began,
        "ended_at": followed.ended_at,
        "duration_ms": node.duration_ms(followed),
        "nominal_start": row.nominal_start,
        "nominal_end": row.nominal_end,
        "parent": RunRef(str(row.parent_run_id), parent.node_id) if parent else None,
        "error": _error(facets),
        "last_event_at": row.last_event_at,
        "streaming": alive.streaming,
        "stalled": alive.stalled is not None,
        "stalled_reason": alive.stalled,
        "lost": alive.lost is not None,
        "statement": row.statement,
        "user": node.user_of(row, ownership),
    }


def _error(facets: dict[str, bytes]) -> str | None:
    """The first line of the error; Spark's listener reports it in a facet of its own."""
    message = node.plain(facets.get("errorMessage")).get("message") or node.plain(facets.get("spark.exception")).get(
        "message"
    )
    return message.strip().splitlines()[0] if isinstance(message, str) and message.strip() else None


async def errors_of(connection: Connection, ids: Collection[uuid.UUID]) -> dict[uuid.UUID, str]:
    """The first line of the error of each of these runs that failed; those of which no event tells one are absent."""
    found: dict[uuid.UUID, str] = {}
    keys = {
        key for id_, some in (await origin_store.run_keys(connection, ids)).items() for key in some if key.run == id_
    }
    rows = await version_store.runs(connection, keys, "infinity")
    for key, facets in (await run_log.load(connection, list(rows.values()))).items():
        if error := _error(facets.run):
            found[key[0]] = error[:_LONGEST_ERROR]
    return found


async def run(database: Database, text: str) -> RunDetail:
    """Return one run by id, or by a beginning of it that only one run has. Raises NotFound."""
    async with database.snapshot() as connection:
        return await _detail(connection, (await start(connection, text))[0])


async def start(connection: Connection, text: str) -> list[RunRow]:
    """The run with this id, or with a beginning or an ending that only it has, once for each job that has it.

    Ids that are made at one time begin alike, so it is the ending that tells them apart. Raises NotFound; InvalidQuestion with candidates where
    several runs are meant.
    """
    rows = await run_store.by_run_id(connection, version.run_id(text)[0])
    if rows:
        return rows
    ids = await parts_of_ids(connection, text)
    if len(ids) > 1:
        raise InvalidQuestion(
            f"{len(ids)} runs have {text!r} at the beginning or the end of their ids; give more of it, or one of these",
            candidates=await _candidates(connection, ids),
        )
    rows = await run_store.by_run_id(connection, ids[0]) if ids else []
    if not rows:
        raise NotFound(f"run {text!r} is not known", run=text)
    return rows


async def parts_of_ids(connection: Connection, text: str) -> list[uuid.UUID]:
    """Return at most 20 runs with this text at the beginning or the end of their ids; none for a text that is too short, or no part of an id."""
    digits = text.lower().replace("-", "")
    if not 4 <= len(digits) <= 32 or not set(digits) <= set("0123456789abcdef"):
        return []
    first, last = uuid.UUID(digits.ljust(32, "0")), uuid.UUID(digits.ljust(32, "f"))
    return await run_store.by_part(connection, first, last, text.lower())


async def _candidates(connection: Connection, ids: Sequence[uuid.UUID]) -> list[str]:
    """Return a line for each run, with its job and when it began, the latest first."""
    rows = sorted(await run_store.by_run_ids(connection, ids), key=lambda row: row.began, reverse=True)
    names = await node_store.by_ids(connection, {row.job_id for row in rows})
    return [f"{row.run_id}  {names[row.job_id].name}  {row.began:%Y-%m-%d %H:%M:%S} UTC" for row in rows]


async def _named_versions(
    connection: Connection,
    row: RunRow,
    datasets: Sequence[uuid.UUID],
    facets: run_log.RunFacets,
    derived: Mapping[uuid.UUID, ReadVersion],
) -> dict[uuid.UUID, ReadVersion | None]:
    """The versions of inputs that the run names itself, which go before what the time says.

    None: the run names a version that no recorded run wrote, and the one that the time says has another name.
    """
    named = {dataset: text for dataset in datasets if (text := named_version(facets, dataset))}
    ids = await version_store.versions_named(
        connection, [(d, text, row.began) for d, text in named.items()], "infinity"
    )
    rows = await version_store.versions(connection, list(ids.values()))
    found: dict[uuid.UUID, ReadVersion | None] = {}
    for dataset, text in named.items():
        version_row = rows.get(ids.get((dataset, text, row.began), uuid.UUID(int=0)))
        if version_row is not None:
            found[dataset] = ReadVersion(
                dataset,
                version_row.id,
                version_row.external_version,
                version_row.run_id,
                version_row.job_id,
                version_row.written_at,
            )
        elif (by_time := derived.get(dataset)) is not None and by_time.external_version:
            found[dataset] = None
    return found


async def _detail(connection: Connection, row: RunRow) -> RunDetail:
    told = await run_store.datasets(connection, row.run_id, row.job_id)
    parts = await run_store.parts(connection, row.run_id, row.job_id)
    facets = (await run_log.load(connection, [row]))[row.run_id, row.job_id]
    by_time = await run_store.read_versions(
        connection, [d for d, direction, _ in told if direction == "in"], row.began, row.run_id, row.job_id
    )
    named = await _named_versions(
        connection, row, [d for d, direction, _ in told if direction == "in"], facets, by_time
    )
    read: dict[uuid.UUID, ReadVersion | None] = {**by_time, **named}
    written = await run_store.written_versions(connection, row.run_id, row.job_id)
    children, below_it = await run_store.page(
        connection, job=None, state=None, parent=row.run_id, limit=_MOST_CHILDREN, offset=0
    )
    ids = {row.job_id, *(d for d, _, _ in told), *(v.job_id for v in read.values() if v and v.job_id)}
    names = await node_store.by_ids(connection, ids | ({row.parent_job_id} if row.parent_job_id else set()))
    below = await run_store.below(connection, [row.run_id])
    inputs, outputs = [], []
    for dataset, direction, declared in told:
        mine = (facets.inputs if direction == "in" else facets.outputs).get(dataset)
        here = mine.here if mine else {}
        if direction == "in":
            found = read.get(dataset)
            told_version = named_version(facets, dataset) or (
                known.reported_version(mine.facets, mine.here) if mine else ""
            )
            writer = (
                RunRef(str(found.run_id), names[found.job_id].node_id)
                if found and found.run_id and found.job_id in names
                else None
            )
            external = told_version or ((found.external_version or None) if found else None)
            inputs.append(
                RunInput(
                    names[dataset].node_id,
                    declared,
                    str(found.id) if found else None,
                    external,
                    writer,
                    *read_amounts(here),
                    node.verbatim(here),
                    parts.get((dataset, "in"), []),
                )
            )
        else:
            made = written.get(dataset)
            outputs.append(
                RunOutput(
                    names[dataset].node_id,
                    declared,
                    str(made.id) if made else None,
                    (made.external_version or None) if made else None,
                    made.rows if made else None,
                    made.bytes if made else None,
                    made.files if made else None,
                    node.verbatim(here),
                    parts.get((dataset, "out"), []),
                )
            )
    return RunDetail(
        **_values(
            row,
            names,
            below.get(row.run_id),
            facets.run,
            (await liveness.load(connection, [row], dt.datetime.now(dt.UTC)))[row.run_id, row.job_id],
            facets.job.get("ownership"),
        ),
        labels=[Label(*one) for one in await run_store.labels(connection, row.run_id, row.job_id)],
        facets=node.verbatim(facets.run),
        job_facets=node.verbatim(facets.job),
        inputs=inputs,
        outputs=outputs,
        children=await _runs(connection, children),
        more_children=below_it - len(children),
        parameters=parameters_of(facets.run),
        code=code_of(facets.run, facets.job),
        coverage=read_coverage(facets.run.get("headwater_coverage")),
    )
