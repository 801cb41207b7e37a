"""Load the marks of some instances, change them in memory, and compute the rows that differ from the database."""

from collections.abc import Iterable, Mapping, Sequence

from headwater.entities.status.marks import Mark, Marks, by_entity
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.store.database import Connection
from headwater.store.status import status as store
from headwater.store.status.status import Run, Window


class LoadedMarks:
    """Marks by entity id. Whole runs of marks are loaded, so new marks merge with adjacent ones."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self._rows: set[Run] = set()
        self._seen: set[Run] = set()
        self._marks: dict[int, Marks] = {}
        self._touched: set[int] = set()
        self._add(runs)

    def _add(self, runs: Iterable[Run]) -> dict[int, Marks]:
        """Add the rows that were not loaded before; rows loaded before may have changed since. Returns the added marks, by entity."""
        new = {run for run in runs if run not in self._seen}
        self._seen |= new
        self._rows |= new
        found = by_entity(new)
        for entity_id, marks in found.items():
            self._marks[entity_id] = self.of(entity_id).with_(marks)
        return found

    @classmethod
    async def load(cls, connection: Connection, windows: Sequence[Window]) -> "LoadedMarks":
        """Load the marks in these windows, and beyond them to the end of each run."""
        return cls(await store.marks(connection, windows))

    async def more(self, connection: Connection, windows: Sequence[Window]) -> None:
        """Load the marks in these windows too."""
        self._add(await store.marks(connection, windows))

    async def more_by_ref(self, connection: Connection, kinds: Sequence[str], ref: str) -> dict[int, Marks]:
        """Load all marks of these kinds with a ref, of all entities. Returns those that were not loaded before."""
        return self._add(await store.marks_by_ref(connection, kinds, ref))

    async def more_of_incident(self, connection: Connection, kinds: Sequence[str], ref: str) -> dict[int, Marks]:
        """Load as `more_by_ref` does, and all marks of instances that are `repaired`: they may be deleted."""
        found = await self.more_by_ref(connection, kinds, ref)
        repaired = {id_: some for id_ in self._marks if (some := self._marks[id_].get(Mark("repaired", ref), NONE))}
        hulls = {id_: Ordinals.between(some.first, some.end) for id_, some in repaired.items()}
        if hulls:
            for entity_id, marks in self._add(await store.marks(connection, windows(hulls))).items():
                found[entity_id] = found.get(entity_id, _NOTHING).with_(marks)
        return found

    def ids(self) -> list[int]:
        """The entities with loaded marks."""
        return list(self._marks)

    def of(self, entity_id: int) -> Marks:
        """The current marks; empty outside the loaded windows."""
        return self._marks.get(entity_id, _NOTHING)

    def put(self, entity_id: int, marks: Marks) -> None:
        self._marks[entity_id] = marks
        self._touched.add(entity_id)

    def rows(self) -> tuple[list[Run], list[Run]]:
        """The rows to delete and the rows to insert since the last call."""
        before = {row for row in self._rows if row.entity_id in self._touched}
        now = {
            Run(entity_id, mark.kind, mark.ref, start, end)
            for entity_id in self._touched
            for mark, some in self._marks[entity_id].items()
            for start, end in some
        }
        gone, new = before - now, now - before
        self._rows = (self._rows - gone) | new
        self._touched.clear()
        return sorted(gone), sorted(new)


def windows(wanted: Mapping[int, Ordinals]) -> list[Window]:
    """A window for each run of the instances of each entity."""
    return [(entity_id, start, end) for entity_id, some in wanted.items() for start, end in some]


def united(wanted: Iterable[tuple[int, Ordinals]]) -> dict[int, Ordinals]:
    """The union of the instances of each entity, by id."""
    found: dict[int, list[Ordinals]] = {}
    for entity_id, some in wanted:
        found.setdefault(entity_id, []).append(some)
    return {entity_id: NONE.union(*each) for entity_id, each in found.items()}


_NOTHING = Marks()
