"""Turn the results of `dbt source freshness` into checks of the tables. Pure.

Field names: dbt's sources schema v3.
"""

import uuid
from collections.abc import Callable, Iterable, Iterator

from headwater.capture.dbt.manifest import Manifest, Node
from headwater.client import event
from headwater.model.names import DatasetName

ASSERTION = "freshness"
_PASSED = {"pass": True, "warn": False, "error": False}


def freshness_events(
    manifest: Manifest,
    results: Iterable[Node],
    invocation: str,
    jobs: str,
    dataset: Callable[[Node], DatasetName | None],
) -> Iterator[Node]:
    """Yield a run for each source that dbt looked at: its check, and when its newest row was loaded; FAIL of one that dbt could not look at.

    `jobs`: the namespace of the jobs. `dataset`: the table of a source.
    """
    for result in results:
        node = manifest.nodes.get(result["unique_id"])
        name = dataset(node) if node is not None else None
        if node is None or name is None:
            continue
        id_ = str(uuid.uuid5(uuid.NAMESPACE_URL, f"dbt:{invocation}:{result['unique_id']}.freshness"))
        job = jobs, f"{manifest.project}.{node['source_name']}.{node['name']}.freshness"
        facets = {"jobType": event.job_type("BATCH", "DBT", "TEST")}
        if result["status"] not in _PASSED:
            failed = {"errorMessage": event.error_message(str(result.get("error") or result["status"]), language="SQL")}
            inputs = [event.dataset(name.namespace, name.name)]
            yield event.run("FAIL", run_id=id_, job=job, inputs=inputs, run_facets=failed, job_facets=facets)
            continue
        checked = event.dataset(
            name.namespace,
            name.name,
            input_facets={
                "dataQualityAssertions": event.facet(
                    "DataQualityAssertionsDatasetFacet/1-1-0", assertions=[_assertion(result)]
                ),
                "dataQualityMetrics": event.facet(
                    "DataQualityMetricsInputDatasetFacet/1-0-3", lastUpdated=result["max_loaded_at"], columnMetrics={}
                ),
            },
        )
        yield event.run(
            "COMPLETE", run_id=id_, job=job, inputs=[checked], job_facets=facets, event_time=result["snapshotted_at"]
        )


def _assertion(result: Node) -> Node:
    """Return the check: what the project allows, and how old the newest row was."""
    status = result["status"]
    criteria = result.get("criteria") or {}
    allowed = [
        f"{word} after {limit['count']} {limit['period']}{'s' if limit['count'] != 1 else ''}"
        for word, limit in (("warn", criteria.get("warn_after")), ("error", criteria.get("error_after")))
        if limit and limit.get("count")
    ]
    severity = {} if _PASSED[status] else {"severity": status}
    age = round(float(result["max_loaded_at_time_ago_in_s"]) / 3600, 1)
    told = {"assertion": ASSERTION, "success": _PASSED[status], "actual": f"{age:g} hours"} | severity
    return told | ({"expected": ", ".join(allowed)} if allowed else {})
