"""`attach(spark)`: start the thread that listens, and let it finish before the program ends.

Never raises into the caller, never waits longer than `Config.patience`. A Spark Connect session, which has no JVM, goes to `connect.attachment`.
"""

import atexit
import contextlib
import logging
import os
import threading
import time
import uuid
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from headwater.capture.spark import commands, models, origins, saves
from headwater.capture.spark import config as configuration
from headwater.capture.spark.application import Application
from headwater.capture.spark.collector import END, READS, Collector
from headwater.capture.spark.config import Config
from headwater.capture.spark.emission import Emitter
from headwater.capture.spark.examination import CUTS
from headwater.capture.spark.listener import Inbox
from headwater.capture.spark.remote_spool import RemoteSpool
from headwater.client import emitter_from_environment, stopping
from headwater.client.emitter import Emitter as ClientEmitter

if TYPE_CHECKING:
    from headwater.capture.spark.connect import attachment as connect

log = logging.getLogger("headwater")

_attached: "weakref.WeakKeyDictionary[Any, Attachment]" = weakref.WeakKeyDictionary()
_lock = threading.Lock()


_STOPPED_SECONDS = 0.5  # for the server, of the two that a signal leaves
_GONE = "the JVM of the driver ended"
_WAKE = "wake"  # a token that nothing waits for


class Attachment:
    """Capture of one SparkContext. `active`: False if there is nothing to listen to."""

    def __init__(self, emitter: Emitter | None = None) -> None:
        self.emitter = emitter
        self.active = False
        self._gone = False  # the JVM no longer answers
        self._pid = os.getpid()
        self._inbox: Inbox | None = None
        self._application: Application | None = None
        self._collector: Collector | None = None
        self._thread: threading.Thread | None = None
        self._reached: dict[str, threading.Event] = {}
        self._config = Config()
        self._remote: RemoteSpool | None = None

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until everything that Spark did so far is reported and delivered. False on a timeout."""
        timeout = self._config.patience if timeout is None else timeout
        if not self.active or self._inbox is None or os.getpid() != self._pid:
            return True
        drained = self._drain(timeout)
        return bool(self.emitter.flush(timeout)) and drained if self.emitter is not None else drained

    def _drain(self, timeout: float) -> bool:
        """Wait until the emitter has everything that Spark did so far. Its spool keeps it, so this does not wait for a server."""
        if not self.active or self._inbox is None or os.getpid() != self._pid:
            return True
        drained = True
        with contextlib.suppress(Exception):
            # A stopped context has handed over everything.
            self._inbox.settle(int(timeout * 1000))
        try:
            token, reached = f"token-{uuid.uuid4()}", threading.Event()
            self._reached[token] = reached
            self._inbox.mark(token)
            drained = self._wait(reached, timeout) or not self._listening()
        except Exception:  # noqa: BLE001 - py4j raises its own kinds
            self._gone = True
            drained = False
        return drained

    def _wait(self, reached: threading.Event, timeout: float) -> bool:
        for _ in range(max(1, int(timeout * 20))):
            if reached.wait(0.05):
                return True
            if not self._listening():
                break
        return reached.is_set()

    def _listening(self) -> bool:
        """Return whether the thread runs. It ends with the application, after it has reported everything."""
        return self._thread is not None and self._thread.is_alive()

    def detach(self) -> None:
        """Stop listening, after reporting what was captured. The emitter delivers it; this does not wait for that."""
        self._drain(self._config.patience)
        if self.active and self._inbox is not None:
            self.active = False
            with contextlib.suppress(Exception):
                self._inbox.close()

    def _begin(self, spark: Any, config: Config) -> None:
        sc = spark.sparkContext
        self._config = config
        if self.emitter is None:
            self.emitter = emitter_from_environment()
        details = {
            "applicationId": str(sc.applicationId),
            "master": str(sc.master),
            "deployMode": str(sc._jsc.sc().deployMode()),
        }
        self._application = Application(
            self.emitter, config.namespace, str(sc.appName), str(sc.version), details, config.heartbeat
        )
        self._inbox = inbox = Inbox(sc, config.queue)
        self._collector = Collector(
            sc._jvm, self._inbox.quiet, self._application, config, details, lambda: inbox.mark(_WAKE)
        )
        if config.spool and isinstance(self.emitter, ClientEmitter):
            self._remote = RemoteSpool(sc, config.spool, self.emitter)
        self.active = True
        origins.follow()
        saves.follow(_collector_of)
        models.follow(_collector_of)
        self._thread = threading.Thread(
            target=self._listen, args=(self._collector,), name="headwater-spark", daemon=True
        )
        self._thread.start()
        atexit.register(self._finish)
        stopping.before_death(self._stopped)

    def _listen(self, collector: Collector) -> None:
        """Take events in order and answer tokens, until the application or the JVM ends. Runs as the thread."""
        inbox = self._inbox
        if inbox is None:
            return
        with contextlib.suppress(Exception):  # an ended JVM: the first wait says it
            inbox.compile(commands.KINDS, READS | CUTS | commands.READING, self._config.largest_plan)
        if self._remote is not None:
            _try("take over what ended programs left", self._remote.collect)
        running = True
        while self.active or running:
            try:
                items = inbox.take()
            except Exception as error:  # noqa: BLE001 - capture never harms its host
                # An ended JVM is the ordinary end; anything else would silently stop capture.
                if not isinstance(error, OSError) and type(error).__name__ != "Py4JNetworkError":
                    log.warning("headwater capture: stopped: %s: %s", type(error).__name__, str(error)[:300])
                self._gone = True
                collector.abort(_GONE)
                break
            collector.saves.report()
            collector.rdd_reads.report()
            collector.beat(time.monotonic())
            for place, (kind, item) in enumerate(items):
                following = items[place + 1][0] if place + 1 < len(items) else ""
                if not kind:
                    if reached := self._reached.pop(item, None):
                        reached.set()
                elif not collector.take(kind, item, over=following == END):
                    running = False
            if not items and (not self.active or (not running and not self._reached)):
                break

    def _finish(self) -> None:
        """Finish when the interpreter ends, with or without `spark.stop()`."""
        if os.getpid() != self._pid or self._collector is None:
            return
        self._drain(self._config.patience)
        # The emitter delivers, with its own time limit, which also holds for a server that is down.
        if name := stopping.stopped_by():
            self._collector.abort(f"the program was stopped by {name}")
        elif self._gone:
            self._collector.abort(_GONE)
        self._collector.end()
        if self._remote is not None and not self._gone:
            _try("leave what was not delivered", self._remote.leave)

    def _stopped(self, signal_name: str) -> None:
        """Abort everything that runs, before a signal ends the program."""
        if os.getpid() == self._pid and self._collector is not None and self.active:
            self._collector.abort(f"the program was stopped by {signal_name}")
            if self._remote is not None and not self._gone:
                remote = self._remote
                _try("leave what was not delivered", lambda: remote.leave(_STOPPED_SECONDS))


def _try(what: str, action: Callable[[], None]) -> None:
    try:
        action()
    except Exception as error:  # noqa: BLE001 - capture never harms its host; py4j raises its own kinds
        log.warning("headwater capture: could not %s: %s: %s", what, type(error).__name__, str(error)[:300])


def _collector_of(sc: Any) -> Collector | None:
    """Return the collector of a context that is captured in this process."""
    attachment = _attached.get(sc)
    return (
        attachment._collector
        if attachment is not None and attachment.active and attachment._pid == os.getpid()
        else None
    )


def _is_connect(spark: Any) -> bool:
    return type(spark).__module__.startswith("pyspark.sql.connect.")


def _attach_connect(spark: Any, emitter: Emitter | None) -> "Attachment | connect.Attachment":
    """Capture a session without a JVM; or the context of this process, if it is the server (`spark.remote=local`)."""
    try:
        context = _own_server()
        if context is not None:
            return attach(SimpleNamespace(sparkContext=context), emitter=emitter)
        from headwater.capture.spark.connect.attachment import attach as attach_now

        return attach_now(spark, emitter)
    except Exception as error:  # noqa: BLE001 - capture never harms its host
        log.warning("headwater capture: not attached: %s: %s", type(error).__name__, str(error)[:300])
        return Attachment(emitter)


def _own_server() -> Any:
    """Return the SparkContext of this process, if a Spark Connect server was started in it."""
    if "SPARK_LOCAL_REMOTE" not in os.environ:
        return None
    from pyspark import SparkContext

    return SparkContext._active_spark_context


def attach(spark: Any, *, emitter: Emitter | None = None) -> "Attachment | connect.Attachment":
    """Capture what `spark` and every session of its context read and write, from this call on.

    Attaching to the same context again returns the existing attachment. `emitter`: where events go; default: the environment's.
    """
    if _is_connect(spark):
        return _attach_connect(spark, emitter)
    with _lock:
        try:
            sc = spark.sparkContext
            present = _attached.get(sc)
            if present is not None and present.active:
                return present
            attachment = Attachment(emitter)
            attachment._begin(spark, configuration.from_environment())
            _attached[sc] = attachment
        except Exception as error:  # noqa: BLE001 - capture never harms its host
            log.warning("headwater capture: not attached: %s: %s", type(error).__name__, str(error)[:300])
            return Attachment(emitter)
        return attachment
