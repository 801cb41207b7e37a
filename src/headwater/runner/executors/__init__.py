"""Executors of a plan's items, by the producer's scheme, such as `package:NAME`. One module each.

An executor begins runs and reports how they ended. It does not know plans, leases or other workers.
"""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from headwater.runner.plans import RESTORE, Item


class Outcome(msgspec.Struct, frozen=True):
    """The end of a run, in one line if it failed. `run`: its reported id; else the name under which it was begun. `reports_within`: seconds
    in which its report may follow its end.
    """

    failed: bool
    note: str = ""
    run: str = ""
    reports_within: float = 0.0


class Going(Protocol):
    """A running run."""

    def poll(self) -> Outcome | None:
        """Return how it ended; None while it runs. Never waits; may be called again after the end."""

    def stop(self) -> None:
        """Ask it to stop, then force it; a second call forces it at once."""


class Executor(Protocol):
    """Carries out items of some producers, or restores items of any producer."""

    @property
    def actions(self) -> Sequence[str]:
        """The actions that it can take: `rerun`, `restore`."""

    @property
    def producers(self) -> Sequence[str]:
        """The producers whose items it can rerun; `airflow://prod/*` matches a prefix."""

    def named(self, item: Item) -> str:
        """Return a name for the run of an item; the server gets it before the run begins."""

    def earlier(self, item: Item) -> Going | None:
        """Return the run of the previous attempt (`item.before`), if it is still running."""

    def start(self, item: Item, run: str) -> Going:
        """Begin an item. Raises HeadwaterError or OSError; after a transient one it is begun again, and must not run twice."""

    def command(self, item: Item) -> str:
        """Return the command, as you would type it."""


def able(executor: Executor, item: Item) -> bool:
    """Return whether the executor can carry out this item."""
    if item.action not in executor.actions or item.action == RESTORE:
        return item.action in executor.actions
    return item.producer is not None and any(
        item.producer == each or (each.endswith("*") and item.producer.startswith(each[:-1]))
        for each in executor.producers
    )
