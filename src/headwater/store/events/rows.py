"""Rows of the projections: one named tuple for each statement of `queries/events/projections.sql`, with its columns in order.

`at` and `digest` are the time and the digest of the event that reported the row; each statement's merge rule orders by them.
"""

import datetime as dt
import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from headwater.store.usage.measured import MEASUREMENTS

R = TypeVar("R", bound=tuple[Any, ...])
# `bytes` is also the name of a column.
Digest = bytes


class FacetBodyRow(NamedTuple):
    """A facet's JSON; its id is a digest of the body."""

    id: uuid.UUID
    body: bytes


class FacetSetRow(NamedTuple):
    """A member of a set of facets that events report together; the set's id is a digest of its members."""

    id: uuid.UUID
    name: str
    body_id: uuid.UUID
    deleted: bool


class ColumnSetRow(NamedTuple):
    """A set of column edges (`model.column_sets`); its id is a digest of the edges."""

    id: uuid.UUID
    edges: bytes


class NamespaceRow(NamedTuple):
    name: str
    at: dt.datetime


class SourceRow(NamedTuple):
    """A data source of a `dataSource` facet."""

    name: str
    url: str
    at: dt.datetime


class DatasetLinkRow(NamedTuple):
    """Another name of a dataset. `kind`: the type in the `symlinks` facet."""

    dataset_id: uuid.UUID
    alias_id: uuid.UUID
    kind: str
    at: dt.datetime


class DatasetRow(NamedTuple):
    id: uuid.UUID
    namespace: str
    name: str
    at: dt.datetime


class JobRow(NamedTuple):
    """`declared_at`: time of a JobEvent that declares lineage. `explicit_at`: time of an event with a `lineage` facet."""

    id: uuid.UUID
    namespace: str
    name: str
    at: dt.datetime
    digest: bytes
    parent_id: uuid.UUID | None = None
    declared_at: dt.datetime | None = None
    explicit_at: dt.datetime | None = None


class RunRow(NamedTuple):
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


class ReportRow(NamedTuple):
    """A run, or a declaration, that reported inputs or outputs of a job."""

    job_id: uuid.UUID
    report_id: uuid.UUID
    declaration: bool
    at: dt.datetime


class ReportDatasetRow(NamedTuple):
    """An input (`in`) or output (`out`) of a report. `declared`: not observed by a run."""

    job_id: uuid.UUID
    report_id: uuid.UUID
    dataset_id: uuid.UUID
    direction: str
    declared: bool
    at: dt.datetime


class ReportSubsetRow(NamedTuple):
    """A part of a dataset that a report read or wrote. `part`: JSON."""

    job_id: uuid.UUID
    report_id: uuid.UUID
    dataset_id: uuid.UUID
    direction: str
    part: str
    at: dt.datetime


class EdgeRow(NamedTuple):
    """An edge between a dataset and a job. `by_event`: a JobEvent or DatasetEvent declares it; None: a person drew it."""

    dataset_id: uuid.UUID
    job_id: uuid.UUID
    direction: str
    at: dt.datetime
    declared: bool
    by_event: bool | None


class DatasetVersionRow(NamedTuple):
    """What a run left of an output. `checkpoint`: it is final although the run may still fail."""

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


class CheckRow(NamedTuple):
    """The result of a check of data in one run. `direction`: `in`, `out`, or `run` (then `dataset_id` is the job's id).

    `result`: a `model.checks.Result`.
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


class OwnerFacetRow(NamedTuple):
    """A set of facets that an event reported for a dataset or job (`owner`)."""

    owner: uuid.UUID
    set_id: uuid.UUID
    at: dt.datetime
    digest: bytes


class ReportColumnRow(NamedTuple):
    """Column edges of a report into a target. The latest set in a slot applies. `origin`: a `model.lineage.Origin`."""

    job_id: uuid.UUID
    report_id: uuid.UUID
    target_id: uuid.UUID
    origin: int
    slot: uuid.UUID
    at: dt.datetime
    digest: bytes
    set_id: uuid.UUID


class AnnotationRow(NamedTuple):
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


class CorrelationItemRow(NamedTuple):
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


class CorrelationEdgeRow(NamedTuple):
    """`role`: how the child follows from the parent (`intake.events.correlation`)."""

    parent_id: uuid.UUID
    child_id: uuid.UUID
    role: int
    at: dt.datetime
    digest: bytes


class EdgeChangeRow(NamedTuple):
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
STATEMENTS: dict[type[tuple[Any, ...]], str] = {
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
    ReportDatasetRow: "upsert_report_datasets",
    ReportSubsetRow: "upsert_report_subsets",
    EdgeRow: "upsert_edges",
    DatasetVersionRow: "upsert_dataset_versions",
    CheckRow: "upsert_checks",
    OwnerFacetRow: "upsert_owner_facets",
    ReportColumnRow: "upsert_report_columns",
    AnnotationRow: "upsert_annotations",
    CorrelationItemRow: "upsert_correlation_items",
    CorrelationEdgeRow: "new_correlation_edges",
    EdgeChangeRow: "insert_edge_changes",
    **{measurement.row: f"replace_{measurement.table}" for measurement in MEASUREMENTS},
}
COLUMNS: dict[type[tuple[Any, ...]], tuple[str, ...]] = {
    row: row._fields for row in STATEMENTS if hasattr(row, "_fields")
} | {measurement.row: tuple(measurement.columns) for measurement in MEASUREMENTS}


class RowSet:
    """Rows by their type."""

    def __init__(self) -> None:
        self.rows: dict[type[tuple[Any, ...]], list[tuple[Any, ...]]] = defaultdict(list)

    def add(self, row: tuple[Any, ...]) -> None:
        self.rows[type(row)].append(row)

    def of(self, kind: type[R]) -> Sequence[R]:
        """The rows of one type."""
        return cast("Sequence[R]", self.rows.get(kind, ()))


def merge_rows(sets: Iterable[RowSet]) -> dict[type[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Concatenate the rows of many sets, by type."""
    merged: dict[type[tuple[Any, ...]], list[tuple[Any, ...]]] = {}
    for rows in sets:
        for kind, of_kind in rows.rows.items():
            merged.setdefault(kind, []).extend(of_kind)
    return merged
