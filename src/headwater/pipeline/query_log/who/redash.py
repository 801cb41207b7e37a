"""Redash: which saved query, for which user.

- The comment before every statement: `/* Username: ada@shop.example, Query ID: 12, Queue: queries, Job ID: …, Query Hash: …, Scheduled:
  False */`, in any order, `query_id` in later versions (getredash/redash, query_runner/__init__.py and tasks/queries/execution.py); `adhoc`
  is an unsaved query.
- Clients named Redash.
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
    word,
)

TOOL = "redash"
MARKS = ("query hash", "query_hash", "username:")
APPLICATIONS = (Application(r"(?<![a-z])redash(?![a-z])", TOOL, "bi"),)

_FIELD = re.compile(
    r"(?:^|, )\s{0,3}(Username|Query ID|query_id|Query Hash|Queue|Job ID|Task ID|Scheduled|Query Source): ([^,]{0,200})"
)


def recognise(evidence: Evidence, config: Config) -> Attribution | None:
    for attached in evidence.attached:
        if attached.where != "comment" or "{" in attached.text:
            continue
        values = {key: value.strip() for key, value in _FIELD.findall(attached.text)}
        query = word(values.get("Query ID") or values.get("query_id"))
        if len(values) >= 3 and {"Username", "Query Hash", "Query ID", "query_id"} & values.keys():
            saved = query if query and query.isdigit() else None
            return Attribution(
                tool=TOOL,
                kind="bi",
                confidence=TOLD,
                actor=word(values.get("Username")),
                asset=asset(("query", saved)),
            )
    return connected_as(evidence, APPLICATIONS)
