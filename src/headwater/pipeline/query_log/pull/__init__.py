"""A warehouse's query log from the warehouse itself, as files that the readers in `sources` take in unchanged. One module a source, all with the same
names in them (see `Source`).

The query log is asked for in bounded windows of the time at which queries ended: each query is in one window, and is whole there. A window becomes
a file of JSON lines; its name says which window it is, so the folder itself is all that has to be known to go on.

A further source is one more module, its SQL in `queries/`, its line in `SOURCES`, an extra in pyproject.toml, and its part of
docs/howto/query-log.md. Client libraries are imported when a connection is made, and never before.
"""

import datetime as dt
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final, Protocol, cast

from headwater.errors import InvalidQuestion
from headwater.pipeline.query_log.pull.asking import Statement

SOURCES: Final[dict[str, str]] = {
    name: f"{__name__}.{name}" for name in ("bigquery", "databricks", "redshift", "snowflake", "trino")
}


class Source(Protocol):
    """What every module of a source offers."""

    NAME: str
    EXTRA: str
    """The extra of Headwater that brings the client library."""
    LAG: dt.timedelta
    """How late the vendor's table is: what ended later than this before now may not be in it yet."""
    WINDOW: dt.timedelta
    """How long a window is unless told otherwise."""
    BACK: dt.timedelta
    """How far back the first call goes."""
    KEEPS: dt.timedelta
    """How long the vendor's table keeps a query: nothing older is asked for."""
    WITH: Mapping[str, dt.timedelta]
    """What may be asked for besides, and how late that is."""
    SECRETS: tuple[str, ...]
    """Names of the environment whose values must never be shown."""

    def statements(
        self, since: dt.datetime, until: dt.datetime, environ: Mapping[str, str], besides: frozenset[str]
    ) -> tuple[Statement, ...]:
        """What is asked for the queries that ended in [since, until), with what is wanted besides (names of WITH)."""
        ...

    def connect(self, environ: Mapping[str, str], seconds: int) -> Any:
        """A DB-API connection. `environ` says where to and as whom; a statement may take `seconds`.

        NotInstalled: the client library is missing. InvalidQuestion: the environment does not say enough.
        """
        ...

    def record(self, row: dict[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
        """A row of an answer as the source's reader knows it."""
        ...


def source(name: str) -> Source:
    """The source of that name. InvalidQuestion names those there are."""
    if name not in SOURCES:
        known = ", ".join(SOURCES)
        raise InvalidQuestion(
            f"nothing is known about pulling a query log from {name!r}: known are {known}",
            parameter="source",
            value=name,
        )
    return cast("Source", import_module(SOURCES[name]))
