"""Weeks in minutes: what happens when, and the server's log with those times in the place of the real ones.

Events run one after another, as fast as they go. The lines of the server during one are moved as a whole to the time the event was for: order,
distances and durations inside an event stay as they were. Nothing else of a line is touched.
"""

import datetime as dt
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_FORMAT = "%Y-%m-%d %H:%M:%S.%f"


class Window(NamedTuple):
    began: dt.datetime
    at: dt.datetime


class Timeline:
    def __init__(self) -> None:
        self._windows: list[Window] = []

    @contextmanager
    def at(self, moment: dt.datetime) -> Iterator[None]:
        """Date all that runs in this block to `moment` (UTC). Moments must not go back."""
        if self._windows and moment <= self._windows[-1].at:
            raise ValueError(f"{moment} is not after {self._windows[-1].at}")
        now = dt.datetime.now(dt.UTC)
        # The log's times are in whole milliseconds, cut off.
        self._windows.append(Window(now.replace(microsecond=now.microsecond // 1000 * 1000), moment))
        yield

    def moved(self, log: Path, folder: Path) -> list[Path]:
        """Write the log into `folder`, a file for each day as PostgreSQL would.

        A session belongs to the event in which it began. Lines from before the first event and those of no session are left out.
        """
        folder.mkdir(parents=True, exist_ok=True)
        days: dict[dt.date, list[str]] = {}
        sessions: dict[str, Window | None] = {}
        with log.open(encoding="utf-8") as stream:
            for line in stream:
                told = json.loads(line)
                real = _moment(told["timestamp"])
                # A statement's line is written after the client has its answer, perhaps in the next event; that of the connection is in time.
                window = sessions.setdefault(told.get("session_id", ""), self._window(real))
                if window is None or "user" not in told:
                    continue
                shift = window.at - window.began
                told["timestamp"] = (real + shift).strftime(_FORMAT)[:23] + " UTC"
                told["session_start"] = (_moment(told["session_start"]) + shift).strftime(_FORMAT)[:19] + " UTC"
                days.setdefault((real + shift).date(), []).append(json.dumps(told, ensure_ascii=False))
        made = []
        for day, lines in sorted(days.items()):
            made.append(folder / f"postgresql-{day}.json")
            made[-1].write_text("\n".join(lines) + "\n", encoding="utf-8")
        return made

    def _window(self, real: dt.datetime) -> Window | None:
        return next((one for one in reversed(self._windows) if one.began <= real), None)


def _moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text.removesuffix(" UTC")).replace(tzinfo=dt.UTC)
