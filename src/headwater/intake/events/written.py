"""The version that a write left behind, and its amounts, as facets other than `version` and `outputStatistics` tell them too. Pure."""

from collections.abc import Callable
from typing import Any

import msgspec

from headwater.model import facets as facet_values
from headwater.model.event import DatasetReport, Event, Facets

# Decodes a facet: (its place in the event, its body, the function of `model.facets`).
Decode = Callable[[str, msgspec.Raw | None, str], Any]
Amounts = tuple[int | None, int | None, int | None]
_UNKNOWN: Amounts = (None, None, None)


def version_name(decode: Decode, report: DatasetReport) -> str:
    """Return a stream's offsets or the snapshot of Iceberg's commit report, from either kind of facet; empty if there are none."""
    for key, kind in facet_values.VERSIONS.items():
        body = report.io_facets.get(key, report.facets.get(key))
        if body is not None and (name := decode(f"facets.{key}", body, kind)):
            return str(name)
    return ""


def amounts(decode: Decode, facets: Facets) -> Amounts:
    """Return the rows, bytes and files that were written: by `outputStatistics`, and what that leaves open by Iceberg's commit report."""
    told: Amounts = decode("outputFacets.outputStatistics", facets.get("outputStatistics"), "statistics") or _UNKNOWN
    if facet_values.COMMIT not in facets:
        return told
    commit: Amounts = (
        decode(f"outputFacets.{facet_values.COMMIT}", facets.get(facet_values.COMMIT), "commit_amounts") or _UNKNOWN
    )
    rows, size, files = (other if one is None else one for one, other in zip(told, commit, strict=True))
    return rows, size, files


def is_checkpoint(event: Event) -> bool:
    """Return whether the outputs are final although the run may still fail: a streaming job commits while it runs."""
    job_type = bytes(event.job_facets.get("jobType", b""))
    return event.event_type in ("RUNNING", "COMPLETE") and facet_values.streaming(job_type)
