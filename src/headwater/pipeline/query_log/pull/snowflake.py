"""Snowflake: ACCOUNT_USAGE.QUERY_HISTORY, and on demand ACCESS_HISTORY, SESSIONS and QUERY_ATTRIBUTION_HISTORY.

Where to and as whom: `SNOWFLAKE_ACCOUNT`, `SNOWFLAKE_USER` and one way to sign in, or else a connection of the client's own `connections.toml`.
"""

import datetime as dt
from collections.abc import Mapping
from typing import Any, Final

from headwater.pipeline.query_log.pull.asking import (
    LONGEST,
    Statement,
    client,
    client_parameters,
    needed,
    query,
    unpacked,
    utc,
)

NAME: Final = "snowflake"
EXTRA: Final = "snowflake"
LAG: Final = dt.timedelta(minutes=45)
WINDOW: Final = dt.timedelta(hours=1)
BACK: Final = dt.timedelta(days=1)
KEEPS: Final = dt.timedelta(days=365)
WITH: Final = {
    "access-history": dt.timedelta(hours=3),
    "sessions": dt.timedelta(hours=3),
    "credits": dt.timedelta(hours=8),
}
SECRETS: Final = ("SNOWFLAKE_PASSWORD", "SNOWFLAKE_TOKEN", "SNOWFLAKE_PRIVATE_KEY_FILE_PWD")

_GIVEN: Final = {
    "account": "SNOWFLAKE_ACCOUNT",
    "user": "SNOWFLAKE_USER",
    "password": "SNOWFLAKE_PASSWORD",
    "token": "SNOWFLAKE_TOKEN",
    "authenticator": "SNOWFLAKE_AUTHENTICATOR",
    "private_key_file": "SNOWFLAKE_PRIVATE_KEY_FILE",
    "private_key_file_pwd": "SNOWFLAKE_PRIVATE_KEY_FILE_PWD",
    "role": "SNOWFLAKE_ROLE",
    "warehouse": "SNOWFLAKE_WAREHOUSE",
}
_NESTED: Final = ("DIRECT_OBJECTS_ACCESSED", "BASE_OBJECTS_ACCESSED", "OBJECTS_MODIFIED")


def statements(
    since: dt.datetime, until: dt.datetime, environ: Mapping[str, str], besides: frozenset[str]
) -> tuple[Statement, ...]:
    bound = {"since": utc(since), "until": utc(until), "earliest": utc(since - LONGEST)}
    asked = [Statement(query(NAME, besides), bound)]
    if "access-history" in besides:
        asked.append(Statement(query("snowflake_access"), bound))
    return tuple(asked)


def definitions(environ: Mapping[str, str]) -> Statement:
    return Statement(query("snowflake_definitions"), ())


def connect(environ: Mapping[str, str], seconds: int) -> Any:
    connector = client("snowflake.connector", EXTRA)
    if environ.get("SNOWFLAKE_ACCOUNT"):
        needed(environ, "SNOWFLAKE_USER")
        where = client_parameters(environ, _GIVEN)
    else:
        # The client's own configuration; what the environment says of role and warehouse goes before it.
        where = client_parameters(environ, {"role": _GIVEN["role"], "warehouse": _GIVEN["warehouse"]})
        where["connection_name"] = environ.get("SNOWFLAKE_DEFAULT_CONNECTION_NAME") or "default"
    session = {"STATEMENT_TIMEOUT_IN_SECONDS": seconds, "QUERY_TAG": "headwater pull query-log", "TIMEZONE": "UTC"}
    return connector.connect(**where, application="headwater", session_parameters=session)


def record(row: dict[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    return unpacked(row, _NESTED)
