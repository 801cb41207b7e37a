"""The OpenLineage events of a package run: START, RUNNING, and its end.

Follows docs/explanation/capture-events.md. Builds events but does not send them.
"""

import re
from collections.abc import Mapping
from importlib import metadata
from typing import Any

import msgspec

from headwater.client import event
from headwater.client.context import Parent
from headwater.runner.code_version import CodeVersion
from headwater.runner.making import Making
from headwater.runner.manifest import Declared, Manifest
from headwater.runner.program import SPARK_KINDS
from headwater.runner.written import Written

_SOURCE = "dk.yaml"
_SECRET = re.compile(r"(?i)passw|secret|token|api_?key|credential|private")
_CLASSIFIED_BY = {
    "pyspark": "SPARK", "python": "PYTHON", "sql": "SPARK", "jar": "SPARK", "command": "COMMAND", "dbt": "DBT"
}  # fmt: skip


class Announcement(msgspec.Struct, frozen=True, kw_only=True):
    """The events of one run of one package. `making`: the instances of entities that it makes, if given. `beat`: seconds between signs of life."""

    manifest: Manifest
    run_id: str
    parent: Parent | None = None
    code: CodeVersion | None = None
    making: Making | None = None
    beat: float | None = None

    def start(self, *, reported: bool = False) -> dict[str, Any]:
        """Return START, with everything known before the program begins. `reported`: instances are reported apart from events."""
        manifest = self.manifest
        return event.run(
            "START",
            run_id=self.run_id,
            job=manifest.job,
            inputs=[event.dataset(*_name(each), facets=declared_facets(each)) for each in manifest.inputs],
            outputs=[
                event.dataset(*_name(each), facets=declared_facets(each) | self._entity_facet(each))
                for each in manifest.outputs
            ],
            run_facets=self._run_facets() | self._period_facet(reported) | self._heartbeat_facet(),
            job_facets=self._job_facets(),
        )

    def running(self) -> dict[str, Any]:
        """Return RUNNING."""
        return event.run("RUNNING", run_id=self.run_id, job=self.manifest.job, run_facets=self._parent_facet())

    def end(
        self,
        event_type: str,
        *,
        error: event.Facet | None = None,
        written: Mapping[str, Written] | None = None,
        reported: bool = False,
    ) -> dict[str, Any]:
        """Return COMPLETE, FAIL or ABORT. `written`: statistics of the outputs, by declared name. `reported`: the end was reported apart, too."""
        outputs = []
        for each in self.manifest.outputs:
            if found := (written or {}).get(each.name):
                statistics = event.output_statistics(size=found.size, files=found.files)
                facets = {"headwater_declared": declared_facets(each)["headwater_declared"]}
                outputs.append(
                    event.dataset(*_name(each), facets=facets, output_facets={"outputStatistics": statistics})
                )
        facets = self._parent_facet() | self._period_facet(reported) | ({"errorMessage": error} if error else {})
        return event.run(event_type, run_id=self.run_id, job=self.manifest.job, outputs=outputs, run_facets=facets)

    def _entity_facet(self, output: Declared) -> dict[str, event.Facet]:
        """The entity that an output holds: the one it names, else the package's only one in its only output.

        A facet of its own: a package that reads the dataset declares it as well, and knows nothing of entities.
        """
        entities = self.manifest.made.entities
        only = entities[0] if len(entities) == len(self.manifest.outputs) == 1 else None
        held = output.entity or only
        return {"headwater_entity": event.facet("headwater_entity", entity=held)} if held else {}

    def _parent_facet(self) -> dict[str, event.Facet]:
        # On every event: a server that missed the START still knows where the run belongs.
        return {"parent": event.parent(self.parent.run_id, self.parent.job, self.parent.root)} if self.parent else {}

    def _heartbeat_facet(self) -> dict[str, event.Facet]:
        return {"headwater_heartbeat": event.facet("headwater_heartbeat", seconds=self.beat)} if self.beat else {}

    def _period_facet(self, reported: bool) -> dict[str, event.Facet]:
        return {"headwater_period": self.making.facet(reported=reported)} if self.making else {}

    def _run_facets(self) -> dict[str, event.Facet]:
        manifest = self.manifest
        facets = self._parent_facet()
        if manifest.parameters:
            shown = {key: "***" if _SECRET.search(key) else value for key, value in manifest.parameters.items()}
            facets["executionParameters"] = event.execution_parameters(shown)
        if self.making and self.making.start:
            facets["nominalTime"] = event.nominal_time(self.making.start, self.making.end)
        elif manifest.period and manifest.period.start:
            nominal = event.nominal_time(manifest.period.start, manifest.period.end)
            facets["nominalTime"] = nominal | {"headwater_every": manifest.period.every}
        if self.code:
            facets["headwater_code"] = event.facet("headwater_code", version=self.code.commit, dirty=self.code.dirty)
        if manifest.program.kind in SPARK_KINDS and (version := _pyspark_version()):
            facets["processing_engine"] = event.processing_engine("spark", version)
        return facets

    def _job_facets(self) -> dict[str, event.Facet]:
        manifest = self.manifest
        kind = manifest.program.kind
        facets = {"jobType": event.job_type("BATCH", _CLASSIFIED_BY.get(kind, "PYTHON"), "PACKAGE")}
        if manifest.description:
            facets["documentation"] = event.documentation(manifest.description, of="Job")
        if manifest.owners:
            facets["ownership"] = event.ownership([(each.name, each.type) for each in manifest.owners])
        if manifest.tags:
            facets["tags"] = event.tags(manifest.tags, _SOURCE, of="Job")
        known = {"version": manifest.version, "environment": manifest.environment}
        facets["headwater_package"] = event.facet(
            "headwater_package", kind=kind, **{name: value for name, value in known.items() if value}
        )
        if code := self.code:
            facets["sourceCodeLocation"] = event.source_code_location(
                "git",
                code.url,
                repoUrl=code.repository,
                path=code.path or None,
                version=code.commit,
                branch=code.branch,
            )
        return facets


def declared_facets(declared: Declared) -> dict[str, event.Facet]:
    """Return the facets of a dataset in a dk.yaml."""
    facets = {
        "headwater_declared": event.facet(
            "headwater_declared",
            name=declared.name,
            type=declared.type,
            classification=declared.classification,
        )
    }
    if declared.description:
        facets["documentation"] = event.documentation(declared.description)
    if declared.classification:
        facets["tags"] = event.tags(declared.classification, _SOURCE)
    return facets


def _name(declared: Declared) -> tuple[str, str]:
    return declared.dataset.namespace, declared.dataset.name


def _pyspark_version() -> str | None:
    try:
        return metadata.version("pyspark")
    except metadata.PackageNotFoundError:
        return None
