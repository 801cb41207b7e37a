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
    """The interface of every module of a source."""

    NAME: str
    EXTRA: str
    """The extra of Headwater that brings the client library."""
    LAG: dt.timedelta
    """The extra of Headwater that installs the client library."""
    WINDOW: dt.timedelta
    """The delay of the vendor's table: a query that ended later than this before now may not be in it yet."""
    BACK: dt.timedelta
    """The length of a window, unless the caller sets another."""
    KEEPS: dt.timedelta
    """The time before now at which the first call begins."""
    WITH: Mapping[str, dt.timedelta]
    """The time for which the vendor's table keeps a query: nothing older is asked for."""
    SECRETS: tuple[str, ...]
    """Names of the environment whose values must never be shown."""

    def statements(
        self, since: dt.datetime, until: dt.datetime, environ: Mapping[str, str], besides: frozenset[str]
    ) -> tuple[Statement, ...]:
        """Return the statements to run for the queries that ended in [since, until), with those of `besides` (names of WITH)."""
        ...

    def definitions(self, environ: Mapping[str, str]) -> Statement:
        """Return the statement that lists the definitions that stand: views and what else goes on making one table from others."""
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
