"""Make a database as another one was at a time: its logs as they had arrived by then, and the tables they make.

The other one is only read, in one snapshot that ends with the copying. What the tables hold follows from the logs, from the rules about
names and from one setting (`live_runs`), so that questions are answered as they were answered then.
"""

import asyncio
import datetime as dt
from collections.abc import Callable

import msgspec

from headwater.errors import DatabaseUnavailable, LogIncomplete, ReplayRefused
from headwater.intake.events.accept import Intake
from headwater.intake.upkeep.rebuild import rebuild
from headwater.store.database import Connection, Database
from headwater.store.events import events, server_state
from headwater.store.events import replay as store
from headwater.store.migrate import migrate
from headwater.store.people import listeners

_PAGE = 200
_WRITERS_SECONDS = 30.0

# What is done (`copying`, `projecting`, `sending again`), how much of it, of how much.
Progress = Callable[[str, int, int], None]


class Replayed(msgspec.Struct, frozen=True):
    """What a replay made. `copied`, `projected`: now, and not by an earlier replay that was stopped or had done it all.

    `rules_from`: `audit` (the audit log has the rules of then), `none yet`, or `today` (it does not have them; today's were taken).
    `log_dropped_before`: what retention had dropped of the log is missing.
    """

    until: dt.datetime
    events: int
    changes: int
    rules: int
    rules_from: store.Origin
    copied: bool
    projected: bool
    log_dropped_before: dt.datetime | None


class Twice(msgspec.Struct, frozen=True):
    """What came of accepting every event of the log again. `changed`: tables of which a row was written; `refused`: events."""

    events: int
    refused: int
    changed: list[str]


async def replay(
    source: Database,
    target: Database,
    until: dt.datetime,
    progress: Progress = lambda what, done, total: None,
    *,
    live_runs: int = 10,
    from_what_is_left: bool = False,
) -> Replayed:
    """Make `target` what `source` was at `until`. `target` is empty, or of this same replay, which then goes on where it stopped.

    Raises ReplayRefused for a time to come or before the log, and for a target that holds anything else; LogIncomplete when retention
    dropped a part of the log, unless `from_what_is_left`.
    """
    await _settled(source, until)
    async with source.snapshot() as reading:
        state = await _checked(reading, until, from_what_is_left)
        wanted = await store.extent(reading, until)
        rules, rules_from = await store.rules_at(reading, until, state.rules)
        async with target.connection() as connection:
            held = _fits(await store.held(connection), until, wanted)
        if held.until is None:
            await migrate(target)
            await store.make_months(reading, target)
            async with target.transaction() as writing:
                await writing.execute("set local statement_timeout = 0")
                # Nobody else writes to it meanwhile; and it is empty still.
                await server_state.begin_rebuild(writing)
                _fits(await store.held(writing), until, wanted)
                await server_state.set_rules(writing, rules)
                await store.copy(reading, writing, "changes", until)
                await store.copy(reading, writing, "warnings", until)
                total = wanted.events
                await store.copy(
                    reading, writing, "events", until, lambda done: progress("copying", min(done, total), total)
                )
                await store.settle(writing, until, wanted.seal, state.log_dropped_before)
    if not held.projected:
        await migrate(target)
        await rebuild(
            target,
            lambda done, total: progress("projecting", done, total),
            live_runs=live_runs,
            from_what_is_left=True,
        )
        async with target.connection() as connection:
            await store.mark_projected(connection)
    return Replayed(
        until,
        wanted.events,
        wanted.changes,
        len(rules),
        rules_from,
        held.until is None,
        not held.projected,
        state.log_dropped_before,
    )


async def possible(source: Database, until: dt.datetime, *, from_what_is_left: bool = False) -> None:
    """Raise what `replay` would raise because of the source or the time, before there is a target."""
    await _settled(source, until)
    async with source.snapshot() as connection:
        await _checked(connection, until, from_what_is_left)


async def _settled(source: Database, until: dt.datetime) -> None:
    """After it, whatever arrived by `until` is committed. Raises ReplayRefused for a source that has no log, or a time to come."""
    async with source.connection() as connection:
        behind = await store.behind(connection)
        if behind is None:
            raise ReplayRefused("there is no log to replay: the database in use is none of Headwater's")
        if behind:
            raise ReplayRefused(
                f"the database in use is of an older version ({behind[0]} did not run): start the server of this version on it first",
                missing=behind,
            )
        now = await store.clock(connection)
        if until > now:
            raise ReplayRefused(f"{_text(until)} is yet to come: by the database's clock it is {_text(now)}")
        # An event has its time of arrival before its transaction ends.
        open_ = await listeners.writers(connection)
        for _ in range(int(_WRITERS_SECONDS * 20)):
            if not open_:
                return
            await asyncio.sleep(0.05)
            open_ &= await listeners.writers(connection)
    raise DatabaseUnavailable(f"a transaction writes to the log for more than {_WRITERS_SECONDS:.0f} s; try again")


async def _checked(connection: Connection, until: dt.datetime, from_what_is_left: bool) -> server_state.ServerState:
    """What the source says of itself, when its log reaches back to the time and is whole."""
    await connection.execute("set local statement_timeout = 0")
    state = await server_state.read(connection)
    begins, gone = await store.begins(connection), state.log_dropped_before
    if begins is None:
        raise ReplayRefused("the log is empty: there is nothing to replay")
    if begins > until:
        less = f" (retention dropped events before {gone:%Y-%m-%d})" if gone else ""
        raise ReplayRefused(
            f"nothing that is left of the log had arrived by {_text(until)}: it begins {_text(begins)}{less}",
            begins=begins.isoformat(),
        )
    if gone is not None and not from_what_is_left:
        raise LogIncomplete(
            f"events before {gone:%Y-%m-%d} were dropped by retention: what was answered at {_text(until)} may have come from them. "
            "To replay what is left: headwater replay --from-what-is-left",
            dropped_before=gone.isoformat(),
        )
    return state


def _fits(held: store.Held, until: dt.datetime, wanted: store.Extent) -> store.Held:
    """Raises ReplayRefused for a target that is neither empty nor of this replay."""
    if held.strange is not None:
        raise ReplayRefused(
            f"the database to replay into is not empty: it has a table {held.strange!r} and is none of Headwater's"
        )
    if held.until is None:
        if held.events or held.changes:
            raise ReplayRefused(
                f"the database to replay into is not empty: it holds {held.events:,} events and {held.changes:,} changes by people"
            )
    elif held.until != until or held.seal != wanted.seal:
        other = f"until {_text(held.until)}" if held.until != until else "of another log"
        raise ReplayRefused(f"the database to replay into holds another replay, {other}: name an empty one")
    elif (held.events, held.changes) != (wanted.events, wanted.changes):
        raise ReplayRefused(
            "the database to replay into has taken in something else since it was replayed: name an empty one"
        )
    return held


def _text(time: dt.datetime) -> str:
    return time.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")


async def again(
    database: Database, progress: Progress = lambda what, done, total: None, *, live_runs: int = 10
) -> Twice:
    """Accept every event of the log once more, as if its producers had sent it again, and say which tables that wrote to: none should be.

    For a database nobody else writes to: a row that others write counts.
    """
    intake = Intake(database, live_runs)
    done = refused = 0
    async with database.connection() as connection:
        before = await store.places(connection)
        total, _ = await events.totals(connection)
        async for page in events.pages(connection, _PAGE):
            accepted = await intake.accept_each([body for _, _, body in page])
            refused += len(accepted.refused)
            done += len(page)
            progress("sending again", done, total)
        after = await store.places(connection)
    return Twice(done, refused, [table for table, place in before.items() if after[table] != place])
