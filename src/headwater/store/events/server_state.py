"""The one row that server processes agree by: the generation of what may be remembered, the rules about names, whether to rebuild."""

import datetime as dt

import msgspec

from headwater.model.identity import Rule
from headwater.store import sqlfile
from headwater.store.database import Connection

_rules = msgspec.json.Decoder(tuple[Rule, ...])


class ServerState(msgspec.Struct, frozen=True):
    """`generation` goes up whenever something remembered may be wrong: the rules changed, or the projections were emptied.

    `identity_behind`: no rebuild has applied the rules to the past yet. `log_dropped_before`: the log has holes before this time.
    `bytes_digests_until`: events that arrived by then may be in the log under the digest of their bytes (decision 057).
    """

    generation: int
    rules: tuple[Rule, ...]
    rebuild_needed: bool
    identity_behind: bool = False
    log_dropped_before: dt.datetime | None = None
    bytes_digests_until: dt.datetime | None = None


async def read(connection: Connection) -> ServerState:
    generation, rules, *rest = await sqlfile.load("events/server_state")["read"].one(connection)
    return ServerState(generation, _rules.decode(rules), *rest)


async def begin_writing(connection: Connection, generation: int) -> None:
    """First statement of a transaction that writes projections.

    Waits for a running rebuild. Raises StaleGeneration when the remembered generation is no longer the database's.
    """
    await sqlfile.load("events/server_state")["begin_writing"].send(connection, generation=generation)


async def set_rules(connection: Connection, rules: tuple[Rule, ...]) -> int:
    """Keep new rules; the generation they begin. They hold for what arrives from now on, and for the rest after a rebuild."""
    (generation,) = await sqlfile.load("events/server_state")["set_identity"].one(connection, identity=_text(rules))
    return int(generation)


async def set_parsed_sql(connection: Connection, on: bool) -> None:
    """Set whether edges of jobs that report SQL and no dataset count, in every answer from now on."""
    await sqlfile.load("events/server_state")["set_parsed_sql"].exec(connection, on=on)


async def next_generation(connection: Connection) -> int:
    (generation,) = await sqlfile.load("events/server_state")["next_generation"].one(connection)
    return int(generation)


async def begin_rebuild(connection: Connection) -> None:
    """Wait for every writer to end, and keep the next ones waiting until this transaction ends."""
    await connection.execute("select pg_advisory_xact_lock(1751474532, 2)")


async def rebuilt(connection: Connection, rules: tuple[Rule, ...]) -> None:
    """The projections are as the log says under these rules."""
    await sqlfile.load("events/server_state")["rebuilt"].exec(connection, identity=_text(rules))


def _text(rules: tuple[Rule, ...]) -> str:
    return msgspec.json.encode(rules).decode()
