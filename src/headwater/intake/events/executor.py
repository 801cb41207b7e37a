"""Project events in a Spark executor, a process without a database. Only the identity rules are serialized."""

import datetime as dt
from typing import Any

from headwater.intake.events.project import Projector
from headwater.model.event import read
from headwater.model.identity import Identity, Rule
from headwater.store.events.rows import STATEMENTS, as_tuples


class ExecutorProjector:
    """Projects one event of the log to rows by statement (`store.events.rows.STATEMENTS`), under these identity rules."""

    def __init__(self, rules: tuple[Rule, ...] = ()) -> None:
        self._rules = rules
        self._projector: Projector | None = None

    def __call__(self, body: bytes, at: dt.datetime, digest: bytes) -> dict[str, list[tuple[Any, ...]]]:
        """Project one event. `at`: its time in the log. Raises InvalidEvent for a body that this version would have refused."""
        if self._projector is None:
            self._projector = Projector(Identity(self._rules))
        rows = self._projector(read(body), at, digest).rows
        return {STATEMENTS[kind]: [*as_tuples(of_kind)] for kind, of_kind in rows.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return ExecutorProjector, (self._rules,)
