"""Pages of `/api/v2`'s jobs out of the graph in memory: equal to `catalog.jobs`, which answers what searches or counts.

Which jobs a page has holds until an event arrives; what it shows of each is the node of lineage.
"""

import datetime as dt
import uuid
from collections.abc import Hashable, Iterable, Mapping
from typing import Generic, TypeVar

import msgspec

from headwater.answer.lineage.catalog import Jobs, Listing, check_order, rows_of
from headwater.answer.lineage.resident import Passing, ResidentGraph, Unanswerable
from headwater.answer.lineage.resident_lineage import encoded_node, load_nodes, unloaded
from headwater.graph.adjacency import Missing, Spot
from headwater.store.database import Connection
from headwater.store.lineage import nodes as node_store

MOST_JOBS = 1000
"""Longer pages are not held."""

_PLACE = b'"jobs":[]'
_encode = msgspec.json.Encoder().encode
L = TypeVar("L", bound=Hashable)


class PageFace(Generic[L]):
    """A page of jobs of either API. `listing`: all that the page depends on, besides the graph."""

    most = 0

    def __init__(self, listing: L) -> None:
        self.listing = listing

    @property
    def key(self) -> Hashable:
        return self.listing

    @property
    def root(self) -> Hashable:
        return self.listing


def spots_of(graph: ResidentGraph, jobs: Iterable[uuid.UUID]) -> list[Spot]:
    """Return the jobs of a page, held or not. Raises Unanswerable for one that the answer may show otherwise."""
    spots = [graph.graph.spot(job, "JOB") for job in jobs]
    if not graph.graph.mixed.isdisjoint(spots):
        raise Unanswerable
    return spots


def filled(page: msgspec.Struct, jobs: Iterable[bytes]) -> bytes:
    """Return a page without jobs, encoded with these."""
    before, _, after = _encode(page).partition(_PLACE)
    return b'%b"jobs":[%b]%b' % (before, b",".join(jobs), after)


class _JobsPage(msgspec.Struct, frozen=True):
    jobs: tuple[uuid.UUID, ...]
    total: int
    children: Mapping[uuid.UUID, int]


async def jobs(graph: ResidentGraph, listing: Listing) -> bytes | None:
    """Return the encoded page (a `catalog.Jobs`); None: ask the reference. Raises InvalidQuestion, and NotFound for the parent."""
    check_order(listing)
    if listing.facets or listing.limit > MOST_JOBS or any((listing.words, listing.tag, listing.owner, listing.trait)):
        return None
    return await graph.answer(_JobsFace(listing))


class _JobsFace(PageFace[Listing]):
    async def find_root(self, connection: Connection) -> _JobsPage:
        rows, total = await rows_of(connection, "jobs", self.listing, None)
        jobs = tuple(row.id for row in rows)
        return _JobsPage(jobs, total, await node_store.child_counts(connection, jobs))

    def attempt(self, graph: ResidentGraph, page: _JobsPage, passing: Passing) -> bytes | Missing | list[Spot]:
        spots = spots_of(graph, page.jobs)
        missing = unloaded(spots, passing, dt.datetime.now(dt.UTC))
        if missing:
            return missing
        names = {spot.id: spot.name for spot in spots}
        children = {names[job]: count for job, count in page.children.items()}
        return filled(Jobs(page.total, [], None, children), [encoded_node(spot, passing) for spot in spots])

    async def load_bodies(
        self, connection: Connection, graph: ResidentGraph, spots: list[Spot], passing: Passing
    ) -> None:
        await load_nodes(connection, graph, spots, passing)
