"""Pass Spark's events to Python without slowing down queries.

A `SparkListenerInterface` implemented in Python pays a crossing for each task event. So the listener is made of the JDK's own parts instead:
`java.beans.EventHandler` proxies the interface in Java, ignores every method but one, and puts that method's event into a
`LinkedBlockingQueue` (`offer`: bounded, never waits). Python polls the queue on its own thread, and lets the JVM drop unwanted events
first (an adaptive query sends five). It needs no callback server and no Python on Spark's threads, and the listener can be removed again.
If the JVM lacks `java.desktop`, the Python proxy is used, and no event is dropped early.
"""

import time
from typing import Any

from headwater.capture.spark.crossing import Quiet

_INTERFACE = "org.apache.spark.scheduler.SparkListenerInterface"
# SQL executions arrive as "other events"; the end of the application is its own method.
_METHODS = ("onOtherEvent", "onApplicationEnd")
_NOISE = (
    "org.apache.spark.sql.execution.ui.SparkListenerSQLAdaptiveExecutionUpdate",
    "org.apache.spark.sql.execution.ui.SparkListenerSQLAdaptiveSQLMetricUpdates",
    "org.apache.spark.sql.execution.ui.SparkListenerDriverAccumUpdates",
)
# More events soon follow a first one: taken together they cost fewer crossings.
_GATHER_SECONDS = 0.1


class Inbox:
    """The queue of events of one SparkContext."""

    def __init__(self, sc: Any, capacity: int) -> None:
        self._jvm = sc._jvm
        self._jsc = sc._jsc.sc()
        self.quiet = Quiet(sc)
        self._queue = self.quiet.adopt(self._jvm.java.util.concurrent.LinkedBlockingQueue(capacity))
        self._kinds = self.quiet.adopt(self._jvm.org.apache.spark.util.Utils)
        self._unit = self._jvm.java.util.concurrent.TimeUnit.MILLISECONDS
        self._listeners: list[Any] = []
        self._noise: Any = None
        try:
            self._listeners = [self._in_java(method) for method in _METHODS]
            self._noise = self._filter()
        except Exception:  # noqa: BLE001 - a JVM without java.desktop; py4j raises its own kinds
            self._listeners = [_in_python(sc, self._queue)]
        for listener in self._listeners:
            self._jsc.addSparkListener(listener)

    def _in_java(self, method: str) -> Any:
        loader = self._jvm.java.lang.Thread.currentThread().getContextClassLoader()
        interface = self._jvm.java.lang.Class.forName(_INTERFACE, True, loader)
        return self._jvm.java.beans.EventHandler.create(interface, self._queue, "offer", "", method)

    def _filter(self) -> Any:
        """Return a JVM Predicate: whether an event is of a class that no collector wants."""
        loader = self._jvm.java.lang.Thread.currentThread().getContextClassLoader()
        noise = self._jvm.java.util.HashSet()
        for name in _NOISE:
            noise.add(self._jvm.java.lang.Class.forName(name, True, loader))
        predicate = self._jvm.java.lang.Class.forName("java.util.function.Predicate", True, loader)
        return self._jvm.java.beans.EventHandler.create(predicate, noise, "contains", "class", "test")

    def take(self, milliseconds: int) -> list[tuple[str, Any]]:
        """Take the queued events, as (class name, JVM event) or ("", token); nothing after `milliseconds` without any."""
        first = self._queue.poll(milliseconds, self._unit)
        if first is None:
            self.quiet.release(1)
            return []
        if isinstance(first, str):
            return [("", first)]
        time.sleep(_GATHER_SECONDS)
        if self._noise is not None:
            self._queue.removeIf(self._noise)
        found = [first]
        while (following := self._queue.poll()) is not None:
            found.append(following)
        self.quiet.release()
        return [
            ("", item) if isinstance(item, str) else (str(self._kinds.getFormattedClassName(item)), item)
            for item in found
        ]

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
