"""The rows that one event adds to the tables."""

import datetime as dt
import uuid

from headwater.model.event import Warning
from headwater.store.events import rows


class Changes(rows.RowSet):
    """The rows that one event adds, and the event's warnings."""

    def __init__(self) -> None:
        super().__init__()
        self.warnings: list[Warning] = []
        self._namespaces: set[str] = set()

    def add_namespace(self, name: str, at: dt.datetime) -> None:
        """Add a namespace, once: most names of an event share one or two."""
        if name not in self._namespaces:
            self._namespaces.add(name)
            self.add(rows.NamespaceRow(name, at))

    def take_nodes(self, left: set[uuid.UUID]) -> list[str]:
        """Remove from `left` the datasets, jobs and runs that the event mentions; return their node ids (`run:{uuid}` for runs)."""
        taken = []
        for prefix, named in (("dataset", self.of(rows.DatasetRow)), ("job", self.of(rows.JobRow))):
            for row in named:
                if row.id in left:
                    left.remove(row.id)
                    taken.append(f"{prefix}:{row.namespace}:{row.name}")
        for run in self.of(rows.RunRow):
            if run.run_id in left:
                left.remove(run.run_id)
                taken.append(f"run:{run.run_id}")
        return taken
