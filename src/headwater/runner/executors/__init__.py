"""What carries out items of a plan: by the producer's text, `package:NAME` or another scheme. One module for each.

An executor begins runs and says how they ended. Refuses to know of plans, leases and other workers.
"""

from typing import Protocol

import msgspec

from headwater.runner.plans import Item


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
    """Of some producers."""

    @property
    def producers(self) -> list[str]:
        """Those whose items this can run; `airflow://prod/*`: all that begin so."""

    def named(self, item: Item) -> str:
        """A name for the run that would carry out an item; told to the server before it begins."""

    def earlier(self, item: Item) -> Going | None:
        """The run of the attempt before (`item.before`), where it still goes on."""

    def start(self, item: Item, run: str) -> Going:
        """Begin it. HeadwaterError or OSError where it cannot be; one that is not permanent: it is begun again, and must not run twice."""

    def command(self, item: Item) -> str:
        """What would be run, as people write it."""


def able(executor: Executor, producer: str | None) -> bool:
    """Whether items of a producer can be run."""
    return producer is not None and any(
        producer == each or (each.endswith("*") and producer.startswith(each[:-1])) for each in executor.producers
    )
