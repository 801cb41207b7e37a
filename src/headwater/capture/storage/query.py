"""What a database holds, by a query of one column: dates, timestamps or texts. Of any database with a Python driver of the usual kind (PEP 249).

A timestamp without a zone is a time of the clock of the entity's zone; a date is a date there.
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
    """The first column of each row. `dsn`: what the driver's `connect` takes; `env:NAME` is that variable of the environment.

    NotInstalled where there is no such driver. DatabaseRefused and DatabaseUnavailable come when rows are read.
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
    """psycopg brings all rows at once unless the cursor is one of the server's."""
    return connection.cursor("headwater_reconcile") if module.__name__ == "psycopg" else connection.cursor()


def _text(value: object) -> str:
    if isinstance(value, dt.datetime):
        return (value if value.tzinfo is None else value.astimezone(dt.UTC)).isoformat()
    return value.isoformat() if isinstance(value, dt.date) else str(value)
