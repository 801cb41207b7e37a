"""Superset and Preset: who ran a query, and for which chart or dashboard if the mutator reports it.

- Superset adds nothing to a statement unless SQL_QUERY_MUTATOR does; the form its configuration file shows is
  `-- [SQL LAB] user time` (superset/config.py). A mutator that writes `dashboard_id`, `slice_id` or `chart_id` next to the word superset is
  understood too.
- Clients named Apache Superset (the user agent and Snowflake application Superset sets itself, apache/superset#22432) or Preset.
"""

import re

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

TOOL = "superset"
MARKS = ("superset", "[sql lab]")
APPLICATIONS = (Application(r"superset|(?<![a-z])preset(?:.?(?:cloud|io))?(?![a-z])", TOOL, "bi"),)

_LAB = re.compile(r"\[SQL LAB\](?: {1,3}([^\s\[\]]{1,200}))?")
_TIME = re.compile(r"\d{4}-\d\d-\d\d|0$")
_NAMED = re.compile(r"superset", re.IGNORECASE)


def recognise(evidence: Evidence, config: Config) -> Attribution | None:
    for attached in evidence.attached:
        if attached.where == "comment" and (lab := _LAB.search(attached.text)):
            user = lab[1] if lab[1] and not _TIME.match(lab[1]) else None
            return Attribution(tool=TOOL, kind="bi", confidence=TOLD, actor=user)
        values = attached.values
        dashboard, chart = first(values, "dashboard_id", "dashboard"), first(values, "slice_id", "chart_id", "chart")
        if (dashboard or chart) and (_NAMED.search(attached.text) or any(map(_NAMED.search, values))):
            return Attribution(
                tool=TOOL,
                kind="bi",
                confidence=TOLD,
                actor=first(values, "username", "user_name", "user", "email"),
                asset=asset(("dashboard", dashboard), ("chart", chart)),
            )
    return connected_as(evidence, APPLICATIONS)
