"""What carries out items of a plan: by the producer's text, `package:NAME` or another scheme. One module for each.

An executor begins runs and says how they ended. Refuses to know of plans, leases and other workers.
"""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from headwater.runner.plans import RESTORE, Item


class Outcome(msgspec.Struct, frozen=True):
    """How a run ended, in one line where it failed. `run`: as it reported; else the name under which it was begun. `reports_within`: seconds in which
    it says what it made, where that may come after its end.
    """

    failed: bool
    note: str = ""
    run: str = ""
    reports_within: float = 0.0


class Going(Protocol):
    """A run that was begun."""

    def poll(self) -> Outcome | None:
        """How it ended; None while it goes on. Never waits; may be asked again after the end."""

    def stop(self) -> None:
        """Ask it to stop, and make it where it does not; again: at once."""


class Executor(Protocol):
    """Items of some producers, or restored items of any producer."""

    @property
    def actions(self) -> Sequence[str]:
        """What it does with items: `rerun`, `restore`."""

    @property
    def producers(self) -> Sequence[str]:
        """Those whose items this can run again; `airflow://prod/*`: all that begin so."""

    def named(self, item: Item) -> str:
        """A name for the run that would carry out an item; told to the server before it begins."""

    def earlier(self, item: Item) -> Going | None:
        """The run of the attempt before (`item.before`), where it still goes on."""

    def start(self, item: Item, run: str) -> Going:
        """Begin it. HeadwaterError or OSError where it cannot be; one that is not permanent: it is begun again, and must not run twice."""

    def command(self, item: Item) -> str:
        """What would be run, as people write it."""


def able(executor: Executor, item: Item) -> bool:
    """Whether it can carry out an item."""
    if item.action not in executor.actions or item.action == RESTORE:
        return item.action in executor.actions
    return item.producer is not None and any(
        item.producer == each or (each.endswith("*") and item.producer.startswith(each[:-1]))
        for each in executor.producers
    )
