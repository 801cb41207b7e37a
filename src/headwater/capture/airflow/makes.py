"""The entities that tasks make, as a DAG's author writes them. Does not depend on Airflow. The server knows which entities are declared."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

SENSOR_SUFFIX = "__ready"


class Makes(msgspec.Struct, frozen=True):
    """An entity that a task makes.

    `state`: only this one, such as `estimated`; default: the best one that is ready. `wait`: the task waits until its instance is ready;
    otherwise it runs when Airflow schedules it, and its inputs are not recorded.
    """

    entity: str
    state: str | None = None
    wait: bool = True


Written = str | Makes | Sequence[str | Makes]


def read(entities: Mapping[str, Any]) -> dict[str, tuple[Makes, ...]]:
    """Return the entities by task, of `{"load": "reads", "count": ["words", Makes("pages", state="estimated")]}`. Raises TypeError and ValueError,
    which name the task."""
    if not isinstance(entities, Mapping):
        raise TypeError(f"entities is a {type(entities).__name__}; write {{task: entity}}")
    found = {}
    for task, written in entities.items():
        each = [written] if isinstance(written, str | Makes) else written
        if not isinstance(each, Sequence):
            raise TypeError(
                f"entities of task {task!r} is a {type(written).__name__}; write a name, a Makes, or a list of them"
            )
        makes = tuple(one if isinstance(one, Makes) else Makes(one) for one in each)
        if not makes:
            raise ValueError(f"entities of task {task!r} is an empty list; omit the task, or name what it makes")
        for one in makes:
            if not isinstance(one.entity, str) or not one.entity:
                raise TypeError(f"entities of task {task!r} has {one.entity!r}, which is not an entity's name")
        names = [one.entity for one in makes]
        if len(set(names)) != len(names):
            raise ValueError(f"entities of task {task!r} names an entity twice: {', '.join(names)}")
        if len({one.wait for one in makes}) > 1:
            raise ValueError(f"entities of task {task!r}: set `wait` alike for all that the task makes")
        found[task] = makes
    return found
