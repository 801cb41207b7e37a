"""Trino's catalogs: the tables of each, with their columns, asked for once a day, because a coordinator asks every catalog for them.

Trino does not say in one place what a table is (a view, partitioned, described), so only columns are told.
"""

import datetime as dt
from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import groupby
from typing import Any, Final

from headwater.client import event
from headwater.connectors import Send
from headwater.connectors.changed import Changes
from headwater.model.connector_reports import ConnectorCheck
from headwater.pipeline.query_log.pull.asking import query

MOST_COLUMNS: Final = 2_000_000
EVERY: Final = dt.timedelta(days=1)


def check_others(connection: Any, remedy: str) -> Iterator[ConnectorCheck]:
    """Yield a check if no other user's query is seen: access control leaves out what a user may not view, without an error."""
    with closing(connection.cursor()) as cursor:
        cursor.execute(query("trino_others"), ())
        rows = cursor.fetchmany(1)
    if rows and not rows[0][0]:
        yield ConnectorCheck(
            "queries",
            "missing",
            "no query of another user is listed: there was none, or this user may not view them",
            remedy,
        )


def send_tables(
    connection: Any, namespace: str, before: Mapping[str, Any], now: dt.datetime, send: Send
) -> tuple[int, dict[str, Any], list[str]]:
    """Send the tables that are new, changed or gone since the last time. Returns how many there are, what to remember, and warnings."""
    if (last := before.get("at")) and now - dt.datetime.fromisoformat(last) < EVERY:
        return 0, dict(before), []
    with closing(connection.cursor()) as cursor:
        cursor.execute(query("trino_columns"), ())
        rows = cursor.fetchall()
    changes = Changes(before.get("digests"))
    tables = 0
    for names, some in groupby(rows[:MOST_COLUMNS], key=lambda row: row[:3]):
        tables += 1
        columns = [
            {"name": name, "type": kind, **({"description": remarks} if remarks else {})}
            for *_, name, kind, remarks in some
        ]
        name = ".".join(names)
        if changes.is_new(name, columns):
            send(event.dataset_event(namespace, name, facets={"schema": event.schema(columns)}, event_time=now))
    if cut := len(rows) > MOST_COLUMNS:
        changes.digests = {**(before.get("digests") or {}), **changes.digests}
    for name in changes.gone() if not cut else []:
        state = event.facet("LifecycleStateChangeDatasetFacet", lifecycleStateChange="DROP")
        send(event.dataset_event(namespace, name, facets={"lifecycleStateChange": state}, event_time=now))
    warnings = [f"only the first {MOST_COLUMNS:,} columns were read"] if cut else []
    return tables, {"at": now.isoformat(), "digests": changes.digests}, warnings
