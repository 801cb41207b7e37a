"""Report what a signal ends: SIGTERM (how YARN, Kubernetes, Airflow and systemd stop jobs) and SIGHUP end a process without `atexit`.

    stopping.before_death(report)      # report("SIGTERM") is called once, just before the process dies of the signal
    stopping.forget(report)            # in a worker: there is nothing to report any more

The exit status stays the program's: with the default action the process dies of the same signal. A handler of the program is called as before and
decides itself: nothing is reported as aborted unless it ends the program with an error. An ignored signal (`nohup`) stays ignored. SIGKILL reports
nothing; there a missed heartbeat tells.

A forked child catches nothing until it has something to report itself, and a worker of `multiprocessing` only while it has: an idle worker waits for
a lock that its parent holds while the parent waits for its end, and a handler in Python is not run there if the signal came just before the wait.
"""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

_CAUGHT = ("SIGTERM", "SIGHUP")
# YARN kills 250 ms after SIGTERM by default, Kubernetes 30 s after it: reports are on disk within milliseconds, and this bounds their delivery.
_SECONDS = 2.0

_reports: list[Callable[[str], None]] = []
_deliveries: list[Callable[[str], None]] = []
_before: dict[int, Any] = {}
_lock = threading.RLock()
_stopped: list[str] = []


def before_death(report: Callable[[str], None], *, deliver: bool = False) -> None:
    """Call `report` with the signal's name before a signal ends this process. The first registered is the last called.

    Signals are caught from the first call in the main thread on. Bounded: what takes longer than two seconds is cut off.
    `deliver`: it only delivers what the others report, after them; alone, it is no reason to catch signals.
    """
    with _lock:
        wanted = _deliveries if deliver else _reports
        if report not in wanted:
            wanted.append(report)
        if not deliver and threading.current_thread() is threading.main_thread():
            _catch()


def forget(report: Callable[[str], None]) -> None:
    """Take back what `before_death` took: a worker's signals do again what they did if no other report is left.

    It has an effect in the main thread of a worker of `multiprocessing` alone: elsewhere a thread may report later, and cannot catch signals.
    """
    process = sys.modules.get("multiprocessing.process")
    if process is None or process.parent_process() is None:
        return
    with _lock:
        if report in _reports:
            _reports.remove(report)
        if not _reports and threading.current_thread() is threading.main_thread():
            _release()


def stopped_by() -> str | None:
    """Return the name of the signal whose handler ended the program with an error, or None."""
    return _stopped[-1] if _stopped else None


def _catch() -> None:
    for name in _CAUGHT:
        number = getattr(signal, name, None)
        if number is None or number in _before:
            continue
        found = signal.getsignal(number)
        if found is None or found == signal.SIG_IGN:  # of C code, or ignored: not ours to change
            continue
        with contextlib.suppress(ValueError, OSError):
            signal.signal(number, _on_signal)
            _before[number] = found


def _release() -> None:
    """Give back the signals, other than those that the program has taken since."""
    for number, before in _before.items():
        if signal.getsignal(number) is _on_signal:
            signal.signal(number, before)
    _before.clear()


def _forked() -> None:
    """Begin anew in a child: the parent's reports are not its own, and another thread may have held the lock."""
    global _lock  # noqa: PLW0603 - see above
    _lock = threading.RLock()
    _reports.clear()
    _deliveries.clear()
    _stopped.clear()
    if threading.current_thread() is threading.main_thread():
        _release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def _on_signal(number: int, frame: FrameType | None) -> None:
    before = _before.get(number, signal.SIG_DFL)
    name = signal.Signals(number).name
    if callable(before):
        try:
            before(number, frame)
        except SystemExit as error:
            if error.code not in (None, 0):
                _stopped.append(name)
            raise
        except BaseException:
            _stopped.append(name)
            raise
        return
    if signal.getsignal(number) is not _on_signal:
        return  # A later handler of the program passed the signal on; it decides how the program ends.
    # In a thread: the interrupted code may hold a lock that a report needs, and must not be waited for without end.
    thread = threading.Thread(target=_report, args=(name,), name="headwater-stopping", daemon=True)
    with contextlib.suppress(RuntimeError):
        thread.start()
        thread.join(_SECONDS)
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _report(name: str) -> None:
    for report in (*reversed(_reports), *_deliveries):
        with contextlib.suppress(Exception):
            report(name)
