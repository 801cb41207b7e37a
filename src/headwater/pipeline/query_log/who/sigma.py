"""Sigma: which workbook or data model, and which element of it, for which person.

- The comment after every statement, and Snowflake's QUERY_TAG: `-- Sigma Σ {"sourceUrl":"https://app.sigmacomputing.com/shop/workbook/
  My-Book-527Ldxl0hT3JKHuLw1USp4?:displayNodeId=fk0QY3zA9x","kind":"adhoc","request-id":…,"user-id":…,"email":…}`: the last part of the
  name in the URL is the id (seen in the wild; sigmacomputing's own lineage queries read the same).
- Clients named Sigma.
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

TOOL = "sigma"
MARKS = ("sigma",)
APPLICATIONS = (Application(r"^sigma(?:[ _/.-]|$)|sigma.?computing", TOOL, "bi"),)

_URL = re.compile(
    r"https://[\w.-]{1,100}/[\w.-]{1,100}/(workbook|data-model|dataset|worksheet|b|m|explore)/(?:([\w%.-]{1,300}?)-)?([A-Za-z0-9]{8,40})"
    r"(?:[/?#]|$)(?:.{0,200}?displayNodeId=([\w-]{1,60}))?"
)
_SHAPE = {"b": "workbook", "m": "data-model"}


def recognise(evidence: Evidence, config: Config) -> Attribution | None:
    for attached in evidence.attached:
        values = attached.values
        url = first(values, "sourceUrl")
        if url is None or not ("Sigma" in attached.before or "sigmacomputing" in url):
            continue
        parts = _URL.match(url)
        return Attribution(
            tool=TOOL,
            kind="bi",
            confidence=TOLD,
            actor=first(values, "email", "user-id"),
            asset=asset((_SHAPE.get(parts[1], parts[1]), parts[3]), ("element", parts[4])) if parts else None,
            asset_name=parts[2].replace("-", " ") if parts and parts[2] else None,
        )
    return connected_as(evidence, APPLICATIONS)
