"""How Spark's events reach Python without costing the queries anything.

A `SparkListenerInterface` implemented in Python pays a crossing for each task event. So the listener is made of the JDK's own parts instead:
`java.beans.EventHandler` proxies the interface in Java, ignores every method but one, and puts that method's event into a
`LinkedBlockingQueue` (`offer`: bounded, never waits). Python polls the queue on its own thread. No callback server, no Python on Spark's
threads, and the listener can be removed again. Where the JVM lacks `java.desktop`, the Python proxy is used after all.
"""

from typing import Any

_INTERFACE = "org.apache.spark.scheduler.SparkListenerInterface"
# SQL executions arrive as "other events"; the end of the application is its own method.
_METHODS = ("onOtherEvent", "onApplicationEnd")


class Inbox:
    """The queue of events of one SparkContext."""

    def __init__(self, sc: Any, capacity: int) -> None:
        self._jvm = sc._jvm
        self._jsc = sc._jsc.sc()
        self._queue = self._jvm.java.util.concurrent.LinkedBlockingQueue(capacity)
        self._unit = self._jvm.java.util.concurrent.TimeUnit.MILLISECONDS
        self._listeners: list[Any] = []
        try:
            self._listeners = [self._in_java(method) for method in _METHODS]
        except Exception:  # noqa: BLE001 - a JVM without java.desktop; py4j raises its own kinds
            self._listeners = [_in_python(sc, self._queue)]
        for listener in self._listeners:
            self._jsc.addSparkListener(listener)

    def _in_java(self, method: str) -> Any:
        loader = self._jvm.java.lang.Thread.currentThread().getContextClassLoader()
        interface = self._jvm.java.lang.Class.forName(_INTERFACE, True, loader)
        return self._jvm.java.beans.EventHandler.create(interface, self._queue, "offer", "", method)

    def take(self, milliseconds: int) -> Any:
        """The next event (a JVM object) or token (a str), or None after `milliseconds`."""
        return self._queue.poll(milliseconds, self._unit)

    def mark(self, token: str) -> None:
        """Put a token behind all that is in the queue."""
        self._queue.offer(token)

    def settle(self, milliseconds: int) -> None:
        """Wait until Spark has handed over what it has."""
        self._jsc.listenerBus().waitUntilEmpty(milliseconds)

    def close(self) -> None:
        for listener in self._listeners:
            self._jsc.removeSparkListener(listener)


def _in_python(sc: Any, queue: Any) -> Any:
    """The same through py4j's callback server: about 0.3 ms for each task."""
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
