"""Lightdash: which chart of which dashboard, for which user.

- The query tags `organization_uuid`, `project_uuid`, `user_uuid`, `chart_uuid`, `dashboard_uuid`, `explore_name`, `query_context`: JSON in
  Snowflake's QUERY_TAG, labels on BigQuery, a comment elsewhere (https://docs.lightdash.com/references/workspace/usage-analytics).
- Clients named Lightdash.
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

TOOL = "lightdash"
MARKS = ("organization_uuid", "lightdash")
APPLICATIONS = (Application(r"lightdash", TOOL, "bi"),)


def recognise(evidence: Evidence, config: Config) -> Attribution | None:
    for attached in evidence.attached:
        values = attached.values
        if "query_context" not in values or not {"organization_uuid", "project_uuid", "user_uuid"} & values.keys():
            continue
        dashboard, chart = first(values, "dashboard_uuid"), first(values, "chart_uuid")
        explore, user = first(values, "explore_name"), first(values, "user_uuid")
        return Attribution(
            tool=TOOL,
            kind="bi",
            confidence=TOLD,
            actor=f"lightdash:{user}" if user else None,
            asset=asset(("dashboard", dashboard), ("chart", chart)) or asset(("explore", explore)),
        )
    return connected_as(evidence, APPLICATIONS)
