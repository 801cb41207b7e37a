"""Decode the facets that tell lineage: `columnLineage` of a dataset, `lineage` of a job or a dataset, by the rules of `model.facets`."""

import msgspec

from headwater.model.facets import clean, clean_or_none
from headwater.model.lineage import ColumnInput, Transformation
from headwater.model.names import DatasetName, JobName, job_name, normalised


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


class LineageEntry(msgspec.Struct, frozen=True):
    """One target of an explicit lineage facet. `target`: None for the event's own job. `inputs`: target field ("" for the whole) to its inputs.

    `from_own_job`: an input is a JOB without identity, which is the event's own job.
    """

    target: DatasetName | JobName | None
    inputs: dict[str, list[ColumnInput]]
    from_own_job: bool = False


_column_lineage = msgspec.json.Decoder(_ColumnLineage)
_lineage = msgspec.json.Decoder(_Lineage)
_dataset_lineage = msgspec.json.Decoder(_LineageEntry)


def column_lineage(body: bytes) -> dict[str, list[ColumnInput]]:
    """The inputs of each field; under the key "" those of the dataset as a whole. Inputs that violate the schema are left out
    (`left_out_of_column_lineage`): the other columns are worth more than a whole facet. Raises DecodeError if nothing is left."""
    read, _ = _read_column_lineage(body)
    inputs: dict[str, list[ColumnInput]] = {}
    for name, lineage in (read.fields or {}).items():
        old_style = _old_style(lineage)
        inputs[clean(name)] = [_input(item, old_style) for item in lineage.input_fields or []]
    if read.dataset:
        inputs[""] = [_input(item, None) for item in read.dataset]
    return inputs


def left_out_of_column_lineage(body: bytes) -> list[str]:
    """Return the places of a columnLineage facet that violate its schema, each with the reason. Raises DecodeError as `column_lineage`."""
    return _read_column_lineage(body)[1]


def _read_column_lineage(body: bytes) -> tuple[_ColumnLineage, list[str]]:
    try:
        return _column_lineage.decode(body), []
    except msgspec.ValidationError as error:
        facet = msgspec.json.decode(body)
        left_out: list[str] = []
        if not isinstance(facet, dict):
            raise
        told = facet.get("fields")
        if told is not None and not isinstance(told, dict):
            left_out.append("fields: not an object")
        fields = {
            name: lineage
            for name, value in (told.items() if isinstance(told, dict) else ())
            if (lineage := _field(value, f"fields.{name}", left_out)) is not None
        }
        whole = _inputs(facet.get("dataset"), "dataset", left_out)
        if not whole and not any(lineage.input_fields for lineage in fields.values()):
            raise msgspec.ValidationError(str(error)) from error
        return _ColumnLineage(fields, whole), left_out


def _field(value: object, where: str, left_out: list[str]) -> _FieldLineage | None:
    if not isinstance(value, dict):
        left_out.append(f"{where}: not an object")
        return None
    inputs = _inputs(value.get("inputFields"), f"{where}.inputFields", left_out)
    kind, description = value.get("transformationType"), value.get("transformationDescription")
    return _FieldLineage(
        inputs, kind if isinstance(kind, str) else None, description if isinstance(description, str) else None
    )


def _inputs(values: object, where: str, left_out: list[str]) -> list[_InputField]:
    if values is not None and not isinstance(values, list):
        left_out.append(f"{where}: not an array")
    found = []
    for place, value in enumerate(values if isinstance(values, list) else ()):
        try:
            found.append(msgspec.convert(value, _InputField))
        except msgspec.ValidationError as error:
            left_out.append(f"{where}[{place}]: {error}")
    return found


def _old_style(lineage: _FieldLineage) -> Transformation | None:
    """Before version 1-1-0, columnLineage had one transformation for the whole field. Its type is free text, kept as sent."""
    kind = lineage.transformation_type
    if kind is None and lineage.transformation_description is None:
        return None
    masked = kind == "MASKED"
    return Transformation(
        "DIRECT",
        "TRANSFORMATION" if masked or not kind else clean(kind),
        masked,
        clean_or_none(lineage.transformation_description),
    )


def _input(item: _InputField, default: Transformation | None) -> ColumnInput:
    transformations = tuple(_transformation(t) for t in item.transformations or [])
    source = normalised(clean(item.namespace), clean(item.name))
    return ColumnInput(source, clean(item.field or ""), transformations or ((default,) if default else ()))


def _transformation(item: _Transformation) -> Transformation:
    return Transformation(
        clean(item.type).upper(), clean(item.subtype or "").upper(), bool(item.masking), clean_or_none(item.description)
    )


def job_lineage(body: bytes) -> list[LineageEntry]:
    """Entries of a LineageJobFacet (OpenLineage §1.5). `inputs: []` is not dropped: it means "no tracked upstream"."""
    return [_entry(entry) for entry in _lineage.decode(body).entries or []]


def dataset_lineage(body: bytes) -> LineageEntry:
    """The one entry of a LineageDatasetFacet; its target is the dataset that carries it, so `target` is None."""
    return _entry(_dataset_lineage.decode(body), of_dataset=True)


def _entry(entry: _LineageEntry, *, of_dataset: bool = False) -> LineageEntry:
    """`of_dataset`: the facet is a dataset's, which is the target.

    Raises ValidationError for a dataset without identity: without the whole facet every input feeds every output, with a part of it edges are lost.
    """
    target: DatasetName | JobName | None = None
    if entry.namespace and entry.name:
        if entry.type.upper() == "JOB":
            target = job_name(clean(entry.namespace), clean(entry.name))
        else:
            target = normalised(clean(entry.namespace), clean(entry.name))
    elif entry.type.upper() != "JOB" and (entry.namespace or entry.name or not of_dataset):
        raise msgspec.ValidationError("a DATASET target needs namespace and name")
    inputs: dict[str, list[ColumnInput]] = {}
    if entry.inputs is not None:
        inputs[""] = _lineage_inputs(entry.inputs)
    for field, lineage in (entry.fields or {}).items():
        inputs[clean(field)] = _lineage_inputs(lineage.inputs or [])
    items = [
        *(entry.inputs or []),
        *(item for lineage in (entry.fields or {}).values() for item in lineage.inputs or []),
    ]
    return LineageEntry(
        target, inputs, any(item.type.upper() == "JOB" and not (item.namespace and item.name) for item in items)
    )


def _lineage_inputs(items: list[_LineageInput]) -> list[ColumnInput]:
    inputs = []
    for item in items:
        if not (item.namespace and item.name):
            if item.type.upper() != "JOB":
                raise msgspec.ValidationError("a DATASET input needs namespace and name")
            continue  # a JOB without identity only attaches transformations to the event's own job
        source: DatasetName | JobName
        if item.type.upper() == "JOB":
            source = job_name(clean(item.namespace), clean(item.name))
        else:
            source = normalised(clean(item.namespace), clean(item.name))
        transformations = tuple(_transformation(t) for t in item.transformations or [])
        inputs.append(ColumnInput(source, clean(item.field or ""), transformations))
    return inputs
