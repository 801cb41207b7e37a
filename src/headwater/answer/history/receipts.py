"""The receipt of an event: when it arrived, what was odd about it, and which datasets, jobs, runs and versions it
mentions.

Read from the log each time: the event is read again under the rules about names that hold now. The log keeps only the
first arrival of an event, not how often it was sent again.
"""

import datetime as dt
import string
import uuid
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import msgspec

from headwater.errors import Ambiguous, InvalidQuestion, NotFound
from headwater.model import facets as known
from headwater.model import lineage_facets, version
from headwater.model.event import DatasetReport, Event, Facets, read, repaired
from headwater.model.identity import Identity
from headwater.model.names import DatasetName, JobName
from headwater.store.database import Connection, Database
from headwater.store.events import receipts as store
from headwater.store.events import server_state
from headwater.store.events.receipts import LogRow, Oddity
from headwater.store.lineage import names
from headwater.store.lineage import nodes as node_store

_WINDOW = dt.timedelta(days=7)
_DIGEST_SIZE = 16
T = TypeVar("T")


class Receipt(msgspec.Struct, kw_only=True):
    """One event. `delay_seconds`: from its own time to its arrival. `run`: its run id. `size`: bytes of its body."""

    id: str
    kind: str
    event_type: str | None
    event_time: dt.datetime
    received_at: dt.datetime
    delay_seconds: float
    producer: str
    run: str | None
    size: int
    warnings: list[Oddity]


class MentionedNode(msgspec.Struct):
    """A node that the event mentions. `roles`: input, output, job, run, dataset, parent, root, symlink, source (of columns).

    `id` is that of the name that stands for it now, `told` the name that the event used if that is another. `known` is False where
    nothing is kept of it any more. `first`: no earlier event is known to speak of it.
    """

    id: str
    told: str | None
    roles: list[str]
    part: dict[str, str]
    known: bool
    first: bool


class WrittenVersion(msgspec.Struct):
    """A version of a dataset that the event is part of."""

    dataset: str
    id: str
    external_version: str | None


class ReceiptDetail(Receipt, kw_only=True):
    """`facets`: the facets it carries, by place (`run`, `job`, `inputs[0]`, …). `event`: the event itself."""

    nodes: list[MentionedNode]
    versions: list[WrittenVersion]
    facets: dict[str, list[str]]
    event: msgspec.Raw


class Receipts(msgspec.Struct):
    """Events that arrived since `since`, the latest first. `more`: there are others after this page."""

    since: dt.datetime
    receipts: list[Receipt]
    more: bool


async def receipts(
    database: Database,
    *,
    producer: str | None,
    code: str | None,
    run: str | None,
    since: dt.datetime | None,
    limit: int,
    offset: int,
) -> Receipts:
    """Return a page of receipts; `since` is seven days ago by default."""
    since = since or dt.datetime.now(dt.UTC) - _WINDOW
    async with database.snapshot() as connection:
        rows = await store.page(
            connection, since=since, producer=producer, code=code, run=version.run_id(run)[0] if run else None,
            limit=limit + 1, offset=offset,
        )  # fmt: skip
        odd = await store.warnings(connection, rows[:limit])
    return Receipts(since, [Receipt(**_values(row, odd.get(_key(row), []))) for row in rows[:limit]], len(rows) > limit)


async def receipt(database: Database, digest: str) -> ReceiptDetail:
    """Return one event by its digest, or by a beginning of it (8 digits or more). Raises NotFound, Ambiguous, InvalidQuestion."""
    first, last = _between(digest)
    async with database.snapshot() as connection:
        rows = await store.find(connection, first, last)
        if not rows:
            raise NotFound(f"no event {digest!r} is in the log", receipt=digest)
        if len({row.digest for row in rows}) > 1:
            raise Ambiguous(
                f"several events begin with {digest!r}; send more digits", candidates=[row.digest.hex() for row in rows]
            )
        row = rows[0]
        body = await store.body(connection, row)
        odd = await store.warnings(connection, [row])
        event = read(body)
        spoken, made = await _mentioned_nodes(connection, event, row)
    return ReceiptDetail(
        **_values(row, odd.get(_key(row), [])),
        nodes=spoken, versions=made, facets=dict(_facets(event)), event=msgspec.Raw(repaired(body)),
    )  # fmt: skip


def _between(digest: str) -> tuple[bytes, bytes]:
    text = digest.lower()
    if not 8 <= len(text) <= 2 * _DIGEST_SIZE or set(text) - set(string.hexdigits):
        raise InvalidQuestion(
            f"{digest[:80]!r} is not a digest of an event or the beginning of one; send 8 to 32 hexadecimal digits",
            receipt=digest[:80],
        )
    return bytes.fromhex(text.ljust(2 * _DIGEST_SIZE, "0")), bytes.fromhex(text.ljust(2 * _DIGEST_SIZE, "f"))


def _key(row: LogRow) -> tuple[bytes, dt.datetime]:
    return row.digest, row.event_time


def _values(row: LogRow, odd: list[Oddity]) -> dict[str, Any]:
    return {
        "id": row.digest.hex(),
        "kind": row.kind,
        "event_type": row.event_type,
        "event_time": row.event_time,
        "received_at": row.received_at,
        "delay_seconds": round((row.received_at - row.event_time).total_seconds(), 3),
        "producer": row.producer,
        "run": str(row.run_id) if row.run_id else None,
        "size": row.size,
        "warnings": odd,
    }


async def _mentioned_nodes(
    connection: Connection, event: Event, row: LogRow
) -> tuple[list[MentionedNode], list[WrittenVersion]]:
    identity = Identity((await server_state.read(connection)).rules)
    datasets: dict[DatasetName, list[str]] = {}
    parts: dict[DatasetName, dict[str, str]] = {}
    jobs: dict[JobName, list[str]] = {}
    runs: dict[uuid.UUID, list[str]] = {}
    told_as: dict[DatasetName, DatasetName] = {}
    for role, thing in _things(event):
        if isinstance(thing, DatasetName):
            placed = identity.place(thing)
            _add(datasets, placed.name, role)
            parts.setdefault(placed.name, dict(placed.part))
            told_as.setdefault(placed.name, thing)
        elif isinstance(thing, JobName):
            _add(jobs, thing, role)
        else:
            _add(runs, thing, role)
    ids = {version.dataset_id(name): name for name in datasets}
    canonical = await names.canonical(connection, ids)
    job_ids = {version.job_id(name): name for name in jobs}
    rows = await node_store.by_ids(connection, {*ids, *canonical.values(), *job_ids})
    begins = await store.run_begins(connection, runs)
    found = []
    for id_, name in ids.items():
        stands = rows.get(canonical.get(id_, id_))
        shown = stands.node_id if stands else name.node_id
        told = told_as[name].node_id
        found.append(
            MentionedNode(
                shown, told if told != shown else None, datasets[name], parts[name],
                id_ in rows, id_ in rows and rows[id_].first_seen == row.event_time,
            )
        )  # fmt: skip
    for id_, job in job_ids.items():
        first = id_ in rows and rows[id_].first_seen == row.event_time
        found.append(MentionedNode(job.node_id, None, jobs[job], {}, id_ in rows, first))
    for run, roles in runs.items():
        found.append(MentionedNode(f"run:{run}", None, roles, {}, run in begins, begins.get(run) == row.event_time))
    made = {id_: (dataset, external) for id_, dataset, external in _versions(event, identity)}
    there = await store.versions(connection, made.keys())
    shown_as = {
        name.node_id: rows[canonical.get(id_, id_)].node_id
        for id_, name in ids.items()
        if canonical.get(id_, id_) in rows
    }
    return found, [
        WrittenVersion(shown_as.get(dataset.node_id, dataset.node_id), str(id_), external or None)
        for id_, (dataset, external) in made.items()
        if id_ in there
    ]


def _add(into: dict[T, list[str]], thing: T, role: str) -> None:
    roles = into.setdefault(thing, [])
    if role not in roles:
        roles.append(role)


def _things(event: Event) -> Iterator[tuple[str, DatasetName | JobName | uuid.UUID]]:
    """Yield what the event names, each with its role."""
    if event.run_id is not None:
        yield "run", event.run_id
    if event.job is not None:
        yield "job", event.job
    for role, told in zip(
        ("parent", "root"), _decoded(known.parent, event.run_facets.get("parent")) or (), strict=False
    ):
        if told is not None:
            yield role, version.run_id(told.run_id)[0]
            yield role, told.job
    for role, report in _reports(event):
        yield role, report.name
        for link in _decoded(known.symlinks, report.facets.get("symlinks")) or ():
            yield "symlink", link.name
        for inputs in (_decoded(lineage_facets.column_lineage, report.facets.get("columnLineage")) or {}).values():
            yield from (("source", one.source) for one in inputs)
        entry = _decoded(lineage_facets.dataset_lineage, report.facets.get("lineage")) if role == "dataset" else None
        for inputs in entry.inputs.values() if entry else ():
            yield from (("source", one.source) for one in inputs)
    for entry in _decoded(lineage_facets.job_lineage, event.job_facets.get("lineage")) or ():
        if entry.target is not None:
            yield "output", entry.target
        for inputs in entry.inputs.values():
            yield from (("input", one.source) for one in inputs)


def _reports(event: Event) -> Iterator[tuple[str, DatasetReport]]:
    if event.dataset is not None:
        yield "dataset", event.dataset
    yield from (("input", one) for one in event.inputs)
    yield from (("output", one) for one in event.outputs)


def _versions(event: Event, identity: Identity) -> Iterator[tuple[uuid.UUID, DatasetName, str]]:
    """Yield (id, dataset, external version) of each version that a run event's outputs are part of."""
    if event.run_id is not None and event.job is not None:
        job = version.job_id(event.job)
        for report in event.outputs:
            name = identity.place(report.name).name
            external = known.reported_version(report.facets, report.io_facets)
            yield version.dataset_version_id(version.dataset_id(name), event.run_id, job, external), name, external


def _decoded(decode: Callable[[bytes], T], raw: msgspec.Raw | None) -> T | None:
    """The facet's values; None when it is absent, or invalid (then the receipt has a warning)."""
    if raw is None:
        return None
    try:
        return decode(bytes(raw))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _facets(event: Event) -> Iterator[tuple[str, list[str]]]:
    def facet_names(place: str, facets: Facets) -> Iterator[tuple[str, list[str]]]:
        if facets:
            yield place, sorted(facets)

    yield from facet_names("run", event.run_facets)
    yield from facet_names("job", event.job_facets)
    if event.dataset is not None:
        yield from facet_names("dataset", event.dataset.facets)
    for side, here, reports in (("inputs", "inputFacets", event.inputs), ("outputs", "outputFacets", event.outputs)):
        for index, report in enumerate(reports):
            yield from facet_names(f"{side}[{index}]", report.facets)
            yield from facet_names(f"{side}[{index}].{here}", report.io_facets)
