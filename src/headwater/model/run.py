"""Run states, and how the states of several events merge.

The highest rank wins, so any order and repetition of events ends in the same state (OpenLineage guarantees no order).
"""

import enum


class RunState(enum.IntEnum):
    """Marquez's names; the value is the rank. A lower rank never replaces a higher one.

    FAIL beats the other terminal states (Spark's listener sends COMPLETE after FAIL for the same run), and ABORT beats COMPLETE.
    NEW is a run that only other events mention, for example as their parent.
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
    """The state that an event type reports; OTHER if the type is absent, None if it is not an OpenLineage type."""
    if event_type is None:
        return RunState.OTHER
    return _BY_EVENT_TYPE.get(event_type)
