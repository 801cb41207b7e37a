"""The processes that the suite starts, and all that these leave behind.

Tests start servers, brokers and JVMs that detach from them. Linux hands an orphan to the nearest ancestor that asks for orphans; the suite asks, so
whatever was started below it stays below it, and nothing outlives it.
"""

import contextlib
import ctypes
import os
from collections.abc import Iterable

import psutil

_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
STAGE_VARIABLE = "SUITE_STAGE"


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parents end. Elsewhere than on Linux they are lost."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def below_this() -> list[psutil.Process]:
    """Every process below this one that has not ended."""
    return [
        process for process in psutil.Process().children(recursive=True) if process.status() != psutil.STATUS_ZOMBIE
    ]


def of_stage(name: str) -> list[psutil.Process]:
    """Those whose environment says that this stage started them."""
    return [process for process in below_this() if _stage(process) == name]


def _stage(process: psutil.Process) -> str:
    try:
        return process.environ().get(STAGE_VARIABLE, "")
    except psutil.Error:
        return ""


def end_what_is_left(stage: str, patience: float = 3) -> list[str]:
    """End what a stage that is over left running; the command lines of what did not end by itself within `patience` seconds."""
    _, alive = psutil.wait_procs(of_stage(stage), timeout=patience)
    lines = []
    for process in alive:
        with contextlib.suppress(psutil.Error):
            lines.append(" ".join(process.cmdline())[:160])
    end(alive)
    return lines


def end(processes: Iterable[psutil.Process], patience: float = 10) -> None:
    """SIGTERM, then SIGKILL to what is still there after `patience` seconds. Returns when all have ended."""
    alive = list(processes)
    for send in (psutil.Process.terminate, psutil.Process.kill):
        for process in alive:
            with contextlib.suppress(psutil.NoSuchProcess):
                send(process)
        _, alive = psutil.wait_procs(alive, timeout=patience)


def collect_orphans(own: Iterable[int]) -> None:
    """Collect adopted children that have ended; those of the numbers in `own` are left to whoever waits for them."""
    waited_for = set(own)
    for process in psutil.Process().children():
        if process.pid not in waited_for and process.status() == psutil.STATUS_ZOMBIE:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)
