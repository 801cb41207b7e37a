"""The pull itself: the windows that are lacking, oldest first, each by a connection of its own that is closed before the next is made.

The rows of a window are written as they come, in portions, so memory does not grow. A window with more rows than asked for is dropped and asked
again in halves: nothing is ever cut off. Windows pulled before an error, a signal or the end of the machine stay, and are not pulled again.
"""

import datetime as dt
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from gzip import GzipFile
from pathlib import Path
from typing import Any, Final

import msgspec

from headwater.errors import InvalidQuestion
from headwater.pipeline.query_log.pull import Source
from headwater.pipeline.query_log.pull.asking import Statement, line
from headwater.pipeline.query_log.pull.folder import Folder
from headwater.pipeline.query_log.pull.retries import retrying
from headwater.pipeline.query_log.pull.windows import MINUTE, Window, floor, lacking

PORTION: Final = 1_000
"""Rows asked of the client at once."""
MOST: Final = 100_000
SECONDS: Final = 600


@dataclass(frozen=True, slots=True)
class Asked:
    """`since`, `until`: of the time at which queries ended; None: from where the folder ends, up to what the source has for sure. `window`, `lag`:
    None: the source's own; a lag cannot be shorter than that. `most`: rows of a window before it is halved. `seconds`: what a statement may take."""

    to: Path
    since: dt.datetime | None = None
    until: dt.datetime | None = None
    window: dt.timedelta | None = None
    lag: dt.timedelta | None = None
    pause: float = 0.0
    most: int = MOST
    seconds: int = SECONDS
    besides: frozenset[str] = frozenset()


DEFINITIONS: Final = "definitions"


class PulledWindow(msgspec.Struct, frozen=True):
    """A window that was pulled. `left`: how many windows are still to come, as far as is known."""

    window: Window
    rows: int
    bytes: int
    left: int


class Pulled(msgspec.Struct, frozen=True):
    """The outcome of a call. `rows` are those of the answers, of which some sources give several a query. `until`: the folder is
    complete from
    `since` up to there, and that is `lag_seconds` before now. `definitions`: of views and the like, written to a file of their own."""

    source: str
    to: str
    windows: int
    empty: int
    rows: int
    bytes: int
    since: dt.datetime
    until: dt.datetime
    lag_seconds: int
    definitions: int = 0


class _Full(Exception):
    """More rows than a window may have."""


def pull(
    source: Source,
    asked: Asked,
    environ: Mapping[str, str],
    *,
    now: Callable[[], dt.datetime],
    sleep: Callable[[float], None],
    tell: Callable[[PulledWindow], None],
) -> Pulled:
    """Bring the folder up to date.

    InvalidQuestion: times that make no sense, or an environment that does not say where to. NotInstalled: the client library is missing.
    DatabaseUnavailable, DatabaseRefused: the warehouse; see `retries`. StoreChanged: another process pulls into the folder.
    """
    folder = Folder(asked.to, source.NAME)
    size = source.WINDOW if asked.window is None else asked.window
    with folder.held():
        done = folder.windows()
        since, until = _stretch(source, asked, size, done, now())
        work = _Work(source, asked, environ, folder, sleep, tell)
        todo = lacking(since, until, size, done)
        for at, window in enumerate(todo):
            if at:
                sleep(asked.pause)
            work.take(window, len(todo) - at - 1)
        definitions = work.definitions() if DEFINITIONS in asked.besides else 0
        return Pulled(
            source.NAME,
            str(asked.to),
            work.windows,
            work.empty,
            work.rows,
            work.bytes,
            since,
            max(since, until),
            round((now() - max(since, until)).total_seconds()),
            definitions,
        )


def _stretch(
    source: Source, asked: Asked, size: dt.timedelta, done: list[Window], now: dt.datetime
) -> tuple[dt.datetime, dt.datetime]:
    if unknown := asked.besides - {DEFINITIONS, *source.WITH}:
        known = ", ".join((*source.WITH, DEFINITIONS))
        raise InvalidQuestion(
            f"{source.NAME} has no {', '.join(sorted(unknown))} to pull besides: it has {known}", parameter="with"
        )
    if size < MINUTE:
        raise InvalidQuestion("a window is a minute at least", parameter="window")
    if asked.since and asked.until and asked.since >= asked.until:
        raise InvalidQuestion("--since is not before --until", parameter="since")
    lag = max(source.LAG, *(source.WITH[name] for name in asked.besides - {DEFINITIONS}), asked.lag or source.LAG)
    sure = floor(now - lag, dt.timedelta(seconds=1))
    # A last window that is not over would leave many small files behind: it waits until it is, unless its end was asked for.
    until = asked.until if asked.until and asked.until <= sure else floor(sure, size)
    until = floor(until, dt.timedelta(seconds=1))
    if asked.since:
        since = floor(asked.since, dt.timedelta(seconds=1))
    else:
        since = max((window.until for window in done), default=floor(until - source.BACK, size))
    # A time that the source has forgotten would only look as if it had no queries.
    return max(since, floor(now - source.KEEPS, size)), until


class _Work:
    def __init__(
        self,
        source: Source,
        asked: Asked,
        environ: Mapping[str, str],
        folder: Folder,
        sleep: Callable[[float], None],
        tell: Callable[[PulledWindow], None],
    ) -> None:
        self._source, self._asked, self._environ, self._folder = source, asked, environ, folder
        self._sleep, self._tell = sleep, tell
        self.windows = self.empty = self.rows = self.bytes = 0

    def take(self, window: Window, left: int) -> None:
        """The window, in one file or in those of its halves."""
        rows = retrying(
            lambda: self._tried(window),
            what=f"pulling {window} from {self._source.NAME}",
            sleep=self._sleep,
            environ=self._environ,
            secrets=self._source.SECRETS,
        )
        halves = window.halves()
        if rows is None and halves:
            self.take(halves[0], left + 1)
            self._sleep(self._asked.pause)
            self.take(halves[1], left)
            return
        rows = rows or 0
        size = self._folder.size(window)
        self.windows += 1
        self.empty += not rows
        self.rows += rows
        self.bytes += size
        self._tell(PulledWindow(window, rows, size, left))

    def definitions(self) -> int:
        """Write the definitions that stand now, in the place of those of an earlier call; how many there are."""
        return retrying(
            self._defined,
            what=f"pulling the definitions of {self._source.NAME}",
            sleep=self._sleep,
            environ=self._environ,
            secrets=self._source.SECRETS,
        )

    def _defined(self) -> int:
        statement = self._source.definitions(self._environ)
        with (
            closing(self._source.connect(self._environ, self._asked.seconds)) as connection,
            self._folder.writing_as(f"{DEFINITIONS}-{self._source.NAME}") as file,
            closing(connection.cursor()) as cursor,
        ):
            rows = 0
            cursor.arraysize = PORTION
            cursor.execute(statement.text, statement.parameters)
            names = [column[0] for column in cursor.description]
            while portion := cursor.fetchmany(PORTION):
                rows += len(portion)
                file.writelines(line(dict(zip(names, row, strict=True))) for row in portion)
            return rows

    def _tried(self, window: Window) -> int | None:
        """The rows that were written; None when there are too many for one window."""
        try:
            return self._once(window)
        except _Full:
            return None

    def _once(self, window: Window) -> int:
        statements = self._source.statements(window.since, window.until, self._environ, self._asked.besides)
        with (
            closing(self._source.connect(self._environ, self._asked.seconds)) as connection,
            self._folder.writing(window) as file,
        ):
            rows = 0
            for statement in statements:
                rows += self._answer(connection, statement, window, rows, file)
            return rows

    def _answer(self, connection: Any, statement: Statement, window: Window, before: int, file: GzipFile) -> int:
        """The rows of one statement; `before` is how many the window has already."""
        rows = 0
        with closing(connection.cursor()) as cursor:
            cursor.arraysize = PORTION
            cursor.execute(statement.text, statement.parameters)
            names = [column[0] for column in cursor.description]
            while portion := cursor.fetchmany(PORTION):
                rows += len(portion)
                if before + rows > self._asked.most and window.halves():
                    raise _Full
                for row in portion:
                    record = self._source.record(dict(zip(names, row, strict=True)), self._environ)
                    file.write(line(record))
        return rows
