"""Databricks: system.query.history and, on demand, system.access.table_lineage.

Where to and as whom: `DATABRICKS_HOST`, `DATABRICKS_HTTP_PATH` (of a SQL warehouse) and `DATABRICKS_TOKEN`."""

import datetime as dt
import json
from collections.abc import Mapping
from typing import Any, Final

from headwater.pipeline.query_log.pull.asking import LONGEST, Statement, client, needed, query

NAME: Final = "databricks"
EXTRA: Final = "databricks"
LAG: Final = dt.timedelta(hours=1)
WINDOW: Final = dt.timedelta(hours=1)
BACK: Final = dt.timedelta(days=1)
KEEPS: Final = dt.timedelta(days=365)
WITH: Final = {"lineage": dt.timedelta(hours=6)}
SECRETS: Final = ("DATABRICKS_TOKEN",)


def statements(
    since: dt.datetime, until: dt.datetime, environ: Mapping[str, str], besides: frozenset[str]
) -> tuple[Statement, ...]:
    bound = {"since": since, "until": until, "earliest": since - LONGEST}
    asked = [Statement(query(NAME), bound)]
    if "lineage" in besides:
        asked.append(Statement(query("databricks_lineage"), bound))
    return tuple(asked)


def definitions(environ: Mapping[str, str]) -> Statement:
    return Statement(query("databricks_definitions"), ())


def connect(environ: Mapping[str, str], seconds: int) -> Any:
    connector = client("databricks.sql", EXTRA)
    host, path, token = needed(environ, "DATABRICKS_HOST", "DATABRICKS_HTTP_PATH", "DATABRICKS_TOKEN")
    return connector.connect(
        server_hostname=host.removeprefix("https://").rstrip("/"),
        http_path=path,
        access_token=token,
        session_configuration={"STATEMENT_TIMEOUT": str(seconds), "TIMEZONE": "UTC"},
        user_agent_entry="headwater",
        # By itself it goes on for a quarter of an hour; how often to try again is decided in one place.
        _retry_stop_after_attempts_count=3,
        _retry_stop_after_attempts_duration=60,
    )


def record(row: dict[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(row["record"])
    return said
