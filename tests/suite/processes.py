"""The processes that the suite starts, and all that these leave behind.

Tests start servers, brokers and JVMs that detach from them. Linux hands an orphan to the nearest ancestor that asks for orphans; the suite asks, so
whatever was started below it stays below it, and nothing outlives it.
"""

import contextlib
import ctypes
import os
import subprocess
import time
from collections.abc import Iterable

import psutil

_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
BETWEEN_LOOKS = 0.05  # seconds
STAGE_VARIABLE = "SUITE_STAGE"


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parents end. Elsewhere than on Linux they are lost."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def below_this() -> list[psutil.Process]:
    """Every process below this one that has not ended."""
    return [process for process in psutil.Process().children(recursive=True) if _runs(process)]


def _runs(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


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


def reap(own: Iterable[subprocess.Popen[bytes]]) -> None:
    """Collect every child that has ended, and the exit codes of `own`.

    An adopted child stays a zombie until the suite collects it. A zombie looks alive to programs that wait for its number to go (`pg_ctl stop`).
    Call it several times a second.
    """
    by_number = {process.pid: process for process in own}
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
            if ended.si_pid in by_number:
                by_number[ended.si_pid].poll()
            else:
                os.waitpid(ended.si_pid, 0)


def wait(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    """Its exit code; None where it runs for longer. Collects orphans meanwhile."""
    until = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < until:
        reap([process])
        time.sleep(BETWEEN_LOOKS)
    return process.returncode
