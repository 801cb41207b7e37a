"""Decode the facets that the projection uses, on demand.

The key selects the decoder, not the facet's version (OpenLineage §1.4: any old version may arrive under the same key). Each function takes
the raw body and returns plain values, or raises `msgspec.ValidationError`, which the caller turns into a warning. Unknown fields are ignored.
"""

import contextlib
import datetime as dt
from collections.abc import Callable, Mapping
from typing import ClassVar

import msgspec

from headwater.model.moments import aware
from headwater.model.names import DatasetName, JobName, bounded, job_name, normalised
from headwater.model.parts import PartDecoder, leave_out
from headwater.model.statement import statement_kind
from headwater.model.version import run_id

# Facets that name a version where there is no `version` facet: a stream's offsets, Iceberg's commit report; with the function that reads each.
COMMIT = "icebergCommitReport"
VERSIONS = {"headwater_offsets": "offsets", "kafkaOffsets": "offsets", COMMIT: "commit_version"}
# A schema nested deeper than this is cut, which bounds the walk.
_DEEPEST = 32
# Parts of an AND of two lists beyond which the shorter list stands for it.
_MOST_PARTS = 1_000


class Field(msgspec.Struct, frozen=True):
    """A column. Nested ones are flattened: `address.city`."""

    name: str
    type: str | None
    description: str | None


class _SchemaField(msgspec.Struct):
    MAY_GO: ClassVar = ("fields",)

    name: str
    type: str | None = None
    description: str | None = None
    fields: list["_SchemaField"] | None = None


class _Schema(msgspec.Struct):
    fields: list[_SchemaField] | None = None


class _RunRef(msgspec.Struct, rename="camel"):
    run_id: str


class _JobRef(msgspec.Struct):
    namespace: str
    name: str


class _Reference(msgspec.Struct):
    run: _RunRef
    job: _JobRef


class _Parent(_Reference):
    root: _Reference | None = None


class Parent(msgspec.Struct, frozen=True):
    run_id: str
    job: JobName


class _Version(msgspec.Struct, rename="camel"):
    dataset_version: str | int


class _Storage(msgspec.Struct, rename="camel"):
    storage_layer: str


class _Sql(msgspec.Struct):
    query: str


class _JobType(msgspec.Struct, rename="camel"):
    processing_type: str | None = None


class _EmissionPattern(msgspec.Struct, rename="camel"):
    event_content_mode: str | None = None


class _Emitted(msgspec.Struct, rename="camel"):
    emission_pattern: _EmissionPattern | None = None


class _PartitionOffset(msgspec.Struct):
    partition: int | str
    offset: int
    topic: str | None = None


class _Offsets(msgspec.Struct):
    offsets: list[_PartitionOffset] | dict[str, int] | None = None
    partitions: list[_PartitionOffset] | dict[str, int] | None = None


class _Identifier(msgspec.Struct):
    namespace: str
    name: str
    type: str | None = None


class _Symlinks(msgspec.Struct):
    identifiers: list[_Identifier] | None = None


class Symlink(msgspec.Struct, frozen=True):
    """Another name of the dataset. `kind`: TABLE, LOCATION, VIEW or the producer's own word."""

    name: DatasetName
    kind: str


class _Nominal(msgspec.Struct, rename="camel"):
    nominal_start_time: str | None = None
    nominal_end_time: str | None = None


class _DataSource(msgspec.Struct):
    name: str | None = None
    uri: str | None = None


class _Lifecycle(msgspec.Struct, rename="camel"):
    lifecycle_state_change: str | None = None


class _Statistics(msgspec.Struct, rename="camel"):
    row_count: int | None = None
    size: int | None = None
    file_count: int | None = None


class _CommitMetrics(msgspec.Struct, rename="camel"):
    added_records: int | None = None
    added_files_size_in_bytes: int | None = None
    added_data_files: int | None = None


class _Commit(msgspec.Struct, rename="camel"):
    snapshot_id: int | str | None = None
    commit_metrics: _CommitMetrics | None = None


class _Partition(msgspec.Struct):
    identifier: str | None = None
    dimensions: dict[str, str | int | float | bool | None] | None = None


class _Condition(msgspec.Struct):
    """A condition, or an operand of a comparison (`field` or `value`).

    `left` and `right`: conditions where `operator` is set (`binary`), operands where `comparison` is (`compare`).
    """

    type: str | None = None
    locations: list[str] | None = None
    partitions: list[_Partition] | None = None
    left: "_Condition | None" = None
    right: "_Condition | None" = None
    operator: str | None = None
    comparison: str | None = None
    field: str | None = None
    value: object = None


class _Subset(msgspec.Struct, rename="camel"):
    input_condition: _Condition | None = None
    output_condition: _Condition | None = None


_schema = PartDecoder(_Schema)
_parent = PartDecoder(_Parent)
_version = msgspec.json.Decoder(_Version)
_storage = msgspec.json.Decoder(_Storage)
_job_type = msgspec.json.Decoder(_JobType)
_emitted = msgspec.json.Decoder(_Emitted)
_sql = msgspec.json.Decoder(_Sql)
_offsets = msgspec.json.Decoder(_Offsets)
_symlinks = PartDecoder(_Symlinks)
_nominal = PartDecoder(_Nominal)
_data_source = PartDecoder(_DataSource)
_lifecycle = PartDecoder(_Lifecycle)
_statistics = PartDecoder(_Statistics)
_subset = msgspec.json.Decoder(_Subset)
_commit = PartDecoder(_Commit)


def schema(body: bytes) -> list[Field]:
    """The columns in order, nested ones after their parent."""
    columns: list[Field] = []
    _flatten(_schema.decode(body).fields or [], "", columns, 0)
    return columns


def _flatten(fields: list[_SchemaField], prefix: str, columns: list[Field], depth: int) -> None:
    for field in fields:
        columns.append(Field(clean(prefix + field.name), clean_or_none(field.type), clean_or_none(field.description)))
        if field.fields and depth < _DEEPEST:
            _flatten(field.fields, f"{prefix}{field.name}.", columns, depth + 1)


def parent(body: bytes) -> tuple[Parent, Parent | None]:
    """The parent run, and the root run if the facet has one."""
    read = _parent.decode(body)
    return _reference(read), _reference(read.root) if read.root is not None else None


def _reference(reference: _Reference) -> Parent:
    return Parent(clean(reference.run.run_id), job_name(clean(reference.job.namespace), clean(reference.job.name)))


def parent_of_task(parent: Parent, job: JobName) -> Parent:
    """Return the parent with the DAG's name, where old Airflow gives its run id of the DAG and the name of the task itself."""
    dag = job.name.rpartition(".")[0]
    if parent.job != job or not dag or run_id(parent.run_id)[1]:
        return parent
    return Parent(parent.run_id, job_name(job.namespace, dag))


def external_version(body: bytes) -> str:
    """The storage's own version: a Delta version, an Iceberg snapshot, offsets."""
    return clean(str(_version.decode(body).dataset_version))


def storage_layer(body: bytes) -> str:
    """The storage layer or table format, in lower case: `delta`, `iceberg`, `s3`."""
    return clean(_storage.decode(body).storage_layer).lower()


def offsets(body: bytes) -> str | None:
    """A stream's offsets as one text, ordered by partition: `0:42,1:17`, or `topic/0:42` if the facet names topics. None if it has none.

    Reads `offsets` or `partitions`: a map of partition to offset, or a list of `{partition, offset[, topic]}`.
    """
    read = _offsets.decode(body)
    offsets = read.offsets if read.offsets is not None else read.partitions
    if isinstance(offsets, dict):
        offsets = [_PartitionOffset(key, value) for key, value in offsets.items()]
    rows = sorted((o.topic or "", str(o.partition).zfill(12), str(o.partition), o.offset) for o in offsets or ())
    return clean(",".join(f"{topic}{'/' if topic else ''}{part}:{at}" for topic, _, part, at in rows)) or None


def reported_version(facets: Mapping[str, bytes | msgspec.Raw], io_facets: Mapping[str, bytes | msgspec.Raw]) -> str:
    """The storage's own version of a dataset; else a stream's offsets, from either kind of facet; else empty.

    Never raises: malformed facets are ignored.
    """
    candidates: list[tuple[Callable[[bytes], str | None], bytes | msgspec.Raw | None]] = [
        (external_version, facets.get("version")),
        *((offsets, io_facets.get(key, facets.get(key))) for key, kind in VERSIONS.items() if kind == "offsets"),
        (commit_version, io_facets.get(COMMIT, facets.get(COMMIT))),
    ]
    for decode, body in candidates:
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            if body is not None and (external := decode(bytes(body))):
                return external
    return ""


def streaming(body: bytes) -> bool:
    """Return whether a `jobType` facet is of a streaming job or a service, which runs until it is stopped. Never raises: a malformed
    facet is not."""
    try:
        return (_job_type.decode(body).processing_type or "").upper() in {"STREAMING", "SERVICE"}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def is_snapshot(body: bytes) -> bool:
    """Return whether a `jobType` facet says that the event states everything of its time window (OpenLineage's `emissionPattern`,
    COMPLETE_SNAPSHOT), and does not add to the run's earlier events. Never raises: a malformed facet does not."""
    if b"COMPLETE_SNAPSHOT" not in body.upper():
        return False
    try:
        pattern = _emitted.decode(body).emission_pattern
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return pattern is not None and (pattern.event_content_mode or "").upper() == "COMPLETE_SNAPSHOT"


def statement(body: bytes) -> str | None:
    """The kind of the statement in a job's `sql` facet."""
    return statement_kind(_sql.decode(body).query)


def symlinks(body: bytes) -> list[Symlink]:
    """Other names of the dataset that carries the facet."""
    return [
        Symlink(normalised(clean(link.namespace), clean(link.name)), bounded(clean(link.type or "").upper()))
        for link in _symlinks.decode(body).identifiers or []
        if link.namespace.strip() and link.name.strip()
    ]


def nominal_time(body: bytes) -> tuple[dt.datetime | None, dt.datetime | None]:
    """The run's nominal start and end; a time without a zone is UTC. Raises msgspec.ValidationError if the start is not a time."""
    read = _nominal.decode(body)
    start = _time(read.nominal_start_time)
    try:
        return start, _time(read.nominal_end_time)
    except msgspec.ValidationError as error:
        leave_out(f"nominalEndTime: {error}")
        return start, None


def _time(text: str | None) -> dt.datetime | None:
    if not text:
        return None
    try:
        time = dt.datetime.fromisoformat(text)
        return aware(time).astimezone(dt.UTC)
    except (ValueError, OverflowError) as error:
        raise msgspec.ValidationError(f"{text[:40]!r} is not an ISO 8601 time") from error


def data_source(body: bytes) -> tuple[str, str] | None:
    """Name and URI of a dataset's data source."""
    read = _data_source.decode(body)
    return (bounded(clean(read.name)), bounded(clean(read.uri or ""))) if read.name else None


def lifecycle(body: bytes) -> str | None:
    """The lifecycle change of the dataset: CREATE, DROP, OVERWRITE, …"""
    change = _lifecycle.decode(body).lifecycle_state_change
    return clean(change).upper() if change else None


def statistics(body: bytes) -> tuple[int | None, int | None, int | None]:
    """Rows, bytes and files written. A negative count, or one over 63 bits, is None."""
    read = _statistics.decode(body)
    return _counts(read.row_count, read.size, read.file_count)


def commit_version(body: bytes) -> str | None:
    """The snapshot that a commit of Iceberg made, by its `icebergCommitReport`."""
    snapshot = _commit.decode(body).snapshot_id
    return None if snapshot is None else clean(str(snapshot))


def commit_amounts(body: bytes) -> tuple[int | None, int | None, int | None]:
    """Rows, bytes and files that a commit of Iceberg added."""
    metrics = _commit.decode(body).commit_metrics or _CommitMetrics()
    return _counts(metrics.added_records, metrics.added_files_size_in_bytes, metrics.added_data_files)


def _counts(*values: int | None) -> tuple[int | None, int | None, int | None]:
    rows, size, files = (value if value is not None and 0 <= value < 2**63 else None for value in values)
    return rows, size, files


def subset(body: bytes) -> list[dict[str, str]]:
    """The parts of a dataset that were read or written: partitions as their dimensions, locations as `{"location": …}`.

    Together they hold all that the condition admits, and may hold more. A comparison names a part only if it says that a field equals a value; an OR
    with another comparison names none, and an AND those of its other side.
    """
    read = _subset.decode(body)
    return [
        part
        for condition in (read.input_condition, read.output_condition)
        if condition
        for part in _parts_of(condition, 0) or []
    ]


def _parts_of(condition: _Condition | None, depth: int) -> list[dict[str, str]] | None:
    """Return the parts that a condition admits, None if it does not bound them."""
    if condition is None or depth == _DEEPEST:
        return None
    if condition.comparison is not None:
        return _compared(condition)
    if condition.operator is None:
        return _listed(condition)
    left, right = (_parts_of(side, depth + 1) for side in (condition.left, condition.right))
    if condition.operator.upper() == "OR":
        return None if left is None or right is None else left + right
    if left is None or right is None:
        return right if left is None else left
    return _intersected(left, right)


def _intersected(left: list[dict[str, str]], right: list[dict[str, str]]) -> list[dict[str, str]]:
    if len(left) * len(right) > _MOST_PARTS:
        return min(left, right, key=len)
    return [
        one | other
        for one in left
        for other in right
        if all(one[name] == other[name] for name in one.keys() & other.keys())
    ]


def _compared(condition: _Condition) -> list[dict[str, str]] | None:
    """Return the part where a field equals a value."""
    sides = [side for side in (condition.left, condition.right) if side is not None]
    names = [side.field for side in sides if side.field]
    values = [side.value for side in sides if isinstance(side.value, str | int | float)]
    if (condition.comparison or "").upper() != "EQUAL" or len(names) != 1 or len(values) != 1:
        return None
    return [{clean(names[0]): clean(str(values[0]))}]


def _listed(condition: _Condition) -> list[dict[str, str]] | None:
    parts = [{"location": clean(location)} for location in condition.locations or []]
    for partition in condition.partitions or []:
        if partition.dimensions:
            parts.append({clean(k): clean(str(v)) for k, v in partition.dimensions.items()})
        elif partition.identifier:
            parts.append({"partition": clean(partition.identifier)})
    return parts or None


def clean_or_none(value: str | None) -> str | None:
    return None if value is None else clean(value)


def clean(text: str) -> str:
    """Replace NUL, which PostgreSQL's text type cannot store, by U+FFFD."""
    return text.replace("\0", "�") if "\0" in text else text
