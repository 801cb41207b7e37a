"""The rows that one event adds to the tables."""

import uuid

from headwater.model.event import Warning
from headwater.store.events import rows


class Changes(rows.RowSet):
    """The rows that one event adds, and the event's warnings."""

    def __init__(self) -> None:
        super().__init__()
        self.warnings: list[Warning] = []

    def nodes(self) -> dict[uuid.UUID, str]:
        """The datasets, jobs and runs that the event mentions: row id to node id (`run:{uuid}` for runs)."""
        nodes = {row.id: f"dataset:{row.namespace}:{row.name}" for row in self.of(rows.DatasetRow)}
        nodes |= {row.id: f"job:{row.namespace}:{row.name}" for row in self.of(rows.JobRow)}
        return nodes | {row.run_id: f"run:{row.run_id}" for row in self.of(rows.RunRow)}
