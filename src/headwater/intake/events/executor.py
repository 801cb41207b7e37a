"""Project events in a Spark executor, a process without a database. Only the identity rules are serialized."""

import datetime as dt
import uuid
from typing import Any

from headwater.intake.events.project import Projector
from headwater.intake.events.statements import statement_rows
from headwater.model.event import read
from headwater.model.identity import Identity, Rule
from headwater.store.events.projections import Statement
from headwater.store.events.rows import STATEMENTS, RowSet, as_tuples


class ExecutorProjector:
    """Projects one event of the log to rows by statement (`store.events.rows.STATEMENTS`), under these identity rules."""

    def __init__(self, rules: tuple[Rule, ...] = ()) -> None:
        self._rules = rules
        self._projector: Projector | None = None

    @property
    def _project(self) -> Projector:
        if self._projector is None:
            self._projector = Projector(Identity(self._rules))
        return self._projector

    def __call__(self, body: bytes, at: dt.datetime, digest: bytes) -> dict[str, list[tuple[Any, ...]]]:
        """Project one event. `at`: its time in the log. Raises InvalidEvent for a body that this version would have refused."""
        return _by_statement(self._project(read(body), at, digest))

    def statement_rows(
        self, job: uuid.UUID, outputs: list[tuple[str, str]], body: bytes, first_at: dt.datetime, last_at: dt.datetime
    ) -> dict[str, list[tuple[Any, ...]]]:
        """Project a statement below a run of a dbt model (`intake.events.statements`)."""
        made = RowSet()
        for row in statement_rows(Statement(job, outputs, body, first_at, last_at), self._project.decoder):
            made.add(row)
        return _by_statement(made)

    def __reduce__(self) -> tuple[Any, ...]:
        return ExecutorProjector, (self._rules,)


def _by_statement(rows: RowSet) -> dict[str, list[tuple[Any, ...]]]:
    return {STATEMENTS[kind]: [*as_tuples(of_kind)] for kind, of_kind in rows.rows.items()}
