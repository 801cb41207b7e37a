"""The ends of troubles that raised an alert."""

import datetime as dt
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from headwater.store import sqlfile
from headwater.store.alerts.alerts import OpenMember
from headwater.store.database import Connection

Endings = dict[uuid.UUID, dt.datetime]
_PRODUCER = "producer:"


async def _by_node(connection: Connection, query: str, members: Sequence[OpenMember]) -> Endings:
    some = [one for one in members if one.node is not None]
    if not some:
        return {}
    rows = await sqlfile.load("alerts/endings")[query].many(
        connection, ids=[one.id for one in some], nodes=[one.node for one in some], sinces=[one.since for one in some]
    )
    return {row[0]: row[1] for row in rows}


async def _failed(connection: Connection, members: Sequence[OpenMember]) -> Endings:
    return await _by_node(connection, "good_runs", members)


async def _late(connection: Connection, members: Sequence[OpenMember]) -> Endings:
    return await _by_node(connection, "updates", members)


async def _checks(connection: Connection, members: Sequence[OpenMember]) -> Endings:
    return await _by_node(connection, "passed_checks", members)


async def _verdicts(connection: Connection, members: Sequence[OpenMember]) -> Endings:
    rows = await sqlfile.load("alerts/endings")["closed_verdicts"].many(
        connection, ids=[one.id for one in members], sinces=[one.since for one in members]
    )
    return {row[0]: row[1] for row in rows}


async def _violations(connection: Connection, members: Sequence[OpenMember]) -> Endings:
    return await _by_node(connection, "ended_violations", members)


async def _producers(connection: Connection, members: Sequence[OpenMember]) -> Endings:
    rows = await sqlfile.load("alerts/endings")["heard_again"].many(
        connection, ids=[one.id for one in members], producers=[one.subject.removeprefix(_PRODUCER) for one in members],
        sinces=[one.since for one in members],
    )  # fmt: skip
    return {row[0]: row[1] for row in rows}


ENDINGS: Final[Mapping[str, Callable[[Connection, Sequence[OpenMember]], Awaitable[Endings]]]] = MappingProxyType(
    {
        "failed": _failed,
        "late": _late,
        "failed_check": _checks,
        "wrong": _verdicts,
        "policy_broken": _violations,
        "producer_silent": _producers,
    }
)
"""By the events that last."""
