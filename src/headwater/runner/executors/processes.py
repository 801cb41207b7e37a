"""Processes that carry out an item, one after the other, and the detection of a killed worker's processes.

Their output goes to a file that stays locked while one of them, or a program that it runs, lives. A worker that takes over on the same
machine thus sees whether they are still alive. Their last line of output is JSON with `run_id` and `error`.
"""

import contextlib
import fcntl
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import msgspec

from headwater.client.event import run_id
from headwater.runner.executors import Going, Outcome
from headwater.runner.plans import Item

_GRACE = 15.0  # seconds: `headwater run` gives its program ten
_TAIL = 65536


class _Summary(msgspec.Struct):
    """The last line of `headwater run --json`."""

    run_id: str = ""
    error: str | None = None


class ProcessExecutor:
    """A base of executors whose runs are local processes. Their output goes below `logs`; `environ` is added to their environment."""

    def __init__(self, logs: Path, environ: Mapping[str, str] | None) -> None:
        self._logs, self._environ = logs, dict(environ or {})
        self._looked_at: set[Path] = set()

    def named(self, item: Item) -> str:
        return run_id()

    def earlier(self, item: Item) -> Going | None:
        log = self._log(item, item.before)
        # A run that ended meanwhile is returned once: the server then sees what it made before it runs again.
        new = log not in self._looked_at and log.exists()
        self._looked_at.add(log)
        return EarlierProcesses(log, item.before) if new or is_locked(log) else None

    def _begin(self, item: Item, run: str, commands: list[list[str]]) -> Going:
        return Processes(commands, self._new_log(item, run), os.environ | self._environ, run)

    def _new_log(self, item: Item, run: str) -> Path:
        log = self._log(item, run)
        log.parent.mkdir(parents=True, exist_ok=True)
        return log

    def _log(self, item: Item, run: str) -> Path:
        return self._logs / item.plan / f"{item.number}-{run}.log"


class Processes:
    """One process after the other, until one fails."""

    def __init__(self, commands: list[list[str]], log: Path, environ: dict[str, str], run: str) -> None:
        self._left, self._log, self._environ, self._run = list(commands), log, environ, run
        self._stopped_at: float | None = None
        self._outcome: Outcome | None = None
        self._file: BinaryIO = log.open("ab")
        fcntl.flock(self._file, fcntl.LOCK_EX)
        self._next()

    def poll(self) -> Outcome | None:
        if self._outcome is not None or self._process is None:
            return self._outcome
        code = self._process.poll()
        if code is None:
            if self._stopped_at is not None and time.monotonic() >= self._stopped_at + _GRACE:
                self._signal(signal.SIGKILL)
            return None
        if code == 0 and self._left and self._stopped_at is None:
            self._next()
            return self._outcome
        self._end(code)
        return self._outcome

    def stop(self) -> None:
        if self._outcome is None:
            self._signal(signal.SIGTERM if self._stopped_at is None else signal.SIGKILL)
            self._stopped_at = self._stopped_at or time.monotonic()

    def _next(self) -> None:
        """The output and the lock are the same open file: both end with the last process that has it.

        It gets its own session, because the worker handles Ctrl-C in its terminal.
        """
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._process = subprocess.Popen(
                self._left.pop(0),
                stdin=subprocess.DEVNULL,
                stdout=self._file,
                stderr=self._file,
                env=self._environ,
                start_new_session=True,
            )
        except OSError as error:
            self._file.close()
            self._outcome = Outcome(True, f"cannot be started: {error}", self._run)

    def _end(self, code: int) -> None:
        self._file.close()
        said = _last(self._log)
        summary = _summary(said)
        run = summary.run_id or self._run
        if code == 0 and not self._left:
            self._outcome = Outcome(False, "", run)
            return
        how = f"ended by signal {-code}" if code < 0 else f"exit code {code}"
        why = summary.error or next((line for line in reversed(said) if not line.startswith("{")), "")
        self._outcome = Outcome(True, f"{why[:500]}{' ' if why else ''}({how}; {self._log})", run)

    def _signal(self, number: int) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)


class EarlierProcesses:
    """The run of a killed worker, detected by its lock. It cannot be stopped from here."""

    def __init__(self, log: Path, run: str) -> None:
        self._log, self._run, self._left = log, run, False

    def poll(self) -> Outcome | None:
        if self._left or not is_locked(self._log):
            return Outcome(False, "", self._run)
        return None

    def stop(self) -> None:
        self._left = True


def is_locked(log: Path) -> bool:
    """Return whether a living process has the log open as its output."""
    try:
        with log.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False


def _last(log: Path) -> list[str]:
    """Return the last lines, without empty ones."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _TAIL))
        text = file.read().decode("utf-8", "replace")
    return [line.strip() for line in text.splitlines() if line.strip()]


def _summary(said: list[str]) -> _Summary:
    with contextlib.suppress(msgspec.DecodeError):
        return msgspec.json.decode(said[-1] if said else "{}", type=_Summary)
    return _Summary()
