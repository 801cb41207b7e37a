"""The versions of a dataset: all of them, one in full, the difference between two, and the schemas it has had."""

import datetime as dt
import itertools
import uuid
from collections.abc import Sequence

import msgspec

from headwater.answer.history.schema_timeline import load_timeline
from headwater.answer.lineage import run_log
from headwater.answer.lineage.find import node_row
from headwater.answer.lineage.run_facets import Code, code_of, parameters_of
from headwater.answer.lineage.runs import RunRef
from headwater.errors import InvalidQuestion, NotFound
from headwater.model import facets as known
from headwater.model.facets import Field
from headwater.model.schema_diff import SchemaDiff, schema_diff
from headwater.store.database import Connection, Database
from headwater.store.history import datasets as dataset_store
from headwater.store.history import facets as facet_store
from headwater.store.history import versions as version_store
from headwater.store.history.datasets import VersionRow
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage import runs as run_store
from headwater.store.lineage.nodes import NodeRow


class Version(msgspec.Struct, kw_only=True):
    """The version that one run wrote, or that an event without a run reported (then `run` is None). `schema_changed`: since the version before it."""

    id: str
    first_at: dt.datetime
    created_at: dt.datetime
    run: RunRef | None
    state: str
    external_version: str | None
    declared: bool
    lifecycle: str | None
    rows: int | None
    bytes: int | None
    files: int | None
    parts: list[dict[str, str]]
    schema_id: str | None
    schema_changed: bool


class VersionDetail(Version, kw_only=True):
    """A version with its columns, and the code and parameters of the run that wrote it."""

    dataset: str
    fields: list[Field]
    code: Code | None
    parameters: dict[str, str]


class Versions(msgspec.Struct):
    total: int
    versions: list[Version]


class Changed(msgspec.Struct):
    """A value that differs. `ratio`: after / before, of counts."""

    before: str | int | None
    after: str | int | None
    ratio: float | None = None


class VersionDiff(msgspec.Struct, kw_only=True):
    """The differences from one version to another; a field that is None did not change."""

    dataset: str
    before: VersionDetail
    after: VersionDetail
    same: bool
    schema: SchemaDiff
    rows: Changed | None
    bytes: Changed | None
    files: Changed | None
    external_version: Changed | None
    job: Changed | None
    code: Changed | None
    parameters: dict[str, Changed]
    parts_added: list[dict[str, str]]
    parts_removed: list[dict[str, str]]


class Schema(msgspec.Struct):
    """Columns that held for a while. `changes`: from the schema before it; None for the first. `run`: whose version had it first.

    `versions` is 0 for what only readers told, or a later event of the same run replaced.
    """

    first_at: dt.datetime
    last_at: dt.datetime
    versions: int
    run: RunRef | None
    fields: list[Field]
    changes: SchemaDiff | None


class SchemaHistory(msgspec.Struct):
    """`source`: `versions`, or `facets` for a dataset without a recorded write. `truncated`: there are older ones."""

    id: str
    source: str
    schemas: list[Schema]
    truncated: bool


async def versions(database: Database, namespace: str, name: str, *, limit: int, offset: int) -> Versions:
    """A page of all versions, the latest first. Raises NotFound."""
    async with database.snapshot() as connection:
        dataset = await _dataset(connection, namespace, name)
        # One more than the page: whether the schema changed is seen beside the version before.
        rows = await dataset_store.versions(connection, dataset.id, "infinity", limit + 1, offset)
        total = (await dataset_store.version_counts(connection, [dataset.id], "infinity")).get(dataset.id, 0)
        schemas = await facet_store.bodies(connection, {row.schema_id for row in rows if row.schema_id})
        parts = await version_store.parts(connection, [row.id for row in rows[:limit]])
        names = await node_store.by_ids(connection, {row.job_id for row in rows if row.job_id})
    return Versions(
        total,
        [
            _version(row, before, schemas, parts, names)
            for row, before in zip(rows[:limit], [*rows[1:], None], strict=False)
        ],
    )


async def version(database: Database, namespace: str, name: str, text: str) -> VersionDetail:
    """Return one version, by its id or its external version (the latest that has it). Raises NotFound."""
    async with database.snapshot() as connection:
        dataset = await _dataset(connection, namespace, name)
        row = await _find(connection, dataset, text)
        before = await version_store.before(connection, dataset.id, row)
        return (await _details(connection, dataset, [(row, before)]))[0]


async def version_diff(
    database: Database, namespace: str, name: str, before: str | None, after: str | None
) -> VersionDiff:
    """Return the difference between two versions. Raises NotFound.

    `before`: by default the version before `after`. `after`: by default the latest.
    """
    async with database.snapshot() as connection:
        dataset = await _dataset(connection, namespace, name)
        if after is not None:
            second = await _find(connection, dataset, after)
        else:
            latest = await dataset_store.versions(connection, dataset.id, "infinity", 1)
            if not latest:
                raise NotFound(f"{dataset.node_id!r} has no versions", node=dataset.node_id)
            second = latest[0]
        first = (
            await version_store.before(connection, dataset.id, second)
            if before is None
            else await _find(connection, dataset, before)
        )
        if first is None:
            raise NotFound(f"no version of {dataset.node_id!r} was written before {second.id}", node=dataset.node_id)
        one, two = await _details(connection, dataset, [(first, None), (second, first)])
    return _diff(dataset.node_id, one, two)


async def schema_history(database: Database, namespace: str, name: str, limit: int) -> SchemaHistory:
    """Return each schema the dataset has had, the latest first. Raises NotFound."""
    async with database.snapshot() as connection:
        dataset = await _dataset(connection, namespace, name)
        stretches, total = await version_store.schemas(connection, dataset.id, limit)
        bodies = await facet_store.bodies(connection, {one.schema_id for one in stretches})
        names = await node_store.by_ids(connection, {one.job_id for one in stretches if one.job_id})
        told = await facet_store.history(connection, dataset.id, "schema", limit + 1)
        timeline = [] if stretches else await load_timeline(connection, dataset.id)
        bodies |= await facet_store.bodies(connection, {one.body_id for one in timeline})
    found = [
        Schema(one.first_at, one.last_at, one.versions, _ref(one.run_id, one.job_id, names), _fields(bodies.get(one.schema_id)), None)
        for one in stretches
    ]  # fmt: skip
    found += [Schema(one.at, one.last_at, 0, None, _fields(bodies.get(one.body_id)), None) for one in timeline]
    # A version keeps the last schema of its run: the rest is in the facets.
    shown = [one.fields for one in found]
    since = found[-1].first_at if total > len(stretches) else None
    for one in told:
        fields = _fields(one.body)
        if not one.deleted and fields not in shown and (since is None or one.first_at >= since):
            found.append(Schema(one.first_at, one.last_at, 0, None, fields, None))
    found.sort(key=lambda schema: schema.first_at, reverse=True)
    source = "versions" if stretches else "facets"
    truncated = total > len(stretches) or len(told) > limit or len(found) > limit
    return SchemaHistory(dataset.node_id, source, _compared(found[:limit]), truncated)


def _compared(schemas: list[Schema]) -> list[Schema]:
    """Return the schemas with what changed; neighbours with the same columns (other fields of the facet may differ) become one."""
    kept: list[Schema] = []
    for one in schemas:
        if kept and kept[-1].fields == one.fields:
            last = kept[-1]
            last.first_at, last.last_at = one.first_at, max(last.last_at, one.last_at)
            last.run, last.versions = one.run or last.run, last.versions + one.versions
        else:
            kept.append(one)
    for newer, older in itertools.pairwise(kept):
        newer.changes = schema_diff(older.fields, newer.fields)
    return kept


async def _dataset(connection: Connection, namespace: str, name: str) -> NodeRow:
    row = await node_row(connection, f"dataset:{namespace}:{name}")
    if row.type != "DATASET":  # pragma: no cover - the node id says dataset
        raise InvalidQuestion(f"{name!r} is a job; only datasets have versions")
    return row


async def _find(connection: Connection, dataset: NodeRow, text: str) -> VersionRow:
    row = await version_store.find(connection, dataset.id, text)
    if row is None:
        raise NotFound(f"{dataset.node_id!r} has no version {text!r}", node=dataset.node_id, version=text)
    return row


async def _details(
    connection: Connection, dataset: NodeRow, pairs: Sequence[tuple[VersionRow, VersionRow | None]]
) -> list[VersionDetail]:
    """Return versions in full; a fixed number of statements for any number of them."""
    rows = [row for row, _ in pairs]
    everything = rows + [before for _, before in pairs if before is not None]
    schemas = await facet_store.bodies(connection, {row.schema_id for row in everything if row.schema_id})
    parts = await version_store.parts(connection, [row.id for row in rows])
    names = await node_store.by_ids(connection, {row.job_id for row in rows if row.job_id})
    runs = await run_store.by_run_ids(connection, {row.run_id for row in rows if row.run_id})
    told = await run_log.load(connection, [run for run in runs if run.job_id in names])
    found = []
    for row, before in pairs:
        facets = told.get((row.run_id, row.job_id), run_log.empty()) if row.run_id and row.job_id else run_log.empty()
        found.append(
            VersionDetail(
                **msgspec.structs.asdict(_version(row, before, schemas, parts, names)),
                dataset=dataset.node_id,
                fields=_fields(schemas.get(row.schema_id) if row.schema_id else None),
                code=code_of(facets.run, facets.job),
                parameters=parameters_of(facets.run),
            )
        )
    return found


def _version(
    row: VersionRow,
    before: VersionRow | None,
    schemas: dict[uuid.UUID, bytes],
    parts: dict[uuid.UUID, list[dict[str, str]]],
    names: dict[uuid.UUID, NodeRow],
) -> Version:
    changed = False
    if row.schema_id and before and before.schema_id and row.schema_id != before.schema_id:
        changed = _fields(schemas.get(before.schema_id)) != _fields(schemas.get(row.schema_id))
    return Version(
        id=str(row.id), first_at=row.first_at, created_at=row.written_at, run=_ref(row.run_id, row.job_id, names),
        state=row.state.name, external_version=row.external_version or None, declared=row.declared, lifecycle=row.lifecycle,
        rows=row.rows, bytes=row.bytes, files=row.files, parts=parts.get(row.id, []),
        schema_id=str(row.schema_id) if row.schema_id else None, schema_changed=changed,
    )  # fmt: skip


def _ref(run: uuid.UUID | None, job: uuid.UUID | None, names: dict[uuid.UUID, NodeRow]) -> RunRef | None:
    return RunRef(str(run), names[job].node_id) if run and job in names and job else None


def _fields(schema: bytes | None) -> list[Field]:
    if schema is None:
        return []
    try:
        return known.schema(schema)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []


def _diff(dataset: str, one: VersionDetail, two: VersionDetail) -> VersionDiff:
    schema = schema_diff(one.fields, two.fields)
    code = tuple((v.code.version or v.code.url) if v.code else None for v in (one, two))
    parameters = {
        key: Changed(one.parameters.get(key), two.parameters.get(key))
        for key in sorted(one.parameters.keys() | two.parameters.keys())
        if one.parameters.get(key) != two.parameters.get(key)
    }
    found = VersionDiff(
        dataset=dataset, before=one, after=two, same=False, schema=schema,
        rows=_changed(one.rows, two.rows), bytes=_changed(one.bytes, two.bytes), files=_changed(one.files, two.files),
        external_version=_changed(one.external_version, two.external_version),
        job=_changed(one.run.job if one.run else None, two.run.job if two.run else None),
        code=_changed(*code), parameters=parameters,
        parts_added=[part for part in two.parts if part not in one.parts],
        parts_removed=[part for part in one.parts if part not in two.parts],
    )  # fmt: skip
    values = (found.rows, found.bytes, found.files, found.external_version, found.job, found.code)
    found.same = schema.same and not any((*values, parameters, found.parts_added, found.parts_removed))
    return found


def _changed(before: str | int | None, after: str | int | None) -> Changed | None:
    if before == after:
        return None
    counts = isinstance(before, int) and isinstance(after, int) and before > 0
    return Changed(before, after, round(after / before, 4) if counts else None)  # type: ignore[operator]
