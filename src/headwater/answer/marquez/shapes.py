"""The shapes of Marquez's API: its keys, its times, null for what is absent.

Times are text, as Java's `Instant` writes them. No shape knows where its values come from.
"""

import datetime as dt
from typing import Any

import msgspec

Facets = dict[str, msgspec.Raw]


class Shape(msgspec.Struct, rename="camel", kw_only=True, gc=False):
    """A shape with Marquez's camel case; every key is always there. Shapes never hold themselves: nothing for the collector to find."""


class Namespace(Shape):
    name: str
    created_at: str
    updated_at: str
    owner_name: str
    description: str | None
    is_hidden: bool


class Namespaces(Shape):
    namespaces: list[Namespace]


class Source(Shape):
    type: str
    name: str
    created_at: str
    updated_at: str
    connection_url: str
    description: str | None


class Sources(Shape):
    sources: list[Source]


class Tag(Shape):
    name: str
    description: str | None


class Tags(Shape):
    tags: list[Tag]


class Field(Shape):
    name: str
    type: str | None
    tags: list[str]
    description: str | None


class DatasetId(msgspec.Struct, frozen=True, order=True, kw_only=True, gc=False):
    namespace: str
    name: str


class JobId(msgspec.Struct, frozen=True, order=True, kw_only=True, gc=False):
    namespace: str
    name: str


class DatasetVersionId(Shape):
    namespace: str
    name: str
    version: str


class JobVersionId(Shape):
    namespace: str
    name: str
    version: str


class InputDatasetVersion(Shape):
    dataset_version_id: DatasetVersionId
    facets: Facets


class OutputDatasetVersion(Shape):
    dataset_version_id: DatasetVersionId
    facets: Facets


class Run(Shape):
    id: str
    created_at: str
    updated_at: str
    nominal_start_time: str | None
    nominal_end_time: str | None
    state: str
    started_at: str | None
    ended_at: str | None
    duration_ms: int | None
    args: dict[str, str]
    job_version: JobVersionId | None
    input_dataset_versions: list[InputDatasetVersion]
    output_dataset_versions: list[OutputDatasetVersion]
    facets: Facets


class Runs(Shape):
    runs: list[Run]
    total_count: int


class RunFacets(Shape):
    run_id: str
    facets: Facets


class ColumnInput(Shape):
    namespace: str
    dataset: str
    field: str
    transformation_description: str | None
    transformation_type: str | None


class ColumnLineage(Shape):
    name: str
    input_fields: list[ColumnInput]
    transformation_description: str | None
    transformation_type: str | None


class Dataset(Shape):
    id: DatasetId
    type: str
    name: str
    physical_name: str
    created_at: str
    updated_at: str
    namespace: str
    source_name: str
    fields: list[Field]
    tags: list[str]
    last_modified_at: str | None
    last_lifecycle_state: str | None
    description: str | None
    current_version: str | None
    column_lineage: list[ColumnLineage] | None
    facets: Facets
    deleted: bool


class StreamDataset(Dataset):
    """A dataset of type STREAM says where its schema is."""

    schema_location: str | None


class Datasets(Shape):
    datasets: list[Dataset]
    total_count: int


class DatasetVersion(Shape):
    id: DatasetId
    type: str
    name: str
    physical_name: str
    created_at: str
    version: str
    namespace: str
    source_name: str
    fields: list[Field]
    tags: list[str]
    lifecycle_state: str | None
    description: str | None
    current_schema_version: str | None
    created_by_run: Run | None
    facets: Facets


class StreamVersion(DatasetVersion):
    schema_location: str | None


class DatasetVersions(Shape):
    versions: list[DatasetVersion]
    total_count: int


class Job(Shape):
    id: JobId
    type: str
    name: str
    simple_name: str
    parent_job_name: str | None
    parent_job_uuid: str | None
    created_at: str
    updated_at: str
    namespace: str
    inputs: list[DatasetId]
    outputs: list[DatasetId]
    location: str | None
    description: str | None
    latest_run: Run | None
    latest_runs: list[Run] | None
    facets: Facets
    current_version: str | None
    labels: list[str]
    tags: list[str]


class Jobs(Shape):
    jobs: list[Job]
    total_count: int


class JobVersion(Shape):
    id: JobVersionId
    name: str
    created_at: str
    version: str
    namespace: str
    location: str | None
    inputs: list[DatasetId]
    outputs: list[DatasetId]
    latest_run: Run | None


class JobVersions(Shape):
    versions: list[JobVersion]


class Edge(Shape):
    origin: str
    destination: str


class JobData(Shape):
    id: JobId
    type: str
    name: str
    simple_name: str
    parent_job_name: str | None
    parent_job_uuid: str | None
    current_run_uuid: str | None
    created_at: str
    updated_at: str
    namespace: str
    inputs: list[DatasetId]
    outputs: list[DatasetId]
    location: str | None
    description: str | None
    latest_run: Run | None


class DatasetData(Shape):
    id: DatasetId
    type: str
    name: str
    physical_name: str
    created_at: str
    updated_at: str
    namespace: str
    source_name: str
    fields: list[Field]
    tags: list[str]
    last_modified_at: str | None
    description: str | None
    last_lifecycle_state: str | None


class FieldInput(Shape):
    namespace: str
    dataset: str
    dataset_version: str | None
    field: str
    transformation_description: str | None
    transformation_type: str | None


class FieldData(Shape):
    namespace: str
    dataset: str
    dataset_version: str | None
    field: str
    field_type: str
    transformation_description: str | None
    transformation_type: str | None
    input_fields: list[FieldInput]


class Node(Shape):
    """`data` is a JobData or a DatasetData."""

    id: str
    type: str
    data: Any
    in_edges: list[Edge]
    out_edges: list[Edge]


class Lineage(Shape):
    graph: list[Node]


class FieldNode(Shape):
    id: str
    type: str
    data: FieldData
    in_edges: list[Edge]
    out_edges: list[Edge]


class ColumnGraph(Shape):
    graph: list[FieldNode]


class UpstreamJob(Shape):
    namespace: str
    name: str
    version: str | None


class UpstreamRunInfo(Shape):
    id: str
    start: str | None
    end: str | None
    status: str


class UpstreamInput(Shape):
    namespace: str
    name: str
    version: str
    produced_by_run_id: str | None


class UpstreamRun(Shape):
    job: UpstreamJob
    run: UpstreamRunInfo
    inputs: list[UpstreamInput]


class UpstreamRuns(Shape):
    runs: list[UpstreamRun]


class Events(Shape):
    events: list[msgspec.Raw]
    total_count: int


class LineageMetric(Shape):
    start_interval: str
    end_interval: str
    fail: int
    start: int
    complete: int
    abort: int


class IntervalMetric(Shape):
    start_interval: str
    end_interval: str
    count: int


class SearchResult(Shape):
    type: str
    name: str
    updated_at: str
    namespace: str
    node_id: str


class SearchResults(Shape):
    total_count: int
    results: list[SearchResult]


class Document(msgspec.Struct, kw_only=True):
    """A job or dataset as Marquez's search index holds it (its keys are half camel, half snake)."""

    run_id: str | None
    event_type: str | None = msgspec.field(name="eventType")
    name: str
    namespace: str
    facets: Facets


class JobDocument(Document, kw_only=True):
    type: str
    run_facets: Facets = msgspec.field(name="runFacets")


class DatasetDocument(Document, kw_only=True):
    input_facets: Facets = msgspec.field(name="inputFacets")
    output_facets: Facets = msgspec.field(name="outputFacets")


class JobHits(Shape):
    hits: list[JobDocument]
    highlights: list[dict[str, list[str]]]


class DatasetHits(Shape):
    hits: list[DatasetDocument]
    highlights: list[dict[str, list[str]]]


_WITH_MICROSECONDS = len("2020-02-22T22:42:42.000000")


def instant(time: dt.datetime) -> str:
    """Return a time as `2020-02-22T22:42:42Z`: UTC, with no, three or six digits of a second's fraction."""
    text = time.isoformat()
    if not text.endswith("+00:00"):
        text = time.astimezone(dt.UTC).isoformat()
    text = text[:-6]
    return f"{text[:-3]}Z" if len(text) == _WITH_MICROSECONDS and text.endswith("000") else f"{text}Z"


def maybe_instant(time: dt.datetime | None) -> str | None:
    return None if time is None else instant(time)


def zoned(time: dt.datetime) -> str:
    """Return a time as `2020-02-22T22:00Z`: as Java's `ZonedDateTime` writes it, seconds only if there are any."""
    text = instant(time)
    return text.replace(":00Z", "Z") if time.second == 0 and not time.microsecond else text
