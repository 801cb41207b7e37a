"""Write a plan as an Airflow DAG: each item is an instance of a mapped task.

The text has the items and their order. At an item's turn, the server says what it runs and whether it still has to (`in_airflow.py`). So the
file is small, the same plan gives the same text, and it may run beside other workers. Refuses what Airflow cannot run.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from headwater.errors import InvalidPlan
from headwater.runner.plans import RERUN, PlannedItem

MOST_ITEMS = 10_000
"""Most task instances of a DAG run: each costs Airflow's scheduler rows, and a process."""
MOST_TASKS = 500
"""Most tasks of a DAG: Airflow parses the file every half minute, and draws all of them."""
_SCHEME = "airflow://"
_LISTED = 10


class Task(NamedTuple):
    """Items of one stage and one producer, or of a whole stage whose items need each other.

    after: ids of the tasks that make what these need. in_turn: one item needs another of the same task, so they run one after the other.
    """

    task_id: str
    numbers: list[int]
    producers: list[str]
    about: str
    after: list[str]
    in_turn: bool

    @property
    def doc(self) -> str:
        return f"{', '.join(self.producers)}: {self.about}"


def airflow_of(plan: str, items: Sequence[PlannedItem]) -> str:
    """Return the name of the Airflow that makes all items of a plan. InvalidPlan if there is not exactly one; `problems` lists the other items."""
    by_name: dict[str, int] = {}
    for item in items:
        if name := _name(item):
            by_name[name] = by_name.get(name, 0) + 1
    chosen = max(by_name, key=lambda name: (by_name[name], name), default="")
    others = [item for item in items if not item.over and (not chosen or _name(item) != chosen)]
    if not chosen or others:
        problems = [f"#{item.number} {item.about}: {_who(item)}" for item in others[:_LISTED]]
        if len(others) > _LISTED:
            problems.append(f"and {len(others) - _LISTED:,} more")
        raise InvalidPlan(
            f"{len(others):,} of the plan's {len(items):,} items cannot be run by {f'the Airflow {chosen!r}' if chosen else 'Airflow'}; work it off "
            f"with `headwater backfill apply {plan} --airflow NAME=URL --packages FOLDER`, or plan without them (`headwater backfill plan --only`)",
            plan=plan,
            problems=problems,
        )
    return chosen


def tasks(plan: str, items: Sequence[PlannedItem]) -> list[Task]:
    """Return the tasks of a plan's items, in order. InvalidPlan if there are more than Airflow supports."""
    groups = _groups(items)
    if len(groups) > MOST_TASKS:
        raise InvalidPlan(
            f"the plan has {len(groups):,} stages, and a DAG of more than {MOST_TASKS:,} tasks is slow to parse; "
            f"work it off with `headwater backfill apply {plan} --airflow NAME=URL`",
            plan=plan,
        )
    group_of = {item.number: at for at, group in enumerate(groups) for item in group}
    ids = [_task_id(group[0]) for group in groups]
    known: dict[str, frozenset[int]] = {}
    found = []
    for at, group in enumerate(groups):
        before: set[int] = set()
        for text in {text for item in group for text in item.needs}:
            if text not in known:
                low, _, high = text.partition("..")
                known[text] = frozenset(group_of[number] for number in range(int(low), int(high or low) + 1))
            before |= known[text]
        found.append(
            Task(
                ids[at],
                [item.number for item in group],
                sorted({item.producer or "" for item in group}),
                group[0].about if len(group) == 1 else f"{group[0].about} … {group[-1].about}",
                [ids[each] for each in sorted(before - {at})],
                at in before,
            )
        )
    return found


def written(plan: str, airflow: str, found: Sequence[Task], *, parallel: int) -> str:
    """Return the text of a Python file. `parallel`: items at once, each of which holds a worker slot while it runs."""
    names = {task.task_id: f"items_{task.numbers[0]}" for task in found}
    lines = [
        f"# Written by `headwater backfill export`: plan {plan}.",
        "# Trigger this DAG by hand. It makes what is not right yet. Exporting the plan again writes the same text.",
        "",
        "from airflow.sdk import DAG",
        "",
        "from headwater.runner.in_airflow import PlanEnd, PlanItem",
        "",
        "PLAN = {",
        f"    'plan': {plan!a},",
        f"    'airflow': {airflow!a},",
        "    'trigger_rule': 'all_done',  # an item runs unless it needs a failed one",
        "    'retries': 3,  # for a killed task; a failed item is not retried",
        "}",
        "LABEL = \"{{ headwater_item | default('#' ~ task.number) }}\"",
        "",
        "with DAG(",
        f"    {named(plan)!a},",
        "    schedule=None,",
        "    max_active_runs=1,",
        f"    max_active_tasks={parallel},",
        "    is_paused_upon_creation=False,",
        "    tags=['headwater'],",
        "):",
    ]
    for task in found:
        lines += [
            f"    {names[task.task_id]} = PlanItem.partial(",
            f"        task_id={task.task_id!a},",
            f"        doc={task.doc!a},",
            *(["        max_active_tis_per_dagrun=1,"] if task.in_turn else []),
            "        map_index_template=LABEL,",
            "        **PLAN,",
            f"    ).expand(number={_numbers(task.numbers)})",
        ]
    lines.append("    end = PlanEnd(task_id='end', **PLAN)")
    lines.append("")
    lines += [
        f"    [{', '.join(names[each] for each in task.after)}] >> {names[task.task_id]}"
        for task in found
        if task.after
    ]
    lines.append(f"    [{', '.join(names.values())}] >> end")
    return "\n".join(lines) + "\n"


def named(plan: str) -> str:
    """Return the DAG's id."""
    return f"headwater_plan_{plan}"


def _groups(items: Iterable[PlannedItem]) -> list[list[PlannedItem]]:
    """Group by stage and producer; a stage whose items need another producer's items of the same stage is one group."""
    stages: dict[int, list[PlannedItem]] = {}
    for item in items:
        stages.setdefault(item.level, []).append(item)
    found = []
    for stage in stages.values():
        by_producer: dict[str | None, list[PlannedItem]] = {}
        for item in stage:
            by_producer.setdefault(item.producer, []).append(item)
        found += [stage] if len(by_producer) > 1 and _tangled(stage) else list(by_producer.values())
    return sorted(found, key=lambda group: group[0].number)


def _tangled(stage: list[PlannedItem]) -> bool:
    """Return whether any item of a stage needs another producer's item of the same stage."""
    producer_of = {item.number: item.producer for item in stage}
    least = stage[0].number
    return any(
        producer_of.get(number, item.producer) != item.producer
        for item in stage
        for text in item.needs
        for number in _within(text, least)
    )


def _within(text: str, least: int) -> range:
    """Return the numbers of a range from `least` on."""
    low, _, high = text.partition("..")
    return range(max(int(low), least), int(high or low) + 1)


def _name(item: PlannedItem) -> str:
    """Return the name of the Airflow that can run an item; empty if none can."""
    if item.action != RERUN or not (item.producer or "").startswith(_SCHEME):
        return ""
    name, _, job = (item.producer or "").removeprefix(_SCHEME).partition("/")
    return name if job.partition("/")[2] else ""


def _who(item: PlannedItem) -> str:
    if item.action == "manual":
        return "by hand: no job is known to make it"
    if item.action == "restore":
        return "restored by `headwater backfill apply --spark-submit`; a plan with --no-restore makes it again"
    if (item.producer or "").startswith(_SCHEME) and not _name(item):
        return f"{item.producer} names no task; declare airflow://NAME/DAG/TASK"
    return f"{item.producer}"


def _task_id(item: PlannedItem) -> str:
    """Return a unique task id in Airflow's characters: it ends with the number of the first item."""
    job = unquote((item.producer or "by_hand").removeprefix(_SCHEME).partition("/")[2] or item.producer or "by_hand")
    return f"{re.sub('[^A-Za-z0-9_-]', '_', job)[:100]}_{item.number}"


def _numbers(numbers: list[int]) -> str:
    """Write numbers like `[*range(0, 24), 30]`."""
    parts = []
    start = 0
    for at in range(1, len(numbers) + 1):
        if at == len(numbers) or numbers[at] != numbers[at - 1] + 1:
            first, last = numbers[start], numbers[at - 1]
            parts.append(str(first) if first == last else f"*range({first}, {last + 1})")
            start = at
    return f"[{', '.join(parts)}]"
