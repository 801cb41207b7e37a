"""Search by name, and the documents of Marquez's search index."""

import datetime as dt
import html
import re
import uuid
from collections.abc import Sequence

from headwater.answer import node, run_log
from headwater.answer.marquez import facets as said_by_facets
from headwater.answer.marquez import node_ids, shapes
from headwater.store import facets as facet_store
from headwater.store import marquez as rows
from headwater.store import marquez_runs
from headwater.store import nodes as node_store
from headwater.store.database import Connection, Database
from headwater.store.marquez import FoundRow
from headwater.store.runs import RunRow

_EVENT_TYPES = {"COMPLETED": "COMPLETE", "FAILED": "FAIL", "ABORTED": "ABORT", "RUNNING": "START", "OTHER": "OTHER"}
_DOCUMENTS = 50


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
    """Datasets and jobs with the words in their name (`%` and `_` are themselves), by name or the latest first, and how many there are."""
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


async def documents(database: Database, words: str, type_: str) -> shapes.Hits:
    """What the search index of Marquez would hold of the JOBs or DATASETs that are found, with where the words are; at most 50."""
    async with database.snapshot() as connection:
        found, _ = await rows.search(
            connection,
            f"%{node_store.literal(words)}%",
            type_=type_,
            namespace=None,
            before=None,
            after=None,
            by_time=False,
            limit=_DOCUMENTS,
        )
        hits: list[shapes.JobDocument | shapes.DatasetDocument]
        hits = [*await (_jobs if type_ == "JOB" else _datasets)(connection, found)]
    return shapes.Hits(hits=hits, highlights=[{"name": [_marked(row.name, words)]} for row in found])


async def _jobs(connection: Connection, found: Sequence[FoundRow]) -> list[shapes.JobDocument]:
    ids = [row.id for row in found]
    facets = await facet_store.of_owners(connection, ids)
    latest = {id_: mine[0] for id_, mine in (await marquez_runs.latest(connection, ids, 1)).items()}
    logged = await run_log.load(connection, list(latest.values()))
    made = []
    for row in found:
        run = latest.get(row.id)
        mine = facets.get(row.id, {})
        told = logged[run.run_id, run.job_id] if run else run_log.empty()
        made.append(
            shapes.JobDocument(
                run_id=str(run.run_id) if run else None,
                event_type=_event_type(run),
                name=row.name,
                type="STREAM" if said_by_facets.job_type(mine) == "STREAM" else "BATCH",
                namespace=row.namespace,
                facets=node.verbatim(mine),
                run_facets=node.verbatim(told.run),
            )
        )
    return made


async def _datasets(connection: Connection, found: Sequence[FoundRow]) -> list[shapes.DatasetDocument]:
    ids = [row.id for row in found]
    facets = await facet_store.of_owners(connection, ids)
    last = await marquez_runs.last_of_datasets(connection, ids)
    runs = await marquez_runs.by_keys(connection, list(last.values()))
    logged = await run_log.load(connection, list(runs.values()))
    made = []
    for row in found:
        key = last.get(row.id)
        told = logged.get(key) if key else None
        made.append(
            shapes.DatasetDocument(
                run_id=str(key[0]) if key else None,
                event_type=_event_type(runs.get(key)) if key else None,
                name=row.name,
                namespace=row.namespace,
                input_facets=_here(told.inputs if told else {}, row.id),
                output_facets=_here(told.outputs if told else {}, row.id),
                facets=node.verbatim(facets.get(row.id, {})),
            )
        )
    return made


def _event_type(run: RunRow | None) -> str | None:
    return None if run is None else _EVENT_TYPES.get(run.state.name)


def _here(side: dict[uuid.UUID, run_log.DatasetFacets], dataset: uuid.UUID) -> shapes.Facets:
    return node.verbatim(side[dataset].here) if dataset in side else {}


def _marked(text: str, words: str) -> str:
    """The text as HTML with the words in `<em>`."""
    parts = re.split(f"({re.escape(words)})", text, flags=re.IGNORECASE)
    return "".join(
        f"<em>{html.escape(part)}</em>" if place % 2 else html.escape(part) for place, part in enumerate(parts)
    )
