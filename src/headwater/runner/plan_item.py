"""One item of a plan, by its number, for the one worker that has it to do: a task of a DAG that a plan was exported as.

Asked as often as you like: what is right is not made again, what another worker makes is waited for, and what was left in the middle is found by the
run that the server knows. Refuses to wait for an item's turn: who asks does, where waiting costs nothing.
"""

import enum
from collections.abc import Callable

import msgspec

from headwater.runner.backfill import ItemEvent, What, Worker, opens_at
from headwater.runner.executors import Executor
from headwater.runner.plans import PlannedItem, PlanOnServer, Progress


class Came(enum.StrEnum):
    """`later`: it is not its turn, or another worker has it; `failed`: nothing more comes until a person acts."""

    done = "done"
    failed = "failed"
    later = "later"


class Turn(msgspec.Struct, frozen=True):
    """What came of an item. `about`: what it makes; `note`: why it failed, or what it waits for."""

    came: Came
    about: str
    note: str = ""


def carry_out(
    plan: PlanOnServer,
    number: int,
    executor: Executor,
    *,
    name: str,
    again: bool = False,
    told: Callable[[ItemEvent], None] = lambda _: None,
) -> Turn:
    """Run one item to its end, if it may run now. A plan that was not begun, or that stands, begins with it; one that is paused stays paused.

    name: who works. again: what failed may be taken again, of the whole plan. Raises what `Worker.work` does.
    """
    progress, item = _look(plan, number)
    if item.over or (item.state == "failed" and not again):
        return _came(progress, item, later=False)
    if item.state == "failed":
        plan.retry()
    elif progress.state in {"planned", "failed"}:
        plan.apply()

    def heard(one: ItemEvent) -> None:
        told(one)
        if one.what is What.waits:
            worker.stop()

    worker = Worker(plan, [executor], name=name, numbers=[number], told=heard)
    ended = worker.work()
    progress, item = _look(plan, number)
    return _came(progress, item, later=ended == "stopped")


def _came(plan: Progress, item: PlannedItem, *, later: bool) -> Turn:
    if item.over:
        return Turn(Came.done, item.about)
    if item.state == "failed":
        return Turn(Came.failed, item.about, f"{item.note}; `headwater backfill retry {plan.id}` lets it be run again")
    if plan.state == "cancelled":
        return Turn(Came.failed, item.about, "the plan was cancelled")
    if later:
        opens = opens_at(plan.opens) if plan.opens else "others come first, or have it"
        return Turn(Came.later, item.about, "the plan is paused" if plan.state == "paused" else opens)
    return Turn(Came.failed, item.about, f"no run is making what it needs: items {', '.join(item.needs) or 'none'}")


def _look(plan: PlanOnServer, number: int) -> tuple[Progress, PlannedItem]:
    page = plan.page(number, 1)
    return page.plan, page.items[0]
