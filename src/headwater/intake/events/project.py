"""All the meaning of OpenLineage: one event to the rows it stands for. Pure.

Every row is a fact that merges by itself: a union, an earliest or latest time, a highest rank, or "the latest event wins" with the
event's digest as tie-break. So the projection needs no earlier state, and any order and any repetition of events ends in the same
tables (`store/queries/events/projections.sql` holds the merge of each table; `tests/store/test_projection.py` shuffles, repeats and splits).
Facets of runs make no rows: who asks for them reads the run's few events from the log.
"""

import datetime as dt
import uuid
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import msgspec

from headwater.intake.events import measured
from headwater.intake.events.correlation import STEP, Correlation, tells
from headwater.intake.events.facets import Told, Understood, is_deleted
from headwater.model import facets as known
from headwater.model import version
from headwater.model.column_sets import ColumnSet, column_set
from headwater.model.event import DatasetReport, Event, Facets, Warning
from headwater.model.identity import Identity
from headwater.model.lineage import Origin
from headwater.model.names import LONGEST, DatasetName, JobName, bounded
from headwater.model.run import RunState, state_of
from headwater.model.user import user_of

_ZERO = uuid.UUID(int=0)
# The mark a manifest's datasets carry: they were declared, nobody has seen them read or written.
DECLARED = "headwater_declared"
# The mark of a run that was made and did not begin.
ANNOUNCED = "headwater_announced"


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


# Whether a row of content (a query, its id) is known to be stored, so that there is no need to make it.
Committed = Callable[[str, uuid.UUID], bool]


def _nothing(_query: str, _id: uuid.UUID) -> bool:
    return False


class Projector:
    """Projects events under one set of identity rules. `committed` spares rows of content that are stored; it changes nothing else."""

    def __init__(self, identity: Identity | None = None, committed: Committed = _nothing) -> None:
        self.understood = Understood(identity or Identity())
        self._committed = committed

    def __call__(self, event: Event, at: dt.datetime, digest: bytes) -> Changes:
        """The changes one event makes. `at` is its event time, or its time of arrival when it has none."""
        return _Projection(event, at, digest, self.understood, self._committed).run()


class _Projection:
    def __init__(
        self, event: Event, at: dt.datetime, digest: bytes, understood: Understood, committed: Committed
    ) -> None:
        self.event, self.at, self.digest, self.understood, self.committed = event, at, digest, understood, committed
        self.changes = Changes()
        self.add = self.changes.add

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
        dataset, _ = self.dataset(report.name)
        said = self.dataset_facets(dataset, report.facets)
        content = {key: report.facets[key] for key in ("schema", "version") if key in report.facets}
        if content:
            identity = version.content_id(b"\0".join(key.encode() + bytes(content[key]) for key in sorted(content)))
            self.version_row(
                version.static_version_id(dataset, identity), dataset, None, None, report, said, declared=False
            )
        entry = self.decoded("dataset.facets.lineage", report.facets.get("lineage"), "dataset_lineage")
        if entry is not None:
            # No job stands between: the dataset itself stands in the job's place, and the latest declaration replaces the earlier.
            told = version.declaration_id(self.digest)
            self.add("upsert_reports", dataset, told, True, self.at)
            self.report_dataset(dataset, told, dataset, "out", declared=True, by_event=True)
            for source in sorted(
                {i.source for inputs in entry.inputs.values() for i in inputs if isinstance(i.source, DatasetName)}
            ):
                self.report_dataset(dataset, told, self.dataset(source)[0], "in", declared=True, by_event=True)
            self.columns(dataset, told, dataset, Origin.EXPLICIT, column_set(entry.inputs, self.understood.identity))

    def job_event(self) -> None:
        assert self.event.job is not None
        explicit = "lineage" in self.event.job_facets
        declares = bool(self.event.inputs or self.event.outputs or explicit)
        job = self.job(self.event.job, declared=declares, explicit=explicit)
        self.job_facets(job)
        told = version.declaration_id(self.digest)
        if declares:
            self.add("upsert_reports", job, told, True, self.at)
        for direction, reports in (("in", self.event.inputs), ("out", self.event.outputs)):
            for report in reports:
                dataset, part = self.dataset(report.name)
                said = self.dataset_facets(dataset, report.facets)
                self.report_dataset(job, told, dataset, direction, declared=True, by_event=True)
                self.parts(job, told, dataset, direction, part, report.here)
                if direction == "out":
                    self.column_lineage(job, told, dataset, said)
        self.explicit_lineage(job, told, by_event=True)

    def run_event(self) -> None:
        event = self.event
        assert event.run_id is not None
        assert event.job is not None
        parent = self.parent()
        explicit = "lineage" in event.job_facets
        job = self.job(event.job, parent=None if parent is None else version.job_id(parent.job), explicit=explicit)
        state = state_of(event.event_type) or RunState.OTHER
        if event.event_type is None and ANNOUNCED in event.run_facets:
            state = RunState.NEW
        parent_run = None if parent is None else version.run_id(parent.run_id)[0]
        nominal = self.decoded("run.facets.nominalTime", event.run_facets.get("nominalTime"), "nominal_time") or (
            None,
            None,
        )
        self.add(
            "upsert_runs", event.run_id, job, event.external_run_id, int(state), self.at, self.digest,
            self.at if event.event_type == "START" else None, self.at if state.terminal else None,
            parent_run, None if parent is None else version.job_id(parent.job), *nominal,
            user_of(event.run_facets), self.decoded("job.facets.sql", event.job_facets.get("sql"), "statement"),
        )  # fmt: skip
        self.job_facets(job)
        if event.inputs or event.outputs or explicit:
            self.add("upsert_reports", job, event.run_id, False, self.at)
        correlation = Correlation(self.add, self.not_understood, event.run_id, job, self.at, self.digest)
        told = tells(event)
        for direction, reports in (("in", event.inputs), ("out", event.outputs)):
            for report in reports:
                self.run_dataset(job, event.run_id, direction, report, correlation if told else None)
        self.explicit_lineage(job, event.run_id, by_event=False)
        if STEP in event.run_facets:
            for cause in correlation.caused(bytes(event.run_facets[STEP])):
                if cause.run is not None and cause.job is not None:
                    self.only_heard_of(cause.run, cause.job)

    # -- parts --

    def run_dataset(
        self, job: uuid.UUID, run: uuid.UUID, direction: str, report: DatasetReport, correlation: Correlation | None
    ) -> None:
        dataset, part = self.dataset(report.name)
        declared = DECLARED in report.facets
        said = self.dataset_facets(dataset, report.facets)
        if correlation is not None:
            correlation.dataset(direction, dataset, part, said.external_version, report.here)
        self.report_dataset(job, run, dataset, direction, declared=declared, by_event=False)
        self.parts(job, run, dataset, direction, part, report.here)
        if direction == "out":
            made = version.dataset_version_id(dataset, run, job, self.external_version(said, report))
            self.version_row(made, dataset, run, job, report, said, declared=declared)
            self.column_lineage(job, run, dataset, said)

    def parent(self) -> known.Parent | None:
        """The parent run, with rows that stand for it (and for the root) until its own events arrive."""
        told = self.decoded("run.facets.parent", self.event.run_facets.get("parent"), "parent")
        if told is None:
            return None
        parent: known.Parent = told[0]
        root: known.Parent | None = told[1]
        for relative in (parent, root):
            if relative is not None and (relative is parent or relative.run_id != parent.run_id):
                self.only_heard_of(version.run_id(relative.run_id)[0], relative.job)
        assert self.event.job is not None
        if version.run_id(parent.run_id)[0] == self.event.run_id and parent.job == self.event.job:
            self.warn("own_parent", "run.facets.parent", "the run names itself as its parent; ignored")
            return None
        return parent

    def only_heard_of(self, run: uuid.UUID, job: JobName) -> None:
        """A run that stands for itself until its own events arrive."""
        self.add(
            "upsert_runs", run, self.job(job), None, int(RunState.NEW), self.at, self.digest,
            None, None, None, None, None, None, None, None,
        )  # fmt: skip

    def dataset(self, name: DatasetName) -> tuple[uuid.UUID, dict[str, str]]:
        """The dataset a told name means, and which part of it the name says."""
        placed = self.understood.identity.place(name)
        made = placed.id
        self.add("upsert_datasets", made, placed.name.namespace, placed.name.name, self.at)
        self.add("upsert_namespaces", placed.name.namespace, self.at)
        return made, dict(placed.part)

    def job(
        self, name: JobName, parent: uuid.UUID | None = None, *, declared: bool = False, explicit: bool = False
    ) -> uuid.UUID:
        made = version.job_id(name)
        self.add(
            "upsert_jobs", made, name.namespace, name.name, self.at, self.digest, parent if parent != made else None,
            self.at if declared else None, self.at if explicit else None,
        )  # fmt: skip
        self.add("upsert_namespaces", name.namespace, self.at)
        return made

    def report_dataset(
        self, job: uuid.UUID, report: uuid.UUID, dataset: uuid.UUID, direction: str, *, declared: bool, by_event: bool
    ) -> None:
        self.add("upsert_report_datasets", job, report, dataset, direction, declared, self.at)
        self.add("upsert_edges", dataset, job, direction, self.at, declared, by_event)

    def parts(
        self, job: uuid.UUID, report: uuid.UUID, dataset: uuid.UUID, direction: str, part: dict[str, str], here: Facets
    ) -> None:
        """Which part of the dataset: what was folded out of its name, and what a subset facet says."""
        told = [part] if part else []
        told += self.decoded("subset", here.get("subset"), "subset") or []
        for one in told:
            text = msgspec.json.encode(one, order="deterministic").decode()
            if len(text.encode()) > LONGEST:
                # An index holds it, with JSON's escapes.
                text = msgspec.json.encode({"part": bounded(text, 200)}).decode()
            self.add("upsert_report_subsets", job, report, dataset, direction, text, self.at)

    def version_row(
        self,
        made: uuid.UUID,
        dataset: uuid.UUID,
        run: uuid.UUID | None,
        job: uuid.UUID | None,
        report: DatasetReport,
        said: Told,
        *,
        declared: bool,
    ) -> None:
        counts = self.decoded("outputFacets.outputStatistics", report.here.get("outputStatistics"), "statistics")
        self.add(
            "upsert_dataset_versions", made, dataset, run, job, self.external_version(said, report), declared, self.at, self.digest,
            said.schema_id, said.lifecycle, *(counts or (None, None, None)), run is not None and self.checkpoint(),
        )  # fmt: skip

    def checkpoint(self) -> bool:
        """Whether what is written stays written, however the run ends: a stream says so as it goes on."""
        going = self.event.event_type in ("RUNNING", "COMPLETE")
        return going and known.streaming(bytes(self.event.job_facets.get("jobType", b"")))

    def external_version(self, said: Told, report: DatasetReport) -> str:
        """What the storage calls it; else a stream's offsets, which may stand beside the output; else empty."""
        told = said.external_version
        for key in known.OFFSETS if not told else ():
            told = told or self.decoded(f"facets.{key}", report.here.get(key, report.facets.get(key)), "offsets") or ""
        return told

    def dataset_facets(self, dataset: uuid.UUID, facets: Facets) -> Told:
        """Keep the facets, and what they say of names and sources; all they say."""
        said = self.understood.dataset(facets)
        self.facets(dataset, facets, said)
        measured.of_dataset(self.add, self.not_understood, dataset, facets, self.at, self.digest)
        for where, wrong in said.wrong:
            self.not_understood(where, wrong)
        for link in said.links:
            alias, _ = self.dataset(link.name)
            if alias != dataset:
                self.add("upsert_dataset_links", dataset, alias, link.kind, self.at)
        if said.source:
            self.add("upsert_sources", *said.source, self.at)
        return said

    def job_facets(self, job: uuid.UUID) -> None:
        facets = self.event.job_facets
        self.facets(job, facets, self.understood.sets(facets))
        measured.of_job(self.add, self.not_understood, job, facets, self.at, self.digest)

    def facets(self, owner: uuid.UUID, facets: Facets, said: Told) -> None:
        """Facets of a dataset or a job: the lasting ones together, any other by itself."""
        for set_id, members in said.sets:
            self.add("upsert_owner_facets", owner, set_id, self.at, self.digest)
            if not self.committed("insert_facet_sets", set_id):
                for name, made, deleted in members:
                    self.add("insert_facet_bodies", made, bytes(facets[name]))
                    self.add("insert_facet_sets", set_id, name, made, deleted)

    def column_lineage(self, job: uuid.UUID, report: uuid.UUID, dataset: uuid.UUID, said: Told) -> None:
        if said.columns is not None:
            self.columns(job, report, dataset, Origin.COLUMN_LINEAGE, said.columns, slot=_ZERO)

    def explicit_lineage(self, job: uuid.UUID, report: uuid.UUID, *, by_event: bool) -> None:
        for entry in self.decoded("job.facets.lineage", self.event.job_facets.get("lineage"), "job_lineage") or []:
            if isinstance(entry.target, DatasetName):
                target, _ = self.dataset(entry.target)
                self.report_dataset(job, report, target, "out", declared=by_event, by_event=by_event)
            else:
                target = job if entry.target is None else self.job(entry.target)
            for source in sorted(
                {i.source for inputs in entry.inputs.values() for i in inputs if isinstance(i.source, DatasetName)}
            ):
                self.report_dataset(job, report, self.dataset(source)[0], "in", declared=by_event, by_event=by_event)
            self.columns(job, report, target, Origin.EXPLICIT, column_set(entry.inputs, self.understood.identity))

    def columns(
        self,
        job: uuid.UUID,
        report: uuid.UUID,
        target: uuid.UUID,
        origin: Origin,
        told: ColumnSet,
        slot: uuid.UUID | None = None,
    ) -> None:
        for source in told.sources:
            if isinstance(source, DatasetName):
                self.dataset(source)
            else:
                self.job(source)
        if not self.committed("insert_column_sets", told.id):
            self.add("insert_column_sets", told.id, told.edges)
        self.add(
            "upsert_report_columns", job, report, target, int(origin), slot or told.id, self.at, self.digest, told.id
        )

    def decoded(self, where: str, raw: msgspec.Raw | None, kind: str) -> Any:
        """The facet's values, or None when it is absent, deleted or not of its shape (with a warning)."""
        if raw is None:
            return None
        body = bytes(raw)
        if is_deleted(body):
            return None
        found, wrong = self.understood.decoded(kind, body)
        if wrong is not None:
            self.not_understood(where, wrong)
        return found

    def not_understood(self, where: str, wrong: str) -> None:
        self.warn("facet_not_understood", where, f"{where}: {wrong}; kept, but nothing was derived from it")

    def warn(self, code: str, where: str, message: str) -> None:
        found = Warning(code, where, message)
        if found not in self.changes.warnings:
            self.changes.warnings.append(found)
