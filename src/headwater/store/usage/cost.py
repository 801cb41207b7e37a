"""The cost of datasets, query shapes, tasks, models, users and tools, as the query-log pipeline reported it."""

import datetime as dt
import uuid
from collections.abc import Sequence

import msgspec

from headwater.model.measured import Cost
from headwater.store import sqlfile
from headwater.store.database import Connection
from headwater.store.usage.measured import COST

# Grain → the query that knows it.
_QUERIES = {
    "table": "of_datasets", "shape": "of_jobs", "task": "of_jobs", "model": "of_jobs", "user": "of_drivers", "tool": "of_drivers",
}  # fmt: skip
GRAINS = tuple(_QUERIES)


class CostRow(msgspec.Struct, frozen=True):
    """`name`: of the dataset, job, user or tool. A dataset with several names is one row. `last_at`, `recurrence`: of a query shape."""

    namespace: str
    name: str
    at: dt.datetime
    cost: Cost
    last_at: dt.datetime | None
    recurrence: str | None


class CostTotal(msgspec.Struct, frozen=True):
    """The cost of all rows that are wanted, not of a page."""

    rows: int = 0
    executions: int = 0
    money: float | None = None
    bytes_billed: int | None = None
    slot_ms: float | None = None
    duration_ms: float | None = None
    credits: float | None = None
    keep_month: float | None = None
    at: dt.datetime | None = None


class Wanted(msgspec.Struct, frozen=True):
    """A filter of costs: a grain, of it one dataset or job, a namespace; shapes (or tools) by tool, shapes by the kind of actor that runs them."""

    grain: str
    id: uuid.UUID | None = None
    namespace: str | None = None
    tool: str | None = None
    kind: str | None = None


async def page(
    connection: Connection, wanted: Wanted, *, sort: str, descending: bool, limit: int, offset: int
) -> tuple[list[CostRow], CostTotal]:
    """Return a page of costs, and their total; rows without the value to sort by come last, either way."""
    name = _QUERIES[wanted.grain]
    query = sqlfile.load("usage/cost")[name]
    own: dict[str, dict[str, object]] = {
        "of_datasets": {"id": wanted.id},
        "of_jobs": {"id": wanted.id, "grain": wanted.grain, "tool": wanted.tool, "kind": wanted.kind},
        "of_drivers": {"grain": wanted.grain, "tool": wanted.tool},
    }
    given = own[name] | {"namespace": wanted.namespace, "sort": sort, "sign": -1 if descending else 1}
    rows = await query.dicts(connection, **given, limit=limit, offset=offset)
    # A page beyond the last row has none that holds the totals.
    first = rows or await query.dicts(connection, **given, limit=1, offset=0)
    totals = (
        {name.removeprefix("total_"): value for name, value in first[0].items() if name.startswith("total_")}
        if first
        else {}
    )
    costs = [
        CostRow(row["namespace"], row["name"], row["at"], COST.read(row), row["last_at"], row["recurrence"])
        for row in rows
    ]
    return costs, CostTotal(**totals)


async def written(connection: Connection, jobs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], set[uuid.UUID]]:
    """Return the datasets that each of these jobs (namespace, name), or a part of it, writes now, by the ids that stand for their names."""
    found: dict[tuple[str, str], set[uuid.UUID]] = {}
    query = sqlfile.load("usage/cost")["written"]
    names = {"namespaces": [one[0] for one in jobs], "names": [one[1] for one in jobs]}
    for namespace, name, dataset in await query.many(connection, **names) if jobs else ():
        found.setdefault((namespace, name), set()).add(dataset)
    return found


async def left_out(connection: Connection, namespace: str | None) -> int:
    """Return how many users and tools were left out as too cheap."""
    (count,) = await sqlfile.load("usage/cost")["left_out"].one(connection, namespace=namespace)
    return int(count)
