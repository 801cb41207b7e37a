"""The cost of tables, query shapes, users, Airflow tasks, dbt models and tools; the dearest first.

As the query-log pipeline reported it in `headwater_cost` facets, in the currency its prices were declared in. Grains
look at the same money from several sides: do not add them to each other.
"""

import datetime as dt
from collections.abc import Sequence

import msgspec

from headwater.answer.lineage.find import node_row
from headwater.answer.lineage.node import short_job
from headwater.answer.lineage.sorting import Page, checked
from headwater.answer.usage.blocked import find_uses
from headwater.answer.usage.fields import shared_fields
from headwater.answer.usage.usage import KINDS
from headwater.errors import InvalidQuestion
from headwater.model.names import short
from headwater.store.database import Connection, Database
from headwater.store.usage import cost as store
from headwater.store.usage import pruning as pruning_store
from headwater.store.usage.cost import GRAINS

SORTS = ("money", "executions", "bytes_billed", "slot_ms", "duration_ms", "credits", "share", "keep_month", "name")
_MAKERS = frozenset({"task", "model"})
_DATASETS, _JOBS = ("table",), ("shape", "task", "model")


class Costing(msgspec.Struct, kw_only=True):
    """`id`: of the dataset or job; null for a user or tool. `share`: of all that the log's executions cost.

    `keep_month`: of a table, what keeping it costs a month, apart from the rest. `last_at`, `recurrence` (recurring, ad_hoc, one_off): of a
    shape. `writes`: datasets that a task or model makes; `unused`: those of them that nothing needs (`headwater prune`), by node id. What was not
    reported is null.
    """

    id: str | None
    grain: str
    namespace: str
    name: str
    label: str
    executions: int
    money: float | None
    bytes_billed: int | None
    slot_ms: float | None
    duration_ms: float | None
    credits: float | None
    share: float | None
    keep_month: float | None
    last_at: dt.datetime | None
    recurrence: str | None
    measured_at: dt.datetime
    writes: int | None = None
    unused: list[str] = []


class CostTotals(msgspec.Struct, kw_only=True):
    """The cost of all that was asked for, not of this page alone."""

    executions: int
    money: float | None
    bytes_billed: int | None
    slot_ms: float | None
    duration_ms: float | None
    credits: float | None
    keep_month: float | None


class Cost(msgspec.Struct):
    """`measured_at`: when a log was read last; null if none was. `hidden`: users and tools that are in no answer, the cheapest of too many."""

    grain: str
    measured_at: dt.datetime | None
    total: int
    totals: CostTotals
    hidden: int
    costs: list[Costing]


async def cost(
    database: Database,
    page: Page,
    *,
    grain: str = "table",
    node: str | None = None,
    namespace: str | None = None,
    tool: str | None = None,
    kind: str | None = None,
) -> Cost:
    """Return costs by this grain; of shapes those that a tool or kind of actor ran."""
    checked(grain, GRAINS, "grain")
    checked(kind, KINDS, "actor_kind")
    sort, descending = page.sorted_by(SORTS)
    if kind is not None and grain != "shape":
        raise InvalidQuestion("actor_kind requires grain=shape", parameter="actor_kind")
    if tool is not None and grain not in {"shape", "tool"}:
        raise InvalidQuestion("tool requires grain=shape or grain=tool", parameter="tool")
    async with database.snapshot() as connection:
        row = None if node is None else await node_row(connection, node)
        if row is not None and grain not in (_DATASETS if row.type == "DATASET" else _JOBS):
            raise InvalidQuestion(f"grain {grain!r} is not about {row.node_id}", parameter="node")
        wanted = store.Wanted(grain, row.id if row else None, namespace, tool, kind)
        rows, told = await store.page(
            connection, wanted, sort=sort, descending=descending, limit=page.limit, offset=page.offset
        )
        hidden = await store.left_out(connection, namespace) if grain in {"user", "tool"} else 0
        made = await _count_made(connection, rows) if grain in _MAKERS else {}
    totals = CostTotals(**shared_fields(CostTotals, told))
    return Cost(
        grain,
        told.at,
        told.rows,
        totals,
        hidden,
        [_costing(grain, row, made.get((row.namespace, row.name))) for row in rows],
    )


async def _count_made(
    connection: Connection, rows: Sequence[store.CostRow]
) -> dict[tuple[str, str], tuple[int, list[str]]]:
    """Return how many datasets each task or model writes now, and those of them that nothing needs: nothing reads them but what may go too."""
    written = await store.written(connection, [(row.namespace, row.name) for row in rows])
    blocked = (await find_uses(connection)).blocked if written else {}
    unused = {
        one.id: f"dataset:{one.namespace}:{one.name}"
        for one in (await pruning_store.candidates(connection) if written else ())
        if one.id not in blocked
    }
    return {
        job: (len(datasets), sorted(unused[id_] for id_ in datasets & unused.keys()))
        for job, datasets in written.items()
    }


def _costing(grain: str, row: store.CostRow, made: tuple[int, list[str]] | None) -> Costing:
    kind = "dataset" if grain in _DATASETS else "job" if grain in _JOBS else None
    label = {"dataset": short, "job": short_job}.get(kind or "", str)(row.name)
    fields = shared_fields(Costing, row.cost) | {"grain": grain}
    return Costing(
        **fields, id=f"{kind}:{row.namespace}:{row.name}" if kind else None, namespace=row.namespace, name=row.name, label=label,
        last_at=row.last_at, recurrence=row.recurrence, measured_at=row.at,
        writes=made[0] if made else None, unused=made[1] if made else [],
    )  # fmt: skip
