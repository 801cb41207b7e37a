"""The spool's `fsync` setting: when appended events reach the disk, and not only the operating system.

`never`: the kernel decides, within about half a minute; a killed process loses nothing, a power cut the last seconds.
`interval`: a thread syncs once a second. `always`: `emit` waits for the disk, which takes milliseconds and is the only
setting that slows a pipeline. The note of what was delivered is not made durable: losing it means sending twice, which
the server ignores.
"""

import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path

log = logging.getLogger("headwater")

_SECONDS = 1.0
to_disk = getattr(os, "fdatasync", os.fsync)  # macOS has no fdatasync


class Flusher:
    """Calls `sync` at most once a second, in its own thread, while `wake` is called."""

    def __init__(self, sync: Callable[[], None]) -> None:
        self._sync = sync
        self._dirty = threading.Event()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._said = False

    def wake(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="headwater-fsync", daemon=True)
            self._thread.start()
        if not self._dirty.is_set():
            self._dirty.set()

    def stop(self) -> None:
        self._ended.set()
        self._dirty.set()
        if self._thread is not None:
            self._thread.join(0.2)

    def _run(self) -> None:
        while not self._ended.is_set():
            self._dirty.wait()
            if self._ended.wait(_SECONDS):
                return
            self._dirty.clear()
            try:
                self._sync()
            except OSError as error:
                if not self._said:
                    self._said = True
                    log.warning("the disk does not confirm the spool's events (logged once): %s", error)


def keep_name(folder: Path) -> None:
    """Make the names of new files in the folder survive a power cut."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
