"""The work and the output of `headwater fingerprint`. Does not import typer: see `headwater.cli.plain_fingerprints`."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

from headwater.cli.output import complain, escaped, size
from headwater.client.fingerprint import Fingerprint, fingerprint
from headwater.errors import HeadwaterError

if TYPE_CHECKING:
    from collections.abc import Sequence

_SHOW_AFTER = 0.7  # Seconds of work before a bar is drawn.


class _Bar:
    """A progress bar on a terminal's standard error, drawn only for long work."""

    def __init__(self, path: str) -> None:
        self._path, self._began = path, time.monotonic()
        self._bar: Any = None
        self._task: Any = None
        self._wanted = sys.stderr.isatty()

    def __call__(self, done: int, total: int | None) -> None:
        if self._bar is None:
            if not self._wanted or time.monotonic() - self._began < _SHOW_AFTER:
                return
            self._bar = _drawn()
            self._task = self._bar.add_task(escaped(os.path.basename(self._path.rstrip("/"))), total=total)  # noqa: PTH119
        self._bar.update(self._task, completed=done, total=total)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()


def _drawn() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    bar.start()
    return bar


def print_fingerprints(paths: Sequence[str], *, json: bool = False, raw: bool = False, check: str | None = None) -> int:
    """Print a line for each path, or a JSON array. Return the exit code: 0; 1 if a path cannot be read or differs from `check`;
    75 if the only errors are files that changed meanwhile."""
    told: list[dict[str, Any]] = []
    troubles: list[HeadwaterError] = []
    differs = False
    for path in paths:
        bar = _Bar(path)
        try:
            found = fingerprint("/dev/stdin" if path == "-" else path, raw=raw, progress=bar)
        except HeadwaterError as error:
            bar.close()
            troubles.append(error)
            complain(error)
            told.append(
                {"path": escaped(path), "error": {"code": error.code, "message": error.message, **error.detail}}
            )
            continue
        bar.close()
        told.append({"path": escaped(path), **_values(found)})
        if not json:
            sys.stdout.write(f"{found.text}  {size(found.bytes):>8}  {escaped(path)}\n")
        if found.ignored:
            sys.stderr.write(
                f"headwater: {escaped(path)}: {found.ignored:,} bytes after the end of its {found.kind} data are ignored\n"
            )
        if check is not None and found.text != check:
            differs = True
            sys.stderr.write(f"headwater: {escaped(path)} is {found.text}, not {escaped(check)}\n")
    if json:
        import msgspec

        sys.stdout.write(msgspec.json.format(msgspec.json.encode(told), indent=2).decode() + "\n")
    if differs or any(error.permanent for error in troubles):
        return 1
    return 75 if troubles else 0


def _values(found: Fingerprint) -> dict[str, object]:
    return {
        "fingerprint": found.text,
        "bytes": found.bytes,
        "stored_bytes": found.stored_bytes,
        "kind": found.kind,
        "members": found.members,
        "ignored": found.ignored,
    }
