"""Decode the facets that tell lineage: `columnLineage` of a dataset, `lineage` of a job or a dataset, by the rules of `model.facets`."""

from typing import ClassVar

import msgspec

from headwater.model.facets import clean, clean_or_none
from headwater.model.lineage import ColumnInput, Transformation
from headwater.model.names import DatasetName, JobName, job_name, normalised
from headwater.model.parts import PartDecoder


class _Transformation(msgspec.Struct):
    type: str = "DIRECT"
    subtype: str | None = None
    description: str | None = None
    masking: bool | None = None


class _InputField(msgspec.Struct, rename="camel"):
    MAY_GO: ClassVar = ("transformations",)
    NEVER_GO: ClassVar = ("field",)

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
    MAY_GO: ClassVar = ("transformations",)
    NEVER_GO: ClassVar = ("namespace", "name", "field")

    type: str = "DATASET"
    namespace: str | None = None
    name: str | None = None
    field: str | None = None
    transformations: list[_Transformation] | None = None

    def __post_init__(self) -> None:
        if not (self.namespace and self.name) and not self.is_own_job:
            raise ValueError(f"a {self.type.upper()} input needs namespace and name")

    @property
    def is_own_job(self) -> bool:
        """True for a JOB without identity, which only attaches transformations to the event's own job."""
        return self.type.upper() == "JOB" and not self.namespace and not self.name


class _LineageInputs(msgspec.Struct):
    inputs: list[_LineageInput] | None = None


class _LineageEntry(msgspec.Struct):
    NEVER_GO: ClassVar = ("namespace", "name")

    type: str = "DATASET"
    namespace: str | None = None
    name: str | None = None
    inputs: list[_LineageInput] | None = None
    fields: dict[str, _LineageInputs] | None = None


class _JobLineageEntry(_LineageEntry):
    """An entry of a job's facet, which names its target; a JOB without identity is the event's own job."""

    def __post_init__(self) -> None:
        if not (self.namespace and self.name) and (self.namespace or self.name or self.type.upper() != "JOB"):
            raise ValueError(f"a {self.type.upper()} target needs namespace and name")


class _Lineage(msgspec.Struct):
    entries: list[_JobLineageEntry] | None = None


class LineageEntry(msgspec.Struct, frozen=True):
    """One target of an explicit lineage facet. `target`: None for the event's own job. `inputs`: target field ("" for the whole) to its inputs.

    `from_own_job`: an input is a JOB without identity, which is the event's own job.
    """

    target: DatasetName | JobName | None
    inputs: dict[str, list[ColumnInput]]
    from_own_job: bool = False


_column_lineage = PartDecoder(_ColumnLineage)
_lineage = PartDecoder(_Lineage)
_dataset_lineage = PartDecoder(_LineageEntry)


def column_lineage(body: bytes) -> dict[str, list[ColumnInput]]:
    """The inputs of each field; under the key "" those of the dataset as a whole."""
    read = _column_lineage.decode(body)
    inputs: dict[str, list[ColumnInput]] = {}
    for name, lineage in (read.fields or {}).items():
        old_style = _old_style(lineage)
        inputs[clean(name)] = [_input(item, old_style) for item in lineage.input_fields or []]
    if read.dataset:
        inputs[""] = [_input(item, None) for item in read.dataset]
    return inputs


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
    return _entry(_dataset_lineage.decode(body))


def _entry(entry: _LineageEntry) -> LineageEntry:
    target: DatasetName | JobName | None = None
    if entry.namespace and entry.name:
        place = job_name if entry.type.upper() == "JOB" else normalised
        target = place(clean(entry.namespace), clean(entry.name))
    listed = {} if entry.inputs is None else {"": entry.inputs}
    listed |= {clean(field): lineage.inputs or [] for field, lineage in (entry.fields or {}).items()}
    from_own_job = any(item.is_own_job for items in listed.values() for item in items)
    inputs = {name: [_source(item) for item in items if not item.is_own_job] for name, items in listed.items()}
    return LineageEntry(target, inputs, from_own_job)


def _source(item: _LineageInput) -> ColumnInput:
    assert item.namespace is not None
    assert item.name is not None
    place = job_name if item.type.upper() == "JOB" else normalised
    transformations = tuple(_transformation(t) for t in item.transformations or [])
    return ColumnInput(place(clean(item.namespace), clean(item.name)), clean(item.field or ""), transformations)
