"""The current step: of this task, of this thread, and for processes that are started now.

A task has its own (a context variable). A thread without one uses the step of the process: the innermost open one of the main
thread, if it is unambiguous; for concurrent tasks of the main thread, the step around them. The same step is in the
environment, for child processes: if two are possible, it is the one around both.
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
# The C library keeps every value of a variable for good: 0.3 KB each (glibc 2.36). A process with very many steps must not grow by them.
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
    """State shared by threads. Replaced in a forked child, where the environment alone has the parent's step."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a signal handler may open a step while its thread is in here
        self.main: list[Open] = []  # open in the main thread, in the order they began
        self.shown: Open | None = None
        self.left: deque[tuple[float, float, Parent]] = deque(
            maxlen=64
        )  # when each of the last steps was the process's
        self.wrote: dict[str, str] = {}
        self.found: dict[str, str | None] = {}  # the environment before any step
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
                    "%d steps were passed to child processes in the environment; further ones are not (pass env=step.environment())",
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
    """Return the innermost open step around this code: of this task or thread, or else of the process."""
    step = _CURRENT.get()
    while step is not None and not step.running:
        step = step.enclosing
    if step is None and threading.current_thread() is not threading.main_thread():
        with _process.lock:
            return _process.step()
    return step


def exactly() -> Open | None:
    """Return the step of this very task or thread, ended or not."""
    return _CURRENT.get()


def at(moment: float) -> Parent | None:
    """Return the run of the process's step at a recent moment (POSIX seconds), for observers that learn of things a little later."""
    with _process.lock:
        found = [(began, parent) for began, ended, parent in _process.left if began <= moment <= ended]
        step = _process.step()
        if step is not None and step.began <= moment:
            found.append((step.began, step.as_parent))
    return max(found, key=lambda each: each[0])[1] if found else None


def inherited() -> Parent | None:
    """Return the run that started this process, from the environment before steps changed it."""
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
    """Undo `enter`. Steps may be left in any order and from anywhere; only this one is undone."""
    if _CURRENT.get() is step:
        _CURRENT.set(step.enclosing)
    with _process.lock:
        if step in _process.main:
            if _process.step() is step:
                _process.left.append((step.began, time.time(), step.as_parent))
            _process.main.remove(step)
            _process.show()


def swap(step: Open | None) -> Open | None:
    """Replace this thread's step by another (or none), and return the previous one."""
    before = _CURRENT.get()
    _CURRENT.set(step)
    return before


def _around(step: Open, steps: list[Open]) -> Open | None:
    around = step.enclosing
    while around is not None and around not in steps:
        around = around.enclosing
    return around
