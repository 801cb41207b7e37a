"""Run states and how two reports of a state become one.

The fold is a maximum over ranks, so any order and any repetition of events ends in the same state (OpenLineage gives no order).
"""

import enum


class RunState(enum.IntEnum):
    """Marquez's names; the value is the rank. A higher rank is never undone by a lower one.

    Between the terminal states: FAIL is sticky (Spark's listener sends COMPLETE after FAIL for the same run), and ABORT beats COMPLETE.
    NEW is a run only heard of as somebody's parent.
    """

    NEW = 0
    OTHER = 1
    RUNNING = 2
    COMPLETED = 3
    ABORTED = 4
    FAILED = 5

    @property
    def terminal(self) -> bool:
        return self >= RunState.COMPLETED


_BY_EVENT_TYPE = {
    "START": RunState.RUNNING,
    "RUNNING": RunState.RUNNING,
    "COMPLETE": RunState.COMPLETED,
    "ABORT": RunState.ABORTED,
    "FAIL": RunState.FAILED,
    "OTHER": RunState.OTHER,
}


def state_of(event_type: str | None) -> RunState | None:
    """The state an event type reports; OTHER when the type is absent; None when it is not an OpenLineage type."""
    if event_type is None:
        return RunState.OTHER
    return _BY_EVENT_TYPE.get(event_type)
