"""The bodies of a dataset's or job's facet over time: from when to when each held, and what changed each time."""

import datetime as dt
import itertools
from typing import Any

import msgspec

from headwater.answer.lineage.find import node_row
from headwater.model.json_diff import Change, diff
from headwater.store.database import Database
from headwater.store.history import facets as facet_store

# Longer lists of changes are cut: a facet that was replaced whole is better read than compared.
_MOST_CHANGES = 500


class Body(msgspec.Struct):
    """One body of a facet and the span in which it was reported. `changes`: from the body before it; None for the first, and where it was deleted.

    `change_count` counts them all, `changes` holds at most 500.
    """

    first_at: dt.datetime
    last_at: dt.datetime
    deleted: bool
    body: msgspec.Raw
    changes: list[Change] | None
    change_count: int | None


class FacetPast(msgspec.Struct):
    """Bodies of one facet, the latest first."""

    name: str
    current: bool
    bodies: list[Body]


class FacetHistory(msgspec.Struct):
    """`truncated`: there are older bodies than `limit` of them."""

    id: str
    facets: list[FacetPast]
    truncated: bool


async def facet_history(
    database: Database, kind: str, namespace: str, name: str, facet: str | None, limit: int
) -> FacetHistory:
    """Return all facets, or one, of a dataset or job (`kind`). `current`: the facet holds now, it was not deleted. Raises NotFound."""
    async with database.snapshot() as connection:
        row = await node_row(connection, f"{kind}:{namespace}:{name}")
        told = await facet_store.history(connection, row.id, facet, limit + 1)
    kept = told[:limit]
    found = []
    for each, group in itertools.groupby(kept, lambda past: past.name):
        bodies = list(group)
        found.append(FacetPast(each, not bodies[0].deleted, [_body(*pair) for pair in _pairs(bodies)]))
    return FacetHistory(row.node_id, found, len(told) > limit)


def _pairs(bodies: list[facet_store.Past]) -> list[tuple[facet_store.Past, facet_store.Past | None]]:
    return list(zip(bodies, [*bodies[1:], None], strict=True))


def _body(past: facet_store.Past, before: facet_store.Past | None) -> Body:
    changes = None
    if before is not None and not past.deleted and not before.deleted:
        old, new = _plain(before.body), _plain(past.body)
        changes = diff(old, new)
    return Body(
        past.first_at, past.last_at, past.deleted, msgspec.Raw(past.body),
        None if changes is None else changes[:_MOST_CHANGES], None if changes is None else len(changes),
    )  # fmt: skip


def _plain(body: bytes) -> Any:
    """A body that cannot be read (the log keeps what it got) is compared as its text."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return body.decode("utf-8", "replace")
