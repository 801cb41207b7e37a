"""The first cause upstream of each trouble, among those that were there when it began."""

import datetime as dt
import uuid
from collections.abc import Iterable, Sequence

from headwater.answer.status.upstream import load_upstream
from headwater.graph.first_cause import first_cause
from headwater.model.troubles import STATES, Trouble
from headwater.store.database import Connection

_APART = dt.timedelta(minutes=1)
_LONGEST = dt.timedelta(hours=6)


async def find_causes(
    connection: Connection, troubles: Sequence[Trouble], candidates: Iterable[Trouble]
) -> dict[uuid.UUID, Trouble]:
    """Return the cause of each trouble that has one other than itself, by the trouble's id. A verdict of wrong is its own."""
    told = [one for one in troubles if one.lasts and one.event != "wrong" and one.node is not None]
    if not told:
        return {}
    every = {one.id: one for one in (*candidates, *told) if one.places()}
    above, _ = await load_upstream(connection, {node for one in every.values() for node in one.places()})
    found = {}
    for one in told:
        there: dict[uuid.UUID, Trouble] = {}
        for other in sorted((each for each in every.values() if _explains(each, one)), key=_order):
            for node in other.places():
                there.setdefault(node, other)
        assert one.node is not None
        there.setdefault(one.node, one)
        first = first_cause(one.node, above, there, lambda node, there=there: (_order(there[node]), node))  # type: ignore[misc]
        cause = there[one.node if first is None else first]
        if cause.id != one.id:
            found[one.id] = cause
    return found


def _explains(other: Trouble, one: Trouble) -> bool:
    """Return whether it was there when the other began, or ended only a short time before: a run that came too late for those who waited for it."""
    if other.since > one.since + _APART:
        return False
    slack = min(one.since - one.began_after, _LONGEST) if one.began_after is not None else dt.timedelta()
    return other.until is None or other.until >= one.since - slack


def _order(one: Trouble) -> tuple[int, dt.datetime, str]:
    return STATES.index(one.event), one.since, one.subject
