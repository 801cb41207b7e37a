"""Mode: which report and query, for which person, on schedule or not.

- The comment after every statement: `-- {"user":"@ada","email":"ada@shop.example","url":"https://modeanalytics.com/shop/reports/f2c4dcf0b074/
  runs/278b8ef00a8b/queries/d17569ccf3a2","scheduled":false}` (https://mode.com/help/articles/managing-database-connections, and statements
  in the wild). The host is modeanalytics.com or app.mode.com.
- Clients named Mode.
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

TOOL = "mode"
MARKS = ("modeanalytics.com", "app.mode.com")
APPLICATIONS = (Application(r"^mode$|mode.?analytics|modeanalytics", TOOL, "bi"),)

_URL = re.compile(
    r"https://(?:app\.)?(?:modeanalytics|mode)\.com/([\w.-]{1,100})/reports/([0-9a-f]{6,40})(?:/runs/[0-9a-f]{1,40})?(?:/queries/([0-9a-f]{6,40}))?"
)


def recognise(evidence: Evidence, config: Config) -> Attribution | None:
    for attached in evidence.attached:
        url = first(attached.values, "url")
        if url and (parts := _URL.match(url)):
            return Attribution(
                tool=TOOL,
                kind="bi",
                confidence=TOLD,
                actor=first(attached.values, "email", "user"),
                asset=asset(("report", parts[2]), ("query", parts[3])),
            )
    return connected_as(evidence, APPLICATIONS)
