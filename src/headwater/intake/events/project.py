"""Project one OpenLineage event to database rows. Pure: no I/O, and no state between events.

Everything that Headwater derives from an event is derived here. `_Projection` handles the three kinds of event in `project_run_event`,
`project_job_event` and `project_dataset_event`; each `add_…` method writes the rows of one concept.

Every row merges with the stored row by a rule that does not depend on order: a union, the earliest or latest time, the highest rank, or
"the latest event wins" with the event's digest as tie-break. So events may arrive in any order and be repeated; the tables end up the same.
`store/queries/events/projections.sql` holds the merge rule of each table, `tests/store/events/test_projection.py` shuffles, repeats and splits
events. Run facets are not stored a second time: a reader of a run's facets reads the run's few events from the log.
"""

import datetime as dt
import uuid
from collections.abc import Callable
from typing import Any

import msgspec

from headwater.intake.events import checks, explicit, measured, related, written
from headwater.intake.events.changes import Changes
from headwater.intake.events.correlation import STEP, Correlation, has_correlation
from headwater.intake.events.facets import DecodedFacets, FacetDecoder, describe_left_out, is_deleted, stored_part
from headwater.intake.events.parsed_sql import add_parsed_edges
from headwater.intake.events.spelling import Spellings
from headwater.model import facets as facet_values
from headwater.model import version
from headwater.model.checks import assertions_facet
from headwater.model.column_sets import ColumnSet
from headwater.model.event import DatasetReport, Event, Facets, Warning
from headwater.model.heartbeat import heartbeat_ms
from headwater.model.identity import Identity
from headwater.model.lineage import Origin
from headwater.model.names import DatasetName, JobName
from headwater.model.run import RunState, state_of
from headwater.model.user import user_of
from headwater.store.events import rows

# The slot of a report's columnLineage facet: the latest facet replaces the earlier one. Explicit lineage has a slot for each column set.
_COLUMN_LINEAGE_SLOT = uuid.UUID(int=0)
# Facet of a dataset that a manifest declares and no run has read or written yet.
DECLARED = "headwater_declared"
# Facets of a DatasetEvent that make a version: another body, another version.
_VERSIONED = ("schema", "schemaLocation", "version")
# Facet of a run that was created and has not started.
ANNOUNCED = "headwater_announced"

# Returns True if a content-addressed row (its type, its id) is stored already and need not be written again.
Committed = Callable[[type, uuid.UUID], bool]


class Projector:
    """Projects events under one set of identity rules. `committed` only saves rows that are stored already; it changes nothing else."""

    def __init__(self, identity: Identity | None = None, committed: Committed = lambda _row, _id: False) -> None:
        self.decoder = FacetDecoder(identity or Identity())
        self._committed = committed

    def __call__(self, event: Event, at: dt.datetime, digest: bytes) -> Changes:
        """Project one event. `at` is its event time, or its time of arrival if it has none; `digest` identifies it in the log."""
        return _Projection(event, at, digest, self.decoder, self._committed).run()


class _Projection:
    """The projection of one event.

    A *report* is what one run, or one declaration (a JobEvent or DatasetEvent), states about a job's inputs and outputs. Its `report_id` is
    the id of the run or the declaration. `static` marks lineage that a declaration states, not a run.
    """

    def __init__(
        self, event: Event, at: dt.datetime, digest: bytes, decoder: FacetDecoder, committed: Committed
    ) -> None:
        self.event, self.at, self.digest, self.decoder, self.committed = event, at, digest, decoder, committed
        self.changes = Changes()
        self.spellings = Spellings(event, decoder)
        self.add = self.changes.add

    def run(self) -> Changes:
        self.changes.warnings.extend(self.event.warnings)
        if self.event.kind == "dataset":
            self.project_dataset_event()
        elif self.event.kind == "job":
            self.project_job_event()
        else:
            self.project_run_event()
        add_parsed_edges(self.event, self.decoder, self.add, self.add_place, self.warn, self.at)
        return self.changes

    # -- the three kinds of event --

    def project_run_event(self) -> None:
        """RunEvent: the run, its job and its parent run; the inputs it read, and a version of each output it wrote."""
        event = self.event
        assert event.run_id is not None
        assert event.job is not None
        parent = self.add_parent_runs()
        parent_job = None if parent is None else version.job_id(parent.job)
        explicit_too = "lineage" in event.job_facets
        job = self.add_job(event.job, parent=parent_job, explicit=explicit_too)
        self.add_run(event.run_id, job, parent, parent_job)
        self.add_job_facets(job)
        if event.inputs or event.outputs or explicit_too:
            related.add_report(self, event.run_id, job)
        correlation = Correlation(self.add, self.warn_not_understood, event.run_id, job, self.at, self.digest)
        told = correlation if has_correlation(event) else None
        for direction, reports in (("in", event.inputs), ("out", event.outputs)):
            for report in reports:
                self.add_run_dataset(job, event.run_id, direction, report, told)
        checks.add_run_checks(self, event.run_id, job)
        related.add_run_relations(self, event.run_id, job)
        explicit.add_job_lineage(self, job, event.run_id, static=False)
        if STEP in event.run_facets:
            for cause in correlation.add_parents(bytes(event.run_facets[STEP])):
                if cause.run is not None and cause.job is not None:
                    self.add_placeholder_run(cause.run, cause.job)

    def project_job_event(self) -> None:
        """JobEvent: the job and its facets; the inputs and outputs that it declares, without a run."""
        assert self.event.job is not None
        has_explicit_lineage = "lineage" in self.event.job_facets
        declares_lineage = bool(self.event.inputs or self.event.outputs or has_explicit_lineage)
        job = self.add_job(self.event.job, declared=declares_lineage, explicit=has_explicit_lineage)
        self.add_job_facets(job)
        declaration = version.declaration_id(self.digest)
        if declares_lineage:
            self.add(rows.ReportRow(job, declaration, True, self.at))
        for direction, reports in (("in", self.event.inputs), ("out", self.event.outputs)):
            for report in reports:
                dataset, part = self.add_dataset(report.name)
                facets = self.add_dataset_facets(dataset, report.facets)
                self.add_edge(job, declaration, dataset, direction, declared=True, static=True)
                self.add_subsets(job, declaration, dataset, direction, part, report.io_facets)
                related.add_dataset_relations(self, job, declaration, dataset, report, direction)
                if direction == "out":
                    self.add_column_lineage(job, declaration, dataset, report, facets, static=True)
        explicit.add_job_lineage(self, job, declaration, static=True)

    def project_dataset_event(self) -> None:
        """DatasetEvent: the dataset and its facets; a version, if the event has a schema or a version; its lineage, and the name it had before."""
        assert self.event.dataset is not None
        report = self.event.dataset
        dataset, part = self.add_dataset(report.name)
        facets = self.add_dataset_facets(dataset, report.facets)
        if (assertions := assertions_facet(report.facets)) is not None:
            names = self.external_version(facets, report), stored_part(part) if part else ""
            checks.add_assertions(self, checks.event_subject(self.digest, dataset, *names), assertions)
        content = {key: report.facets[key] for key in _VERSIONED if key in report.facets}
        if content:
            content_id = version.content_id(b"\0".join(key.encode() + bytes(content[key]) for key in sorted(content)))
            version_id = version.static_version_id(dataset, content_id)
            self.add_dataset_version(version_id, dataset, None, None, report, facets, declared=False)
        entry = self.decode("dataset.facets.lineage", report.facets.get("lineage"), "dataset_lineage")
        earlier = related.earlier_places(self, report, dataset)
        if entry is None and facets.columns is None and not earlier:
            return  # A declaration is a report; the dataset's own id takes the job's place.
        declaration = version.declaration_id(self.digest)
        self.add(rows.ReportRow(dataset, declaration, True, self.at))
        self.add_edge(dataset, declaration, dataset, "out", declared=True, static=True)
        for one in earlier:
            self.add_edge(dataset, declaration, one, "in", declared=True, static=True)
        self.add_column_lineage(dataset, declaration, dataset, report, facets, static=True)
        if entry is not None:
            explicit.add_dataset_lineage(self, dataset, declaration, entry, report.name)

    # -- runs and jobs --

    def add_run(
        self, run_id: uuid.UUID, job: uuid.UUID, parent: facet_values.Parent | None, parent_job: uuid.UUID | None
    ) -> None:
        event = self.event
        state = state_of(event.event_type) or RunState.OTHER
        if event.event_type is None and ANNOUNCED in event.run_facets:
            state = RunState.NEW
        nominal_times = self.decode("run.facets.nominalTime", event.run_facets.get("nominalTime"), "nominal_time")
        nominal_start, nominal_end = nominal_times or (None, None)
        self.add(
            rows.RunRow(
                run_id,
                job,
                event.external_run_id,
                int(state),
                self.at,
                self.digest,
                started_at=self.at if event.event_type == "START" else None,
                ended_at=self.at if state.terminal else None,
                parent_run_id=None if parent is None else version.run_id(parent.run_id)[0],
                parent_job_id=parent_job,
                nominal_start=nominal_start,
                nominal_end=nominal_end,
                user_name=user_of(event.run_facets),
                statement=self.decode("job.facets.sql", event.job_facets.get("sql"), "statement"),
                heartbeat_ms=heartbeat_ms(event.run_facets),
            )
        )

    def add_parent_runs(self) -> facet_values.Parent | None:
        """Add placeholders for the parent run and the root run, and return the parent. A run that names itself as its parent has none."""
        references = self.decode("run.facets.parent", self.event.run_facets.get("parent"), "parent")
        if references is None:
            return None
        assert self.event.job is not None
        parent = facet_values.parent_of_task(references[0], self.event.job)
        root: facet_values.Parent | None = references[1]
        for ancestor in (parent, root):
            if ancestor is not None and (ancestor is parent or ancestor.run_id != parent.run_id):
                self.add_placeholder_run(version.run_id(ancestor.run_id)[0], ancestor.job)
        if version.run_id(parent.run_id)[0] == self.event.run_id and parent.job == self.event.job:
            self.warn("own_parent", "run.facets.parent", "the run names itself as its parent; ignored")
            return None
        return parent

    def add_placeholder_run(self, run: uuid.UUID, job: JobName) -> None:
        """Add a run that another event refers to, in state NEW until its own events."""
        self.add(rows.RunRow(run, self.add_job(job), None, int(RunState.NEW), self.at, self.digest))

    def add_job(
        self, name: JobName, parent: uuid.UUID | None = None, *, declared: bool = False, explicit: bool = False
    ) -> uuid.UUID:
        """Add a job and return its id. `declared`: a JobEvent declares its lineage; `explicit`: it has a `lineage` facet."""
        job = version.job_id(name)
        self.add(
            rows.JobRow(
                job,
                name.namespace,
                name.name,
                self.at,
                self.digest,
                parent_id=parent if parent != job else None,
                declared_at=self.at if declared else None,
                explicit_at=self.at if explicit else None,
            )
        )
        self.changes.add_namespace(name.namespace, self.at)
        return job

    # -- datasets, edges and versions --

    def add_run_dataset(
        self, job: uuid.UUID, run: uuid.UUID, direction: str, report: DatasetReport, correlation: Correlation | None
    ) -> None:
        """Add one input or output of a run; for an output, also its version and column lineage."""
        (dataset, part), declared = self.add_dataset(report.name), DECLARED in report.facets
        facets = self.add_dataset_facets(dataset, report.facets, read=direction == "in")
        if correlation is not None:
            correlation.add_dataset(direction, dataset, part, facets.external_version, report.io_facets)
        self.add_edge(job, run, dataset, direction, declared=declared, static=False)
        for given in (report.facets, report.io_facets):
            if (assertions := assertions_facet(given)) is not None:
                checks.add_assertions(self, checks.Subject(run, job, direction, dataset), assertions)
        self.add_subsets(job, run, dataset, direction, part, report.io_facets)
        related.add_dataset_relations(self, job, run, dataset, report, direction)
        if direction == "out":
            version_id = version.dataset_version_id(dataset, run, job, self.external_version(facets, report))
            self.add_dataset_version(version_id, dataset, run, job, report, facets, declared=declared)
            self.add_column_lineage(job, run, dataset, report, facets, static=False)

    def add_dataset(self, name: DatasetName) -> tuple[uuid.UUID, dict[str, str]]:
        """Add the dataset that a reported name refers to. Returns its id, and the partition that was folded out of the name."""
        placed = self.decoder.identity.place(name)
        self.add(rows.DatasetRow(placed.id, placed.name.namespace, placed.name.name, self.at))
        self.changes.add_namespace(placed.name.namespace, self.at)
        return placed.id, dict(placed.part)

    def add_edge(
        self, job: uuid.UUID, report_id: uuid.UUID, dataset: uuid.UUID, direction: str, *, declared: bool, static: bool
    ) -> None:
        """Add a dataset to a report, and the edge between dataset and job. `direction`: `in` or `out`. `declared`: not observed by a run."""
        self.add(rows.ReportDatasetRow(job, report_id, dataset, direction, declared, self.at))
        self.add(rows.EdgeRow(dataset, job, direction, self.at, declared, static))

    def add_subsets(
        self,
        job: uuid.UUID,
        report_id: uuid.UUID,
        dataset: uuid.UUID,
        direction: str,
        part: dict[str, str],
        io_facets: Facets,
    ) -> None:
        """Add the parts of the dataset that were read or written: the partition in its name, and those of a `subset` facet."""
        for dimensions in [part] * bool(part) + (self.decode("subset", io_facets.get("subset"), "subset") or []):
            self.add(rows.ReportSubsetRow(job, report_id, dataset, direction, stored_part(dimensions), self.at))

    def add_dataset_version(
        self,
        version_id: uuid.UUID,
        dataset: uuid.UUID,
        run: uuid.UUID | None,
        job: uuid.UUID | None,
        report: DatasetReport,
        facets: DecodedFacets,
        *,
        declared: bool,
    ) -> None:
        row_count, size, files = written.amounts(self.decode, report.io_facets)
        self.add(
            rows.DatasetVersionRow(
                version_id,
                dataset,
                run,
                job,
                self.external_version(facets, report),
                declared,
                self.at,
                self.digest,
                schema_id=facets.schema_id,
                lifecycle=facets.lifecycle,
                rows=row_count,
                bytes=size,
                files=files,
                checkpoint=run is not None and written.is_checkpoint(self.event),
            )
        )

    def external_version(self, facets: DecodedFacets, report: DatasetReport) -> str:
        return facets.external_version or written.version_name(self.decode, report)

    # -- facets --

    def add_dataset_facets(self, dataset: uuid.UUID, facets: Facets, *, read: bool = False) -> DecodedFacets:
        """Store a dataset's facets (`read`: of one that a run read) and what they imply: measurements, symlinks, the data source."""
        decoded = self.decoder.decode_dataset(facets, read=read)
        self.add_facet_sets(dataset, facets, decoded)
        measured.add_dataset_measurements(self.add, self.warn_not_understood, dataset, facets, self.at, self.digest)
        self.warn_of_facets(decoded)
        for link in decoded.links:
            alias, _ = self.add_dataset(link.name)
            if alias != dataset:
                self.add(rows.DatasetLinkRow(dataset, alias, link.kind, self.at))
        if decoded.source:
            self.add(rows.SourceRow(*decoded.source, self.at))
        return decoded

    def add_job_facets(self, job: uuid.UUID) -> None:
        facets = self.event.job_facets
        decoded = self.decoder.decode_job(facets)
        self.add_facet_sets(job, facets, decoded)
        self.warn_of_facets(decoded)
        measured.add_job_measurements(self.add, self.warn_not_understood, job, facets, self.at, self.digest)

    def add_facet_sets(self, owner: uuid.UUID, facets: Facets, decoded: DecodedFacets) -> None:
        """Store the facets of a dataset or job: the stable ones as one set, each other facet as its own set."""
        for set_id, members in decoded.sets:
            self.add(rows.OwnerFacetRow(owner, set_id, self.at, self.digest))
            if not self.committed(rows.FacetSetRow, set_id):
                for name, body_id, deleted in members:
                    self.add(rows.FacetBodyRow(body_id, bytes(facets[name])))
                    guess = decoded.guess if name == "schema" else 0
                    self.add(rows.FacetSetRow(set_id, name, body_id, deleted, guess))

    # -- column lineage --

    def add_column_lineage(
        self,
        job: uuid.UUID,
        report_id: uuid.UUID,
        dataset: uuid.UUID,
        report: DatasetReport,
        facets: DecodedFacets,
        *,
        static: bool,
    ) -> None:
        """Add the column edges of an output's `columnLineage` facet, and an edge from each dataset that the facet reads.

        A producer may list a dataset in the facet and not among the inputs (dbt does for seeds). Without its own edge the dataset is found
        upstream of the output, and the output is lost downstream of the dataset. The edge is declared, not observed.
        """
        if facets.columns is None:
            return
        clauses = self.with_clauses(facets.columns)
        listed = {one.name for one in self.event.inputs}
        columns = self.spellings.columns_of(report, facets.columns, clauses)
        for source in columns.sources:
            unlisted = isinstance(source, DatasetName) and source not in listed
            if unlisted and (source_id := self.add_place(source)) != job:
                self.add_edge(job, report_id, source_id, "in", declared=True, static=static)
        self.add_columns(job, report_id, dataset, Origin.COLUMN_LINEAGE, columns, slot=_COLUMN_LINEAGE_SLOT)

    def with_clauses(self, columns: ColumnSet) -> frozenset[DatasetName]:
        """Return the sources that are names of WITH clauses in the event's SQL, with a warning."""
        if "sql" not in self.event.job_facets:
            return frozenset()
        # The SQL engine is heavy, and most logs have no such event.
        from headwater.intake.events.with_clauses import find_with_clauses

        found = find_with_clauses(self.event, columns.sources, self.decoder)
        if found:
            named = ", ".join(sorted(name.name for name in found))
            where, reason = (
                "facets.columnLineage",
                "a WITH clause of the SQL and no table; its columns are read from the SQL",
            )
            self.warn("with_clause_as_table", where, f"{where}: {named}: {reason}")
        return found

    def add_place(self, name: DatasetName | JobName) -> uuid.UUID:
        """Add what stands at the end of an edge, and return its id."""
        return self.add_dataset(name)[0] if isinstance(name, DatasetName) else self.add_job(name)

    def add_columns(
        self,
        job: uuid.UUID,
        report_id: uuid.UUID,
        target: uuid.UUID,
        origin: Origin,
        columns: ColumnSet,
        slot: uuid.UUID | None = None,
    ) -> None:
        """Add a set of column edges to a report. The latest set in a slot wins; without a slot, the set has its own."""
        for source in columns.sources:
            self.add_place(source)
        if not self.committed(rows.ColumnSetRow, columns.id):
            self.add(rows.ColumnSetRow(columns.id, columns.edges))
        slot, number = slot or columns.id, int(origin)
        self.add(rows.ReportColumnRow(job, report_id, target, number, slot, self.at, self.digest, columns.id))

    # -- decoding and warnings --

    def decode(self, where: str, raw: msgspec.Raw | None, kind: str) -> Any:
        """Decode a facet with the function `kind` of `model.facets`. None if it is absent, deleted or malformed (then with a warning)."""
        if raw is None:
            return None
        body = bytes(raw)
        if is_deleted(body):
            return None
        values, problem, places = self.decoder.decode(kind, body)
        if problem is not None:
            self.warn_not_understood(where, problem)
        self.warn_left_out(where, places)
        return values

    def warn_of_facets(self, decoded: DecodedFacets) -> None:
        for where, problem in decoded.problems:
            self.warn_not_understood(where, problem)
        for where, places in decoded.left_out:
            self.warn_left_out(where, places)

    def warn_left_out(self, where: str, places: list[str]) -> None:
        if places:
            self.warn("facet_in_part", where, describe_left_out(where, places))

    def warn_not_understood(self, where: str, problem: str) -> None:
        self.warn(
            "facet_not_understood", where, f"{where}: {problem}; the facet is stored, but nothing is derived from it"
        )

    def warn(self, code: str, where: str, message: str) -> None:
        warning = Warning(code, where, message)
        if warning not in self.changes.warnings:
            self.changes.warnings.append(warning)
