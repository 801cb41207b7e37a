"""List what a database holds, with a query of one column: dates, timestamps or texts. Works with any Python driver of PEP 249.

A timestamp without a zone, and a date, are in the entity's time zone.
"""

import datetime as dt
import os
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from typing import Any

from headwater.capture.storage.listing import Listing
from headwater.errors import DatabaseRefused, DatabaseUnavailable, InvalidQuestion, NotInstalled

_AT_ONCE = 10_000


def query(dsn: str, sql: str, driver: str = "psycopg") -> Listing:
    """List the first column of each row. `dsn`: the argument of the driver's `connect`, or `env:NAME` for an environment variable.

    Raises NotInstalled without the driver. DatabaseRefused and DatabaseUnavailable are raised when rows are read.
    """
    if dsn.startswith("env:"):
        name = dsn.removeprefix("env:")
        if name not in os.environ:
            raise InvalidQuestion(f"there is no variable {name} in the environment", variable=name)
        dsn = os.environ[name]
    try:
        module = import_module(driver)
    except ImportError as error:
        raise NotInstalled(f"a query through {driver} needs it: pip install {driver}", missing=[driver]) from error
    listing = Listing(f"a query through {driver}")
    listing.texts = _rows(module, dsn, sql, listing)
    return listing


def _rows(module: Any, dsn: str, sql: str, listing: Listing) -> Iterator[str]:
    try:
        with closing(module.connect(dsn)) as connection, closing(_cursor(module, connection)) as cursor:
            cursor.execute(sql)
            while rows := cursor.fetchmany(_AT_ONCE):
                for row in rows:
                    if row[0] is None:
                        listing.ignored += 1
                    else:
                        yield _text(row[0])
    except module.OperationalError as error:
        raise DatabaseUnavailable(f"the database does not answer: {error}") from error
    except module.Error as error:
        raise DatabaseRefused(f"the query was refused: {error}") from error


def _cursor(module: Any, connection: Any) -> Any:
    """Return a cursor; psycopg loads all rows at once without a server-side one."""
    return connection.cursor("headwater_reconcile") if module.__name__ == "psycopg" else connection.cursor()


def _text(value: object) -> str:
    if isinstance(value, dt.datetime):
        return (value if value.tzinfo is None else value.astimezone(dt.UTC)).isoformat()
    return value.isoformat() if isinstance(value, dt.date) else str(value)
