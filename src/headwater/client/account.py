"""A step's description of its run, besides inputs and outputs, and the events that carry it.

The run facet `headwater_step` is Headwater's: version, forced, overrides, parents, details, skipped; empty fields are omitted.
Builds events but does not send them.
"""

from datetime import UTC, datetime
from typing import Any

import msgspec

from headwater.client import event
from headwater.client.context import Parent
from headwater.client.entries import Entry, describe_entries

_JOB_TYPE = event.job_type("BATCH", "HEADWATER", "STEP")


class Account(msgspec.Struct, eq=False):
    """One step's description. Not thread-safe by itself: the step's lock covers it."""

    version: str | None = None
    forced: bool = False
    overrides: list[str] = []
    parents: list[dict[str, Any]] = []
    details: dict[str, Any] = {}
    skipped: list[dict[str, Any]] = []
    facets: dict[str, Any] = {}
    job_facets: dict[str, Any] = {}

    def event(
        self,
        kind: str,
        run_id: str,
        job: tuple[str, str],
        parent: Parent | None,
        inputs: list[Entry],
        outputs: list[Entry],
        at: float,
    ) -> dict[str, Any]:
        """Build an event of the run, at a POSIX time. RUNNING carries only datasets: START and the end carry the rest."""
        run_facets: dict[str, Any] = {}
        job_facets: dict[str, Any] = {}
        if kind != "RUNNING":
            run_facets = {**self.facets, "headwater_step": self._facet()}
            job_facets = {"jobType": _JOB_TYPE, **self.job_facets}
        if parent is not None:
            run_facets["parent"] = event.parent(parent.run_id, parent.job, parent.root)
        made = event.run(
            kind,
            run_id=run_id,
            job=job,
            inputs=describe_entries(inputs, "inputs"),
            outputs=describe_entries(outputs, "outputs"),
            run_facets=run_facets,
            job_facets=job_facets,
            event_time=datetime.fromtimestamp(at, UTC),
        )
        for entry in (*inputs, *outputs):
            entry.said = True
        return made

    def _facet(self) -> dict[str, Any]:
        said = {
            "version": self.version,
            "forced": self.forced,
            "overrides": self.overrides,
            "parents": self.parents,
            "details": self.details,
            "skipped": self.skipped,
        }
        return event.facet("headwater_step", **{key: value for key, value in said.items() if value})
