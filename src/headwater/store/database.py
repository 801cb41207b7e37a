"""The pool, transactions, and the translation of driver errors into ours.

A `Database` is opened once, by the composition root, and passed down.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Self

import psycopg
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from headwater.errors import DatabaseRefused, DatabaseUnavailable, Forbidden, StaleGeneration
from headwater.model.limits import ReaderLimits
from headwater.store.arrays import Packed, PackedDumper
from headwater.store.limited import apply_limits, reader_limits, shadow_tables

Connection = AsyncConnection[Any]

# SQLSTATE classes that say "later": connection, read-only (a standby, an operator's brake), serialization and deadlock, resources, lock and
# statement timeouts, operator intervention, the system.
_RETRYABLE_CLASSES = frozenset({"08", "25", "40", "53", "55", "57", "58"})

# Seconds; `tcp_user_timeout` in milliseconds.
_PATIENCE = {
    "connect_timeout": 5, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 4, "tcp_user_timeout": 30_000,
}  # fmt: skip

# Milliseconds between two looks of a running statement at whether its client is still there.
_GONE_AFTER = 10_000

# The reasons for which PostgreSQL answers but takes no write, by SQLSTATE.
_UNWRITABLE = {"53100": "the database's disk is full", "25006": "the database is read-only"}

_SNAPSHOT = "set transaction isolation level repeatable read, read only"

# The error of begin_writing() (migration 0002).
_STALE = "HW001"


class Database:
    """A pool of connections to one PostgreSQL."""

    def __init__(self, url: str, *, pool_size: int = 8, statement_timeout_seconds: float = 60.0) -> None:
        self.url = url
        # The reason the last transaction could not write; None after one that could.
        self.unwritable: str | None = None
        options = (
            # A statement does not outlive a process that was killed, nor the locks that it holds.
            f"-c statement_timeout={int(statement_timeout_seconds * 1000)} -c timezone=UTC "
            f"-c client_connection_check_interval={_GONE_AFTER}"
        )
        self._pool = _pool_of(url, pool_size, _configure, options)
        # Opened by the first reader with limits. The sets of what is visible are hashed, which is slow beyond recognition if they do not fit.
        self._limited = _pool_of(url, pool_size, _configure_limited, f"{options} -c work_mem=64MB")
        self._opening = asyncio.Lock()

    async def open(self) -> Self:
        """Connect. Raises DatabaseUnavailable if PostgreSQL does not answer within ten seconds."""
        try:
            await self._pool.open(wait=True, timeout=10.0)
        except PoolTimeout as error:
            raise DatabaseUnavailable(f"PostgreSQL does not answer: {error}") from error
        return self

    async def close(self) -> None:
        await self._pool.close()
        await self._limited.close()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    def pool(self) -> dict[str, int]:
        """Return the connections open (`pool_size`), at most (`pool_max`), free (`pool_available`), and the requests
        waiting for one (`requests_waiting`)."""
        return self._pool.get_stats()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A connection in autocommit, for reads of one statement."""
        if (limits := reader_limits.get()) is not None:
            async with self._limited_snapshot(limits) as connection:
                yield connection
            return
        with translated():
            async with self._pool.connection() as connection:
                yield connection

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """Open a transaction: it commits when the block ends without an error, and rolls back otherwise.

        Raises Forbidden for a reader with limits, who changes nothing.
        """
        if reader_limits.get() is not None:
            raise Forbidden("a reader limited to some datasets changes nothing: use a key without limits")
        try:
            with translated():
                async with self._pool.connection() as connection, connection.transaction():
                    yield connection
        except DatabaseUnavailable as error:
            self.unwritable = _UNWRITABLE.get(str(error.detail.get("sqlstate")), self.unwritable)
            raise
        self.unwritable = None

    @asynccontextmanager
    async def snapshot(self, *, generic: bool = False) -> AsyncIterator[Connection]:
        """Reads of several statements that see one moment of the database.

        `generic`: every statement has one good plan for all parameters (it looks rows up by ids), so none is planned anew.
        """
        if (limits := reader_limits.get()) is not None:
            async with self._limited_snapshot(limits) as connection:
                yield connection
            return
        with translated():
            async with self._pool.connection() as connection, connection.transaction():
                await connection.execute(_SNAPSHOT)
                if generic:
                    await use_generic_plans(connection)
                yield connection

    @asynccontextmanager
    async def _limited_snapshot(self, limits: ReaderLimits) -> AsyncIterator[Connection]:
        """A snapshot of what these limits let a reader see."""
        if self._limited.closed:
            async with self._opening:
                if self._limited.closed:
                    await self._limited.open()
        with translated():
            async with self._limited.connection() as connection, connection.transaction():
                await connection.execute(_SNAPSHOT)
                await apply_limits(connection, limits)
                yield connection


def _pool_of(
    url: str, size: int, configure: Callable[[Connection], Awaitable[None]], options: str
) -> AsyncConnectionPool[Connection]:
    return AsyncConnectionPool(
        url,
        min_size=1,
        max_size=size,
        open=False,
        timeout=10.0,
        # The pool waits twice as long before each next attempt, up to this; then the next request begins anew. Without it PostgreSQL
        # would be back for minutes before it is noticed.
        reconnect_timeout=2.0,
        configure=configure,
        kwargs={"autocommit": True, "prepare_threshold": 2, "options": options, **connecting(url)},
    )


async def use_generic_plans(connection: Connection) -> None:
    """Plan no statement anew for the rest of this transaction: for statements with one good plan for all parameters."""
    await connection.execute("set local plan_cache_mode = force_generic_plan")


def connecting(url: str) -> dict[str, Any]:
    """Return libpq's parameters for how long to wait on a silent server; those in the address itself take precedence.
    Raises DatabaseRefused for an address that is none.

    A host that vanished without closing its connections would hold every writer for the two hours of Linux's own keepalive.
    """
    try:
        told = {name: value for name, value in conninfo_to_dict(url).items() if name in _PATIENCE}
    except psycopg.ProgrammingError as error:
        # Not shown: it may hold a password.
        raise DatabaseRefused(
            "the database's address is not a PostgreSQL URL or connection string; correct HEADWATER_DATABASE__URL"
        ) from error
    return {**_PATIENCE, **told}


async def _configure(connection: Connection) -> None:
    connection.adapters.register_dumper(Packed, PackedDumper)


async def _configure_limited(connection: Connection) -> None:
    await _configure(connection)
    await shadow_tables(connection)


async def sent(connection: Connection) -> None:
    """Return when all that a pipeline was given has left this process. To be awaited before a pipeline is synchronised.

    The driver sends a command's last part with the next command; waiting for results with a large part unsent waits for ever, because
    the server waits for it too.
    """
    while connection.pgconn.flush():
        connection.pgconn.consume_input()
        await asyncio.sleep(0.0005)


class translated:  # noqa: N801 - reads as a statement: `with translated():`
    """Driver errors in this block leave it as DatabaseRefused (permanent) or DatabaseUnavailable (retryable)."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, PoolTimeout):
            raise DatabaseUnavailable("no database connection became free in time") from error
        if isinstance(error, psycopg.Error):
            state = error.sqlstate
            text = str(error).splitlines()[0] if str(error) else type(error).__name__
            if state is None and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
                raise DatabaseUnavailable(f"PostgreSQL connection failed: {text}") from error
            if state == _STALE:
                raise StaleGeneration("the caches of this process are out of date") from error
            if state is not None and state[:2] in _RETRYABLE_CLASSES:
                raise DatabaseUnavailable(f"PostgreSQL cannot answer now: {text}", sqlstate=state) from error
            raise DatabaseRefused(f"PostgreSQL refused: {text}", sqlstate=state) from error
