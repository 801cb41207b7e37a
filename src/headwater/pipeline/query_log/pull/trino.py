"""Trino: system.runtime.queries, written as the events that an event listener would have sent.

The coordinator forgets a query after a quarter of an hour or so (`query.min-expire-age`, `query.max-history`), so pull often. It reports
neither catalog and schema of a session nor rows and bytes. An event listener reports everything: use this only without one.

Where to and as whom: `TRINO_HOST`, `TRINO_PORT`, `TRINO_USER`, and `TRINO_PASSWORD` or `TRINO_TOKEN`, with either of which it is HTTPS.
"""

import datetime as dt
from collections.abc import Mapping
from typing import Any, Final

from headwater.pipeline.query_log.pull.asking import Statement, client, needed, query

NAME: Final = "trino"
EXTRA: Final = "trino"
# Nothing is late here, but for clocks that do not agree.
LAG: Final = dt.timedelta(seconds=30)
WINDOW: Final = dt.timedelta(minutes=5)
BACK: Final = dt.timedelta(hours=1)
KEEPS: Final = dt.timedelta(days=1)
WITH: Final[dict[str, dt.timedelta]] = {}
SECRETS: Final = ("TRINO_PASSWORD", "TRINO_TOKEN")


def statements(
    since: dt.datetime, until: dt.datetime, environ: Mapping[str, str], besides: frozenset[str]
) -> tuple[Statement, ...]:
    return (Statement(query(NAME), (since, until)),)


def definitions(environ: Mapping[str, str]) -> Statement:
    return Statement(query("trino_definitions"), ())


def connect(environ: Mapping[str, str], seconds: int) -> Any:
    dbapi, auth = client("trino.dbapi", EXTRA), client("trino.auth", EXTRA)
    host, user = needed(environ, "TRINO_HOST", "TRINO_USER")
    how = None
    if password := environ.get("TRINO_PASSWORD"):
        how = auth.BasicAuthentication(user, password)
    elif token := environ.get("TRINO_TOKEN"):
        how = auth.JWTAuthentication(token)
    return dbapi.connect(
        host=host,
        port=_port(environ),
        user=user,
        auth=how,
        http_scheme=_scheme(environ),
        source="headwater",
        timezone="UTC",
        session_properties={"query_max_run_time": f"{int(seconds)}s"},
    )


def record(row: dict[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    group = row["resource_group_id"]
    told: dict[str, Any] = {
        "metadata": {
            "queryId": row["query_id"],
            "query": row["query"],
            "queryState": row["state"],
            # The server: the reader makes the namespace from it.
            "uri": f"{_scheme(environ)}://{environ['TRINO_HOST']}:{_port(environ)}/v1/query/{row['query_id']}",
        },
        "context": {
            "user": row["user"],
            "source": row["source"],
            "resourceGroupId": ".".join(group) if isinstance(group, list | tuple) else group,
        },
        "statistics": {"queuedTime": None if row["queued_time_ms"] is None else f"{row['queued_time_ms']}ms"},
        "createTime": row["created"],
        "executionStartTime": row["started"],
        "endTime": row["end"],
    }
    if row["error_code"]:
        told["failureInfo"] = {"errorCode": {"name": row["error_code"], "type": row["error_type"]}}
    return told


def namespace_of(environ: Mapping[str, str]) -> str:
    """Return the namespace that the reader makes of this server's queries."""
    return f"trino://{environ['TRINO_HOST']}:{_port(environ)}"


def _scheme(environ: Mapping[str, str]) -> str:
    return "https" if environ.get("TRINO_PASSWORD") or environ.get("TRINO_TOKEN") else "http"


def _port(environ: Mapping[str, str]) -> int:
    said = environ.get("TRINO_PORT", "")
    return int(said) if said.isdigit() else 443 if _scheme(environ) == "https" else 8080
