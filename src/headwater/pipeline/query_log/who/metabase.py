"""Metabase: which card of which dashboard, for which user.

- The remark `-- Metabase:: userID: 1 queryType: native queryHash: 351c…`; the Starburst driver adds `accountID`, `dashboardID`, `cardID`
  (starburstdata/metabase-driver#116).
- Redshift: `/* partner: "metabase", {"dashboard_id":5,"chart_id":12,"optional_user_id":1000,…} */ Metabase:: userID: 1000 …`
  (metabase, modules/drivers/redshift).
- Snowflake: JSON with `"client":"Metabase"`, `context`, `userId`, `cardId`, `dashboardId`, `pulseId`, … (metabase/metabase#29888).
- Clients named Metabase.
"""

import re

from headwater.pipeline.query_log.who.config import Config
from headwater.pipeline.query_log.who.evidence import (
    TOLD,
    Application,
    Attribution,
    Evidence,
    Values,
    asset,
    connected_as,
    first,
    word,
)

TOOL = "metabase"
MARKS = ("metabase",)
APPLICATIONS = (Application(r"(?<![a-z])metabase(?![a-z])", TOOL, "bi"),)

_REMARK = re.compile(r"Metabase:: {1,3}(?=\w)")
_FIELD = re.compile(r"(?<!\w)(userID|dashboardID|cardID|pulseID): {0,3}(\d{1,18})(?!\w)")


def recognise(evidence: Evidence, config: Config) -> Attribution | None:
    for attached in evidence.attached:
        values = attached.values
        if word(values.get("client")) == "Metabase":
            return _attribution(values)
        if remark := _REMARK.search(attached.text):
            told: Values = dict(_FIELD.findall(attached.text, remark.end()))
            return _attribution({**(values if 'partner: "metabase"' in attached.text else {}), **told})
        if 'partner: "metabase"' in attached.before:
            return _attribution(values)
    return connected_as(evidence, APPLICATIONS)


def _attribution(values: Values) -> Attribution:
    user = first(values, "userID", "userId", "optional_user_id")
    dashboard = first(values, "dashboardID", "dashboardId", "dashboard_id")
    card = first(values, "cardID", "cardId", "chart_id")
    pulse = first(values, "pulseID", "pulseId")
    return Attribution(
        tool=TOOL,
        kind="bi",
        confidence=TOLD,
        actor=f"metabase:{user}" if user else None,
        asset=asset(("dashboard", dashboard), ("card", card)) or asset(("pulse", pulse)),
    )
