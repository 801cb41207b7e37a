"""Drafts of entity declarations, from what was observed of datasets: for a person to read, correct and apply.

Refuses to guess without evidence: a dataset without a rhythm has no draft, and is listed with the reason; so are ad-hoc
jobs, whose reads and writes are no evidence of needs.
"""

import asyncio
import uuid
from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from headwater.answer.lineage.find import node_row
from headwater.answer.lineage.node import decode_tags
from headwater.answer.people.people import Words
from headwater.answer.status.declared import declared
from headwater.answer.status.draft_evidence import Evidence, cut_evidence, needs
from headwater.entities.declaration.canonical import from_document
from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.declaration.whole import whole
from headwater.entities.inference.draft import Draft, document, readable, written
from headwater.entities.inference.entity_names import named
from headwater.entities.inference.fitting import fitted
from headwater.entities.time.instances import Instances
from headwater.errors import InvalidQuestion
from headwater.model.described import FACETS, AnnotationFact, described
from headwater.model.identity import Identity
from headwater.model.names import DatasetName, JobName
from headwater.store.database import Connection, Database
from headwater.store.events import server_state
from headwater.store.history import facets
from headwater.store.lineage import edges, nodes
from headwater.store.people import annotations
from headwater.store.people.annotations import Annotation
from headwater.store.status import entity_drafts as store
from headwater.store.status import stored_in

_LATEST, _FIRST = 300, 20
_AIRFLOW = "airflow://"
_AD_HOC = {"ad_hoc": "ad hoc, as its log shows", "one_off": "ran once, as its log shows"}


class DraftNeed(msgspec.Struct, frozen=True):
    """`dates` null: what the kind needs anyway. `left_out`: why it stands in the YAML as a comment only; null if it does not."""

    upstream: str
    dates: str | None
    evidence: str
    confidence: str | None
    left_out: str | None


class EntityDraft(msgspec.Struct, frozen=True):
    """`yaml`: one document, with the evidence as comments."""

    entity: str
    dataset: str
    kind: str
    period: dict[str, str]
    evidence: str
    confidence: str
    notes: list[str]
    needs: list[DraftNeed]
    yaml: str


class SkippedDataset(msgspec.Struct, frozen=True):
    dataset: str
    why: str


class ExcludedJob(msgspec.Struct, frozen=True):
    """A job whose runs are no evidence."""

    job: str
    why: str
    reads: list[str]
    writes: list[str]


class EntityDrafts(msgspec.Struct, frozen=True):
    """`declared`: datasets that would be among these, were no entity stored in them already. `more`: datasets beyond `limit`."""

    drafts: list[EntityDraft]
    skipped: list[SkippedDataset]
    excluded: list[ExcludedJob]
    declared: int
    more: int


class _DraftInputs(msgspec.Struct):
    """The rows that drafts are computed from."""

    held: StoredDeclarations
    identity: Identity
    stored: dict[uuid.UUID, list[str]]
    candidates: dict[uuid.UUID, DatasetName]
    inputs: dict[uuid.UUID, DatasetName]
    touchers: list[store.Toucher]
    runs: list[store.RunFor]
    touched: list[store.Touched]
    parents: dict[uuid.UUID, store.ParentJob]
    facets: dict[uuid.UUID, dict[str, bytes]]
    said: dict[uuid.UUID, list[Annotation]]


async def drafts(
    database: Database, *, namespace: str | None = None, node: str | None = None, depth: int = 100, limit: int = 100
) -> EntityDrafts:
    """Draft entities of datasets that jobs write and no entity is stored in: all, those of a namespace, or those around a dataset; by name.

    Raises NotFound, and InvalidQuestion if the node is a job.
    """
    async with database.snapshot() as connection:
        among = None if node is None else await _around(connection, node, depth)
        held = await declared(connection)
        identity = Identity((await server_state.read(connection)).rules)
        places = ((one.name, DatasetName(*place)) for one in held.declared.values() for place in one.stored_in)
        stored = await stored_in.homes(connection, identity, places)
        found, total = await store.candidates(
            connection, namespace=namespace, among=among, without=list(stored), limit=limit
        )
        touchers = await store.jobs(connection, found)
        writers = {one.job for one in touchers if one.direction == "out" and not _excluded(one)}
        runs = await store.runs(connection, writers, latest=_LATEST, first=_FIRST)
        touched = await store.touched(connection, runs)
        inputs = await nodes.by_ids(connection, {one.dataset for one in touched} - found.keys())
        above = await store.parents(connection, writers)
        seen = _DraftInputs(
            held, identity, stored, found, {id_: DatasetName(row.namespace, row.name) for id_, row in inputs.items()},
            touchers, runs, touched, above,
            await facets.of_owners(connection, {*found, *above}, [*FACETS, "jobType"]),
            await annotations.of_owners(connection, list(found)),
        )  # fmt: skip
        covered = stored.keys() if among is None else stored.keys() & among
        _, covering = await store.candidates(connection, namespace=namespace, among=covered, without=(), limit=1)
    return await asyncio.to_thread(_drafted, seen, covering, total - len(found))


async def _around(connection: Connection, node: str, depth: int) -> set[uuid.UUID]:
    row = await node_row(connection, node)
    if row.type != "DATASET":
        raise InvalidQuestion(f"{row.node_id} is no dataset", parameter="node")
    moment = edges.Moment()
    found = {row.id}
    for near, far in (("out", "in"), ("in", "out")):
        met = {row.id}
        seen = set(met)
        for _ in range(depth):
            jobs = {edge.job for edge in await edges.at_datasets(connection, met, near, moment)}
            met = {edge.dataset for edge in await edges.at_jobs(connection, jobs, far, moment)} - seen
            if not met:
                break
            seen |= met
        found |= seen
    return found


def _excluded(one: store.Toucher) -> str:
    """Return why a job's runs are no evidence; "" if they are."""
    if one.kind in _AD_HOC:
        return _AD_HOC[one.kind]
    if one.kind is None and one.runs < 2:
        return "ran once" if one.runs else "is declared, and never ran"
    return ""


def _drafted(seen: _DraftInputs, covered: int, more: int) -> EntityDrafts:
    evidence = Evidence(seen.runs, seen.touched, seen.candidates | seen.inputs, seen.identity)
    zones = _zones(seen.held)
    cuts = {
        id_: cut_evidence(evidence.written(id_), zones)
        for id_, name in seen.candidates.items()
        if evidence.written(id_) and _writable(name)
    }
    called = named([seen.candidates[id_] for id_, one in cuts.items() if one.cut], seen.held.declared)
    upstream: dict[uuid.UUID, list[tuple[str, Instances | None]]] = {
        id_: [(name, seen.held.instances(name)) for name in entities] for id_, entities in seen.stored.items()
    }
    skipped: dict[uuid.UUID, str] = {}
    for id_, name in seen.candidates.items():
        if not _writable(name):
            skipped[id_] = "its name has characters that no declaration may have"
        elif id_ not in cuts:
            tried = any(one.dataset == id_ and one.direction == "out" and not _excluded(one) for one in seen.touchers)
            skipped[id_] = "no run that wrote it ended well" if tried else "only jobs that are left out write it"
        elif cuts[id_].cut is None:
            skipped[id_] = cuts[id_].why
        else:
            upstream[id_] = [(called[name], cuts[id_].instances)]
    missing = {
        id_: (name.node_id, "is not among these drafts, and no entity is stored in it")
        for id_, name in seen.inputs.items()
    }
    missing |= {id_: (seen.candidates[id_].node_id, why) for id_, why in skipped.items()}
    found: dict[str, tuple[uuid.UUID, Draft]] = {}
    for id_, name in seen.candidates.items():
        cut, own = cuts[id_].cut if id_ in cuts else None, cuts[id_].instances if id_ in cuts else None
        if cut is None or own is None:
            continue
        some, kind, window = needs(evidence, id_, own, upstream, missing)
        draft = Draft(
            called[name], cut.period, cut.evidence, cut.confidence, kind, window, _words(seen, id_), tuple(some), cuts[id_].notes
        )  # fmt: skip
        found[draft.name] = (id_, draft)
    fit = fitted(draft for _, draft in found.values())
    # A draft that contradicts the declarations is not offered.
    whole([*seen.held.declared.values(), *(from_document(document(draft)) for draft in fit)])
    return EntityDrafts(
        [_draft_view(draft, seen.candidates[found[draft.name][0]]) for draft in fit],
        [SkippedDataset(seen.candidates[id_].node_id, why) for id_, why in skipped.items()],
        _left_out(seen),
        covered,
        more,
    )


def _writable(name: DatasetName) -> bool:
    """Return whether `stored_in` can express the name."""
    return " " not in name.namespace and readable(f"{name.namespace} {name.name}") == f"{name.namespace} {name.name}"


def _zones(held: StoredDeclarations) -> list[str]:
    """Return the zones that entities are cut in, the most usual first."""
    counts = Counter(
        one.entity.instances.calendar.spec.zone
        for one in held.declared.values()
        if one.entity.instances is not None and one.entity.instances.calendar.civil is not None
    )
    return sorted(counts.keys() - {"UTC"}, key=lambda zone: (-counts[zone], zone))


def _words(seen: _DraftInputs, id_: uuid.UUID) -> dict[str, Any]:
    """Return the description, owners and tags of a dataset."""
    name, bodies, said = seen.candidates[id_], seen.facets.get(id_, {}), seen.said.get(id_, [])
    known = described(bodies, [AnnotationFact(one.field, one.kind, one.key, one.value, one.deleted) for one in said])
    found: dict[str, Any] = {}
    if description := readable(known.description or ""):
        found["description"] = description
    if owners := sorted({text for owner in known.owners if (text := readable(owner))}):
        found["owner"] = owners[0] if len(owners) == 1 else owners
    tags: dict[str, set[str]] = {}
    for tag in Words(said).tags(decode_tags(bodies.get("tags")).get("", [])):
        if key := readable(tag.name):
            more = readable(tag.text.removeprefix(tag.name).removeprefix(":"))
            tags.setdefault(key, set()).update([more] if more else [])
    if tags:
        found["tags"] = {
            key: "".join(values) if len(values) == 1 else sorted(values) for key, values in sorted(tags.items())
        }
    writers = [one.job for one in seen.touchers if one.dataset == id_ and one.direction == "out" and not _excluded(one)]
    jobs = sorted({_producer(job, seen.parents, seen.facets) for job in writers})
    if jobs := [job for job in jobs if readable(job) == job]:
        found["produced_by"] = jobs
    found["stored_in"] = [f"{name.namespace} {name.name}"]
    return found


def _producer(
    job: uuid.UUID, parents: Mapping[uuid.UUID, store.ParentJob], bodies: Mapping[uuid.UUID, Mapping[str, bytes]]
) -> str:
    """The task of Airflow's that the job is, or that it is part of; otherwise the job itself."""
    at = parents.get(job)
    while at is not None:
        if _is_airflow(at.name, bodies.get(at.id, {}).get("jobType")):
            above = parents.get(at.parent) if at.parent is not None else None
            return _airflow(at.name, above.name.name if above is not None else "")
        at = parents.get(at.parent) if at.parent is not None else None
    name = parents[job].name
    return f"{name.namespace}/{name.name}"


def _airflow(name: JobName, dag: str) -> str:
    """Return `airflow://NAMESPACE/DAG/TASK`: the task follows the DAG's name, or else the first full stop."""
    space = name.namespace if name.namespace.startswith(_AIRFLOW) else _AIRFLOW + name.namespace
    if not (dag and name.name.startswith(f"{dag}.")):
        dag = name.name.partition(".")[0]
    task = name.name[len(dag) + 1 :]
    return f"{space}/{dag}/{task}" if task else f"{space}/{dag}"


class _JobType(msgspec.Struct):
    integration: str | None = None


_job_type = msgspec.json.Decoder(_JobType)


def _is_airflow(name: JobName, body: bytes | None) -> bool:
    if name.namespace.startswith(_AIRFLOW):
        return True
    try:
        return body is not None and (_job_type.decode(body).integration or "").upper() == "AIRFLOW"
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False  # another shape of the facet, of which the projection warned


def _left_out(seen: _DraftInputs) -> list[ExcludedJob]:
    """Jobs that touch these datasets and are no evidence, by name."""
    found: dict[uuid.UUID, ExcludedJob] = {}
    for one in seen.touchers:
        if why := _excluded(one):
            shown = found.setdefault(one.job, ExcludedJob(f"job:{one.name.namespace}:{one.name.name}", why, [], []))
            (shown.reads if one.direction == "in" else shown.writes).append(seen.candidates[one.dataset].node_id)
    for shown in found.values():
        shown.reads.sort()
        shown.writes.sort()
    return list(found.values())


def _draft_view(draft: Draft, dataset: DatasetName) -> EntityDraft:
    return EntityDraft(
        draft.name, dataset.node_id, draft.kind, dict(draft.period), draft.evidence, draft.confidence, list(draft.notes),
        [DraftNeed(each.upstream, each.dates, each.evidence, each.confidence, each.left_out or None) for each in draft.needs],
        written(draft),
    )  # fmt: skip
