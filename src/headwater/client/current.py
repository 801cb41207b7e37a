"""Which step is the current one: in this task, in this thread, and for the processes that are started now.

A task has its own (a context variable). A thread that has none falls back to the step of the process: the innermost one open in the main
thread, as long as it is the only one it can be; of concurrent tasks of the main thread, the step around them. The same step is in the
environment, for child processes: with two to choose from, the coarser truth is told, never a wrong one.
"""

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Protocol

from headwater.client import context
from headwater.client.context import Parent

log = logging.getLogger("headwater")

NAMES = (context.CONTEXT, context.PARENT_ID, context.ROOT_PARENT_ID)
# The C library keeps every value a variable ever had: 0.3 KB each, for good (glibc 2.36). A process of very many steps must not grow by them.
MOST_CHANGES = 10_000


class Open(Protocol):
    """A step as this module needs it."""

    enclosing: "Open | None"
    as_parent: Parent
    began: float

    @property
    def running(self) -> bool: ...

    def environment(self) -> dict[str, str]: ...


_CURRENT: ContextVar[Open | None] = ContextVar("headwater_step", default=None)


class _Process:
    """What the threads share. Replaced in a forked child: there the steps of its parent are only what the environment says."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a signal's handler may open a step while its thread is in here
        self.main: list[Open] = []  # open in the main thread, in the order they began
        self.shown: Open | None = None
        self.left: deque[tuple[float, float, Parent]] = deque(
            maxlen=64
        )  # from when to when a step was the process's, the last of them
        self.wrote: dict[str, str] = {}
        self.found: dict[str, str | None] = {}  # what stood in the environment before us
        self.changes = 0
        self.parent: tuple[tuple[str | None, ...], Parent | None] | None = None

    def step(self) -> Open | None:
        here: Open | None = None
        while True:
            inner = [step for step in self.main if _around(step, self.main) is here]
            if len(inner) != 1:
                return here
            here = inner[0]

    def show(self) -> None:
        step = self.step()
        if step is self.shown:
            return
        if step is not None:
            self.changes += 1
            if self.changes == MOST_CHANGES:
                log.warning(
                    "%d steps were shown to child processes by the environment; further ones are not (give env=step.environment())",
                    MOST_CHANGES,
                )
            if self.changes >= MOST_CHANGES:
                step = None
        self.shown = step
        self.write(step.environment() if step is not None else {})

    def write(self, values: Mapping[str, str]) -> None:
        for name in NAMES:
            now = os.environ.get(name)
            if name not in self.wrote or now != self.wrote[name]:
                self.found[name] = now
            self.wrote.pop(name, None)
            if name in values:
                os.environ[name] = self.wrote[name] = values[name]
            elif (before := self.found.pop(name)) is not None:
                os.environ[name] = before
            else:
                os.environ.pop(name, None)

    def inherited(self) -> Parent | None:
        values = tuple(
            self.found.get(name)
            if name in self.wrote and os.environ.get(name) == self.wrote[name]
            else os.environ.get(name)
            for name in NAMES
        )
        if self.parent is None or self.parent[0] != values:
            self.parent = values, context.parent({n: v for n, v in zip(NAMES, values, strict=True) if v is not None})
        return self.parent[1]


_process = _Process()


def _forked() -> None:
    global _process  # noqa: PLW0603 - the one thing that changes with the process
    _process = _Process()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def own() -> Open | None:
    """The innermost step still open around this code: of this task or thread, or where that has none, of the process."""
    step = _CURRENT.get()
    while step is not None and not step.running:
        step = step.enclosing
    if step is None and threading.current_thread() is not threading.main_thread():
        with _process.lock:
            return _process.step()
    return step


def exactly() -> Open | None:
    """The step of this very task or thread, ended or not."""
    return _CURRENT.get()


def at(moment: float) -> Parent | None:
    """The run of the process's step at a moment of the last while (POSIX seconds): for those who hear of things a little after they began."""
    with _process.lock:
        found = [(began, parent) for began, ended, parent in _process.left if began <= moment <= ended]
        step = _process.step()
        if step is not None and step.began <= moment:
            found.append((step.began, step.as_parent))
    return max(found, key=lambda each: each[0])[1] if found else None


def inherited() -> Parent | None:
    """The run that started this process, as the environment said before steps of ours wrote there."""
    with _process.lock:
        return _process.inherited()


def enter(step: Open) -> None:
    """Make the step the current one of this task or thread; `step.enclosing` is set already."""
    _CURRENT.set(step)
    if threading.current_thread() is threading.main_thread():
        with _process.lock:
            _process.main.append(step)
            _process.show()


def leave(step: Open) -> None:
    """Undo `enter`. Whatever order steps are left in, and from wherever, nothing else is undone."""
    if _CURRENT.get() is step:
        _CURRENT.set(step.enclosing)
    with _process.lock:
        if step in _process.main:
            if _process.step() is step:
                _process.left.append((step.began, time.time(), step.as_parent))
            _process.main.remove(step)
            _process.show()


def swap(step: Open | None) -> Open | None:
    """Put another step (or none) in the place of this thread's; returns the one that was there."""
    before = _CURRENT.get()
    _CURRENT.set(step)
    return before


def _around(step: Open, steps: list[Open]) -> Open | None:
    around = step.enclosing
    while around is not None and around not in steps:
        around = around.enclosing
    return around
