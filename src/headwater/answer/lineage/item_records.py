"""The items and contents that runs read and wrote, and the causes of runs: links for the walk, out of the closure.

The closure has every pair of nodes with the fewest steps. So a question of any width and depth costs a fixed number of
statements: all links above or below are loaded at once.
"""

import datetime as dt
import uuid
from collections.abc import Collection, Mapping

from headwater.answer.lineage.walk import Item, Key, Link, Place, Step
from headwater.model import version
from headwater.store.database import Connection
from headwater.store.lineage import correlation as store
from headwater.store.lineage.run_lineage import VersionRow
from headwater.store.lineage.runs import RunKey

# One content may lie in many datasets: so many are roots, the newest.
_MOST_ROOTS = 100
_RELATIONS = {0: "CAUSED", 1: "READ", 2: "WROTE", 3: "IS"}


class ItemRecords:
    """`rows`: items, contents and runs that were met; `keys`, `by_key`: the nodes of the walk that they are. `written_in`: the versions that items
    and contents were written in, and whether each is all that its run wrote to the dataset; these are links, too, if there are `versions` to add
    them to.
    """

    def __init__(
        self,
        connection: Connection,
        max_nodes: int,
        as_of: dt.datetime | None = None,
        *,
        versions: dict[uuid.UUID, VersionRow] | None = None,
    ) -> None:
        self._connection, self._most, self._as_of, self._versions = connection, max_nodes, as_of, versions
        self.rows: dict[uuid.UUID, store.Node] = {}
        self.keys: dict[uuid.UUID, Key] = {}
        self.by_key: dict[Key, store.Node] = {}
        self.written_in: dict[Item, list[tuple[VersionRow, bool]]] = {}
        self._roots: set[Item] = set()
        self._ready: dict[str, list[Step]] = {}
        self._whole: dict[str, set[Key]] = {"upstream": set(), "downstream": set()}

    async def load(self, ids: Collection[uuid.UUID]) -> list[store.Node]:
        """Load these items, contents and runs, as far as they are known."""
        await self._fill(ids)
        return [self.rows[id_] for id_ in ids if id_ in self.rows]

    async def _fill(self, ids: Collection[uuid.UUID]) -> None:
        for row in await store.nodes(self._connection, set(ids) - self.rows.keys() if self.rows else ids):
            self.rows[row.id] = row
            # A run is the same node that events tell of.
            key = RunKey(row.run_id, row.job_id) if row.kind == "RUN" and row.run_id and row.job_id else Item(row.id)
            self.keys[row.id], self.by_key[key] = key, row

    async def newest_contents(self, fingerprint: str) -> tuple[list[store.Node], list[str]]:
        """The contents with a fingerprint, and the items that are such a content, the newest first; and what there is to know of them."""
        rows = await self.load(await store.of_version(self._connection, fingerprint))
        rows.sort(key=lambda row: (row.at, row.id), reverse=True)
        places = len({(row.dataset_id, row.part) for row in rows})
        notes = [f"the content lies in {places} places; all are roots"] if places > 1 else []
        if len(rows) > _MOST_ROOTS:
            notes = [f"the content was met {len(rows)} times in {places} places; the newest {_MOST_ROOTS} are roots"]
        return rows[:_MOST_ROOTS], notes

    async def preload(self, keys: Collection[Key], direction: str, steps: int) -> None:
        """Load what is above and below these nodes, the roots, at once, up to so many steps, before it is asked for."""
        self._roots = {key for key in keys if isinstance(key, Item)}
        ways = ("upstream", "downstream") if direction == "both" else (direction,)
        roots = [id_ for key in keys if (id_ := self._id(key)) is not None]
        met = {way: await self._reach(roots, way, max(steps, 1)) for way in ways}
        every = {*roots, *(id_ for reached in met.values() for id_ in reached)}
        found = await self._among(every)
        for way, reached in met.items():
            self._mark_whole(way, keys, reached)
            own = {*roots, *reached}
            all_of_them = len(own) == len(every)
            self._ready[way] = [
                self._step(edge)
                for edge in found
                if all_of_them or edge.refused or (edge.parent in own and edge.child in own)
            ]

    async def expand(self, keys: Collection[Key], direction: str, steps: int) -> list[Step]:
        """Return the links to all that is above or below these nodes, up to so many steps; from roots also to the versions that they are in."""
        found, whole = self._ready.pop(direction, []), self._whole[direction]
        asked = [key for key in keys if key not in whole]
        if ids := [id_ for key in asked if (id_ := self._id(key)) is not None]:
            reached = await self._reach(ids, direction, steps)
            found += [self._step(edge) for edge in await self._among({*ids, *reached})]
            self._mark_whole(direction, asked, reached)
        if self._versions is not None and direction == "downstream":
            # The run that wrote the others leads to them and to their versions.
            items = self._roots.intersection(keys)
            await self.load_versions(items)
            for item in items:
                found += [(item, Place(row.dataset, row.id), _PART_OF) for row, _ in self.written_in.get(item, ())]
        return found

    def _id(self, key: Key) -> uuid.UUID | None:
        row = self.by_key.get(key)
        if row is not None or isinstance(key, Item):
            return row.id if row is not None else key.id  # type: ignore[union-attr]
        return version.correlated_run_id(key.run, key.job) if isinstance(key, RunKey) else None

    def _step(self, edge: store.Edge) -> Step:
        link = Link(_RELATIONS[edge.role], "TOLD", False, (), edge.weight, edge.refused, edge.at)
        return self.keys[edge.parent], self.keys[edge.child], link

    async def _reach(self, ids: list[uuid.UUID], direction: str, steps: int) -> dict[uuid.UUID, bool]:
        """Return what is above or below these, the nearest first, and whether all links of each are known afterwards."""
        limit = self._most + len(ids) + 1
        far = await store.related(
            self._connection,
            ids,
            "ancestors" if direction == "upstream" else "descendants",
            None if steps >= store.ALL else steps,
            limit,
        )
        # The farthest may have links that are not here.
        last = far[-1][1] if len(far) >= limit else steps
        return {id_: at < last for id_, at in far}

    def _mark_whole(self, direction: str, asked: Collection[Key], reached: Mapping[uuid.UUID, bool]) -> None:
        self._whole[direction].update(asked, (self.keys[id_] for id_, known in reached.items() if known))

    async def _among(self, ids: Collection[uuid.UUID]) -> list[store.Edge]:
        """The edges between these nodes."""
        found = await store.edges_among(self._connection, ids) if ids else []
        await self._fill(ids)
        return found if self._as_of is None else [edge for edge in found if edge.at <= self._as_of]

    async def load_versions(self, items: Collection[Item]) -> None:
        """Load which versions these items and contents were written in."""
        new = items - self.written_in.keys()
        self.written_in |= {item: [] for item in new}
        for id_, alone, row in await store.versions_of(self._connection, {item.id for item in new}):
            self.written_in[Item(id_)].append((row, alone))
            if self._versions is not None:
                self._versions[row.id] = row


_PART_OF = Link("PART", "TOLD", weight=0)
