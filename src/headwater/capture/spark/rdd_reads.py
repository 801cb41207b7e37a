"""Report RDDs that the program takes to the driver, as reads of the application. Its thread only notes them; capture's own looks at them."""

from collections import deque
from collections.abc import Callable
from typing import Any

from headwater.capture.spark import analysis, datasets
from headwater.capture.spark.analysis import Analysis
from headwater.capture.spark.application import Application
from headwater.capture.spark.datasets import Dataset, Leaves

_MOST_WAITING = 1000


class RDDReads:
    """The RDDs that an application took to its driver, but for what is `inside` a model, which is reported whole."""

    def __init__(self, application: Application, inside: Callable[[Dataset], bool]) -> None:
        self._application = application
        self._inside = inside
        self._waiting: deque[tuple[Any, int]] = deque()
        self._looked_at: set[int] = set()

    def note(self, jrdd: Any, started: int) -> None:
        """Note a read: it costs a place in a queue."""
        if len(self._waiting) < _MOST_WAITING:
            self._waiting.append((jrdd, started))
        else:
            self._application.coverage.limit(f"of RDDs taken to the driver, {_MOST_WAITING} at a time were looked at")

    def report(self) -> None:
        """Report what was noted, once each."""
        while self._waiting:
            jrdd, started = self._waiting.popleft()
            try:
                number = int(jrdd.rdd().id())
                if number in self._looked_at:
                    continue
                self._looked_at.add(number)
                found = Leaves()
                read_from = datasets.of_rdd(jrdd.rdd(), found.coverage)
                found.by_key["rdd"] = [one for one in read_from if not self._inside(one)]
                found.coverage.through_function += bool(found.by_key["rdd"])
                self._application.coverage.add(found.coverage)
                read = Analysis(found, warnings=[analysis.UNSEEN], opaque=True)
                if read.inputs:
                    self._application.read_by_driver(read, self._application.owner_at(started), read.warnings)
            except Exception as error:  # noqa: BLE001 - capture never harms its host; the run says it
                self._application.coverage.miss("an RDD taken to the driver", error)
