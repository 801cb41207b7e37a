"""The lines that the process of a connector writes, and what stands in them. They are JSON, one a line, the report or the error last."""

import datetime as dt
from typing import Any

import msgspec


class ConnectorTask(msgspec.Struct):
    """The task of one process. `work`: `test` or `pull`. `settings`: options and secrets together. `cursor`: as the last complete pull left it."""

    work: str
    kind: str
    name: str
    settings: dict[str, str]
    cursor: dict[str, Any] | None = None
    folder: str | None = None
    url: str | None = None


class ConnectorCheck(msgspec.Struct, frozen=True):
    """One thing that was tried. `state`: ok, missing (a part of what could be read is not) or failed. `remedy`: the statement or command to run."""

    name: str
    state: str
    text: str
    remedy: str | None = None


class PullReport(msgspec.Struct, frozen=True):
    """A complete pull. `rows`: read of the system. `newest_at`: the newest time that its records had; null where they have none.
    `published`: events that the process sent to the server itself."""

    rows: int
    cursor: dict[str, Any]
    newest_at: dt.datetime | None = None
    warnings: tuple[str, ...] = ()
    published: int = 0


class ConnectorFailure(msgspec.Struct, frozen=True):
    """The reason for which a task ended. `permanent`: trying again will not help until a person changes something."""

    message: str
    permanent: bool = False


class ConnectorLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of a process: an event, or how the task ended."""

    event: msgspec.Raw = msgspec.Raw()
    checks: list[ConnectorCheck] | None = None
    report: PullReport | None = None
    failure: ConnectorFailure | None = None

    @property
    def is_ending(self) -> bool:
        """True if it says how the task ended."""
        return self.checks is not None or self.report is not None or self.failure is not None
