"""Declare in a DAG which tasks make which entities:

    with EntityDAG("reads", schedule="@daily", entities={"load": "reads", "count": "words_count"}):
        load()
        count()

Airflow 3's `DAG` refuses unknown parameters, so `EntityDAG` extends it. For a DAG from `@dag` or a library, use `link(dag, {...})`. Each task that
makes an entity gets a sensor before it and reports its outcome. Dependencies on data need no `>>`.
Does not ask the server: a DAG is parsed every half minute.
"""

import sys
from collections.abc import Mapping
from typing import Any

from airflow.sdk import DAG

from headwater.capture.airflow.callbacks import Callback
from headwater.capture.airflow.makes import SENSOR_SUFFIX, Makes, Written, read
from headwater.capture.airflow.sensor import LineageSensor

__all__ = ["EntityDAG", "LineageSensor", "Makes", "link"]

# With any other rule a task would run although its sensor failed, or as soon as the sensor succeeds, without its other upstream tasks.
_GATED = frozenset({"all_success", "none_failed"})


class EntityDAG(DAG):
    """A DAG whose tasks make entities: `entities={task id: entity, or entities}`. The end of the `with` block links them.

    sensor: arguments for every sensor, such as `{"timeout": timedelta(hours=6), "fail_open": True, "pool": "waiting"}`.
    """

    def __init__(
        self,
        dag_id: str,
        *args: Any,
        entities: Mapping[str, Written] | None = None,
        sensor: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(dag_id, *args, **kwargs)
        # Airflow looks two frames up for the file, and finds this one.
        self.fileloc = sys._getframe(1).f_code.co_filename
        self.entities = dict(entities or {})
        self.sensor = dict(sensor or {})

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        """Link the tasks, which are complete now."""
        try:
            if kind is None:
                link(self, self.entities, sensor=self.sensor)
        finally:
            super().__exit__(kind, error, trace)


def link(dag: DAG, entities: Mapping[str, Written], *, sensor: Mapping[str, Any] | None = None) -> None:
    """Add sensors and callbacks to a DAG with all its tasks. Existing callbacks stay and run first.

    Raises ValueError for a task that is not in the DAG, is mapped, or would not wait for a sensor; TypeError for anything that is not an entity.
    """
    linked = read(entities)
    for task_id, makes in linked.items():
        if task_id not in dag.task_dict:
            raise ValueError(
                f"entities of DAG {dag.dag_id!r} names task {task_id!r}, which is not in the DAG; its tasks are: {', '.join(sorted(dag.task_dict))}"
            )
        task = dag.task_dict[task_id]
        if not hasattr(task, "execute") or _in_mapped_group(task):
            raise ValueError(
                f"task {task_id!r} of DAG {dag.dag_id!r} is mapped: each of its instances would report all of it. "
                "Add a task that ends after all of them, and link that one"
            )
        waits, rule = makes[0].wait, getattr(task.trigger_rule, "value", task.trigger_rule)
        if waits and rule not in _GATED:
            raise ValueError(
                f"task {task_id!r} of DAG {dag.dag_id!r} has the trigger rule {rule}: it would not wait for a sensor. "
                f"Use one of {', '.join(sorted(_GATED))}, or Makes({makes[0].entity!r}, wait=False)"
            )
        gate = _gate(dag, task, makes, sensor or {}) if waits else None
        _report(task, makes, gate)


def _gate(dag: DAG, task: Any, makes: tuple[Makes, ...], arguments: Mapping[str, Any]) -> str:
    gate = LineageSensor(
        task_id=f"{task.label}{SENSOR_SUFFIX}",
        entity=makes,
        dag=dag,
        task_group=task.task_group,
        **arguments,
    )
    gate.set_downstream(task)
    return str(gate.task_id)


def _report(task: Any, makes: tuple[Makes, ...], gate: str | None) -> None:
    for name, callback in (
        ("on_execute_callback", Callback("started", makes, gate)),
        ("on_success_callback", Callback("produced", makes, gate)),
        ("on_failure_callback", Callback("failed", makes, gate)),
        ("on_retry_callback", Callback("failed", makes, gate)),
        ("on_skipped_callback", Callback("failed", makes, gate, "skipped")),
    ):
        there = getattr(task, name, None)
        mine = list(there) if isinstance(there, list | tuple) else [there] if there else []
        setattr(task, name, [*mine, callback])


def _in_mapped_group(task: Any) -> bool:
    closest = getattr(task, "get_closest_mapped_task_group", None)
    return closest is not None and closest() is not None
