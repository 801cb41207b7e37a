"""The datasets, jobs and runs that events are about, for what holds a part of the graph in memory (docs/decisions/058).

Those of events that this process wrote are remembered for a while, so that they are not projected again.
"""

import datetime as dt
from collections import OrderedDict
from collections.abc import Iterable, Sequence

from headwater.intake.events.changes import Changes
from headwater.intake.events.project import Projector
from headwater.model.event import read
from headwater.model.identity import Identity
from headwater.model.touched import Touched
from headwater.store.database import Connection
from headwater.store.events import server_state
from headwater.store.events.rows import DatasetRow, EdgeRow, JobRow, RunRow

_REMEMBERED = 4000


class TouchedNodes:
    """The nodes that recent events are about, by digest."""

    def __init__(self) -> None:
        self._recent: OrderedDict[bytes, Touched] = OrderedDict()
        self._projector: tuple[int, Projector] | None = None

    def remember(self, written: Iterable[tuple[bytes, Changes]]) -> None:
        """Take what was committed."""
        for digest, changes in written:
            self._recent[digest] = _touched(changes)
        while len(self._recent) > _REMEMBERED:
            self._recent.popitem(last=False)

    def recent(self, digest: bytes) -> Touched | None:
        """Return what an event is about, if this process wrote it lately."""
        return self._recent.get(digest)

    async def project(
        self, connection: Connection, generation: int, events: Sequence[tuple[dt.datetime, bytes, bytes]]
    ) -> list[Touched]:
        """Return what these events of the log are about: (time, digest, body), under the rules about names of this generation."""
        if self._projector is None or self._projector[0] != generation:
            state = await server_state.read(connection)
            self._projector = (state.generation, Projector(Identity(state.rules)))
        projector = self._projector[1]
        return [_touched(projector(read(body), at, digest)) for at, digest, body in events]


def _touched(changes: Changes) -> Touched:
    # A dataset that reports its own lineage stands in a job's place.
    jobs = {row.id for row in changes.of(JobRow)} | {row.job_id for row in changes.of(EdgeRow)}
    return Touched(
        frozenset(row.id for row in changes.of(DatasetRow)),
        frozenset(jobs),
        frozenset(row.run_id for row in changes.of(RunRow)),
    )
