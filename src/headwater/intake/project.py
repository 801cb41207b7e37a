"""All the meaning of OpenLineage: one event to the rows it stands for. Pure.

Every row is a fact that merges by itself: a union, an earliest or latest time, a highest rank, or "the latest event wins" with the
event's digest as tie-break. So the projection needs no earlier state, and any order and any repetition of events ends in the same
tables (`store/queries/projections.sql` holds the merge of each table; `tests/store/test_projection.py` shuffles, repeats and splits).
"""

import datetime as dt
import uuid
from collections import defaultdict
from typing import Any

import msgspec

from headwater.intake.column_sets import ColumnSets
from headwater.model import facets as known
from headwater.model import version
from headwater.model.event import DatasetReport, Event, Facets, Warning
from headwater.model.lineage import ColumnInput, Origin
from headwater.model.names import DatasetName, JobName
from headwater.model.run import RunState, state_of

_ZERO = uuid.UUID(int=0)
# The mark a manifest's datasets carry: they were declared, nobody has seen them read or written.
DECLARED = "headwater_declared"


class Changes:
    """Rows for each projection, in the column order of its query, and what could not be placed."""

    def __init__(self) -> None:
        self.rows: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
        self.warnings: list[Warning] = []

    def add(self, query: str, *row: Any) -> None:
        self.rows[query].append(row)

    def nodes(self) -> dict[uuid.UUID, str]:
        """What the event speaks of: row id to node id (`run:{uuid}` for runs)."""
        found = {row[0]: f"dataset:{row[1]}:{row[2]}" for row in self.rows.get("upsert_datasets", ())}
        found |= {row[0]: f"job:{row[1]}:{row[2]}" for row in self.rows.get("upsert_jobs", ())}
        return found | {row[0]: f"run:{row[0]}" for row in self.rows.get("upsert_runs", ())}


def project(event: Event, at: dt.datetime, digest: bytes) -> Changes:
    """The changes one event makes. `at` is its event time, or its time of arrival when it has none."""
    return _Projection(event, at, digest).run()


class _Projection:
    def __init__(self, event: Event, at: dt.datetime, digest: bytes) -> None:
        self.event, self.at, self.digest = event, at, digest
        self.changes = Changes()
        self.sets = ColumnSets(self.changes.add, self.dataset)

    def run(self) -> Changes:
        self.changes.warnings.extend(self.event.warnings)
        if self.event.kind == "dataset":
            self.dataset_event()
        elif self.event.kind == "job":
            self.job_event()
        else:
            self.run_event()
        return self.changes

    # -- the three kinds --

    def dataset_event(self) -> None:
        assert self.event.dataset is not None
        report = self.event.dataset
        dataset = self.dataset(report.name)
        self.facets(dataset, report.facets)
        content = {key: report.facets[key] for key in ("schema", "version") if key in report.facets}
        if content:
            identity = version.content_id(b"\0".join(key.encode() + bytes(content[key]) for key in sorted(content)))
            self.version_row(
                version.static_version_id(dataset, identity), dataset, None, None, report.facets, declared=False
            )
            self.facets(version.static_version_id(dataset, identity), report.facets)
        entry = self.decoded("dataset.facets.lineage", report.facets.get("lineage"), known.dataset_lineage)
        if entry is not None:
            # No job stands between: the dataset itself stands in the job's place, and the latest declaration replaces the earlier.
            told = version.declaration_id(self.digest)
            self.changes.add("upsert_reports", dataset, told, True, self.at)
            self.report_dataset(dataset, told, dataset, "out", declared=True)
            for source in {
                i.source for inputs in entry.inputs.values() for i in inputs if isinstance(i.source, DatasetName)
            }:
                self.report_dataset(dataset, told, self.dataset(source), "in", declared=True)
            self.columns(dataset, told, dataset, Origin.EXPLICIT, entry.inputs)

    def job_event(self) -> None:
        assert self.event.job is not None
        job = self.job(self.event.job)
        self.facets(job, self.event.job_facets)
        told = version.declaration_id(self.digest)
        if self.event.inputs or self.event.outputs or "lineage" in self.event.job_facets:
            self.changes.add("upsert_reports", job, told, True, self.at)
        for direction, reports in (("in", self.event.inputs), ("out", self.event.outputs)):
            for report in reports:
                dataset = self.dataset(report.name)
                self.facets(dataset, report.facets)
                self.report_dataset(job, told, dataset, direction, declared=True)
                if direction == "out":
                    self.column_lineage(job, told, dataset, report)
        self.explicit_lineage(job, told)

    def run_event(self) -> None:
        event = self.event
        assert event.run_id is not None
        assert event.job is not None
        parent = self.parent()
        job = self.job(event.job, parent=None if parent is None else version.job_id(parent.job))
        state = state_of(event.event_type) or RunState.OTHER
        parent_run = None if parent is None else version.run_id(parent.run_id)[0]
        self.changes.add(
            "upsert_runs", event.run_id, job, event.external_run_id, int(state), self.at, self.digest,
            self.at if event.event_type == "START" else None, self.at if state.terminal else None,
            parent_run, None if parent is None else version.job_id(parent.job),
        )  # fmt: skip
        self.facets(version.run_key(event.run_id, job), event.run_facets)
        self.facets(job, event.job_facets)
        self.facets(version.run_job_key(event.run_id, job), event.job_facets)
        if event.inputs or event.outputs or "lineage" in event.job_facets:
            self.changes.add("upsert_reports", job, event.run_id, False, self.at)
        for direction, reports in (("in", event.inputs), ("out", event.outputs)):
            for report in reports:
                self.run_dataset(job, event.run_id, direction, report)
        self.explicit_lineage(job, event.run_id)

    # -- parts --

    def run_dataset(self, job: uuid.UUID, run: uuid.UUID, direction: str, report: DatasetReport) -> None:
        dataset = self.dataset(report.name)
        declared = DECLARED in report.facets
        self.facets(dataset, report.facets)
        self.facets(version.run_dataset_key(run, job, dataset, direction), report.here)
        self.report_dataset(job, run, dataset, direction, declared=declared)
        if direction == "out":
            external = self.external_version(report.facets)
            made = version.dataset_version_id(dataset, run, job, external)
            self.version_row(made, dataset, run, job, report.facets, declared=declared)
            self.facets(made, report.facets)
            self.column_lineage(job, run, dataset, report)
        elif "version" in report.facets:
            # Which version was read is the input's own fact in this run.
            self.facets(version.run_dataset_key(run, job, dataset, direction), {"version": report.facets["version"]})

    def parent(self) -> known.Parent | None:
        """The parent run, with rows that stand for it (and for the root) until its own events arrive."""
        told = self.decoded("run.facets.parent", self.event.run_facets.get("parent"), known.parent)
        if told is None:
            return None
        parent: known.Parent = told[0]
        root: known.Parent | None = told[1]
        for relative in (parent, root):
            if relative is not None and (relative is parent or relative.run_id != parent.run_id):
                run, _ = version.run_id(relative.run_id)
                self.changes.add(
                    "upsert_runs", run, self.job(relative.job), None, int(RunState.NEW), self.at, self.digest, None, None, None, None
                )  # fmt: skip
        assert self.event.job is not None
        if version.run_id(parent.run_id)[0] == self.event.run_id and parent.job == self.event.job:
            self.warn("own_parent", "run.facets.parent", "the run names itself as its parent; ignored")
            return None
        return parent

    def dataset(self, name: DatasetName) -> uuid.UUID:
        made = version.dataset_id(name)
        self.changes.add("upsert_datasets", made, name.namespace, name.name, self.at)
        return made

    def job(self, name: JobName, parent: uuid.UUID | None = None) -> uuid.UUID:
        made = version.job_id(name)
        self.changes.add(
            "upsert_jobs", made, name.namespace, name.name, self.at, self.digest, parent if parent != made else None
        )
        return made

    def report_dataset(
        self, job: uuid.UUID, report: uuid.UUID, dataset: uuid.UUID, direction: str, *, declared: bool
    ) -> None:
        self.changes.add("upsert_report_datasets", job, report, dataset, direction, declared, self.at)
        self.changes.add("upsert_edges", dataset, job, direction, self.at)

    def version_row(
        self,
        made: uuid.UUID,
        dataset: uuid.UUID,
        run: uuid.UUID | None,
        job: uuid.UUID | None,
        facets: Facets,
        *,
        declared: bool,
    ) -> None:
        self.changes.add(
            "upsert_dataset_versions", made, dataset, run, job, self.external_version(facets), declared, self.at
        )

    def external_version(self, facets: Facets) -> str:
        return self.decoded("facets.version", facets.get("version"), known.external_version) or ""

    def facets(self, owner: uuid.UUID, facets: Facets) -> None:
        for name, raw in facets.items():
            body = bytes(raw)
            made = version.content_id(body)
            self.changes.add("insert_facet_bodies", made, body)
            self.changes.add("upsert_facets", owner, name, self.at, self.digest, made, _is_deleted(body))
            if name == "schema":
                for position, field in enumerate(self.decoded("facets.schema", raw, known.schema) or []):
                    self.changes.add("insert_schema_fields", made, position, field.name, field.type, field.description)

    def column_lineage(self, job: uuid.UUID, report: uuid.UUID, dataset: uuid.UUID, told: DatasetReport) -> None:
        lineage = self.decoded("facets.columnLineage", told.facets.get("columnLineage"), known.column_lineage)
        if lineage is not None:
            self.columns(job, report, dataset, Origin.COLUMN_LINEAGE, lineage, slot=_ZERO)

    def explicit_lineage(self, job: uuid.UUID, report: uuid.UUID) -> None:
        for entry in self.decoded("job.facets.lineage", self.event.job_facets.get("lineage"), known.job_lineage) or []:
            if isinstance(entry.target, DatasetName):
                target = self.dataset(entry.target)
                self.report_dataset(job, report, target, "out", declared=False)
            else:
                target = job if entry.target is None else self.job(entry.target)
            for source in {
                i.source for inputs in entry.inputs.values() for i in inputs if isinstance(i.source, DatasetName)
            }:
                self.report_dataset(job, report, self.dataset(source), "in", declared=False)
            self.columns(job, report, target, Origin.EXPLICIT, entry.inputs)

    def columns(
        self,
        job: uuid.UUID,
        report: uuid.UUID,
        target: uuid.UUID,
        origin: Origin,
        inputs: dict[str, list[ColumnInput]],
        slot: uuid.UUID | None = None,
    ) -> None:
        made = self.sets.add(inputs, self.job)
        self.changes.add(
            "upsert_report_columns", job, report, target, int(origin), slot or made, self.at, self.digest, made
        )

    def decoded(self, where: str, raw: msgspec.Raw | None, decode: Any) -> Any:
        """The facet's values, or None when it is absent, deleted or not of its shape (with a warning)."""
        if raw is None or _is_deleted(bytes(raw)):
            return None
        try:
            return decode(bytes(raw))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            self.warn(
                "facet_not_understood", where, f"{where}: {str(error)[:300]}; kept, but nothing was derived from it"
            )
            return None

    def warn(self, code: str, where: str, message: str) -> None:
        found = Warning(code, where, message)
        if found not in self.changes.warnings:
            self.changes.warnings.append(found)


class _Tombstone(msgspec.Struct):
    deleted: Any = msgspec.field(name="_deleted", default=False)


_tombstone = msgspec.json.Decoder(_Tombstone)


def _is_deleted(body: bytes) -> bool:
    """`_deleted: true` removes the facet (jobs and datasets; OpenLineage §1.1)."""
    if b"_deleted" not in body:
        return False
    try:
        return _tombstone.decode(body).deleted is True
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
