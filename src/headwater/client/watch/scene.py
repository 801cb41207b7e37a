"""The watcher's scenes: events, their deliveries, and questions with known answers. Values only.

A scene is one round of a story in one slot. Its questions hold after all its events are acknowledged, until the slot's next round.
"""

from collections.abc import Callable, Iterable
from typing import Any, Literal, get_args

import msgspec

Kind = Literal[
    "missing_node",
    "missing_edge",
    "extra_edge",
    "missing_column_edge",
    "extra_column_edge",
    "lost_run",
    "doubled_run",
    "lost_event",
    "doubled_event",
    "wrong_state",
    "wrong_time",
    "wrong_datasets",
    "wrong_family",
    "wrong_id",
    "stale_schema",
    "wrong_versions",
    "wrong_total",
    "not_searchable",
    "unmerged_alias",
    "wrong_reply",
    "slow_visibility",
    "refused",
]
Check = Literal[
    "receipts",
    "lineage",
    "columns",
    "runs",
    "order",
    "schema",
    "versions",
    "family",
    "names",
    "stream",
    "search",
    "totals",
    "marquez",
    "aliases",
    "partitions",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
CHECKS: tuple[Check, ...] = get_args(Check)

Finding = tuple[Kind, str]
"""The mistake in an answer, and a text with the expected and the actual value."""

Judge = Callable[[Any], Iterable[Finding]]


class Question(msgspec.Struct, frozen=True):
    """A GET with a known answer. `judge` gets the decoded answer; `absent`: the kind of a 404."""

    check: Check
    path: str
    params: dict[str, object]
    judge: Judge
    absent: Kind = "missing_node"

    @property
    def text(self) -> str:
        return self.path + "".join(f" {key}={value}" for key, value in self.params.items())


class Delivery(msgspec.Struct, frozen=True):
    """Events (positions in the scene) of one request: a batch, or a single event."""

    events: tuple[int, ...]
    batch: bool


class Scene(msgspec.Struct, frozen=True):
    """One round of a story. `deliveries` name every event at least once; a second time is a deliberate duplicate."""

    story: str
    slot: int
    round: int
    events: list[bytes]
    deliveries: list[Delivery]
    questions: list[Question]


class Mismatch(msgspec.Struct, frozen=True):
    """One difference between what was sent and what the server answers."""

    check: Check
    kind: Kind
    story: str
    slot: int
    round: int
    message: str
