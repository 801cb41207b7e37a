"""Projects events in a process without a database: an executor's. Only what the function is made of travels there."""

import datetime as dt
from typing import Any

from headwater.intake.events.project import Projector
from headwater.model.event import read
from headwater.model.identity import Identity, Rule


class Apart:
    """The rows one event of the log stands for, by query (`store.projections.COLUMNS`), under these rules about names."""

    def __init__(self, rules: tuple[Rule, ...] = ()) -> None:
        self._rules = rules
        self._projector: Projector | None = None

    def __call__(self, body: bytes, at: dt.datetime, digest: bytes) -> dict[str, list[tuple[Any, ...]]]:
        """`at`: the time the log has for it. Raises InvalidEvent for what no log of this version would have taken."""
        if self._projector is None:
            self._projector = Projector(Identity(self._rules))
        return self._projector(read(body), at, digest).rows

    def __reduce__(self) -> tuple[Any, ...]:
        return Apart, (self._rules,)
