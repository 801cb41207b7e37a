"""Lineage as people look at it, at every zoom: content drawn as its item, and of many runs and versions that are alike a few and one that stands for
the rest. Datasets, jobs, groups and entities are drawn one by one.

Pure, over the answer as JSON. Nothing is left out without a count, and what differs from its siblings (a run that failed, a series with a reader
of its own) is never folded into them. JSON answers are not drawn: they have every node.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from headwater.model.names import short

_DIRECTIONS = {"ancestors": "upstream", "descendants": "downstream"}
# So many alike are drawn one by one; with more, the rest are one node.
FAN = 4
# Above this number of nodes, siblings count as alike even if their names differ.
_CROWDED = 120
_VARYING = re.compile(r"[0-9a-f]{8}[0-9a-f-]*|\d+")
_DIGITS = re.compile(r"(\d+)")
_LONGEST = 80
_MOST_PARTS = 3


class PictureNode(msgspec.Struct):
    """One node of a picture. `count` > 1: it stands for so many (`members`, by id); `node` is then one of them. `content`: what was drawn into it."""

    id: str
    label: str
    node: dict[str, Any]
    root: bool = False
    count: int = 1
    members: list[str] = msgspec.field(default_factory=list)
    content: dict[str, Any] | None = None

    @property
    def state(self) -> str | None:
        """The state of a run; of a job, that of its last run."""
        return self.node.get("state") or (self.node.get("last_run") or {}).get("state")


class Arrow(msgspec.Struct, frozen=True, order=True):
    """From parent to child, by the ids of what is drawn. `refused`: it would close a loop, and is not followed. `declared`: no run reported it.

    `note`: the parts that were read or written, whether the version is judged by the time at which the reader began, and whether only some of a
    job's runs have the edge. `text`: the columns that flow, or what a dependency says.
    """

    parent: str
    child: str
    refused: bool = False
    note: str = ""
    text: str = ""
    declared: bool = False


class Picture(msgspec.Struct):
    """Nodes by id, those that nothing is above first, and every one after all that is above it; roots stand for the roots of the answer."""

    nodes: dict[str, PictureNode]
    arrows: list[Arrow]
    roots: list[str]


def picture(answer: Mapping[str, Any], fan: int = FAN) -> Picture:
    """Return the picture of an answer of `/api/v2/lineage`; `fan`: up to this many alike nodes stay unfolded."""
    drawing = _Drawing(answer, fan)
    drawing.fold_content()
    made = drawing.folded(by_name=True)
    return made if len(made.nodes) <= _CROWDED else drawing.folded(by_name=False)


def as_lineage(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer of `/api/v2/correlation` in the shape of `/api/v2/lineage`."""
    nodes = [
        node
        | {"type": "RUN" if node["kind"] == "RUN" else "VERSION", "label": _label(node), "hop": node["depth"]}
        | {
            "item": node["id"] if node["kind"] == "ITEM" else None,
            "version_id": None,
            "external_version": node["fingerprint"],
        }
        for node in answer["nodes"]
    ]
    of_run = {node["id"] for node in nodes if node["type"] == "RUN"}
    edges = [
        {"source": edge["parent"], "target": edge["child"], "refused": edge["refused"], "claims": [], "parts": []}
        | {"relation": "READ" if of_run & {edge["parent"], edge["child"]} else "IS"}
        for edge in answer["edges"]
    ]
    hidden = {"nodes": answer["hidden"]["count"], "reason": answer["hidden"]["reason"]}
    direction = _DIRECTIONS.get(answer["direction"], "both")
    return dict(answer) | {"nodes": nodes, "edges": edges, "hidden": hidden, "direction": direction}


def _label(node: Mapping[str, Any]) -> str:
    """Return a node's label: the process of a run; the last part of a dataset's name, and its part; else its fingerprint or id."""
    if node["kind"] == "RUN":
        return str(node["process"] or node["run_id"] or node["id"])
    dataset = node["dataset"]
    if dataset:
        # `dataset:{namespace}:{name}`; a namespace may hold colons, the last part of a name seldom does.
        found = short(str(dataset).partition(":")[2])
        part = "/".join(f"{key}={value}" for key, value in (node.get("part") or {}).items())
        return "/".join(filter(None, (found.rsplit(":", 1)[-1] or found, part)))
    return str(node["fingerprint"] or node["id"])


def _note(edge: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]]) -> str:
    named = [part for end in ("source", "target") if (part := nodes[edge[end]].get("part"))]
    parts = [", ".join(f"{key}={value}" for key, value in part.items()) for part in edge["parts"] if part not in named]
    guess = ["by time"] if any(claim["evidence"] == "DERIVED" for claim in edge["claims"]) else []
    some = ["not by every run"] if edge.get("intermittent") else []
    return "; ".join([*parts[:_MOST_PARTS], *(["…"] if len(parts) > _MOST_PARTS else []), *guess, *some])


def _columns_into(answer: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for edge in answer.get("column_edges", ()):
        found[edge["source"], edge["job"]].add(edge["source_field"] or "(all)")
    return {pair: ", ".join(sorted(fields)) for pair, fields in found.items()}


def place(name: str) -> str:
    """Shorten a dataset's name to the last two segments of a path; a table's name is whole."""
    return "/".join(name.rsplit("/", 2)[-2:]) if "/" in name else name


class _Drawing:
    def __init__(self, answer: Mapping[str, Any], fan: int) -> None:
        self.fan = max(1, fan)
        self.nodes: dict[str, dict[str, Any]] = {node["id"]: node for node in answer["nodes"]}
        edges = [edge for edge in answer["edges"] if edge["source"] in self.nodes and edge["target"] in self.nodes]
        columns = _columns_into(answer)
        self.arrows = {
            Arrow(
                *(pair := (edge["source"], edge["target"])), edge["refused"], _note(edge, self.nodes),
                edge.get("text") or columns.get(pair, ""), edge.get("origin") == "DECLARED",
            )
            for edge in edges
        }  # fmt: skip
        # An item may be drawn with its content, and neither with another of its kind.
        self.is_content = {
            (edge["source"], edge["target"])
            for edge in edges
            if edge["relation"] == "IS"
            and self.nodes[edge["source"]]["item"]
            and not self.nodes[edge["target"]]["item"]
        }
        self.roots = {id_ for id_ in answer["roots"] if id_ in self.nodes}
        self.content: dict[str, dict[str, Any]] = {}

    def fold_content(self) -> None:
        """A content that one item has, and that has no other node above it, is drawn as that item, if the item is of no other content."""
        above, below = self._neighbours()
        moved: dict[str, str] = {}
        for item, content in self.is_content:
            if above[content] == {item} and sum((item, child) in self.is_content for child in below[item]) == 1:
                moved[content] = item
                self.content[item] = self.nodes[content]
        self.arrows = {
            msgspec.structs.replace(a, parent=moved.get(a.parent, a.parent), child=moved.get(a.child, a.child))
            for a in self.arrows
            if moved.get(a.child) != a.parent
        }
        self.roots = {moved.get(id_, id_) for id_ in self.roots}
        self.nodes = {id_: node for id_, node in self.nodes.items() if id_ not in moved}

    def _neighbours(self) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
        above: dict[str, set[str]] = defaultdict(set)
        below: dict[str, set[str]] = defaultdict(set)
        for arrow in self.arrows:
            if not arrow.refused:
                above[arrow.child].add(arrow.parent)
                below[arrow.parent].add(arrow.child)
        return above, below

    def folded(self, *, by_name: bool) -> Picture:
        """Nodes are alike when they are of one kind, and so is all above and all below them."""
        above, below = self._neighbours()
        order = _order(self.nodes, above, below)
        level: dict[str, int] = {}
        for id_ in order:
            level[id_] = 1 + max((level.get(parent, 0) for parent in above[id_]), default=0)
        first = {id_: self._likeness(id_, by_name) for id_ in order}
        up, down = _shades(order, first, above), _shades(reversed(order), first, below)
        alike: dict[tuple[int, int], list[str]] = defaultdict(list)
        for id_ in order:
            alike[up[id_], down[id_]].append(id_)
        rank: dict[str, int] = {}
        stands_for: dict[str, str] = {}
        drawn: dict[str, PictureNode] = {}
        # Parents before children, so that of alike children those are kept whose parents are.
        for members in alike.values():
            members.sort(
                key=lambda id_: (min((rank.get(p, 0) for p in above[id_]), default=0), self._natural(id_), id_)
            )
            for place, id_ in enumerate(members):
                rank[id_] = place
            kept = members if len(members) <= self.fan + 1 else members[: self.fan]
            for id_ in kept:
                drawn[id_] = self._drawn(id_)
                stands_for[id_] = id_
            if len(kept) < len(members):
                rest = self._rest(members, members[len(kept) :])
                drawn[rest.id] = rest
                stands_for |= dict.fromkeys(rest.members, rest.id)
        nodes = self._placed(drawn, stands_for, above, level)
        return Picture(
            nodes,
            sorted(
                {
                    msgspec.structs.replace(a, parent=stands_for[a.parent], child=stands_for[a.child])
                    for a in self.arrows
                }
            ),
            [id_ for id_, one in nodes.items() if one.root],
        )

    def _placed(
        self,
        drawn: dict[str, PictureNode],
        stands_for: dict[str, str],
        above: dict[str, set[str]],
        level: dict[str, int],
    ) -> dict[str, PictureNode]:
        """Place the nodes in the order of their parents, so that few arrows cross. Nodes that are alike are equally far from the
        farthest source."""
        rows: dict[int, list[PictureNode]] = defaultdict(list)
        for one in drawn.values():
            rows[level[_any_member(one)]].append(one)
        placed: dict[str, PictureNode] = {}
        places: dict[str, int] = {}
        for _, row in sorted(rows.items()):
            keys = {
                one.id: (
                    one.count > 1,
                    min((places.get(stands_for[parent], 0) for parent in above[_any_member(one)]), default=0),
                    _natural(one.label),
                    one.id,
                )
                for one in row
            }
            for one in sorted(row, key=lambda one: keys[one.id]):
                places[one.id] = len(placed)
                placed[one.id] = one
        return placed

    def _likeness(self, id_: str, by_name: bool) -> object:
        node = self.nodes[id_]
        root, against = id_ in self.roots, node.get("against")
        if node["type"] == "RUN":
            return ("RUN", root, against, node["job"], node["version"], node["state"], bool(node["forced"]))
        if node["type"] != "VERSION":
            return id_
        stem = _VARYING.sub("#", node["label"]) if by_name else None
        return (node["item"] is None, root, against, bool(node["collided"]), stem)

    def _natural(self, id_: str) -> list[Any]:
        return _natural(self.nodes[id_]["label"])

    def _drawn(self, id_: str) -> PictureNode:
        node = self.nodes[id_]
        label = place(node["name"]) if node["type"] == "DATASET" else node["label"]
        return PictureNode(id_, label, node, id_ in self.roots, content=self.content.get(id_))

    def _rest(self, alike: list[str], members: list[str]) -> PictureNode:
        """The one that stands for those not drawn: called by what all names begin with."""
        names = {self.nodes[id_]["label"] for id_ in alike}
        name = names.pop() if len(names) == 1 else f"{_beginning([*names])}.."
        root = any(id_ in self.roots for id_ in members)
        return PictureNode(f"{members[0]}..", name, self.nodes[members[0]], root, len(members), members)


def _any_member(drawn: PictureNode) -> str:
    return drawn.members[0] if drawn.members else drawn.id


def _order(nodes: Collection[str], above: Mapping[str, set[str]], below: Mapping[str, set[str]]) -> list[str]:
    """Parents before children; what is on a loop (the store keeps none) comes last."""
    waiting = {id_: len(above.get(id_, ())) for id_ in nodes}
    order = [id_ for id_ in nodes if not waiting[id_]]
    for id_ in order:
        for child in below.get(id_, ()):
            waiting[child] -= 1
            if not waiting[child]:
                order.append(child)
    met = set(order)
    return order + [id_ for id_ in nodes if id_ not in met]


def _shades(order: Iterable[str], first: Mapping[str, object], beyond: Mapping[str, set[str]]) -> dict[str, int]:
    """Equal numbers for nodes that are alike, and beyond which (one way) all is alike; how many there are beyond does not matter."""
    known: dict[object, int] = {}
    found: dict[str, int] = {}
    for id_ in order:
        shade = (first[id_], frozenset(found.get(other, -1) for other in beyond.get(id_, ())))
        found[id_] = known.setdefault(shade, len(known))
    return found


def _natural(text: str) -> list[Any]:
    """`TS2` before `TS10`: words at even places, numbers at odd ones."""
    return [int(part) if place % 2 else part for place, part in enumerate(_DIGITS.split(text[:_LONGEST]))]


def _beginning(names: list[str]) -> str:
    """Return the common beginning of all names, short of a number that is cut in two."""
    low, high = min(names), max(names)
    same = next((place for place, char in enumerate(low) if place >= len(high) or high[place] != char), len(low))
    return low[:same].rstrip("0123456789")
