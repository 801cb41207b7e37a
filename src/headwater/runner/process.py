"""Run one child process to its end: signals passed on, stderr shown live and its tail kept.

Does not know the child's purpose.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from types import FrameType
from typing import IO

import msgspec

_TAIL_BYTES = 64 * 1024
_CATCH = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Ended(msgspec.Struct, frozen=True):
    """The end of a child process. `returncode` is negative for a signal, as in `subprocess`; `asked_by`: the signal that asked this
    process to stop."""

    returncode: int
    asked_by: int | None
    stderr_tail: str
    seconds: float

    @property
    def exit_code(self) -> int:
        """Return the shell's exit code: 128 + n for a signal. Not 0 for a child that was asked to stop: it did not finish its work."""
        if self.returncode < 0:
            return 128 - self.returncode
        if self.asked_by is not None and self.returncode == 0:
            return 128 + self.asked_by
        return self.returncode


def run(
    argv: list[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    grace: float,
    on_beat: Callable[[], None] | None = None,
    beat: float | None = None,
) -> Ended:
    """Run `argv` and wait. `on_beat` is called every `beat` seconds meanwhile.

    SIGINT, SIGTERM and SIGHUP are passed on to the child (unless they are ignored, as under nohup); after `grace` seconds,
    or a second signal, its whole process group is killed.
    Must be called from the main thread. Raises OSError when the program cannot be started.
    """
    started = time.monotonic()
    # With a terminal, the terminal itself interrupts the child too, and a debugger in the child may read from it: same group.
    own_group = not (sys.stdin and sys.stdin.isatty())
    stop = _Stop(own_group=own_group, grace=grace)
    heard = [number for number in _CATCH if signal.getsignal(number) != signal.SIG_IGN]
    previous = {number: signal.signal(number, stop.on_signal) for number in heard}
    try:
        child = subprocess.Popen(
            argv, cwd=cwd, env=dict(env), stderr=subprocess.PIPE, process_group=0 if own_group else None
        )
        stop.watch(child)
        tail = _Tail(child.stderr)
        next_beat = time.monotonic() + beat if beat else None
        while True:
            try:
                returncode = child.wait(stop.patience(next_beat))
                break
            except subprocess.TimeoutExpired:
                stop.press()
                if next_beat is not None and beat and on_beat and time.monotonic() >= next_beat:
                    on_beat()
                    next_beat += beat
        return Ended(returncode, stop.asked_by, tail.finish(), time.monotonic() - started)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


class _Stop:
    """Asks a child to stop, then kills it."""

    def __init__(self, *, own_group: bool, grace: float) -> None:
        self.asked_by: int | None = None
        self._own_group = own_group
        self._grace = grace
        self._deadline: float | None = None
        self._child: subprocess.Popen[bytes] | None = None

    def on_signal(self, number: int, _frame: FrameType | None) -> None:
        if self.asked_by is not None:
            self._deadline = time.monotonic()  # second request: no more grace
            return
        self.asked_by = number
        self._deadline = time.monotonic() + self._grace
        self._pass_on()

    def watch(self, child: "subprocess.Popen[bytes]") -> None:
        self._child = child
        if self.asked_by is not None:  # the signal came while the child was starting
            self._pass_on()

    def patience(self, next_beat: float | None) -> float:
        """Return how long to wait before the next check."""
        ends = [moment for moment in (next_beat, self._deadline) if moment is not None]
        return max(0.0, min([0.5, *(moment - time.monotonic() for moment in ends)]))

    def press(self) -> None:
        """Kill the child if the grace period is over."""
        if self._deadline is not None and self._child is not None and time.monotonic() >= self._deadline:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if self._own_group:
                    os.killpg(self._child.pid, signal.SIGKILL)
                else:
                    self._child.kill()
            self._deadline = time.monotonic() + 1.0

    def _pass_on(self) -> None:
        if self._child is None or self.asked_by is None:
            return
        if self.asked_by == signal.SIGINT and not self._own_group:
            return  # the terminal already interrupted the child; a second signal would cut its clean-up short
        with contextlib.suppress(ProcessLookupError, PermissionError):
            self._child.send_signal(self.asked_by)


class _Tail:
    """Copies the child's stderr to this process's as it arrives, and keeps its end."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        self._kept = bytearray()
        self._stream = stream
        self._thread = threading.Thread(target=self._copy, name="headwater-stderr", daemon=True)
        self._thread.start()

    def finish(self) -> str:
        """Return the end of the output. Does not wait for a grandchild that keeps stderr open."""
        self._thread.join(2.0)
        return bytes(self._kept).decode("utf-8", "replace")

    def _copy(self) -> None:
        if self._stream is None:
            return
        with self._stream, contextlib.suppress(ValueError):
            while chunk := os.read(self._stream.fileno(), 65536):
                with contextlib.suppress(
                    OSError
                ):  # this process's stderr may be closed; the child's must still be drained
                    _show(chunk)
                self._kept += chunk
                if len(self._kept) > 2 * _TAIL_BYTES:
                    del self._kept[:-_TAIL_BYTES]


def _show(chunk: bytes) -> None:
    out = getattr(sys.stderr, "buffer", None)
    if out is None:
        sys.stderr.write(chunk.decode("utf-8", "replace"))
    else:
        out.write(chunk)
    sys.stderr.flush()
