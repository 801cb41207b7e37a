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

_REMEMBERED = 2000
_Rows = tuple[Sequence[DatasetRow], Sequence[JobRow], Sequence[EdgeRow], Sequence[RunRow]]


class TouchedNodes:
    """The nodes that recent events are about, by digest."""

    def __init__(self) -> None:
        # The rows as they are: ids are taken of them if a question needs them, for most events never.
        self._recent: OrderedDict[bytes, _Rows] = OrderedDict()
        self._projector: tuple[int, Projector] | None = None

    def remember(self, written: Iterable[tuple[bytes, Changes]]) -> None:
        """Take what was committed."""
        for digest, changes in written:
            self._recent[digest] = _rows(changes)
        while len(self._recent) > _REMEMBERED:
            self._recent.popitem(last=False)

    def recent(self, digest: bytes) -> Touched | None:
        """Return what an event is about, if this process wrote it lately."""
        rows = self._recent.get(digest)
        return None if rows is None else _touched(rows)

    async def project(
        self, connection: Connection, generation: int, events: Sequence[tuple[dt.datetime, bytes, bytes]]
    ) -> list[Touched]:
        """Return what these events of the log are about: (time, digest, body), under the rules about names of this generation."""
        if self._projector is None or self._projector[0] != generation:
            state = await server_state.read(connection)
            self._projector = (state.generation, Projector(Identity(state.rules)))
        projector = self._projector[1]
        return [_touched(_rows(projector(read(body), at, digest))) for at, digest, body in events]


def _rows(changes: Changes) -> _Rows:
    return changes.of(DatasetRow), changes.of(JobRow), changes.of(EdgeRow), changes.of(RunRow)


def _touched(rows: _Rows) -> Touched:
    datasets, jobs, edges, runs = rows
    return Touched(
        frozenset(row.id for row in datasets),
        # A dataset that reports its own lineage stands in a job's place.
        frozenset({row.id for row in jobs} | {row.job_id for row in edges}),
        frozenset(row.run_id for row in runs),
    )
