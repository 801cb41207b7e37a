"""An alert as it is decided: one cause, the troubles that it explains, and the messages to send."""

import datetime as dt
import uuid
from collections.abc import Mapping

import msgspec

from headwater.model.troubles import Trouble


class AlertHistory(msgspec.Struct, frozen=True):
    """The troubles that raised an alert before, by id, and the times at which those of each (event, subject) began."""

    ids: frozenset[uuid.UUID] = frozenset()
    times: Mapping[tuple[str, str], tuple[dt.datetime, ...]] = {}


class WatchedTrouble(msgspec.Struct, frozen=True):
    """A trouble, and the names of the rules that tell it."""

    trouble: Trouble
    rules: tuple[str, ...]


class PlannedMessage(msgspec.Struct, frozen=True):
    """A message to send. `stage`: 0, or the number of the escalation. `address`: a mail address, or `channel:NAME`."""

    rule: str
    stage: int
    address: str
    due_at: dt.datetime
    severity: str


class Alert(msgspec.Struct, frozen=True):
    """`members`: the troubles that the cause explains, itself among them if a rule watches it. `unaddressed`: names that have no address."""

    cause: Trouble
    members: tuple[WatchedTrouble, ...]
    planned: tuple[PlannedMessage, ...]
    unaddressed: tuple[str, ...]
