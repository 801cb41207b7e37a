"""The columns of datasets by any report: of a schema that they had, or that an edge from or to them names."""

import difflib
import uuid
from collections.abc import Collection, Iterable

from headwater.answer.lineage import inferred
from headwater.errors import NotFound
from headwater.store.database import Connection
from headwater.store.lineage import column_flow
from headwater.store.lineage import edges as edge_store
from headwater.store.lineage.edges import Moment
from headwater.store.lineage.nodes import NodeRow

_MOST_NAMED = 20


async def named_columns(connection: Connection, ids: Collection[uuid.UUID]) -> dict[uuid.UUID, set[str]]:
    """Return the columns of each of these datasets as they were reported; those of which no column is known are absent."""
    found = await column_flow.columns(connection, ids)
    for id_, columns in (await column_flow.named(connection, ids)).items():
        found.setdefault(id_, set()).update(columns)
    return found


async def find_column(
    connection: Connection, row: NodeRow, text: str, moment: Moment, more: Collection[str] = ()
) -> str:
    """Return the column of a dataset with this name, as `match_column`; where no column is known, any may be one.

    `more`: columns that the asker met. Raises NotFound.
    """
    known = (await named_columns(connection, [row.id])).get(row.id)
    if not known:
        return text
    try:
        return match_column(text, known.union(more), row.node_id)
    except NotFound:
        met = await columns_of_edges(connection, row.id, moment)
        return match_column(text, known.union(more, met), row.node_id)


async def columns_of_edges(connection: Connection, dataset: uuid.UUID, moment: Moment) -> set[str]:
    """Return the columns of a dataset, by its canonical id, in the column edges from and to it at a time.

    Also those that no report of the dataset names: a rename implies them, or another producer says that a job reads them.
    """
    read = await edge_store.at_datasets(connection, [dataset], "in", moment)
    written = await edge_store.at_datasets(connection, [dataset], "out", moment)
    written += await edge_store.at_jobs(connection, {edge.job for edge in read}, "out", moment)
    pairs = {(edge.job, edge.dataset) for edge in written} | {(edge.job, edge.job) for edge in (*read, *written)}
    found = await inferred.column_edges(connection, pairs, moment)
    ends = {(one.source, one.source_field) for one in found} | {(one.target, one.target_field) for one in found}
    return {field for id_, field in ends if id_ == dataset and field}


def match_column(text: str, columns: Collection[str], owner: str) -> str:
    """Return the column with this name, as it was reported: upper and lower case differ only where two columns do.

    A field of a struct is one, also if only the struct is known. NotFound says what is near.
    """
    if text in columns:
        return text
    same = [column for column in columns if column.casefold() == text.casefold()]
    if same:
        return min(same)
    if any(part.casefold() == column.casefold() for part in _parents(text) for column in columns):
        return text
    near = difflib.get_close_matches(text.casefold(), [column.casefold() for column in columns], 3)
    listed = [column for column in sorted(columns) if column.casefold() in near] or sorted(columns)[:_MOST_NAMED]
    hint = f"did you mean {', '.join(listed)}?" if near else f"it has {', '.join(listed)}"
    raise NotFound(f"{owner} has no column {text[:200]!r}; {hint}", column=text[:200])


def _parents(text: str) -> Iterable[str]:
    """`a.b` and `a` of `a.b.c`."""
    while "." in text:
        text = text.rpartition(".")[0]
        yield text
