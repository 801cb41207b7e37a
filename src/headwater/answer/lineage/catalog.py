"""The catalogue of datasets and jobs, page by page and one by one, with their history."""

import datetime as dt
import uuid
from collections.abc import Collection
from typing import NamedTuple

import msgspec

from headwater.answer.lineage import node
from headwater.answer.lineage.find import node_row
from headwater.answer.lineage.lineage import Question, lineage
from headwater.answer.lineage.runs import NO_PARENT, Run, runs
from headwater.answer.people.people import EVENT, MANUAL, Owner, Tag, Words
from headwater.answer.search.question import narrowed
from headwater.errors import InvalidQuestion, NotFound
from headwater.model.tags import TEAM
from headwater.model.traits import traits
from headwater.store import search as search_store
from headwater.store.database import Connection, Database, use_generic_plans
from headwater.store.history import datasets as dataset_store
from headwater.store.history import facets as facet_store
from headwater.store.lineage import edges as edge_store
from headwater.store.lineage import names as name_store
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage import runs as run_store
from headwater.store.lineage.edges import Moment
from headwater.store.people import annotations as annotation_store

_VERSIONS = 50
_MOST_SAME = 20
_INHERIT_FROM = 500


class InheritedTag(msgspec.Struct):
    """A tag that a dataset upstream carries; it flows down with the data."""

    tag: str
    dataset: str


class Version(msgspec.Struct):
    id: str
    created_at: dt.datetime
    run_id: str | None
    job: str | None
    external_version: str | None
    declared: bool
    state: str
    lifecycle: str | None
    rows: int | None
    bytes: int | None
    files: int | None
    fields: list[node.Field]
    schema_changed: bool


class Dataset(node.DatasetNode, kw_only=True):
    owners: list[Owner]
    tag_details: list[Tag]
    description_origin: str | None
    aliases: list[str]
    hidden: bool
    traits: list[str]
    inherited_tags: list[InheritedTag]
    facets: dict[str, msgspec.Raw]
    versions: list[Version]
    producers: list[str]
    consumers: list[str]


class JobDependency(msgspec.Struct, frozen=True):
    """A job that another has to run before or after. `kind`: the producer's word for it."""

    job: str
    kind: str
    last_seen: dt.datetime


class Job(node.JobNode, kw_only=True):
    """`runs_after`, `runs_before`: control flow that runs report (`jobDependencies`); no data need pass.

    `same_as`: jobs that run the same node of dbt in other namespaces, or under a name that is not dbt-ol's.
    """

    traits: list[str]
    same_as: list[str]
    runs_after: list[JobDependency]
    runs_before: list[JobDependency]
    owners: list[Owner]
    tag_details: list[Tag]
    description_origin: str | None
    hidden: bool
    children: list[str]
    inputs: list[str]
    outputs: list[str]
    facets: dict[str, msgspec.Raw]
    runs: list[Run]


class Datasets(msgspec.Struct):
    """`facets`, if asked for: namespace, platform, tag, owner → value → how many; the twenty most frequent values of each."""

    total: int
    datasets: list[node.Node]
    facets: dict[str, dict[str, int]] | None = None


class Jobs(msgspec.Struct):
    """`children`: of the jobs listed, how many jobs are directly below each; absent: none."""

    total: int
    jobs: list[node.Node]
    facets: dict[str, dict[str, int]] | None = None
    children: dict[str, int] = msgspec.field(default_factory=dict)


class Listing(msgspec.Struct, frozen=True):
    """The filters and the order of a list of datasets or jobs. `words`: part of the name; the other filters match in full.

    `parent`: of jobs, the id of the one above them, or `NO_PARENT`. `children`: without a parent also jobs that are one statement of the job above.
    """

    namespace: str | None = None
    words: str | None = None
    platform: str | None = None
    tag: str | None = None
    owner: str | None = None
    sort: str = "updated"
    order: str | None = None
    facets: bool = False
    limit: int = 100
    offset: int = 0
    parent: str | None = None
    trait: str | None = None
    children: bool = False


_SORTS, _ORDERS = ("updated", "name"), ("asc", "desc")
_FACETS = ("namespace", "platform", "tag", "owner")
_MOST_COUNTED = 100_000


async def datasets(database: Database, listing: Listing) -> Datasets:
    """Return datasets, the one with the latest event first unless `sort` and `order` say otherwise. Raises InvalidQuestion."""
    found, total, facets, _ = await _page(database, "datasets", listing)
    return Datasets(total, found, facets)


async def jobs(database: Database, listing: Listing) -> Jobs:
    """Return jobs, the one with the latest event first unless `sort` and `order` say otherwise. Raises InvalidQuestion."""
    found, total, facets, children = await _page(database, "jobs", listing)
    return Jobs(total, found, facets, children)


async def _page(
    database: Database, kind: str, listing: Listing
) -> tuple[list[node.Node], int, dict[str, dict[str, int]] | None, dict[str, int]]:
    check_order(listing)
    type_ = "DATASET" if kind == "datasets" else "JOB"
    narrow = {"platform": listing.platform, "tag": listing.tag, "owner": listing.owner, "trait": listing.trait}
    folded = not listing.children and listing.parent in {None, NO_PARENT}
    query = narrowed("", type=type_, namespace=listing.namespace, **narrow, statements=not folded)
    async with database.snapshot() as connection:
        rows, total = await rows_of(connection, kind, listing, query if any(narrow.values()) else None)
        await use_generic_plans(connection)
        nodes = await node.from_rows(connection, {row.id: row for row in rows})
        counts = await search_store.counts(connection, query, _MOST_COUNTED) if listing.facets else None
        below = await node_store.child_counts(connection, [row.id for row in rows]) if kind == "jobs" else {}
    facets = None if counts is None else {facet: counts.get(facet, {}) for facet in _FACETS}
    return [nodes[row.id] for row in rows], total, facets, {nodes[id_].id: count for id_, count in below.items()}


def check_order(listing: Listing) -> None:
    """Raises InvalidQuestion for a sort or an order that does not exist."""
    for parameter, value, allowed in (
        ("sort", listing.sort, _SORTS),
        ("order", listing.order or "asc", _ORDERS),
    ):
        if value not in allowed:
            raise InvalidQuestion(f"{parameter} {value!r} is not one of {', '.join(allowed)}", parameter=parameter)


async def rows_of(
    connection: Connection, kind: str, listing: Listing, query: str | None
) -> tuple[list[node_store.NodeRow], int]:
    """Return the rows of a page, and how many datasets or jobs there are. `query`: of their search documents. Raises NotFound for the parent."""
    top = listing.parent == NO_PARENT
    parent = None if top or listing.parent is None else (await node_row(connection, listing.parent)).id
    return await node_store.page(
        connection,
        kind,
        namespace=listing.namespace,
        words=listing.words,
        query=query,
        top=top,
        parent=parent,
        statements=listing.children or parent is not None,
        sort=listing.sort,
        down=listing.order == "desc" or (listing.order is None and listing.sort == "updated"),
        limit=listing.limit,
        offset=listing.offset,
    )


async def dataset(database: Database, namespace: str, name: str, as_of: dt.datetime | None = None) -> Dataset:
    """Return one dataset with its versions, the latest first (at most 50; `version_count` counts all). Raises NotFound."""
    moment = Moment(as_of or "infinity")
    async with database.snapshot() as connection:
        row = await node_row(connection, f"dataset:{namespace}:{name}")
        shown = (await node.load(connection, [row.id], moment.as_of))[row.id]
        facets = (await facet_store.of_owners(connection, [row.id], None, moment.as_of)).get(row.id, {})
        words = Words((await annotation_store.of_owners(connection, [row.id])).get(row.id, ()))
        aliases = (await name_store.aliases(connection, [row.id])).get(row.id, [])
        rows = await dataset_store.versions(connection, row.id, moment.as_of, _VERSIONS + 1)
        schemas = await facet_store.bodies(connection, {v.schema_id for v in rows if v.schema_id})
        written = await edge_store.at_datasets(connection, [row.id], "out", moment)
        readers = await edge_store.at_datasets(connection, [row.id], "in", moment)
        names = await node_store.by_ids(
            connection, {e.job for e in written + readers} | {v.job_id for v in rows if v.job_id}
        )
    versions = []
    for index, found in enumerate(rows[:_VERSIONS]):
        before = schemas.get(rows[index + 1].schema_id) if index + 1 < len(rows) and rows[index + 1].schema_id else None  # type: ignore[arg-type]
        fields = node.fields_of(schemas.get(found.schema_id) if found.schema_id else None, {})
        earlier = node.fields_of(before, {})
        versions.append(
            Version(
                str(found.id),
                found.written_at,
                str(found.run_id) if found.run_id else None,
                names[found.job_id].node_id if found.job_id in names else None,
                found.external_version or None,
                found.declared,
                found.state.name,
                found.lifecycle,
                found.rows,
                found.bytes,
                found.files,
                fields,
                before is not None and [(f.name, f.type) for f in fields] != [(f.name, f.type) for f in earlier],
            )
        )
    return Dataset(
        **msgspec.structs.asdict(shown),
        owners=words.owners(node.decode_owners(facets.get("ownership"))),
        tag_details=node.tags_with(words, facets.get("tags")),
        description_origin=_description_origin(words, shown),
        aliases=[alias.node_id for alias in aliases],
        hidden=words.hidden,
        traits=traits(facets),
        inherited_tags=await _inherited(database, row.node_id, as_of, set(shown.tags)),
        facets=node.verbatim(facets),
        versions=versions,
        producers=sorted(names[e.job].node_id for e in written if e.job in names),
        consumers=sorted(names[e.job].node_id for e in readers if e.job in names),
    )


async def _inherited(database: Database, node_id: str, as_of: dt.datetime | None, own: set[str]) -> list[InheritedTag]:
    """Tags of everything upstream that the dataset does not carry itself."""
    found = await lineage(database, Question(node_id, "upstream", 100, max_nodes=_INHERIT_FROM, as_of=as_of))
    inherited: dict[tuple[str, str], InheritedTag] = {}
    for other in sorted(found.nodes, key=lambda n: (-n.hop, n.id)):
        if other.hop < 0 and isinstance(other, node.DatasetNode):
            for tag in other.tags:
                if tag not in own:
                    inherited.setdefault((tag, other.id), InheritedTag(tag, other.id))
    return list(inherited.values())


async def job(database: Database, namespace: str, name: str, as_of: dt.datetime | None = None) -> Job:
    """Return one job with its latest runs. Raises NotFound."""
    moment = Moment(as_of or "infinity")
    async with database.snapshot() as connection:
        row = await node_row(connection, f"job:{namespace}:{name}")
        if row.type != "JOB":
            raise NotFound(f"job {name!r} is not known in namespace {namespace!r}")
        shown = (await node.load(connection, [row.id], moment.as_of))[row.id]
        facets = (await facet_store.of_owners(connection, [row.id], None, moment.as_of)).get(row.id, {})
        words = Words((await annotation_store.of_owners(connection, [row.id])).get(row.id, ()))
        inputs = await edge_store.at_jobs(connection, [row.id], "in", moment)
        outputs = await edge_store.at_jobs(connection, [row.id], "out", moment)
        children = (await edge_store.children(connection, [row.id])).get(row.id, [])
        order = await run_store.dependencies(connection, row.id)
        named = {e.dataset for e in inputs + outputs} | set(children) | {one.job for one in order}
        names = await node_store.by_ids(connection, named)
        same = await _same_node_of_dbt(connection, row.id, traits(facets))
    latest = await runs(database, job=row.node_id, state=None, parent=None, limit=20, offset=0)
    return Job(
        **msgspec.structs.asdict(shown),
        owners=words.owners(node.decode_owners(facets.get("ownership"))),
        tag_details=node.tags_with(words, facets.get("tags")),
        description_origin=_description_origin(words, shown),
        hidden=words.hidden,
        traits=traits(facets),
        same_as=same,
        runs_after=[
            JobDependency(names[o.job].node_id, o.kind, o.last_at) for o in order if o.upstream and o.job in names
        ],
        runs_before=[
            JobDependency(names[o.job].node_id, o.kind, o.last_at) for o in order if not o.upstream and o.job in names
        ],
        children=sorted(names[child].node_id for child in children),
        inputs=sorted(names[e.dataset].node_id for e in inputs),
        outputs=sorted(names[e.dataset].node_id for e in outputs),
        facets=node.verbatim(facets),
        runs=latest.runs,
    )


async def _same_node_of_dbt(connection: Connection, job: uuid.UUID, mine: list[str]) -> list[str]:
    """Return the other jobs of a node of dbt, of the same kind: a model's tests have its id too."""
    own = [trait for trait in mine if trait.startswith(("dbt:", "kind:"))]
    if not any(trait.startswith("dbt:") for trait in own):
        return []
    query = "&".join(f"({search_store.quoted(search_store.exact('R', trait))})" for trait in own)
    rows, _ = await node_store.page(
        connection, "jobs", namespace=None, words=None, query=query, limit=_MOST_SAME, offset=0
    )
    return sorted(row.node_id for row in rows if row.id != job)


def _description_origin(words: Words, shown: node.Node) -> str | None:
    return MANUAL if words.description() else EVENT if shown.description else None


class Contacts(NamedTuple):
    """The people to tell about a dataset or job: its owners, and the teams that its tag `team` names."""

    owners: list[str]
    teams: list[str]


async def contacts_of(connection: Connection, ids: Collection[uuid.UUID]) -> dict[uuid.UUID, Contacts]:
    """The owners and teams of datasets and jobs, by events and by people; of those that have any."""
    facets = await facet_store.of_owners(connection, ids, ("ownership", "tags"))
    said = await annotation_store.of_owners(connection, ids)
    found: dict[uuid.UUID, Contacts] = {}
    for id_ in facets.keys() | said.keys():
        words, mine = Words(said.get(id_, ())), facets.get(id_, {})
        owners = sorted({owner.name for owner in words.owners(node.decode_owners(mine.get("ownership")))})
        tags = node.tags_with(words, mine.get("tags"))
        teams = sorted({str(tag.value) for tag in tags if tag.name.casefold() == TEAM and tag.value})
        if owners or teams:
            found[id_] = Contacts(owners, teams)
    return found


async def owners_of(connection: Connection, ids: Collection[uuid.UUID]) -> dict[uuid.UUID, list[str]]:
    """The names of the owners of datasets and jobs, by events and by people; of those that have any."""
    return {id_: one.owners for id_, one in (await contacts_of(connection, ids)).items() if one.owners}
