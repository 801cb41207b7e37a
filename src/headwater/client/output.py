"""The emitter of this process's steps, created from the environment when the first step begins.

Never fails: without an emitter events are dropped, with one log line.
"""

import logging
import os
import threading
from typing import Any, Protocol

from headwater.client import emitter_from_environment
from headwater.client.config import Destination
from headwater.client.emitter import Emitter

log = logging.getLogger("headwater")


class Output(Protocol):
    """The part of an emitter that steps need."""

    @property
    def destination(self) -> Destination: ...

    def emit(self, event: dict[str, Any], /) -> None: ...


class _Nowhere:
    def __init__(self, destination: Destination) -> None:
        self.destination = destination

    def emit(self, event: dict[str, Any], /) -> None: ...


class _Process:
    lock = threading.RLock()  # a signal handler may open a step while its thread is in here
    output: Output | None = None


def _forked() -> None:
    _Process.lock = threading.RLock()  # another thread may have held it; the emitter itself goes on in a child


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def emitter() -> Output:
    """Return the process's emitter. Never raises."""
    if _Process.output is None:
        with _Process.lock:
            if _Process.output is None:
                _Process.output = _default_emitter()
    return _Process.output


def use(given: Emitter | None) -> Output | None:
    """Send the events of steps to this emitter from now on; None: a new one from the environment. Returns the previous one."""
    with _Process.lock:
        before, _Process.output = _Process.output, given
    return before


def _default_emitter() -> Output:
    try:
        return emitter_from_environment()
    except Exception as error:  # noqa: BLE001 - the host must not notice
        log.warning("steps are not recorded, there is no emitter: %s: %s", type(error).__name__, error)
        from pathlib import Path

        return _Nowhere(Destination(transport="none", spool=Path(os.devnull)))
