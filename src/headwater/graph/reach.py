"""The columns and jobs that a column is connected to, over column edges in memory.

A column is (node, field); the empty field is the whole dataset. Rules of travel:
what feeds the whole dataset (a filter, a join key) feeds every column of it; a whole dataset is fed by all that feeds any of its columns;
columns that feed a job itself (data taken to the driver) feed all that the job writes without column evidence of its own.
"""

import uuid
from collections import defaultdict, deque
from collections.abc import Collection, Iterable

from headwater.model.lineage import ColumnEdge

Column = tuple[uuid.UUID, str]


class ColumnGraph:
    """Column edges indexed both ways. `writes` are the (job, dataset) pairs of the same answer."""

    def __init__(self, edges: Iterable[ColumnEdge], writes: Collection[tuple[uuid.UUID, uuid.UUID]]) -> None:
        self._into: dict[uuid.UUID, list[ColumnEdge]] = defaultdict(list)
        self._from: dict[uuid.UUID, list[ColumnEdge]] = defaultdict(list)
        told: set[tuple[uuid.UUID, uuid.UUID]] = set()
        for edge in edges:
            self._into[edge.target].append(edge)
            self._from[edge.source].append(edge)
            told.add((edge.job, edge.target))
        self._fed_by_job: dict[uuid.UUID, list[uuid.UUID]] = defaultdict(list)
        self._feeds: dict[uuid.UUID, list[uuid.UUID]] = defaultdict(list)
        for job, dataset in writes:
            if (job, job) in told and (job, dataset) not in told:
                self._fed_by_job[dataset].append(job)
                self._feeds[job].append(dataset)

    def upstream(self, start: Column) -> tuple[list[ColumnEdge], set[Column]]:
        """Every edge on a way into the column, and every column met."""
        # By identity: to hash an edge costs more than to follow it.
        edges: dict[int, ColumnEdge] = {}
        met = {start}
        queue = deque([start])
        while queue:
            node, field = queue.popleft()
            found = [e for e in self._into[node] if not field or e.target_field in {"", field}]
            edges.update((id(edge), edge) for edge in found)
            following = [(e.source, e.source_field) for e in found] + [(job, "") for job in self._fed_by_job[node]]
            for column in following:
                if column not in met:
                    met.add(column)
                    queue.append(column)
        return list(edges.values()), met

    def downstream(self, start: Column) -> tuple[list[ColumnEdge], set[Column]]:
        """Every edge on a way out of the column, and every column met."""
        edges: dict[int, ColumnEdge] = {}
        met = {start}
        queue = deque([start])
        while queue:
            node, field = queue.popleft()
            found = [e for e in self._from[node] if not field or e.source_field in {"", field}]
            edges.update((id(edge), edge) for edge in found)
            following = [(e.target, e.target_field) for e in found] + [(dataset, "") for dataset in self._feeds[node]]
            for column in following:
                if column not in met:
                    met.add(column)
                    queue.append(column)
        return list(edges.values()), met
