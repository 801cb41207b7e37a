"""Report RDDs and models that a program saves. Its thread only notes the beginning and the end; capture's own thread looks at what is saved."""

from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from headwater.capture.spark import emission
from headwater.capture.spark.analysis import Analysis
from headwater.capture.spark.application import Application
from headwater.capture.spark.commands import Write
from headwater.capture.spark.telling import Query, Teller
from headwater.client import event

Prepare = Callable[[], tuple[Write, Analysis]]


class Save(msgspec.Struct, eq=False):
    """A save, begun at `started` (milliseconds). `prepare` finds out what it writes and of what; `query`: the run, once it is reported."""

    prepare: Prepare
    description: str
    started: int
    query: Query | None = None


class SaveNotes:
    """The saves of a program, noted on its thread. `wake`: makes capture's thread report them soon."""

    def __init__(self, wake: Callable[[], Any]) -> None:
        self._wake = wake
        self.waiting: deque[Callable[[Saves], None]] = deque()

    def begin(self, prepare: Prepare, description: str) -> Save:
        """Note that the program begins a save."""
        save = Save(prepare, description[:500], now_in_milliseconds())
        self._note(lambda saves: saves.start(save))
        return save

    def finish(self, save: Save, failure: BaseException | None, then: Callable[[], None] = lambda: None) -> None:
        """Note that the save is over. `then` is called on capture's thread if it did not fail."""
        ended = datetime.now(UTC)
        error = emission.error(f"{type(failure).__name__}: {failure}", "") if failure is not None else {}
        self._note(lambda saves: saves.close(save, ended, error, then))

    def later(self, action: Callable[[], None]) -> None:
        """Do something on capture's thread, before it takes the events of queries that follow."""
        self._note(lambda _: action())

    def _note(self, action: "Callable[[Saves], None]") -> None:
        self.waiting.append(action)
        self._wake()


class Saves:
    """The saves of one application. `notes`: what the program's thread noted of them."""

    def __init__(self, application: Application, teller: Teller, notes: SaveNotes) -> None:
        self.notes = notes
        self._application = application
        self._teller = teller
        self._begun: list[Save] = []

    def report(self) -> None:
        """Report everything that was noted. On capture's thread."""
        while self.notes.waiting:
            self.report_next()

    def report_next(self) -> None:
        """Report the earliest note. On capture's thread."""
        if not self.notes.waiting:
            return
        action = self.notes.waiting.popleft()
        try:
            action(self)
        except Exception as error:  # noqa: BLE001 - capture never harms its host; the application says it
            self._application.coverage.miss("a save of an RDD or a model", error)

    def beat(self) -> None:
        """Send a sign of life of each save that is under way."""
        for save in self._begun:
            if save.query is not None:
                self._teller.beat(save.query)

    def abort(self, reason: str) -> None:
        """End the saves that are under way. Asks the JVM nothing, so one that was not looked at yet is only counted."""
        for _ in range(len(self.notes.waiting)):
            self._application.coverage.miss("a save of an RDD or a model", reason)
        self.notes.waiting.clear()
        while self._begun:
            query = self._begun.pop().query
            if query is not None:
                self._teller.tell("ABORT", query, datetime.now(UTC), facets=emission.error(reason, ""))

    def start(self, save: Save) -> None:
        """Find out what is saved, and report that its save began."""
        write, found = save.prepare()
        parent = self._application.owner_at(save.started)
        save.query = Query(event.run_id(), write, found, "", parent, {"description": save.description})
        self._begun.append(save)
        self._teller.tell("START", save.query, emission.moment(save.started))

    def close(self, save: Save, ended: datetime, error: dict[str, Any], then: Callable[[], None]) -> None:
        """Report that a save is over. `error`: the facet of its failure, empty if it did not fail; then `then` is not called."""
        if save.query is not None and save in self._begun:
            self._begun.remove(save)
            self._teller.tell("FAIL" if error else "COMPLETE", save.query, ended, facets=error)
        if not error:
            then()


def now_in_milliseconds() -> int:
    """Return the time, as Spark's events have it."""
    return int(datetime.now(UTC).timestamp() * 1000)
