"""Looker: which user, and which dashboard, look or explore if the connection is set up to report it.

- The comment before every statement: `-- Looker Query Context '{"user_id":6,"history_slug":"…","instance_slug":"…"}'`; BigQuery gets the
  labels `looker-context-user_id`, `looker-context-history_slug` (or `-history_id`), `looker-context-instance_slug` instead
  (https://cloud.google.com/looker/docs/admin-panel-server-usage). Neither names the dashboard: that is behind the history slug, in Looker's
  own System Activity, so the asset is known only where tags or the comment name it (query tags made with Liquid: `dashboard_id`, `look_id`,
  `explore`, `model`, `folder`).
- Clients named Looker, but not Looker Studio.
"""

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
)

TOOL = "looker"
MARKS = ("looker",)
APPLICATIONS = (Application(r"(?<![a-z])looker(?!.?studio)(?![a-z])", TOOL, "bi"),)


def recognise(evidence: Evidence, config: Config) -> Attribution | None:
    for attached in evidence.attached:
        values = attached.values
        if user := first(values, "looker-context-user_id", "looker-context-user-id"):
            return _attribution(user, {**evidence.tags, **values})
        if "Looker Query Context" in attached.before or {"history_slug", "instance_slug"} <= values.keys():
            return _attribution(first(values, "user_id"), {**evidence.tags, **values})
        if any(key.startswith("looker-context-") for key in values):
            return _attribution(None, {**evidence.tags, **values})
    return connected_as(evidence, APPLICATIONS)


def _attribution(user: str | None, values: Values) -> Attribution:
    dashboard = first(values, "dashboard_id", "looker_dashboard_id", "looker-dashboard-id", "dashboard")
    look = first(values, "look_id", "looker_look_id", "looker-look-id", "look")
    explore = first(values, "explore", "explore_name", "looker_explore")
    model = first(values, "model", "model_name", "looker_model")
    shape = None
    if dashboard:
        shape = asset(("dashboard", dashboard))
    elif look:
        shape = asset(("look", look))
    elif explore:
        shape = asset(("explore", f"{model}::{explore}" if model else explore))
    name = first(values, "dashboard_title", "dashboard_name", "look_title", "look_name")
    folder = first(values, "folder", "folder_name", "space")
    return Attribution(
        tool=TOOL,
        kind="bi",
        confidence=TOLD,
        actor=f"looker:{user}" if user else None,
        asset=shape,
        asset_name=" / ".join(filter(None, (folder, name))) or None if shape else None,
    )
