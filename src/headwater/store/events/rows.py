"""Rows of the projections: one struct for each statement of `queries/events/projections.sql`, with its columns in order.

`at` and `digest` are the time and the digest of the event that reported the row; each statement's merge rule orders by them.
"""

import datetime as dt
import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, TypeVar, cast

import msgspec

from headwater.store.usage.measured import MEASUREMENTS, MeasuredRow

# `bytes` is also the name of a column.
Digest = bytes


class Row(msgspec.Struct, frozen=True, gc=False):
    """A row, by the names of its columns. A struct is made in a third of the time of a named tuple, and its tuple in one call."""


AnyRow: TypeAlias = Row | MeasuredRow
R = TypeVar("R", bound=AnyRow)


class FacetBodyRow(Row, frozen=True):
    """A facet's JSON; its id is a digest of the body."""

    id: uuid.UUID
    body: bytes


class FacetSetRow(Row, frozen=True):
    """A member of a set of facets that events report together. `id`: a digest of the members. `guess`: of the schema, see `model.guessed`."""

    id: uuid.UUID
    name: str
    body_id: uuid.UUID
    deleted: bool
    guess: int


class ColumnSetRow(Row, frozen=True):
    """A set of column edges (`model.column_sets`); its id is a digest of the edges."""

    id: uuid.UUID
    edges: bytes


class NamespaceRow(Row, frozen=True):
    name: str
    at: dt.datetime


class SourceRow(Row, frozen=True):
    """A data source of a `dataSource` facet."""

    name: str
    url: str
    at: dt.datetime


class DatasetLinkRow(Row, frozen=True):
    """Another name of a dataset. `kind`: the type in the `symlinks` facet."""

    dataset_id: uuid.UUID
    alias_id: uuid.UUID
    kind: str
    at: dt.datetime


class DatasetRow(Row, frozen=True):
    id: uuid.UUID
    namespace: str
    name: str
    at: dt.datetime


class JobRow(Row, frozen=True):
    """`declared_at`: time of a JobEvent that declares lineage. `explicit_at`: time of an event with a `lineage` facet."""

    id: uuid.UUID
    namespace: str
    name: str
    at: dt.datetime
    digest: bytes
    parent_id: uuid.UUID | None = None
    declared_at: dt.datetime | None = None
    explicit_at: dt.datetime | None = None


class RunRow(Row, frozen=True):
    """`external_id`: the run id as sent, if it is not a UUID. `state`: a `model.run.RunState`."""

    run_id: uuid.UUID
    job_id: uuid.UUID
    external_id: str | None
    state: int
    at: dt.datetime
    digest: bytes
    started_at: dt.datetime | None = None
    ended_at: dt.datetime | None = None
    parent_run_id: uuid.UUID | None = None
    parent_job_id: uuid.UUID | None = None
    nominal_start: dt.datetime | None = None
    nominal_end: dt.datetime | None = None
    user_name: str | None = None
    statement: str | None = None
    heartbeat_ms: int | None = None


class ReportRow(Row, frozen=True):
    """A run, or a declaration, that reported inputs or outputs of a job."""

    job_id: uuid.UUID
    report_id: uuid.UUID
    declaration: bool
    at: dt.datetime


class ReportSnapshotRow(Row, frozen=True):
    """A time at which a run stated all of a time window: what it stated before is replaced."""

    job_id: uuid.UUID
    report_id: uuid.UUID
    at: dt.datetime


class ReportDatasetRow(Row, frozen=True):
    """An input (`in`) or output (`out`) of a report. `declared`: not observed by a run."""

    job_id: uuid.UUID
    report_id: uuid.UUID
    dataset_id: uuid.UUID
    direction: str
    declared: bool
    at: dt.datetime


class ReportSubsetRow(Row, frozen=True):
    """A part of a dataset that a report read or wrote. `part`: JSON."""

    job_id: uuid.UUID
    report_id: uuid.UUID
    dataset_id: uuid.UUID
    direction: str
    part: str
    at: dt.datetime


class ReportStatementRow(Row, frozen=True):
    """A statement below a run of a dbt model. `job_id`, `report_id`: the model and its run. `body_id`: the statement's `sql` facet."""

    job_id: uuid.UUID
    report_id: uuid.UUID
    body_id: uuid.UUID
    at: dt.datetime


class EdgeRow(Row, frozen=True):
    """An edge between a dataset and a job. `by_event`: a JobEvent or DatasetEvent declares it; None: a person drew it."""

    dataset_id: uuid.UUID
    job_id: uuid.UUID
    direction: str
    at: dt.datetime
    declared: bool
    by_event: bool | None


class ReportForeignEdgeRow(Row, frozen=True):
    """An edge of another job that a report names. `job_id`: the job, or the dataset, that reports; `edge_job_id`: the job of the edge."""

    job_id: uuid.UUID
    report_id: uuid.UUID
    dataset_id: uuid.UUID
    edge_job_id: uuid.UUID
    direction: str
    at: dt.datetime


class ForeignEdgeRow(Row, frozen=True):
    """An edge between a dataset and a job that another reporter names. `dataset_id` is a job's id where that job feeds the other one."""

    dataset_id: uuid.UUID
    job_id: uuid.UUID
    direction: str
    reporter_id: uuid.UUID
    at: dt.datetime
    by_event: bool


class DatasetVersionRow(Row, frozen=True):
    """The version that a run wrote of an output. `checkpoint`: it is final although the run may still fail."""

    id: uuid.UUID
    dataset_id: uuid.UUID
    run_id: uuid.UUID | None
    job_id: uuid.UUID | None
    external_version: str
    declared: bool
    at: dt.datetime
    digest: Digest
    schema_id: uuid.UUID | None
    lifecycle: str | None
    rows: int | None
    bytes: int | None
    files: int | None
    checkpoint: bool


class CheckRow(Row, frozen=True):
    """The result of a check of data in one run. `direction`: `in`, `out`, or `run` (then `dataset_id` is the job's id); `event`: without a run (then
    `run_id` is the event's id and `job_id` the dataset's). `result`: a `model.checks.Result`. `version`, `part`: what such an event names.
    """

    run_id: uuid.UUID
    job_id: uuid.UUID
    direction: str
    dataset_id: uuid.UUID
    name: str
    field: str
    at: dt.datetime
    digest: bytes
    result: int
    detail: str
    version: str = ""
    part: str = ""


class RunLabelRow(Row, frozen=True):
    """A label of a run, see `model.run_labels`."""

    run_id: uuid.UUID
    job_id: uuid.UUID
    name: str
    value: str


class JobDependencyRow(Row, frozen=True):
    """A job that has to run before another, as a run of the job `reporter_id` says. `kind`: the producer's word for it."""

    reporter_id: uuid.UUID
    upstream_id: uuid.UUID
    downstream_id: uuid.UUID
    kind: str
    at: dt.datetime


class OwnerFacetRow(Row, frozen=True):
    """A set of facets that an event reported for a dataset or job (`owner`)."""

    owner: uuid.UUID
    set_id: uuid.UUID
    at: dt.datetime
    digest: bytes


class ReportColumnRow(Row, frozen=True):
    """Column edges of a report into a target. The latest set in a slot applies. `origin`: a `model.lineage.Origin`."""

    job_id: uuid.UUID
    report_id: uuid.UUID
    target_id: uuid.UUID
    origin: int
    slot: uuid.UUID
    at: dt.datetime
    digest: bytes
    set_id: uuid.UUID


class AnnotationRow(Row, frozen=True):
    """A fact that a person stated about a target. `value`: JSON. `owner`, `field`: the node, and its column or an empty text."""

    target: str
    kind: str
    key: str
    value: str
    deleted: bool
    author: str
    at: dt.datetime
    change_id: uuid.UUID
    owner: uuid.UUID | None
    field: str


class CorrelationItemRow(Row, frozen=True):
    """A run, item or content of correlated events (`intake.events.correlation`)."""

    id: uuid.UUID
    kind: str
    dataset_id: uuid.UUID | None
    run_id: uuid.UUID | None
    job_id: uuid.UUID | None
    external_version: str | None
    part: str | None
    bytes: int | None
    at: dt.datetime
    digest: Digest


class CorrelationEdgeRow(Row, frozen=True):
    """`role`: how the child follows from the parent (`intake.events.correlation`)."""

    parent_id: uuid.UUID
    child_id: uuid.UUID
    role: int
    at: dt.datetime
    digest: bytes


class EdgeChangeRow(Row, frozen=True):
    """An edge that a person drew or removed. `set_id`: its column edges."""

    job_id: uuid.UUID
    dataset_id: uuid.UUID
    direction: str
    change_id: uuid.UUID
    at: dt.datetime
    drawn: bool
    set_id: uuid.UUID | None


# The statement of each row, in the order in which the statements run. It is the same in every transaction, with rows sorted inside each
# statement, so that two writers never wait for each other in a circle.
STATEMENTS: dict[type[AnyRow], str] = {
    FacetBodyRow: "insert_facet_bodies",
    FacetSetRow: "insert_facet_sets",
    ColumnSetRow: "insert_column_sets",
    NamespaceRow: "upsert_namespaces",
    SourceRow: "upsert_sources",
    DatasetLinkRow: "upsert_dataset_links",
    DatasetRow: "upsert_datasets",
    JobRow: "upsert_jobs",
    RunRow: "upsert_runs",
    ReportRow: "upsert_reports",
    ReportSnapshotRow: "insert_report_snapshots",
    ReportDatasetRow: "upsert_report_datasets",
    ReportSubsetRow: "upsert_report_subsets",
    ReportStatementRow: "upsert_report_statements",
    EdgeRow: "upsert_edges",
    ReportForeignEdgeRow: "upsert_report_foreign_edges",
    ForeignEdgeRow: "upsert_foreign_edges",
    DatasetVersionRow: "upsert_dataset_versions",
    CheckRow: "upsert_checks",
    RunLabelRow: "insert_run_labels",
    JobDependencyRow: "upsert_job_dependencies",
    OwnerFacetRow: "upsert_owner_facets",
    ReportColumnRow: "upsert_report_columns",
    AnnotationRow: "upsert_annotations",
    CorrelationItemRow: "upsert_correlation_items",
    CorrelationEdgeRow: "new_correlation_edges",
    EdgeChangeRow: "insert_edge_changes",
    **{measurement.row: f"replace_{measurement.table}" for measurement in MEASUREMENTS},
}
COLUMNS: dict[type[AnyRow], tuple[str, ...]] = {
    row: row.__struct_fields__ for row in STATEMENTS if issubclass(row, Row)
} | {measurement.row: tuple(measurement.columns) for measurement in MEASUREMENTS}


class RowSet:
    """Rows by their type."""

    def __init__(self) -> None:
        self.rows: dict[type[AnyRow], list[AnyRow]] = defaultdict(list)

    def add(self, row: AnyRow) -> None:
        self.rows[type(row)].append(row)

    def of(self, kind: type[R]) -> Sequence[R]:
        """The rows of one type."""
        return cast("Sequence[R]", self.rows.get(cast("type[AnyRow]", kind), ()))


def merge_rows(sets: Iterable[RowSet]) -> dict[type[AnyRow], list[AnyRow]]:
    """Concatenate the rows of many sets, by type."""
    merged: dict[type[AnyRow], list[AnyRow]] = {}
    for rows in sets:
        for kind, of_kind in rows.rows.items():
            merged.setdefault(kind, []).extend(of_kind)
    return merged


def as_tuples(rows: Sequence[AnyRow]) -> Sequence[tuple[Any, ...]]:
    """Rows of one type as tuples of their columns, in the order of `COLUMNS`."""
    if rows and isinstance(rows[0], Row):
        return [*map(msgspec.structs.astuple, cast("Sequence[Row]", rows))]
    return cast("Sequence[MeasuredRow]", rows)
