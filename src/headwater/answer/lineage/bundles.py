"""Bundles: of a walk's nodes the many that are alike, each set as one node with a count. Their members are named and not loaded, so that a
table with thousands of readers costs no more than their names.
"""

import hashlib
import uuid
from collections.abc import Collection, Mapping, Sequence

from headwater.answer.lineage.lineage_answer import Bundle, DrawnEdge
from headwater.graph.bundles import Alike, Place, alike
from headwater.model.lineage import Edge
from headwater.store.database import Connection
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage.nodes import NodeRow


class Bundled:
    """The bundles of a walk: which nodes are in which, and the edges from and to them."""

    def __init__(self) -> None:
        self.bundles: list[Bundle] = []
        self.of: dict[uuid.UUID, Bundle] = {}
        self._edges: list[tuple[uuid.UUID | Bundle, uuid.UUID | Bundle, Edge, int]] = []

    async def find(
        self,
        connection: Connection,
        hops: Mapping[uuid.UUID, int],
        edges: Collection[Edge],
        above: int,
        opened: Collection[str],
    ) -> None:
        """Find the sets of more than `above` nodes; those that are `opened` stay as they are, and what lies beyond them as bundled as before."""
        if len(hops) <= above:
            return
        # UUIDs hash slowly: nodes are numbered once.
        rows = list((await node_store.by_ids(connection, hops.keys())).values())
        number = {row.id: i for i, row in enumerate(rows)}
        places = [Place(row.type, hops[row.id], row.node_id, row.parent_id) for row in rows]
        ends = [(number.get(edge.source, -1), number.get(edge.target, -1)) for edge in edges]
        stands: list[uuid.UUID | Bundle] = [row.id for row in rows]
        for same in alike(places, [pair for pair in ends if min(pair) >= 0], above):
            bundle = _bundle(same, rows, places, opened)
            if same.is_family and (parent := rows[same.members[0]].parent_id):
                top = (await node_store.by_ids(connection, [parent])).get(parent)
                bundle.label = top.name if top else bundle.label
            self.bundles.append(bundle)
            if not bundle.is_open:
                for i in same.members:
                    stands[i] = self.of[rows[i].id] = bundle
        drawn: dict[tuple[int, int], tuple[uuid.UUID | Bundle, uuid.UUID | Bundle, Edge, int]] = {}
        for edge, (source, target) in zip(edges, ends, strict=True):
            if min(source, target) < 0:
                continue
            one, other = stands[source], stands[target]
            if one is not other and (isinstance(one, Bundle) or isinstance(other, Bundle)):
                before = drawn.get((id(one), id(other)))
                drawn[id(one), id(other)] = (one, other, *_together(before, edge))
        self._edges = list(drawn.values())

    def count_beyond(
        self, beyond: Mapping[str, Mapping[uuid.UUID, Collection[uuid.UUID]]], there: Collection[uuid.UUID]
    ) -> None:
        """Count what lies beyond the members and is no part of the answer."""
        for side in ("upstream", "downstream"):
            hidden: dict[int, set[uuid.UUID]] = {}
            for id_, others in beyond[side].items():
                if (bundle := self.of.get(id_)) is not None:
                    hidden.setdefault(id(bundle), set()).update(
                        other for other in others if other not in there and other not in self.of
                    )
            for bundle in self.bundles:
                setattr(bundle, f"hidden_{side}", len(hidden.get(id(bundle), ())))

    def edges(self, names: Mapping[uuid.UUID, str]) -> list[DrawnEdge]:
        """Return the edges with an end in a bundle, those between the same two as one with a count. `names`: node ids of the other nodes."""
        found = []
        for one, other, edge, count in self._edges:
            source = one.id if isinstance(one, Bundle) else names.get(one)
            target = other.id if isinstance(other, Bundle) else names.get(other)
            if source is not None and target is not None:
                relation = "READ" if edge.direction == "in" else "WROTE"
                origin = "DECLARED" if _is_weak(edge) else "OBSERVED"
                found.append(DrawnEdge(source, target, origin, edge.first_seen, edge.last_seen, relation, count=count))
        return found


def _is_weak(edge: Edge) -> bool:
    return edge.manual or edge.parsed or edge.declared


def _together(before: tuple[object, object, Edge, int] | None, edge: Edge) -> tuple[Edge, int]:
    """The edge that speaks for those so far, one that a run showed rather than one that was declared; and how many they are."""
    if before is None:
        return edge, 1
    _, _, so_far, count = before
    return edge if _is_weak(so_far) and not _is_weak(edge) else so_far, count + 1


def _bundle(same: Alike, rows: Sequence[NodeRow], places: Sequence[Place], opened: Collection[str]) -> Bundle:
    members = sorted((rows[i] for i in same.members), key=lambda row: (row.namespace, row.name))
    id_ = f"bundle:{hashlib.sha256(repr(same.key).encode()).hexdigest()[:16]}"
    first, last = members[0], members[-1]
    shared = _shared_start(first.name, last.name) if first.namespace == last.namespace else ""
    label = f"{shared}…" if len(shared) > 2 else first.namespace
    place = places[same.members[0]]
    return Bundle(id_, place.kind, label, len(members), [row.node_id for row in members], place.hop, id_ in opened)


def _shared_start(first: str, last: str) -> str:
    """Return the start that all names between these two, in their order, share."""
    return first[
        : next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    ]
