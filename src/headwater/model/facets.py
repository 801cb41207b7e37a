"""The facets the projection understands, decoded on demand.

Parsed by key and never by version (OpenLineage §1.4: the same key arrives in any old version). Each function takes the raw body and
returns plain values, or raises `msgspec.ValidationError`; the caller turns that into a warning. Nothing unknown is an error.
"""

import contextlib
import datetime as dt
from collections.abc import Callable, Mapping

import msgspec

from headwater.model.lineage import ColumnInput, Transformation
from headwater.model.names import DatasetName, JobName, bounded, job_name, normalised
from headwater.model.statement import statement_kind

# Facets that hold a stream's position, where no `version` facet does.
OFFSETS = ("headwater_offsets", "kafkaOffsets")
# A schema nested deeper than this is cut: no reader needs more, and it bounds the walk.
_DEEPEST = 32


class Field(msgspec.Struct, frozen=True):
    """A column. Nested ones are flattened: `address.city`."""

    name: str
    type: str | None
    description: str | None


class _SchemaField(msgspec.Struct):
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


class _PartitionOffset(msgspec.Struct):
    partition: int | str
    offset: int
    topic: str | None = None


class _Offsets(msgspec.Struct):
    offsets: list[_PartitionOffset] | dict[str, int] | None = None
    partitions: list[_PartitionOffset] | dict[str, int] | None = None


class _Transformation(msgspec.Struct):
    type: str = "DIRECT"
    subtype: str | None = None
    description: str | None = None
    masking: bool | None = None


class _InputField(msgspec.Struct, rename="camel"):
    namespace: str
    name: str
    field: str | None = None
    transformations: list[_Transformation] | None = None


class _FieldLineage(msgspec.Struct, rename="camel"):
    input_fields: list[_InputField] | None = None
    transformation_type: str | None = None
    transformation_description: str | None = None


class _ColumnLineage(msgspec.Struct):
    fields: dict[str, _FieldLineage] | None = None
    dataset: list[_InputField] | None = None


class _LineageInput(msgspec.Struct):
    type: str = "DATASET"
    namespace: str | None = None
    name: str | None = None
    field: str | None = None
    transformations: list[_Transformation] | None = None


class _LineageInputs(msgspec.Struct):
    inputs: list[_LineageInput] | None = None


class _LineageEntry(msgspec.Struct):
    type: str = "DATASET"
    namespace: str | None = None
    name: str | None = None
    inputs: list[_LineageInput] | None = None
    fields: dict[str, _LineageInputs] | None = None


class _Lineage(msgspec.Struct):
    entries: list[_LineageEntry] | None = None


class _Identifier(msgspec.Struct):
    namespace: str
    name: str
    type: str | None = None


class _Symlinks(msgspec.Struct):
    identifiers: list[_Identifier] | None = None


class Symlink(msgspec.Struct, frozen=True):
    """Another name of the dataset; `kind` is TABLE, LOCATION, VIEW or what the producer says."""

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


class _Partition(msgspec.Struct):
    identifier: str | None = None
    dimensions: dict[str, str | int | float | bool | None] | None = None


class _Condition(msgspec.Struct):
    type: str | None = None
    locations: list[str] | None = None
    partitions: list[_Partition] | None = None


class _Subset(msgspec.Struct, rename="camel"):
    input_condition: _Condition | None = None
    output_condition: _Condition | None = None


class LineageEntry(msgspec.Struct, frozen=True):
    """One target of an explicit lineage facet. `target` None is the event's own job; `inputs` maps a target field ("" = whole) to what feeds it."""

    target: DatasetName | JobName | None
    inputs: dict[str, list[ColumnInput]]


_schema = msgspec.json.Decoder(_Schema)
_parent = msgspec.json.Decoder(_Parent)
_version = msgspec.json.Decoder(_Version)
_storage = msgspec.json.Decoder(_Storage)
_job_type = msgspec.json.Decoder(_JobType)
_sql = msgspec.json.Decoder(_Sql)
_offsets = msgspec.json.Decoder(_Offsets)
_column_lineage = msgspec.json.Decoder(_ColumnLineage)
_lineage = msgspec.json.Decoder(_Lineage)
_symlinks = msgspec.json.Decoder(_Symlinks)
_nominal = msgspec.json.Decoder(_Nominal)
_data_source = msgspec.json.Decoder(_DataSource)
_lifecycle = msgspec.json.Decoder(_Lifecycle)
_statistics = msgspec.json.Decoder(_Statistics)
_subset = msgspec.json.Decoder(_Subset)
_dataset_lineage = msgspec.json.Decoder(_LineageEntry)


def schema(body: bytes) -> list[Field]:
    """The columns in order, nested ones after their parent."""
    found: list[Field] = []
    _flatten(_schema.decode(body).fields or [], "", found, 0)
    return found


def _flatten(fields: list[_SchemaField], prefix: str, found: list[Field], depth: int) -> None:
    for field in fields:
        found.append(Field(clean(prefix + field.name), _text(field.type), _text(field.description)))
        if field.fields and depth < _DEEPEST:
            _flatten(field.fields, f"{prefix}{field.name}.", found, depth + 1)


def parent(body: bytes) -> tuple[Parent, Parent | None]:
    """The parent run, and the root when it is told."""
    read = _parent.decode(body)
    return _reference(read), _reference(read.root) if read.root is not None else None


def _reference(reference: _Reference) -> Parent:
    return Parent(clean(reference.run.run_id), job_name(clean(reference.job.namespace), clean(reference.job.name)))


def external_version(body: bytes) -> str:
    """The version the storage gives: a Delta version, an Iceberg snapshot, offsets."""
    return clean(str(_version.decode(body).dataset_version))


def storage_layer(body: bytes) -> str:
    """What keeps the dataset's versions, or its files: `delta`, `iceberg`, `s3`."""
    return clean(_storage.decode(body).storage_layer).lower()


def offsets(body: bytes) -> str | None:
    """Offsets of a stream as one text in the order of its partitions (`0:42,1:17`, with the topic before where it is told).

    Taken as `offsets` or `partitions`: a map of partition to offset, or a list of `{partition, offset[, topic]}`. None when there are none.
    """
    read = _offsets.decode(body)
    told = read.offsets if read.offsets is not None else read.partitions
    if isinstance(told, dict):
        told = [_PartitionOffset(key, value) for key, value in told.items()]
    rows = sorted((one.topic or "", str(one.partition).zfill(12), str(one.partition), one.offset) for one in told or ())
    return clean(",".join(f"{topic}{'/' if topic else ''}{part}:{at}" for topic, _, part, at in rows)) or None


def version_told(facets: Mapping[str, bytes | msgspec.Raw], here: Mapping[str, bytes | msgspec.Raw]) -> str:
    """What the storage calls the version of a dataset; else a stream's offsets, which may stand among what holds in this run only; else empty.

    Never raises: another shape says nothing.
    """
    told: list[tuple[Callable[[bytes], str | None], bytes | msgspec.Raw | None]] = [
        (external_version, facets.get("version")),
        *((offsets, here.get(key, facets.get(key))) for key in OFFSETS),
    ]
    for decode, body in told:
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            if body is not None and (found := decode(bytes(body))):
                return found
    return ""


def streaming(body: bytes) -> bool:
    """Whether a `jobType` facet says that runs last until somebody stops them. Never raises: another shape says no."""
    try:
        return (_job_type.decode(body).processing_type or "").upper() in {"STREAMING", "SERVICE"}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def statement(body: bytes) -> str | None:
    """What kind of statement a job's `sql` facet holds."""
    return statement_kind(_sql.decode(body).query)


def column_lineage(body: bytes) -> dict[str, list[ColumnInput]]:
    """What feeds each field; the key "" holds what the dataset as a whole depends on."""
    read = _column_lineage.decode(body)
    found: dict[str, list[ColumnInput]] = {}
    for name, lineage in (read.fields or {}).items():
        old_style = _old_style(lineage)
        found[clean(name)] = [_input(item, old_style) for item in lineage.input_fields or []]
    if read.dataset:
        found[""] = [_input(item, None) for item in read.dataset]
    return found


def _old_style(lineage: _FieldLineage) -> Transformation | None:
    """columnLineage before 1-1-0 told one transformation for the whole field."""
    kind = lineage.transformation_type
    if kind is None and lineage.transformation_description is None:
        return None
    masked = kind == "MASKED"
    return Transformation(
        "DIRECT",
        "IDENTITY" if kind == "IDENTITY" else "TRANSFORMATION",
        masked,
        _text(lineage.transformation_description),
    )


def _input(item: _InputField, default: Transformation | None) -> ColumnInput:
    made = tuple(_transformation(t) for t in item.transformations or [])
    source = normalised(clean(item.namespace), clean(item.name))
    return ColumnInput(source, clean(item.field or ""), made or ((default,) if default else ()))


def _transformation(item: _Transformation) -> Transformation:
    return Transformation(
        clean(item.type).upper(), clean(item.subtype or "").upper(), bool(item.masking), _text(item.description)
    )


def job_lineage(body: bytes) -> list[LineageEntry]:
    """Entries of a LineageJobFacet (OpenLineage §1.5). `inputs: []` is kept: it says "no tracked upstream"."""
    return [_entry(entry) for entry in _lineage.decode(body).entries or []]


def dataset_lineage(body: bytes) -> LineageEntry:
    """The one entry of a LineageDatasetFacet; its target is the dataset that carries it, so `target` is None."""
    return _entry(_dataset_lineage.decode(body))


def _entry(entry: _LineageEntry) -> LineageEntry:
    target: DatasetName | JobName | None = None
    if entry.namespace and entry.name:
        if entry.type.upper() == "JOB":
            target = job_name(clean(entry.namespace), clean(entry.name))
        else:
            target = normalised(clean(entry.namespace), clean(entry.name))
    elif entry.type.upper() != "JOB" and (entry.namespace or entry.name):
        raise msgspec.ValidationError("a DATASET target needs namespace and name")
    inputs: dict[str, list[ColumnInput]] = {}
    if entry.inputs is not None:
        inputs[""] = _lineage_inputs(entry.inputs)
    for field, given in (entry.fields or {}).items():
        inputs[clean(field)] = _lineage_inputs(given.inputs or [])
    return LineageEntry(target, inputs)


def _lineage_inputs(items: list[_LineageInput]) -> list[ColumnInput]:
    found = []
    for item in items:
        if not (item.namespace and item.name):
            continue  # an identity-less JOB only attaches transformations to the event's own job
        source: DatasetName | JobName
        if item.type.upper() == "JOB":
            source = job_name(clean(item.namespace), clean(item.name))
        else:
            source = normalised(clean(item.namespace), clean(item.name))
        made = tuple(_transformation(t) for t in item.transformations or [])
        found.append(ColumnInput(source, clean(item.field or ""), made))
    return found


def symlinks(body: bytes) -> list[Symlink]:
    """Other names of the dataset that carries the facet."""
    return [
        Symlink(normalised(clean(one.namespace), clean(one.name)), bounded(clean(one.type or "").upper()))
        for one in _symlinks.decode(body).identifiers or []
        if one.namespace.strip() and one.name.strip()
    ]


def nominal_time(body: bytes) -> tuple[dt.datetime | None, dt.datetime | None]:
    """The span the run is for. Raises msgspec.ValidationError for a text that is no time; one without a zone is UTC."""
    read = _nominal.decode(body)
    return _time(read.nominal_start_time), _time(read.nominal_end_time)


def _time(text: str | None) -> dt.datetime | None:
    if not text:
        return None
    try:
        time = dt.datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=dt.UTC)).astimezone(dt.UTC)
    except (ValueError, OverflowError) as error:
        raise msgspec.ValidationError(f"{text[:40]!r} is not an ISO 8601 time") from error


def data_source(body: bytes) -> tuple[str, str] | None:
    """Name and address of the source a dataset is in."""
    read = _data_source.decode(body)
    return (bounded(clean(read.name)), bounded(clean(read.uri or ""))) if read.name else None


def lifecycle(body: bytes) -> str | None:
    """What happened to the dataset as a whole: CREATE, DROP, OVERWRITE, …"""
    told = _lifecycle.decode(body).lifecycle_state_change
    return clean(told).upper() if told else None


def statistics(body: bytes) -> tuple[int | None, int | None, int | None]:
    """Rows, bytes and files that were written. What does not fit 63 bits is nobody's count and is None."""
    read = _statistics.decode(body)
    rows, size, files = (
        value if value is not None and 0 <= value < 2**63 else None
        for value in (read.row_count, read.size, read.file_count)
    )
    return rows, size, files


def subset(body: bytes) -> list[dict[str, str]]:
    """The parts of a dataset an input or output is about: partitions as their dimensions, locations as `{"location": …}`.

    Conditions that compare are kept in the log only: they name no part.
    """
    read = _subset.decode(body)
    found: list[dict[str, str]] = []
    for condition in (read.input_condition, read.output_condition):
        if condition is None:
            continue
        found += [{"location": clean(one)} for one in condition.locations or []]
        for partition in condition.partitions or []:
            if partition.dimensions:
                found.append({clean(k): clean(str(v)) for k, v in partition.dimensions.items()})
            elif partition.identifier:
                found.append({"partition": clean(partition.identifier)})
    return found


def _text(value: str | None) -> str | None:
    return None if value is None else clean(value)


def clean(text: str) -> str:
    """PostgreSQL's text cannot hold NUL."""
    return text.replace("\0", "�") if "\0" in text else text
