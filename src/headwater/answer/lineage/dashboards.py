"""Dashboards, charts and questions of BI tools, with the datasets that each shows and the people to ask about it."""

import datetime as dt
import uuid

import msgspec

from headwater.answer.lineage.catalog import Contacts, contacts_of
from headwater.answer.lineage.find import node_row
from headwater.model.dataset_kind import is_of_bi_tool, kind_of
from headwater.model.names import short
from headwater.store.database import Connection, Database
from headwater.store.history import facets as facet_store
from headwater.store.lineage import dashboards as store
from headwater.store.lineage import edges as edge_store
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage.edges import Moment


class DashboardRow(msgspec.Struct, frozen=True):
    """`title`: its description, else the end of its name. `kind`: DASHBOARD, CHART, … `reads`: the datasets that it shows now."""

    id: str
    title: str
    kind: str
    tool: str
    owners: list[str]
    teams: list[str]
    reads: list[str]
    jobs: list[str]
    last_seen: dt.datetime


class DashboardList(msgspec.Struct, frozen=True):
    total: int
    dashboards: list[DashboardRow]


async def dashboards(
    database: Database, *, words: str | None, tool: str | None, shows: str | None, limit: int, offset: int
) -> DashboardList:
    """List parts of BI tools, the one with the latest event first. `words`: part of the title or name; `tool`: its namespace.

    `shows`: the node id of a dataset that they show. Raises NotFound for an unknown one.
    """
    async with database.snapshot() as connection:
        showing = None if shows is None else await _showing(connection, shows)
        kinds = {id_ for id_, body in (await store.kinds(connection)).items() if is_of_bi_tool(kind_of(body))}
        rows = {row.id: row for row in await store.of_kinds(connection, kinds) if tool in {None, row.namespace}}
        rows = {id_: row for id_, row in rows.items() if showing is None or id_ in showing}
        facets = await facet_store.of_owners(connection, rows, ("datasetType", "documentation"))
        found: list[tuple[uuid.UUID, str, str]] = []
        for id_, row in rows.items():
            told = facets.get(id_, {})
            kind, title = kind_of(told.get("datasetType")), _title(told.get("documentation")) or short(row.name)
            if is_of_bi_tool(kind) and (not words or words.casefold() in f"{title} {row.name}".casefold()):
                found.append((id_, kind, title))
        page = found[offset : offset + limit]
        ids = [id_ for id_, _, _ in page]
        contacts = await contacts_of(connection, ids)
        writers = await edge_store.at_datasets(connection, ids, "out", Moment())
        inputs = await edge_store.at_jobs(connection, {edge.job for edge in writers}, "in", Moment())
        names = await node_store.by_ids(connection, {e.job for e in writers} | {e.dataset for e in inputs})
    listed = []
    for id_, kind, title in page:
        jobs = {edge.job for edge in writers if edge.dataset == id_}
        read = {edge.dataset for edge in inputs if edge.job in jobs and edge.dataset != id_}
        row, contact = rows[id_], contacts.get(id_, Contacts([], []))
        listed.append(
            DashboardRow(
                row.node_id, title, kind, row.namespace, contact.owners, contact.teams,
                sorted(names[one].node_id for one in read if one in names), sorted(names[one].node_id for one in jobs if one in names), row.last_seen,
            )
        )  # fmt: skip
    return DashboardList(len(found), listed)


async def _showing(connection: Connection, node: str) -> set[uuid.UUID]:
    """Return the datasets that jobs make of this one."""
    row = await node_row(connection, node)
    readers = await edge_store.at_datasets(connection, [row.id], "in", Moment())
    written = await edge_store.at_jobs(connection, {edge.job for edge in readers}, "out", Moment())
    return {edge.dataset for edge in written} - {row.id}


def _title(documentation: bytes | None) -> str:
    told = msgspec.json.decode(documentation) if documentation is not None else {}
    description = told.get("description") if isinstance(told, dict) else None
    return description.strip().split("\n")[0][:200] if isinstance(description, str) else ""
