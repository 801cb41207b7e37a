"""Looker Studio (Data Studio): which report, on BigQuery.

Every job has the labels `requestor: looker_studio`, `looker_studio_report_id`, `looker_studio_datasource_id`
(https://cloud.google.com/bigquery/docs/visualize-looker-studio).
"""

from headwater.pipeline.query_log.who.config import Config
from headwater.pipeline.query_log.who.evidence import (
    TOLD,
    Application,
    Attribution,
    Evidence,
    asset,
    connected_as,
    first,
)

TOOL = "looker_studio"
MARKS = ("looker_studio",)
APPLICATIONS = (Application(r"(?<![a-z])(?:looker|data).?studio(?![a-z])", TOOL, "bi"),)


def recognise(evidence: Evidence, config: Config) -> Attribution | None:
    tags = evidence.tags
    report, source = first(tags, "looker_studio_report_id"), first(tags, "looker_studio_datasource_id")
    if report or source or tags.get("requestor") == "looker_studio":
        shape = asset(("report", report)) if report else asset(("datasource", source))
        return Attribution(tool=TOOL, kind="bi", confidence=TOLD, asset=shape)
    return connected_as(evidence, APPLICATIONS)
