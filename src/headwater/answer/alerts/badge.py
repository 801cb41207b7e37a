"""The state of one dataset in a word, for a badge on other pages."""

import asyncio
import time

import msgspec

from headwater.answer.lineage.find import resolve
from headwater.answer.status.freshness import health
from headwater.answer.status.open_incidents import OpenIncident, open_incidents
from headwater.store.database import Database

_SECONDS = 30.0
_MOST = 1_000
_MOST_HELD = 1_000
_WORST = ("wrong", "policy", "failed", "doubted", "late", "stalled")


class BadgeState(msgspec.Struct, frozen=True):
    """`state`: wrong, failed, doubted, late, stalled, `failing` (a check), fresh, `no rhythm` or dropped; unknown for a name of no or several."""

    label: str
    state: str


class BadgeStates:
    """The states that were asked for lately: anyone may ask, so each is computed once in 30 seconds, and the incidents once for all."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._held: dict[str, tuple[float, BadgeState]] = {}
        self._incidents: tuple[float, list[OpenIncident]] = (-float("inf"), [])
        self._one = asyncio.Lock()

    async def find(self, name: str) -> BadgeState:
        """Return the state of the dataset with this name, whole or an ending that only one has."""
        at, state = self._held.get(name, (-float("inf"), BadgeState(name, "unknown")))
        if time.monotonic() - at < _SECONDS:
            return state
        async with self._one:
            state = await self._compute(name)
        if len(self._held) >= _MOST_HELD:
            self._held.clear()
        self._held[name] = time.monotonic(), state
        return state

    async def _compute(self, name: str) -> BadgeState:
        match = (await resolve(self._database, name, "dataset")).match if name.strip() else None
        if match is None:
            return BadgeState(name, "unknown")
        at, incidents = self._incidents
        if time.monotonic() - at >= _SECONDS:
            incidents = (await open_incidents(self._database, limit=_MOST)).incidents
            self._incidents = time.monotonic(), incidents
        kinds = {one.kind for one in incidents if one.id == match.id}
        kinds |= {hit.kind for one in incidents for hit in one.hit if hit.id == match.id}
        found = next((kind for kind in _WORST if kind in kinds), None)
        if found is None:
            one = await health(self._database, match.namespace, match.name)
            found = _calm(one.available, one.quality.state, one.state)
        return BadgeState(match.label, found)


def _calm(available: bool | None, quality: str, state: str) -> str:
    if available is False:
        return "dropped"
    if quality == "failing":
        return "failing"
    return {"on_time": "fresh", "late": "late", "very_late": "late"}.get(state, "no rhythm")
