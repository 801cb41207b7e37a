"""Redshift: SYS_QUERY_HISTORY, the pieces of SYS_QUERY_TEXT and, on demand, the tables of SYS_QUERY_DETAIL, one after the other in one file.

Where to and as whom: `REDSHIFT_HOST`, `REDSHIFT_DATABASE`, `REDSHIFT_USER` and `REDSHIFT_PASSWORD`; or `REDSHIFT_IAM=1` with
`REDSHIFT_CLUSTER_IDENTIFIER` and `REDSHIFT_DB_USER`, or a serverless `REDSHIFT_HOST`, and AWS's own credentials.
"""

import datetime as dt
from collections.abc import Mapping
from contextlib import closing
from typing import Any, Final

from headwater.pipeline.query_log.pull.asking import LONGEST, Statement, client, client_parameters, needed, query

NAME: Final = "redshift"
EXTRA: Final = "redshift"
LAG: Final = dt.timedelta(minutes=2)
WINDOW: Final = dt.timedelta(hours=1)
BACK: Final = dt.timedelta(days=1)
KEEPS: Final = dt.timedelta(days=7)
WITH: Final = {"tables": dt.timedelta(minutes=10)}
SECRETS: Final = ("REDSHIFT_PASSWORD",)

_GIVEN: Final = {
    "host": "REDSHIFT_HOST",
    "database": "REDSHIFT_DATABASE",
    "user": "REDSHIFT_USER",
    "password": "REDSHIFT_PASSWORD",
    "db_user": "REDSHIFT_DB_USER",
    "cluster_identifier": "REDSHIFT_CLUSTER_IDENTIFIER",
    "region": "REDSHIFT_REGION",
    "profile": "REDSHIFT_PROFILE",
}


def statements(
    since: dt.datetime, until: dt.datetime, environ: Mapping[str, str], besides: frozenset[str]
) -> tuple[Statement, ...]:
    # The views have times without a zone, which are UTC.
    bound = tuple(at.astimezone(dt.UTC).replace(tzinfo=None) for at in (since, until, since - LONGEST))
    asked = [Statement(query(NAME), bound), Statement(query("redshift_text"), bound)]
    if "tables" in besides:
        asked.append(Statement(query("redshift_detail"), bound))
    return tuple(asked)


def definitions(environ: Mapping[str, str]) -> Statement:
    return Statement(query("redshift_definitions"), ())


def connect(environ: Mapping[str, str], seconds: int) -> Any:
    connector = client("redshift_connector", EXTRA)
    where: dict[str, Any] = dict(client_parameters(environ, _GIVEN))
    if environ.get("REDSHIFT_IAM", "").lower() in {"1", "true", "yes"}:
        needed(environ, "REDSHIFT_DATABASE")
        where["iam"] = True
    else:
        needed(environ, "REDSHIFT_HOST", "REDSHIFT_DATABASE", "REDSHIFT_USER", "REDSHIFT_PASSWORD")
    if environ.get("REDSHIFT_PORT", "").isdigit():
        where["port"] = int(environ["REDSHIFT_PORT"])
    made = connector.connect(**where, application_name="headwater", timeout=60)
    made.autocommit = True
    with closing(made.cursor()) as cursor:
        cursor.execute(f"SET statement_timeout TO {int(seconds) * 1_000}")
    return made


def record(row: dict[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    return row
