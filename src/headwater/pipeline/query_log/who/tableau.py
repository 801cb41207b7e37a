"""Tableau: which workbook, dashboard and sheet, for which user.

- The comment `/* { "tableau-query-origins": { "query-category": "Data", "workbook-luid": …, "dashboard-luid": …, "worksheet-luid": …,
  "user-luid": …, "site-luid": … } } */`; the same JSON as Snowflake's QUERY_TAG. The ids are there once query tagging is on
  (https://help.tableau.com/current/server/en-us/perf_query_tagging.htm); without it only the category is.
- Clients named Tableau.
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
    read,
)

TOOL = "tableau"
MARKS = ("tableau",)
APPLICATIONS = (
    Application(r"(?<![a-z])tableau", TOOL, "bi"),
    Application(r"(?<![a-z])tabprotosrv|hyperd(?![a-z])", TOOL, "bi"),
)
KEY = "tableau-query-origins"


def recognise(evidence: Evidence, config: Config) -> Attribution | None:
    for attached in evidence.attached:
        if KEY not in attached.values:
            continue
        inner = attached.values[KEY]
        origins = inner if isinstance(inner, dict) else read("tag", inner if isinstance(inner, str) else "").values
        # Broken JSON is read pair by pair, and then everything is on one level.
        origins = origins or attached.values
        workbook = first(origins, "workbook-luid", "workbook_luid", "workbook-id", "workbook")
        dashboard = first(origins, "dashboard-luid", "dashboard_luid", "dashboard-id", "dashboard")
        sheet = first(origins, "worksheet-luid", "worksheet_luid", "view-luid", "worksheet", "view")
        user = first(origins, "user-luid", "user_luid", "user-id", "user")
        return Attribution(
            tool=TOOL,
            kind="bi",
            confidence=TOLD,
            actor=f"tableau:{user}" if user else None,
            asset=asset(("workbook", workbook), ("dashboard", dashboard), ("view", sheet)),
            asset_name=first(origins, "dashboard-name", "view-name", "workbook-name"),
        )
    return connected_as(evidence, APPLICATIONS)
