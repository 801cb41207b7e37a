"""Pass Spark's events to Python without slowing down queries.

A `SparkListenerInterface` implemented in Python pays a crossing for each task event. So the listener is made of the JDK's own parts instead:
`java.beans.EventHandler` proxies the interface in Java, ignores every method but one, and puts that method's event into a
`LinkedBlockingQueue` (`offer`: bounded, never waits). `QueryFacts.java`, compiled while the first query runs, waits at that queue for Python's own
thread, drops unwanted events (an adaptive query sends five), and answers with all that the collector will ask about the others. It needs no callback
server and no Python on Spark's threads, and the listener can be removed again. If the JVM lacks `java.desktop`, the Python proxy is used; if it does
not compile, Python takes the events out of the queue and asks about each.
"""

import logging
import time
from collections import deque
from collections.abc import Iterable
from typing import Any

from headwater.capture.spark import compiled, recorded, statistics
from headwater.capture.spark.crossing import Quiet, java_class

log = logging.getLogger("headwater")

_INTERFACE = "org.apache.spark.scheduler.SparkListenerInterface"
# SQL executions arrive as "other events"; the end of the application is its own method.
_METHODS = ("onOtherEvent", "onApplicationEnd")
KINDS = (
    "SparkListenerSQLExecutionStart",
    "SparkListenerSQLExecutionEnd",
    "QueryProgressEvent",
    "QueryTerminatedEvent",
    "SparkListenerApplicationEnd",
)
"""The events that collectors take; their classes' names have the outer class before them."""
# More events soon follow a first one: taken together they cost fewer crossings.
_GATHER_SECONDS = 0.1


class Inbox:
    """The queue of events of one SparkContext."""

    def __init__(self, sc: Any, capacity: int) -> None:
        self._jvm = sc._jvm
        self._jsc = sc._jsc.sc()
        self.quiet = Quiet(sc)
        self._queue = self.quiet.adopt(java_class(self._jvm, "java.util.concurrent.LinkedBlockingQueue")(capacity))
        self._java: Any = None
        self._released: deque[str] = deque()
        self._listeners: list[Any] = []
        try:
            self._listeners = self._in_java()
        except Exception:  # noqa: BLE001 - a JVM without java.desktop; py4j raises its own kinds
            self._listeners = [_in_python(sc, self._queue)]
        for listener in self._listeners:
            self._jsc.addSparkListener(listener)

    def _in_java(self) -> list[Any]:
        loader = self._jsc.getClass().getClassLoader()
        interface = java_class(self._jvm, "java.lang.Class").forName(_INTERFACE, True, loader)
        create = java_class(self._jvm, "java.beans.EventHandler").create
        return [create(interface, self._queue, "offer", "", method) for method in _METHODS]

    def compile(self, commands: Iterable[str], actions: Iterable[str], most: int) -> None:
        """Let the driver read plans from now on, if it can. `commands`: classes of commands that write; `actions`: actions and other
        commands whose plans are wanted; `most`: the size of a plan, as `PlanText.java` counts it.
        """
        java = compiled.compile_in(self._jvm)
        if java is not None:
            java = self.quiet.adopt(java)
            java.configure(
                self._queue, " ".join(KINDS), " ".join(commands), " ".join(actions), most, statistics.MOST_NODES_AT_ONCE
            )
        self._java = java

    def take(self) -> list[tuple[str, Any]]:
        """Take the queued events, as (class name, event) or ("", token); nothing after two seconds without any."""
        if self._java is None:
            return self._poll()
        released = " ".join([self._released.popleft() for _ in range(len(self._released))])
        try:
            text = str(self._java.take(released))
        except Exception as error:
            if isinstance(error, OSError) or type(error).__name__ == "Py4JNetworkError":
                raise  # the JVM ended
            log.warning(
                "headwater capture: plans are read in more calls, and some queries were missed: %s", str(error)[:300]
            )
            self._java = None
            return []
        found = list(recorded.events(text, self._java, self._released))
        self.quiet.release(1 if not found else 200)
        return found

    def _poll(self) -> list[tuple[str, Any]]:
        first = self._queue.poll(2000, java_class(self._jvm, "java.util.concurrent.TimeUnit").MILLISECONDS)
        if first is None:
            self.quiet.release(1)
            return []
        if isinstance(first, str):
            return [("", first)]
        time.sleep(_GATHER_SECONDS)
        found = [first]
        while (following := self._queue.poll()) is not None:
            found.append(following)
        self.quiet.release()
        return [("", item) if isinstance(item, str) else (self._kind(item), item) for item in found]

    def _kind(self, event: Any) -> str:
        return str(event.getClass().getName()).rpartition(".")[2].rpartition("$")[2]

    def mark(self, token: str) -> None:
        """Put a token at the end of the queue."""
        self._queue.offer(token)

    def settle(self, milliseconds: int) -> None:
        """Wait until Spark has handed over its events."""
        self._jsc.listenerBus().waitUntilEmpty(milliseconds)

    def close(self) -> None:
        for listener in self._listeners:
            self._jsc.removeSparkListener(listener)


def _in_python(sc: Any, queue: Any) -> Any:
    """Listen through py4j's callback server instead: about 0.3 ms per task."""
    from pyspark.java_gateway import ensure_callback_server_started

    ensure_callback_server_started(sc._gateway)

    class Listener:
        def __getattr__(self, method: str) -> Any:
            if method in _METHODS:
                return lambda event: queue.offer(event) and None
            if method.startswith("on"):
                return lambda _event: None
            raise AttributeError(method)

        class Java:
            implements = [_INTERFACE]  # noqa: RUF012 - py4j reads it so

    return Listener()
