"""Replay a database as it was at a time: copy its logs as they had arrived by then, and project them.

The source is only read, in one snapshot that ends with the copying. The tables follow from the logs and the identity
rules, so the target answers questions as the source did then.
"""

import asyncio
import datetime as dt
from collections.abc import Callable

import msgspec

from headwater.errors import DatabaseUnavailable, LogIncomplete, ReplayRefused
from headwater.intake.events.accept import Intake
from headwater.intake.upkeep.rebuild import rebuild
from headwater.store.database import Connection, Database
from headwater.store.events import arrivals, events, server_state
from headwater.store.events import replay as store
from headwater.store.migrate import migrate

_PAGE = 200
_WRITERS_SECONDS = 30.0

# The step (`copying`, `projecting`, `sending again`), how much is done, and the total.
Progress = Callable[[str, int, int], None]


class Replayed(msgspec.Struct, frozen=True):
    """The result of a replay. `copied`, `projected`: whether this replay did it, or an earlier, interrupted or complete one.

    `rules_from`: `audit` (the rules of that time are from the audit log), `none yet`, or `today` (the audit log lacks them; the current rules were
    used). `log_dropped_before`: events before it were dropped by retention and are missing.
    """

    until: dt.datetime
    events: int
    changes: int
    rules: int
    rules_from: store.Origin
    copied: bool
    projected: bool
    log_dropped_before: dt.datetime | None


class AcceptedAgain(msgspec.Struct, frozen=True):
    """The result of accepting every event of the log again. `changed`: tables in which a row was written. `refused`: number of events."""

    events: int
    refused: int
    changed: list[str]


async def replay(
    source: Database,
    target: Database,
    until: dt.datetime,
    progress: Progress = lambda what, done, total: None,
    *,
    from_what_is_left: bool = False,
) -> Replayed:
    """Make `target` what `source` was at `until`. `target` must be empty, or hold the same replay, interrupted, which then continues.

    Raises ReplayRefused for a time in the future or before the log, and for a target that holds anything else; LogIncomplete if retention dropped a
    part of the log, unless `from_what_is_left`.
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
                # Lock out other writers, and check again that it is empty.
                await server_state.begin_rebuild(writing)
                _fits(await store.held(writing), until, wanted)
                await server_state.set_rules(writing, rules)
                await store.copy(reading, writing, "changes", until)
                await store.copy(reading, writing, "warnings", until)
                total = wanted.events
                await store.copy(
                    reading, writing, "events", until, lambda done: progress("copying", min(done, total), total)
                )
                await store.settle(writing, until, wanted.seal, state)
    if not held.projected:
        await migrate(target)
        await rebuild(
            target,
            lambda done, total: progress("projecting", done, total),
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
    """Check the source and the time before there is a target. Raises as `replay`."""
    await _settled(source, until)
    async with source.snapshot() as connection:
        await _checked(connection, until, from_what_is_left)


async def _settled(source: Database, until: dt.datetime) -> None:
    """Wait until all events that arrived by `until` are committed. Raises ReplayRefused for a source without a log, or a time in the future."""
    async with source.connection() as connection:
        behind = await store.behind(connection)
        if behind is None:
            raise ReplayRefused(
                "there is no log to replay: the database in use is not Headwater's; check HEADWATER_DATABASE__URL"
            )
        if behind:
            raise ReplayRefused(
                f"the database in use has an older schema ({behind[0]} did not run): start this version's server on it first",
                missing=behind,
            )
        now = await store.clock(connection)
        if until > now:
            raise ReplayRefused(
                f"{_text(until)} is in the future: the database's clock says {_text(now)}; give an earlier time"
            )
        # An event's time of arrival is set before its transaction commits.
        open_ = await arrivals.writers(connection)
        for _ in range(int(_WRITERS_SECONDS * 20)):
            if not open_:
                return
            await asyncio.sleep(0.05)
            open_ &= await arrivals.writers(connection)
    raise DatabaseUnavailable(f"a transaction has been writing to the log for over {_WRITERS_SECONDS:.0f} s; try again")


async def _checked(connection: Connection, until: dt.datetime, from_what_is_left: bool) -> server_state.ServerState:
    """The source's state. Raises if its log does not reach back to the time, or is incomplete."""
    await connection.execute("set local statement_timeout = 0")
    state = await server_state.read(connection)
    begins, gone = await store.begins(connection), state.log_dropped_before
    if begins is None:
        raise ReplayRefused("the log is empty: there is nothing to replay")
    if begins > until:
        less = f" (retention dropped events before {gone:%Y-%m-%d})" if gone else ""
        raise ReplayRefused(
            f"the log has no event that had arrived by {_text(until)}: it begins at {_text(begins)}{less}; give a later time",
            begins=begins.isoformat(),
        )
    if gone is not None and not from_what_is_left:
        raise LogIncomplete(
            f"events before {gone:%Y-%m-%d} were dropped by retention: answers at {_text(until)} may have depended on them. "
            "To replay the remaining log: headwater server replay --from-what-is-left",
            dropped_before=gone.isoformat(),
        )
    return state


def _fits(held: store.ReplayTarget, until: dt.datetime, wanted: store.Extent) -> store.ReplayTarget:
    """Raises ReplayRefused for a target that is neither empty nor of this replay."""
    if held.strange is not None:
        raise ReplayRefused(
            f"the database to replay into is not empty: it has a table {held.strange!r} that is not Headwater's; name an empty one"
        )
    if held.until is None:
        if held.events or held.changes:
            raise ReplayRefused(
                f"the database to replay into is not empty: it holds {held.events:,} events and {held.changes:,} changes by people; name an empty one"
            )
    elif held.until != until or held.seal != wanted.seal:
        other = f"until {_text(held.until)}" if held.until != until else "of another log"
        raise ReplayRefused(f"the database to replay into holds another replay, {other}; name an empty one")
    elif (held.events, held.changes) != (wanted.events, wanted.changes):
        raise ReplayRefused(
            "the database to replay into has accepted other events or changes since it was replayed; name an empty one"
        )
    return held


def _text(time: dt.datetime) -> str:
    return time.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")


async def accept_again(database: Database, progress: Progress = lambda what, done, total: None) -> AcceptedAgain:
    """Accept every event of the log again, as if its producers had resent it, and return the tables that it changed: there should be none.

    No other process may write to the database meanwhile: its rows would count.
    """
    intake = Intake(database)
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
    return AcceptedAgain(done, refused, [table for table, place in before.items() if after[table] != place])
