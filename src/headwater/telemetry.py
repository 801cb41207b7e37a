"""Named log events: each line Headwater's server logs is one of these, so that it can be found and tested by name.

`set_up` is the only logging set-up; libraries never call it.
"""

import logging
import sys

import msgspec


class LogEvent(msgspec.Struct, frozen=True):
    """Base: the class name is the event's name, the fields are its values."""

    level = logging.INFO

    def __str__(self) -> str:
        values = " ".join(f"{name}={getattr(self, name)!r}" for name in self.__struct_fields__)
        return f"{type(self).__name__} {values}".rstrip()


class ServerReady(LogEvent, frozen=True):
    url: str
    seconds: float


class MigrationApplied(LogEvent, frozen=True):
    name: str


class RebuildStarted(LogEvent, frozen=True):
    """A migration emptied the projections; they are made again from the log before the server answers."""


class RequestFailed(LogEvent, frozen=True):
    level = logging.ERROR
    path: str
    error: str


def say(event: LogEvent) -> None:
    """Log the event at its level, under the logger `headwater`."""
    logging.getLogger("headwater").log(event.level, "%s", event)


def set_up(level: int = logging.INFO) -> None:
    """Send Headwater's log lines to standard error. Called once, by the entry point of a server process."""
    logging.basicConfig(stream=sys.stderr, level=level, format="%(asctime)s %(levelname)s %(name)s %(message)s")
