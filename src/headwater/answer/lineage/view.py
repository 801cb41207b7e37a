"""A view of a lineage answer: filtered, children drawn as their parents, nodes drawn as groups.

Works on the answer that `lineage` gives, in this order: edges are filtered (and what they alone connected goes), nodes are filtered (ways
through them stay, as edges that say how many nodes they pass), children are collapsed, nodes are grouped. Nothing goes without a count.
"""

import datetime as dt
import uuid
from collections.abc import Callable, Collection, Iterable

import msgspec

from headwater.answer.lineage import lineage, node
from headwater.answer.lineage.lineage_answer import AnswerColumnEdge, DrawnEdge, Lineage
from headwater.answer.people.people import Owner, Words
from headwater.errors import InvalidQuestion
from headwater.graph.explicit import feeds
from headwater.graph.grouping import Flow, ancestors, bridged, collapsed, connected, leading
from headwater.model import version
from headwater.model.measured import RECURRENCE
from headwater.model.names import DatasetName, JobName
from headwater.model.run import RunState
from headwater.store.database import Connection, Database
from headwater.store.history import facets as facet_store
from headwater.store.lineage import edges as edge_store
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage.edges import Moment
from headwater.store.people import annotations as annotation_store
from headwater.store.search import platform

COLLAPSE = ("none", "parent", "root")
# The classes of query shapes, by their `headwater_recurrence` facet.
RECURRENCES = ("recurring", "ad_hoc", "one_off")
GROUPS = ("namespace", "source", "tag", "owner", "parent")
ORIGINS = ("OBSERVED", "DECLARED", "PARSED_SQL", "MANUAL")
# Listed members of a group.
_LISTED = 50


class Shape(msgspec.Struct, frozen=True):
    """The filters and the form of a view. Of several namespaces (or platforms, tags, owners) a node needs one; a value
    that ends with `*` is a prefix. A dataset has the tags of its columns, too. A platform is the scheme of a namespace.

    `job_type` and `state` (of the last run) filter jobs and leave datasets alone. `origin` and `since` filter edges.
    `hide`: jobs that recur so are left out with their edges and with what they alone connected; unlike all other
    filters it leaves no bridge.
    """

    namespaces: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    type: str | None = None
    job_type: str | None = None
    state: str | None = None
    origin: str | None = None
    since: dt.datetime | None = None
    collapse: str = "none"
    group: str | None = None
    hide: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()

    @property
    def plain(self) -> bool:
        """True if there is nothing to do."""
        return self == Shape()


class Collapsed(msgspec.Struct):
    """A job that is drawn for its children, and how many edges between them are not drawn."""

    job: str
    children: list[str]
    inside: int


class Group(msgspec.Struct):
    """Nodes drawn as one. `key` is null for those that have no such thing. `members` are at most 50, `hidden_members` the rest."""

    id: str
    key: str | None
    label: str
    datasets: int
    jobs: int
    hop: int
    inside: int
    members: list[str]
    hidden_members: int


class Filtered(msgspec.Struct):
    """The counts of what the filters removed. `cut`: too many edges would have led through hidden nodes; some are missing."""

    nodes: int
    edges: int
    column_edges: int
    cut: bool


class View(Lineage):
    """A drawn lineage answer. With `group`, edges are between groups, and `nodes` and `column_edges` are empty. A plain
    answer has the defaults of the fields below."""

    edges: list[DrawnEdge]  # type: ignore[assignment]
    filtered: Filtered | None = None
    collapsed: list[Collapsed] = msgspec.field(default_factory=list)
    group: str | None = None
    groups: list[Group] = msgspec.field(default_factory=list)


async def view(database: Database, question: lineage.Question, shape: Shape) -> View:
    """Answer the question in this shape. Raises what `lineage` raises, and InvalidQuestion for a shape that does not exist."""
    shape = _checked(shape)
    moment = Moment(question.as_of or "infinity")
    async with database.snapshot(generic=True) as connection:
        found = await lineage.lineage_in(connection, question)
        drawing = _Drawing(connection, found, shape, moment)
        await drawing.filter()
        if shape.collapse != "none":
            await drawing.collapse()
        return drawing.grouped(await drawing.group_keys()) if shape.group else drawing.answer()


def _checked(shape: Shape) -> Shape:
    def match_word(value: str | None, known: Iterable[str], parameter: str) -> str | None:
        if value is None:
            return None
        for word in known:
            if word.upper() == value.upper():
                return word
        raise InvalidQuestion(f"{parameter} {value!r} is not one of {', '.join(known)}", parameter=parameter)

    return msgspec.structs.replace(
        shape,
        type=match_word(shape.type, ("DATASET", "JOB"), "type"),
        state=match_word(shape.state, tuple(RunState.__members__), "state"),
        origin=match_word(shape.origin, ORIGINS, "origin"),
        collapse=match_word(shape.collapse, COLLAPSE, "collapse"),
        group=match_word(shape.group, GROUPS, "group"),
        hide=tuple(match_word(word, RECURRENCES, "hide") or word for word in shape.hide),
    )


def _row_id(shown: node.Node) -> uuid.UUID:
    if isinstance(shown, node.DatasetNode):
        return version.dataset_id(DatasetName(shown.namespace, shown.name))
    return version.job_id(JobName(shown.namespace, shown.name))


def _matches_any(patterns: Collection[str], values: Collection[str]) -> bool:
    """Return whether a value equals a pattern, or begins with one that ends with `*`."""
    return any(v == p or (p.endswith("*") and v.startswith(p[:-1])) for p in patterns for v in values)


def _tags_of(shown: node.Node) -> set[str]:
    """The tags of a node, and of its columns."""
    columns = shown.fields if isinstance(shown, node.DatasetNode) else ()
    return {*shown.tags, *(tag for column in columns for tag in column.tags)}


class _Drawing:
    """A lineage answer while it is filtered, collapsed and grouped."""

    def __init__(self, connection: Connection, found: Lineage, shape: Shape, moment: Moment) -> None:
        self.connection, self.found, self.shape, self.moment = connection, found, shape, moment
        self.nodes = {n.id: n for n in found.named_nodes()}
        self.ids = {id_: _row_id(n) for id_, n in self.nodes.items()}
        self.flows = [
            Flow(e.source, e.target, e.origin, e.first_seen, e.last_seen)
            for e in found.edges
            if e.first_seen is not None and e.last_seen is not None
        ]
        self.columns = list(found.column_edges)
        self.root = found.root
        self.filtered = Filtered(0, 0, 0, False)
        self.collapsed: list[Collapsed] = []

    async def filter(self) -> None:
        await self._filter_edges()
        tests = await self._tests()
        kept = {id_ for id_, shown in self.nodes.items() if id_ == self.root or all(test(id_, shown) for test in tests)}
        if len(kept) < len(self.nodes):
            allowed = await self._allowed(self.nodes.keys() - kept)
            self.flows, self.filtered.cut = bridged(self.flows, kept, allowed)
            self.nodes = {id_: shown for id_, shown in self.nodes.items() if id_ in kept}
        columns = [
            e for e in self.columns if e.source in self.nodes and e.target in self.nodes and self._passes_edge_filter(e)
        ]
        self.filtered.column_edges = len(self.columns) - len(columns)
        self.columns = columns
        self.filtered.nodes = len(self.found.nodes) - len(self.nodes)

    def _passes_edge_filter(self, edge: AnswerColumnEdge) -> bool:
        """Return whether the edges that a column edge runs along passed the filter of edges."""
        return self._edges is None or (
            (edge.source, edge.job) in self._edges
            and (edge.job == edge.target or (edge.job, edge.target) in self._edges)
        )

    _edges: set[tuple[str, str]] | None = None

    async def _filter_edges(self) -> None:
        shape = self.shape
        if shape.origin is None and shape.since is None and not shape.hide:
            return
        hidden = await self._recurring(shape.hide) if shape.hide else set()
        left = [
            flow
            for flow in self.flows
            if (shape.origin is None or flow.origin == shape.origin)
            and flow.source not in hidden
            and flow.target not in hidden
        ]
        starts = {id_ for id_, shown in self.nodes.items() if shown.hop == 0}
        directions = ("upstream", "downstream") if self.found.direction == "both" else (self.found.direction,)
        if (since := shape.since) is not None:
            # An edge that was seen before stays where one that was seen since lies behind it: a window must not cut the way.
            left = leading(left, [flow for flow in left if flow.last_seen >= since], starts, directions)
        self.filtered.edges = len(self.flows) - len(left)
        there = connected(left, starts, directions)
        self.flows = [flow for flow in left if flow.source in there and flow.target in there]
        self.nodes = {id_: shown for id_, shown in self.nodes.items() if id_ in there}
        self._edges = {(flow.source, flow.target) for flow in self.flows}

    async def _recurring(self, classes: Collection[str]) -> set[str]:
        """Jobs of these classes, but for the one that was asked about."""
        told = await self._facets(RECURRENCE)
        return {id_ for id_, facet in told.items() if facet.get("class") in classes and id_ != self.root}

    async def _tests(self) -> list[Callable[[str, node.Node], bool]]:
        """Return the tests that a node has to pass to be shown."""
        shape, tests = self.shape, list[Callable[[str, node.Node], bool]]()
        if shape.namespaces:
            tests.append(lambda _, shown: _matches_any(shape.namespaces, [shown.namespace]))
        if shape.tags:
            tests.append(lambda _, shown: _matches_any(shape.tags, _tags_of(shown)))
        if shape.platforms:
            tests.append(lambda _, shown: _matches_any(shape.platforms, [platform(shown.namespace)]))
        if shape.owners:
            tests.append(lambda _, shown: _matches_any(shape.owners, shown.owner_names))
        if shape.type is not None:
            tests.append(lambda id_, _: id_.startswith(f"{(shape.type or '').lower()}:"))
        if shape.state is not None:
            tests.append(
                lambda _, shown: (
                    isinstance(shown, node.DatasetNode)
                    or (shown.last_run is not None and shown.last_run.state == shape.state)
                )
            )
        if shape.job_type is not None:
            facets, wanted = await self._facets("jobType"), shape.job_type.upper()
            tests.append(
                lambda id_, shown: (
                    isinstance(shown, node.DatasetNode)
                    or wanted
                    in {
                        str(facets.get(id_, {}).get(key, "")).upper()
                        for key in ("jobType", "processingType", "integration")
                    }
                )
            )
        return tests

    async def _facets(self, name: str) -> dict[str, dict[str, object]]:
        """Return the facet of this name of each node, by node id."""
        ids = {self.ids[id_]: id_ for id_ in self.nodes}
        found = await facet_store.of_owners(self.connection, ids.keys(), [name], self.moment.as_of)
        return {ids[owner]: node.plain(facets.get(name)) for owner, facets in found.items()}

    async def _allowed(self, passed: Collection[str]) -> dict[str, set[tuple[str, str]]]:
        """Jobs with explicit lineage among those that are passed: (input, output) pairs that one feeds the other of."""
        by_row = {self.ids[id_]: id_ for id_ in self.nodes}
        told = await edge_store.explicit_pairs(self.connection, {self.ids[id_] for id_ in passed}, self.moment)
        inputs: dict[str, list[str]] = {}
        outputs: dict[str, list[str]] = {}
        for flow in self.flows:
            inputs.setdefault(flow.target, []).append(flow.source)
            outputs.setdefault(flow.source, []).append(flow.target)
        return {
            by_row[job]: {
                (source, target)
                for source in inputs.get(by_row[job], ())
                for target in outputs.get(by_row[job], ())
                if feeds(targets, job, self.ids[source], self.ids[target])
            }
            for job, targets in told.items()
        }

    async def collapse(self) -> None:
        parents, rows = await self._parents()
        stands_for = ancestors(parents, self.shape.collapse)
        families: dict[str, list[str]] = {}
        for job in sorted(self.nodes):
            if job in stands_for:
                families.setdefault(stands_for[job], []).append(job)
        missing = [rows[top] for top in families if top not in self.nodes]
        loaded = await node.load(self.connection, missing, self.moment.as_of)
        added = {shown.id: shown for shown in loaded.values()}
        for top, children in families.items():
            hops = [self.nodes[job].hop for job in (*children, top) if job in self.nodes]
            shown = self.nodes.get(top) or added[top]
            shown.hop = min(hops, key=abs)
            shown.hidden_upstream += sum(self.nodes[job].hidden_upstream for job in children)
            shown.hidden_downstream += sum(self.nodes[job].hidden_downstream for job in children)
            self.nodes[top] = shown
        self.ids |= {id_: _row_id(shown) for id_, shown in added.items()}
        self.flows, inside = collapsed(self.flows, stands_for)
        self.collapsed = [Collapsed(top, children, inside.get(top, 0)) for top, children in sorted(families.items())]
        self.nodes = {id_: shown for id_, shown in self.nodes.items() if id_ not in stands_for}
        self.root = stands_for.get(self.root, self.root)
        for edge in self.columns:
            edge.job, edge.target = stands_for.get(edge.job, edge.job), stands_for.get(edge.target, edge.target)

    async def _parents(self) -> tuple[dict[str, str], dict[str, uuid.UUID]]:
        """Return the parent of every shown job and of all above it, and the row ids of those above; a statement for each level."""
        parents: dict[str, str] = {}
        rows: dict[str, uuid.UUID] = {}
        known: set[uuid.UUID] = set()
        level = {self.ids[id_] for id_, shown in self.nodes.items() if isinstance(shown, node.JobNode)}
        names: dict[uuid.UUID, str] = {}
        above: dict[uuid.UUID, uuid.UUID] = {}
        while level:
            known |= level
            for row in (await node_store.by_ids(self.connection, level)).values():
                names[row.id] = row.node_id
                if row.parent_id is not None:
                    above[row.id] = row.parent_id
            level = set(above.values()) - known
        for job, parent in above.items():
            if parent in names:
                parents[names[job]] = names[parent]
                rows[names[parent]] = parent
        return parents, rows

    async def group_keys(self) -> dict[str, str | None]:
        """Return the group of each node; None for one without."""
        if self.shape.group == "source":
            sources = await self._facets("dataSource")
            return {id_: str(sources.get(id_, {}).get("name") or shown.namespace) for id_, shown in self.nodes.items()}
        if self.shape.group == "owner":
            told = await self._facets("ownership")
            said = await annotation_store.of_owners(self.connection, [self.ids[id_] for id_ in self.nodes])
            return {
                id_: ", ".join(_names(told.get(id_, {}).get("owners"), Words(said.get(self.ids[id_], ())))) or None
                for id_ in self.nodes
            }
        if self.shape.group == "tag":
            return {id_: ", ".join(sorted(shown.tags)) or None for id_, shown in self.nodes.items()}
        if self.shape.group == "parent":
            are_parents = {shown.parent for shown in self.nodes.values() if isinstance(shown, node.JobNode)}
            return {id_: _container(shown, are_parents) for id_, shown in self.nodes.items()}
        return {id_: shown.namespace for id_, shown in self.nodes.items()}

    def grouped(self, keys: dict[str, str | None]) -> View:
        by = self.shape.group
        group_of = {id_: f"group:{by}:{key or ''}" for id_, key in keys.items()}
        flows, inside = collapsed(self.flows, group_of)
        # An edge from a node to itself is inside its group.
        for flow in self.flows:
            if flow.source == flow.target:
                inside[group_of[flow.source]] = inside.get(group_of[flow.source], 0) + flow.count
        members: dict[str, list[node.Node]] = {}
        for id_, shown in self.nodes.items():
            members.setdefault(group_of[id_], []).append(shown)
        groups = []
        for group, nodes in sorted(members.items()):
            nodes.sort(key=lambda n: (abs(n.hop), n.id))
            datasets = sum(isinstance(n, node.DatasetNode) for n in nodes)
            key = keys[nodes[0].id]
            groups.append(
                Group(
                    id=group,
                    key=key,
                    label=key if key is not None else f"no {by}",
                    datasets=datasets,
                    jobs=len(nodes) - datasets,
                    hop=nodes[0].hop,
                    inside=inside.get(group, 0),
                    members=[n.id for n in nodes[:_LISTED]],
                    hidden_members=max(0, len(nodes) - _LISTED),
                )
            )
        made = self.answer()
        made.root, made.group, made.groups = group_of[self.root], by, groups
        made.edges = _drawn_edges(flow for flow in flows if flow.source != flow.target)
        made.nodes, made.column_edges = [], []
        return made

    def answer(self) -> View:
        found = self.found
        return View(
            root=self.root,
            roots=[self.root],
            subject=found.subject,
            direction=found.direction,
            depth=found.depth,
            as_of=found.as_of,
            nodes=sorted(self.nodes.values(), key=lambda n: (n.hop, n.id)),
            edges=self._claimed(_drawn_edges(self.flows)),
            column_edges=self.columns,
            hidden=found.hidden,
            filtered=self.filtered,
            collapsed=self.collapsed,
            group=None,
            groups=[],
        )

    def _claimed(self, edges: list[DrawnEdge]) -> list[DrawnEdge]:
        """The same edges; one that stands for itself alone has its claims."""
        told = {(edge.source, edge.target): edge for edge in self.found.edges}
        for edge in edges:
            if edge.count == 1 and not edge.via and (one := told.get((edge.source, edge.target))) is not None:
                edge.relation, edge.claims, edge.intermittent = one.relation, one.claims, one.intermittent
        return edges


def _drawn_edges(flows: Iterable[Flow]) -> list[DrawnEdge]:
    return [DrawnEdge(**msgspec.structs.asdict(flow)) for flow in sorted(flows, key=lambda f: (f.source, f.target))]


def _names(owners: object, words: Words) -> list[str]:
    """Return the owners by events and by people."""
    told = [o for o in (owners if isinstance(owners, list) else []) if isinstance(o, dict) and o.get("name")]
    return sorted({owner.name for owner in words.owners(Owner(str(o["name"]), None) for o in told)})


def _container(shown: node.Node, are_parents: set[str | None]) -> str | None:
    """The schema or folder of a dataset; a job's parent, or the job itself where others have it as theirs."""
    if isinstance(shown, node.JobNode):
        return shown.parent or (shown.id if shown.id in are_parents else None)
    above = shown.name.rpartition("/" if "/" in shown.name else ".")[0]
    return f"{shown.namespace}:{above}" if above else shown.namespace
