"""Search by name, and the documents of Marquez's search index."""

import datetime as dt
import html
import uuid
from collections.abc import Sequence

from headwater.answer.lineage import node, run_log
from headwater.answer.marquez import facets as said_by_facets
from headwater.answer.marquez import node_ids, shapes
from headwater.answer.search import search as everywhere
from headwater.answer.search.highlights import Highlight
from headwater.model import version
from headwater.model.names import DatasetName, JobName
from headwater.store.database import Connection, Database
from headwater.store.history import facets as facet_store
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage.runs import RunRow
from headwater.store.marquez import marquez as rows
from headwater.store.marquez import runs as marquez_runs

_EVENT_TYPES = {"COMPLETED": "COMPLETE", "FAILED": "FAIL", "ABORTED": "ABORT", "RUNNING": "START", "OTHER": "OTHER"}
_DOCUMENTS = 50
# The field that has a word, as Marquez's index names it.
_PLACES = {
    "column": "facets.schema.fields.name",
    "sql": "facets.sql.query",
    "description": "facets.documentation.description",
    "tag": "facets.tags.tags.key",
    "owner": "facets.ownership.owners.name",
}


async def find(
    database: Database,
    words: str,
    *,
    type_: str | None = None,
    by_time: bool = False,
    limit: int = 10,
    namespace: str | None = None,
    before: dt.date | None = None,
    after: dt.date | None = None,
) -> shapes.SearchResults:
    """Return datasets and jobs with the words in their name (`%` and `_` are themselves), by name or the latest first, and how many there are."""
    async with database.connection() as connection:
        found, total = await rows.search(
            connection,
            f"%{node_store.literal(words)}%",
            type_=type_,
            namespace=namespace,
            before=_midnight(before),
            after=_midnight(after),
            by_time=by_time,
            limit=limit,
        )
    return shapes.SearchResults(
        total_count=total,
        results=[
            shapes.SearchResult(
                type=row.type,
                name=row.name,
                updated_at=shapes.instant(row.last_seen),
                namespace=row.namespace,
                node_id=(node_ids.of_job if row.type == "JOB" else node_ids.of_dataset)(row.namespace, row.name),
            )
            for row in found
        ],
    )


def _midnight(day: dt.date | None) -> dt.datetime | None:
    return None if day is None else dt.datetime(day.year, day.month, day.day, tzinfo=dt.UTC)


async def job_documents(database: Database, words: str) -> shapes.JobHits:
    """Return what Marquez's search index would hold of the jobs that have the words, best first, with the places of the
    words.

    The words are looked for in names, tags, owners, descriptions and SQL, misspelt or not; at most 50 jobs are shown.
    """
    found = (await everywhere.search(database, words, type="JOB", limit=_DOCUMENTS)).results
    async with database.snapshot() as connection:
        hits = await _jobs(connection, [version.job_id(JobName(one.namespace, one.name)) for one in found])
    return shapes.JobHits(hits=hits, highlights=[_marked(one.highlights) for one in found])


async def dataset_documents(database: Database, words: str) -> shapes.DatasetHits:
    """Return the same of datasets, also by the words in names of their columns."""
    found = (await everywhere.search(database, words, type="DATASET", limit=_DOCUMENTS)).results
    names = [shapes.DatasetId(namespace=one.namespace, name=one.name) for one in found]
    async with database.snapshot() as connection:
        ids = [version.dataset_id(DatasetName(one.namespace, one.name)) for one in found]
        hits = await _datasets(connection, ids, names)
    return shapes.DatasetHits(hits=hits, highlights=[_marked(one.highlights) for one in found])


async def _jobs(connection: Connection, ids: Sequence[uuid.UUID]) -> list[shapes.JobDocument]:
    jobs = await rows.jobs_by_ids(connection, ids)
    facets = await facet_store.of_owners(connection, ids)
    latest = {id_: mine[0] for id_, mine in (await marquez_runs.latest(connection, ids, 1)).items()}
    logged = await run_log.load(connection, list(latest.values()))
    made = []
    for id_ in ids:
        run = latest.get(id_)
        mine = facets.get(id_, {})
        told = logged[run.run_id, run.job_id] if run else run_log.empty()
        made.append(
            shapes.JobDocument(
                run_id=str(run.run_id) if run else None,
                event_type=_event_type(run),
                name=jobs[id_].full_name,
                type="STREAM" if said_by_facets.job_type(mine) == "STREAM" else "BATCH",
                namespace=jobs[id_].namespace,
                facets=node.verbatim(mine),
                run_facets=node.verbatim(told.run),
            )
        )
    return made


async def _datasets(
    connection: Connection, ids: Sequence[uuid.UUID], names: Sequence[shapes.DatasetId]
) -> list[shapes.DatasetDocument]:
    facets = await facet_store.of_owners(connection, ids)
    last = await marquez_runs.last_of_datasets(connection, ids)
    runs = await marquez_runs.by_keys(connection, list(last.values()))
    logged = await run_log.load(connection, list(runs.values()))
    made = []
    for id_, name in zip(ids, names, strict=True):
        key = last.get(id_)
        told = logged.get(key) if key else None
        made.append(
            shapes.DatasetDocument(
                run_id=str(key[0]) if key else None,
                event_type=_event_type(runs.get(key)) if key else None,
                name=name.name,
                namespace=name.namespace,
                input_facets=_here(told.inputs if told else {}, id_),
                output_facets=_here(told.outputs if told else {}, id_),
                facets=node.verbatim(facets.get(id_, {})),
            )
        )
    return made


def _event_type(run: RunRow | None) -> str | None:
    return None if run is None else _EVENT_TYPES.get(run.state.name)


def _here(side: dict[uuid.UUID, run_log.DatasetFacets], dataset: uuid.UUID) -> shapes.Facets:
    return node.verbatim(side[dataset].here) if dataset in side else {}


def _marked(highlights: Sequence[Highlight]) -> dict[str, list[str]]:
    """Return texts as HTML with the words in `<em>`, by their place."""
    found: dict[str, list[str]] = {}
    for one in highlights:
        parts, end = [], 0
        for first, last in one.marks:
            parts += [html.escape(one.text[end:first]), "<em>", html.escape(one.text[first:last]), "</em>"]
            end = last
        parts.append(html.escape(one.text[end:]))
        found.setdefault(_PLACES.get(one.field, one.field), []).append("".join(parts))
    return found
