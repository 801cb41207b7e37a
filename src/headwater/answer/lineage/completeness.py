"""The share of one dataset's lineage that is known, and the reasons why the rest is not, in one line.

A column is traced if something is known of what feeds it: reported, read by Headwater from the job's SQL, or drawn by a person; also if a producer
reports that nothing feeds it. What a producer's parser could not read, and what capture did not see, is said by the latest run of each writer, and
of each statement below it that touches no dataset itself.
"""

import datetime as dt
import uuid
from collections.abc import Callable, Collection
from typing import Any

import msgspec

from headwater.answer.lineage import inferred, run_log
from headwater.answer.lineage.sql_gaps import sql_gaps
from headwater.model import run_facets
from headwater.model.lineage import Edge, Origin
from headwater.store.database import Connection
from headwater.store.history import facets as facet_store
from headwater.store.lineage import edges as edge_store
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage import runs as run_store
from headwater.store.lineage.edges import Moment
from headwater.store.lineage.runs import RunRow

_MOST_REASONS = 20


class Reason(msgspec.Struct, frozen=True):
    """A reason why something is missing. `job`: the writer that it is about; null if there is none."""

    job: str | None
    text: str


class Completeness(msgspec.Struct, frozen=True):
    """`columns` of the latest schema, `traced` ones, and of those the ones that Headwater alone `parsed` from SQL. `untraced`: names of the others.

    `more_reasons`: how many are not listed.
    """

    summary: str
    columns: int
    traced: int
    parsed: int
    untraced: list[str]
    reasons: list[Reason]
    more_reasons: int


async def completeness(connection: Connection, dataset: uuid.UUID, as_of: dt.datetime | None = None) -> Completeness:
    """Return how much is known of what feeds the dataset, now or at a time."""
    moment = Moment(as_of or "infinity")
    written = await edge_store.at_datasets(connection, [dataset], "out", moment)
    schemas = await facet_store.of_owners(connection, [dataset], ("schema",), moment.as_of)
    names = inferred.top_columns(schemas[dataset]["schema"]) if dataset in schemas else ()
    pairs = {(edge.job, dataset) for edge in written}
    reported = await edge_store.reported_columns(connection, pairs, moment)
    told = {field.lower() for fields in reported.fields.values() for field in fields if field}
    told |= {edge.target_field.lower() for edge in reported.edges if edge.target_field}
    parsed = {
        edge.target_field.lower()
        for edge in await inferred.column_edges(connection, pairs, moment)
        if edge.origin == Origin.PARSED_SQL and edge.target_field
    } - told
    untraced = [name for name in names if name.lower() not in told | parsed]
    reasons = await _reasons(connection, written, bool(untraced), {job for job, _ in reported.fields}, moment)
    traced, ours = len(names) - len(untraced), sum(name.lower() in parsed for name in names)
    summary = _summary(len(names), traced, ours, written, reasons)
    return Completeness(
        summary, len(names), traced, ours, untraced, reasons[:_MOST_REASONS], max(len(reasons) - _MOST_REASONS, 0)
    )


def _summary(columns: int, traced: int, parsed: int, written: Collection[Edge], reasons: Collection[Reason]) -> str:
    if not written:
        return "no job is known to write it"
    first = f"{traced} of {columns} columns traced" if columns else "its columns are not known"
    parts = [first, *([f"{parsed} of them by Headwater alone, from SQL"] if parsed else [])]
    parts += [reason.text for reason in list(reasons)[:1]]
    if len(reasons) > 1:
        parts.append(f"{len(reasons) - 1} more reasons")
    return "; ".join(parts)


async def _reasons(
    connection: Connection, written: Collection[Edge], untraced: bool, reporting: set[uuid.UUID], moment: Moment
) -> list[Reason]:
    jobs = {edge.job for edge in written}
    below = await inferred.statements_below(connection, jobs, moment)
    speaking = jobs.union(*below.values())
    rows = await node_store.by_ids(connection, speaking)
    latest = await run_store.latest_of_jobs(connection, speaking, moment.as_of)
    errors = await _run_facet_values(connection, latest, run_facets.EXTRACTION_ERROR, run_facets.extraction_error)
    warned = await _run_facet_values(connection, latest, run_facets.WARNINGS, run_facets.warnings)
    of_interest = {edge.job for edge in written if untraced or edge.parsed}
    gaps = await sql_gaps(connection, of_interest, moment) if of_interest else {}
    found = []
    for edge in sorted(written, key=lambda one: rows[one.job].node_id):
        job, name = edge.job, rows[edge.job].node_id
        for one in (job, *below.get(job, ())):
            if (error := errors.get(one)) is not None and (error.failed or error.messages):
                why = f": {error.messages[0]}" if error.messages else ""
                text = f"the producer's parser failed on {error.failed} of {error.total} parts{why}"
                found.append(Reason(rows[one].node_id, text))
            found += [Reason(rows[one].node_id, text) for text in warned.get(one) or ()]
        if edge.parsed:
            found.append(Reason(name, "the writer reports no dataset; its tables are read from its SQL"))
        elif edge.declared and not edge.manual:
            found.append(Reason(name, "the write is declared; no run was seen to do it"))
        elif edge.manual:
            found.append(Reason(name, "a person drew the write; no run reports it"))
        elif untraced and job not in reporting and job not in gaps:
            found.append(Reason(name, "its writer reports no columns and no SQL"))
        found += [Reason(name, text) for text in gaps.get(job, ())]
    return found


async def _run_facet_values(
    connection: Connection, latest: dict[uuid.UUID, RunRow], facet: str, decode: Callable[[bytes], Any]
) -> dict[uuid.UUID, Any]:
    """Return what the latest run of each job says in a facet; a malformed one says nothing, of which its receipt has the warning."""
    found = {}
    for (_, job), body in (await run_log.latest(connection, latest.values(), facet)).items():
        try:
            found[job] = decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
    return found
