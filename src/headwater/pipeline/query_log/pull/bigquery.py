"""BigQuery: INFORMATION_SCHEMA.JOBS of one project in one region (`BIGQUERY_REGION`, such as `eu` or `europe-west1`; else `us`).

As whom is the client's own to find out: application default credentials, and `GOOGLE_CLOUD_PROJECT`.
"""

import datetime as dt
import re
from collections.abc import Mapping
from contextlib import closing
from typing import Any, Final

from headwater.errors import InvalidQuestion
from headwater.pipeline.query_log.pull.asking import Statement, client, query, unpacked

NAME: Final = "bigquery"
EXTRA: Final = "bigquery"
LAG: Final = dt.timedelta(minutes=10)
WINDOW: Final = dt.timedelta(hours=1)
BACK: Final = dt.timedelta(days=1)
KEEPS: Final = dt.timedelta(days=180)
WITH: Final[dict[str, dt.timedelta]] = {}
SECRETS: Final[tuple[str, ...]] = ()

# A job waits a day at most, and a script runs a day at most. A longer bound would be paid for with each window.
_LONGEST: Final = dt.timedelta(days=2)
_NESTED: Final = ("destination_table", "referenced_tables", "labels", "error_result", "session_info", "dml_statistics")


def statements(
    since: dt.datetime, until: dt.datetime, environ: Mapping[str, str], besides: frozenset[str]
) -> tuple[Statement, ...]:
    bound = {"since": since, "until": until, "earliest": since - _LONGEST}
    # A region is a part of a name, which nothing can be bound to.
    return (Statement(query(NAME).replace("{region}", _region(environ)), bound),)


def definitions(environ: Mapping[str, str]) -> Statement:
    return Statement(query("bigquery_definitions").replace("{region}", _region(environ)), ())


def connect(environ: Mapping[str, str], seconds: int) -> Any:
    bigquery = client("google.cloud.bigquery", EXTRA)
    dbapi = client("google.cloud.bigquery.dbapi", EXTRA)
    config = bigquery.QueryJobConfig(job_timeout_ms=seconds * 1_000, labels={"application": "headwater"})
    made = bigquery.Client(
        project=environ.get("GOOGLE_CLOUD_PROJECT") or None, location=_region(environ), default_query_job_config=config
    )
    return _Connection(made, dbapi.connect(made, prefer_bqstorage_client=False))


class _Connection:
    """Closes the client with the connection: given to it, it would stay open."""

    def __init__(self, made: Any, connection: Any) -> None:
        self._client, self._connection = made, connection

    def cursor(self) -> Any:
        return self._connection.cursor()

    def close(self) -> None:
        with closing(self._client):
            self._connection.close()


def record(row: dict[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    return unpacked(row, _NESTED)


def _region(environ: Mapping[str, str]) -> str:
    region = (environ.get("BIGQUERY_REGION") or "us").lower().removeprefix("region-")
    if not re.fullmatch(r"[a-z0-9-]{2,40}", region):
        raise InvalidQuestion(f"BIGQUERY_REGION {region!r} is no region; write eu or europe-west1", value=region)
    return region
