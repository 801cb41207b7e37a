"""Which task makes which entities, as a DAG's author writes it. Refuses to know Airflow, and whether the entities are declared: the server does."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

SENSOR_SUFFIX = "__ready"


class Makes(msgspec.Struct, frozen=True):
    """An entity that a task makes.

    `state`: only this one, such as `estimated`; without it the best that may be made. `wait`: the task waits until its instance may be made;
    without, it runs whenever Airflow wants, and what it had read is not recorded.
    """

    entity: str
    state: str | None = None
    wait: bool = True


Written = str | Makes | Sequence[str | Makes]


def read(entities: Mapping[str, Any]) -> dict[str, tuple[Makes, ...]]:
    """By task. `{"load": "reads", "count": ["words", Makes("pages", state="estimated")]}`. Raises TypeError and ValueError, saying which task."""
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
            raise ValueError(f"entities of task {task!r} is an empty list; leave the task out, or name what it makes")
        for one in makes:
            if not isinstance(one.entity, str) or not one.entity:
                raise TypeError(f"entities of task {task!r} has {one.entity!r}, which is no name of an entity")
        names = [one.entity for one in makes]
        if len(set(names)) != len(names):
            raise ValueError(f"entities of task {task!r} names one twice: {', '.join(names)}")
        if len({one.wait for one in makes}) > 1:
            raise ValueError(f"entities of task {task!r}: the task waits for all that it makes, or for none")
        found[task] = makes
    return found
