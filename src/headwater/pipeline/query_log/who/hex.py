"""Hex: which project, for which person.

- The comment after every statement: `-- Hex query metadata: {"categories": […], "cell_type": "SQL", "connection": …, "context":
  "SCHEDULED_RUN", "project_id": …, "project_name": …, "project_url": …, "user_email": …}`
  (https://learn.hex.tech/docs/explore-data/cells/sql-cells/sql-cells-introduction#query-metadata).
- Clients named Hex.
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

TOOL = "hex"
MARKS = ("hex query metadata",)
APPLICATIONS = (Application(r"^hex(?:[ _/.-]|$)|hex\.tech", TOOL, "bi"),)


def recognise(evidence: Evidence, config: Config) -> Attribution | None:
    for attached in evidence.attached:
        values = attached.values
        if "hex query metadata" in attached.before.lower():
            return Attribution(
                tool=TOOL,
                kind="bi",
                confidence=TOLD,
                actor=first(values, "user_email"),
                asset=asset(("project", first(values, "project_id"))),
                asset_name=first(values, "project_name"),
            )
    return connected_as(evidence, APPLICATIONS)
