"""Dataform and BigQuery's scheduled queries: which action or schedule ran a job, by its labels.

- Dataform: `dataform_repository_id`, `dataform_workflow_execution_action_id_database`, `…_schema`, `…_name`.
- A scheduled query: `data_source_id: scheduled_query` (BigQuery Data Transfer Service).
Labels are lower-cased, so the names are; nothing reports these runs to OpenLineage, so there is no job to link to.
"""

from headwater.pipeline.query_log.who.config import Config
from headwater.pipeline.query_log.who.evidence import (
    LOSSY,
    TOLD,
    Application,
    Attribution,
    Evidence,
    asset,
    connected_as,
    first,
)

TOOL = "dataform"
MARKS = ("dataform",)
APPLICATIONS = (Application(r"dataform", TOOL, "pipeline"),)
ACTION = "dataform_workflow_execution_action_id_"


def recognise(evidence: Evidence, config: Config) -> Attribution | None:
    tags = evidence.tags
    repository, action = first(tags, "dataform_repository_id"), first(tags, ACTION + "name")
    if repository or action:
        path = ".".join(filter(None, (first(tags, ACTION + "database"), first(tags, ACTION + "schema"), action)))
        shape = asset(("repository", repository), ("action", path or None))
        return Attribution(tool=TOOL, kind="pipeline", confidence=LOSSY, asset=shape, asset_name=action)
    if tags.get("data_source_id") == "scheduled_query":
        return Attribution(tool="scheduled_query", kind="pipeline", confidence=TOLD)
    return connected_as(evidence, APPLICATIONS)
