"""Applications that tag their statements with sqlcommenter: which framework, which route.

`/*action='index',application='shop',controller='orders',db_driver='…',framework='django:4.2',route='/orders',traceparent='…'*/`
(https://google.github.io/sqlcommenter/spec/). The trace and span ids are not kept.
"""

from headwater.pipeline.query_log.who.config import Config
from headwater.pipeline.query_log.who.evidence import LOSSY, Attribution, Evidence, asset, first

TOOL = "sqlcommenter"
MARKS = ("traceparent=", "framework=", "controller=", "db_driver=", "route=", "dddbs=", "application=")
KEYS = {"traceparent", "framework", "db_driver", "controller", "route", "dddbs", "ddps"}


def recognise(evidence: Evidence, config: Config) -> Attribution | None:
    for attached in evidence.attached:
        values = attached.values
        if attached.where != "comment" or not KEYS & values.keys() or "='" not in attached.text.replace(" ", ""):
            continue
        application = first(values, "application", "ddps")
        framework = (first(values, "framework") or "").partition(":")[0]
        route = first(values, "route") or "#".join(filter(None, (first(values, "controller"), first(values, "action"))))
        return Attribution(
            tool=application or framework or TOOL,
            kind="service",
            confidence=LOSSY,
            actor=application,
            asset=asset(("route", route or None)),
            asset_name=route or None,
        )
    return None
