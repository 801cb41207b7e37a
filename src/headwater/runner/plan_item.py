"""Run one item of a plan by its number, as a task of an exported DAG does.

You may call it repeatedly: it does not rerun what is right, it waits for what another worker makes, and it finds an interrupted run by the
run that the server knows. It does not wait for an item's turn: its caller does, where waiting costs nothing.
"""

import enum
from collections.abc import Callable

import msgspec

from headwater.runner.backfill import ItemEvent, What, Worker, opens_at
from headwater.runner.executors import Executor
from headwater.runner.plans import PlannedItem, PlanOnServer, Progress


class Came(enum.StrEnum):
    """`later`: it is not its turn, or another worker has it; `failed`: a person has to act."""

    done = "done"
    failed = "failed"
    later = "later"


class Turn(msgspec.Struct, frozen=True):
    """The result of an attempt. `about`: what the item makes; `note`: why it failed, or what it waits for."""

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
    on_event: Callable[[ItemEvent], None] = lambda _: None,
) -> Turn:
    """Run one item to its end, if it may run now. Begins a plan that is not running; a paused one stays paused.

    name: the worker's. again: put all failed items of the plan back into the queue. Raises what `Worker.work` does.
    """
    progress, item = _look(plan, number)
    if item.over or (item.state == "failed" and not again):
        return _came(progress, item, later=False)
    if item.state == "failed":
        plan.retry()
    elif progress.state in {"planned", "failed"}:
        plan.apply()

    def report(one: ItemEvent) -> None:
        on_event(one)
        if one.what is What.waits:
            worker.stop()

    worker = Worker(plan, [executor], name=name, numbers=[number], on_event=report)
    ended = worker.run_items()
    progress, item = _look(plan, number)
    return _came(progress, item, later=ended == "stopped")


def _came(plan: Progress, item: PlannedItem, *, later: bool) -> Turn:
    if item.over:
        return Turn(Came.done, item.about)
    if item.state == "failed":
        return Turn(
            Came.failed, item.about, f"{item.note}; `headwater backfill retry {plan.id}` puts it back into the queue"
        )
    if plan.state == "cancelled":
        return Turn(Came.failed, item.about, "the plan was cancelled")
    if later:
        opens = opens_at(plan.opens) if plan.opens else "other items come first, or another worker has it"
        return Turn(Came.later, item.about, "the plan is paused" if plan.state == "paused" else opens)
    return Turn(Came.failed, item.about, f"no run is making what it needs: items {', '.join(item.needs) or 'none'}")


def _look(plan: PlanOnServer, number: int) -> tuple[Progress, PlannedItem]:
    page = plan.page(number, 1)
    return page.plan, page.items[0]
