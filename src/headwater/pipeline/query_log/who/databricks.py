"""Databricks' own jobs, dashboards, notebooks, alerts and Genie spaces.

- `query_source` of system.query.history: `job_info.job_id`, `pipeline_info.pipeline_id`, `dashboard_id`, `legacy_dashboard_id`, `alert_id`,
  `notebook_id`, `sql_query_id`, `genie_space_id` (https://docs.databricks.com/en/admin/system-tables/query-history.html), which the reader of
  that log gives as tags of these names.
- `client_application`: Databricks SQL Dashboard, Databricks SQL Editor, Databricks SQL Genie Space, Databricks Notebook, Databricks Job, …
"""

from headwater.pipeline.query_log.who.config import Config, Kind
from headwater.pipeline.query_log.who.evidence import (
    TOLD,
    Application,
    Attribution,
    Evidence,
    asset,
    connected_as,
    first,
)

TOOL = "databricks"
MARKS: tuple[str, ...] = ()
APPLICATIONS = (
    Application(r"^databricks.{0,20}(?:dashboard|genie|alert|lakeview|ai/bi)", TOOL, "bi"),
    Application(r"^databricks.{0,20}(?:job|workflow|pipeline|dlt)", TOOL, "pipeline"),
    Application(r"^databricks.{0,20}(?:editor|notebook|sql exec context|catalog explorer)", TOOL, "person"),
)
# Nearest first: a dashboard of a job is the job's.
SOURCES: tuple[tuple[str, str, Kind], ...] = (
    ("job_id", "job", "pipeline"),
    ("pipeline_id", "pipeline", "pipeline"),
    ("dashboard_id", "dashboard", "bi"),
    ("legacy_dashboard_id", "dashboard", "bi"),
    ("genie_space_id", "genie_space", "bi"),
    ("alert_id", "alert", "bi"),
    ("notebook_id", "notebook", "person"),
    ("sql_query_id", "query", "person"),
)


def recognise(evidence: Evidence, config: Config) -> Attribution | None:
    told = evidence.tags if evidence.source == TOOL else {}
    for key, shape, kind in SOURCES:
        if name := first(told, key):
            return Attribution(tool=TOOL, kind=kind, confidence=TOLD, asset=asset((shape, name)))
    return connected_as(evidence, APPLICATIONS)
