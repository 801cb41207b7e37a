"""Rebuild every projection from the log of events and the log of changes, under the current identity rules. The logs are never changed.

It is one transaction: readers see the old tables until it commits, writers wait, and an interrupted rebuild changes nothing.
"""

import hashlib
from collections.abc import Callable

from headwater.errors import LogIncomplete
from headwater.intake.events import closure
from headwater.intake.events.project import Projector
from headwater.intake.events.statements import add_statement_reads
from headwater.intake.people import manual
from headwater.intake.upkeep import retention
from headwater.model.event import read
from headwater.model.identity import Identity
from headwater.store import search
from headwater.store.database import Database
from headwater.store.events import backup, events, projections, server_state
from headwater.store.events.rows import merge_rows

_PAGE = 1000


async def rebuild(
    database: Database,
    progress: Callable[[int, int], None] = lambda done, total: None,
    *,
    from_what_is_left: bool = False,
) -> int:
    """Project the whole log. Returns the number of events. `progress(done, total)` is called after each page. Runs that retention deleted are
    deleted again.

    Raises LogIncomplete if retention dropped a part of the log that the tables still reflect, unless `from_what_is_left`.
    """
    done = 0
    async with database.transaction() as connection:
        await connection.execute("set local statement_timeout = 0")
        await connection.execute("set local plan_cache_mode = force_generic_plan")
        # As in `begin_writing`: a query plan made while the tables are small is cached until the end.
        await connection.execute("set local enable_seqscan = off")
        await connection.execute("set local jit = off")
        await server_state.begin_rebuild(connection)
        state = await server_state.read(connection)
        gone = state.log_dropped_before
        if gone is not None and not from_what_is_left and await backup.projected(connection):
            raise LogIncomplete(
                f"events before {gone:%Y-%m-%d} were dropped by retention: a rebuild would lose the lineage that only they report. "
                "To rebuild from the remaining log: headwater server rebuild --from-what-is-left",
                dropped_before=gone.isoformat(),
            )
        known = projections.CommittedRows()
        projector = Projector(Identity(state.rules), known.committed)
        total, _ = await events.totals(connection)
        await projections.empty(connection)
        async for page in events.pages(connection, _PAGE):
            rows = known.news(merge_rows([projector(read(body), at, digest) for at, digest, body in page]))
            async with connection.pipeline() as pipeline:
                written = await projections.write(connection, pipeline, rows)
            await add_statement_reads(connection, rows, projector.decoder)
            await closure.update_closure(connection, written.correlated)
            known.learn(rows)
            done += len(page)
            progress(done, total)
        # From here on, queries read whole tables.
        await connection.execute("set local enable_seqscan = on")
        await manual.replay(connection, Identity(state.rules))
        await retention.delete_again(connection)
        await search.refresh_all(connection)
        await server_state.rebuilt(connection, state.rules)
    return done


async def delete_what_is_due(database: Database) -> None:
    """Delete runs that the next run of retention would delete by the last limits, so that the tables can be compared with a rebuild."""
    async with database.transaction() as connection:
        await connection.execute("set local statement_timeout = 0")
        await server_state.begin_rebuild(connection)
        await retention.delete_again(connection)


async def needed(database: Database) -> bool:
    """Return whether a migration emptied the projections, so that a rebuild is needed."""
    async with database.connection() as connection:
        return (await server_state.read(connection)).rebuild_needed


async def fingerprints(database: Database) -> dict[str, str]:
    """A digest of each projection's rows, in order. Equal exactly if the tables are equal, byte for byte."""
    digests = {}
    async with database.snapshot() as connection:
        for table in projections.TABLES:
            digest = hashlib.blake2b(digest_size=16)
            async for line in projections.lines(connection, table):
                digest.update(line)
            digests[table] = digest.hexdigest()
    return digests
