"""Pages of Marquez's jobs out of the graph in memory: equal to `marquez.jobs.page`, which answers where the graph does not.

Which jobs a page has holds until an event arrives; a job's body until an event touches it, or a dataset that it shows.
"""

import uuid
from collections.abc import Collection

import msgspec

from headwater.answer.lineage.resident import Passing, ResidentGraph
from headwater.answer.lineage.resident_jobs import MOST_JOBS, PageFace, filled, spots_of
from headwater.answer.marquez import jobs as reference
from headwater.answer.marquez import shapes
from headwater.graph.adjacency import Missing, Spot
from headwater.model.run import RunState
from headwater.store.database import Connection
from headwater.store.lineage import names
from headwater.store.marquez import marquez as rows

_KIND = "v1 job of a page"
_encode = msgspec.json.Encoder().encode


class _Listing(msgspec.Struct, frozen=True):
    """The filters of a page of jobs. `states`: of their latest runs."""

    namespace: str | None
    states: frozenset[RunState]
    limit: int
    offset: int


class _JobsPage(msgspec.Struct, frozen=True):
    jobs: tuple[uuid.UUID, ...]
    total: int


async def page(
    graph: ResidentGraph, namespace: str | None, states: Collection[RunState], limit: int, offset: int
) -> bytes | None:
    """Return the encoded page (a `shapes.Jobs`); None: ask the reference."""
    if limit > MOST_JOBS:
        return None
    return await graph.answer(_JobsFace(_Listing(namespace, frozenset(states), limit, offset)))


class _JobsFace(PageFace[_Listing]):
    async def find_root(self, connection: Connection) -> _JobsPage:
        listing = self.listing
        found, total = await rows.jobs_page(
            connection, listing.namespace, listing.states or None, listing.limit, listing.offset
        )
        return _JobsPage(tuple(row.id for row in found), total)

    def attempt(self, graph: ResidentGraph, page: _JobsPage, _passing: Passing) -> bytes | Missing | list[Spot]:
        spots = spots_of(graph, page.jobs)
        if missing := [spot for spot in spots if _KIND not in spot.bodies]:
            return missing
        return filled(shapes.Jobs(jobs=[], total_count=page.total), [spot.bodies[_KIND].shown for spot in spots])

    async def load_bodies(
        self, connection: Connection, graph: ResidentGraph, spots: list[Spot], _passing: Passing
    ) -> None:
        found = await rows.jobs_by_ids(connection, [spot.id for spot in spots])
        shown = await reference.with_datasets(connection, list(found.values()))
        graph.hold_aliases(await names.members(connection, {id_ for _, datasets in shown.values() for id_ in datasets}))
        for spot in spots:
            if spot.id not in shown:
                graph.graph.mixed.add(spot)
                continue
            job, datasets = shown[spot.id]
            body = _encode(job)
            graph.hold_body(spot, _KIND, body, len(body), reads=datasets)
