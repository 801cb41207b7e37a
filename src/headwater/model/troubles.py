"""Troubles: something about one dataset, job, producer or queue that begins at a time and may end."""

import datetime as dt
import uuid
from typing import Final

import msgspec

_ALERTS: Final = uuid.UUID("6f1c6d0e-5d0b-5f5e-9f0a-5b1f4f6a2c11")
STATES: Final = ("wrong", "failed", "failed_check", "late")
"""Events of data that last, the worst first: one of these may be the cause of another downstream."""
LASTING: Final = (*STATES, "producer_silent", "policy_broken")
"""All events that last until something ends them."""


class Trouble(msgspec.Struct, frozen=True):
    """`subject`: a node id, or `producer:`, `queue:`, `source:` and a name. `node`: the dataset's or job's id.

    `key`: names it among the same events of the subject, whenever it is looked for. `until`: null while it lasts, or if it does not last.
    `began_after`: what explains it is no older. `nodes`: of a verdict, all datasets and jobs that it is about. `rule`: the one rule that
    declares it, such as a deadline; empty: all rules see it. `factor`: how much slower or dearer. `unused`: seconds without a read before this one.
    """

    event: str
    subject: str
    label: str
    key: str
    since: dt.datetime
    text: str
    look: str
    node: uuid.UUID | None = None
    until: dt.datetime | None = None
    began_after: dt.datetime | None = None
    nodes: tuple[uuid.UUID, ...] = ()
    rule: str = ""
    factor: float | None = None
    unused: int | None = None

    @property
    def id(self) -> uuid.UUID:
        """The same whenever and wherever it is found."""
        return uuid.uuid5(_ALERTS, f"{self.event}\n{self.subject}\n{self.key}")

    @property
    def lasts(self) -> bool:
        return self.event in STATES

    def places(self) -> tuple[uuid.UUID, ...]:
        """The nodes that it is about."""
        return self.nodes or ((self.node,) if self.node is not None else ())


class Window(msgspec.Struct, frozen=True):
    """Troubles that begin after `since` and up to `until`."""

    since: dt.datetime
    until: dt.datetime

    def has(self, moment: dt.datetime) -> bool:
        return self.since < moment <= self.until
