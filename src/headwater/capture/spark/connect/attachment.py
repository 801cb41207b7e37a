"""`attach` for a Spark Connect session: take what its client sends, on a thread of our own, and let that finish before the program ends.

Never raises into the caller, and never makes a request wait. One attachment is of one server: all sessions of the process with it are captured.
"""

import atexit
import contextlib
import logging
import os
import queue
import sys
import threading
import time
from datetime import UTC, datetime
from typing import Any

from headwater.capture.spark import config as configuration
from headwater.capture.spark import models
from headwater.capture.spark.application import Application
from headwater.capture.spark.config import Config
from headwater.capture.spark.connect import requests
from headwater.capture.spark.connect.collector import Collector
from headwater.capture.spark.connect.models import ModelNotes, Reporter, Watching
from headwater.capture.spark.connect.requests import Request
from headwater.capture.spark.connect.server import NoAnswer, Server
from headwater.capture.spark.emission import Emitter
from headwater.capture.spark.reported_saves import SaveNotes
from headwater.client import emitter_from_environment, stopping

log = logging.getLogger("headwater")
_attached: "dict[str, Attachment]" = {}
_lock = threading.Lock()
_TURN = 1.0


class Attachment:
    """Capture of the sessions with one server. `active`: False after `detach`."""

    def __init__(self, client: Any, config: Config, emitter: Emitter | None) -> None:
        self.emitter: Emitter = emitter if emitter is not None else emitter_from_environment()
        self.active = True
        self._config = config
        self._pid = os.getpid()
        self._queue: queue.Queue[tuple[str, Any]] = queue.Queue(config.queue)
        self._models = ModelNotes()
        self._notes = SaveNotes(self._wake)
        self._dropped = 0
        self._began = datetime.now(UTC)
        self._client = client
        self._application: Application | None = None
        self._collector: Collector | None = None
        self._thread = threading.Thread(target=self._listen, name="headwater-spark-connect", daemon=True)
        self._thread.start()
        atexit.register(self._finish)
        stopping.before_death(self._stopped)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until everything that the sessions did so far is reported and delivered. False on a timeout."""
        timeout = self._config.patience if timeout is None else timeout
        drained = self._drain(timeout)
        return bool(self.emitter.flush(timeout)) and drained

    def detach(self) -> None:
        """Stop listening, after reporting what was captured."""
        self._drain(self._config.patience)
        self.active = False

    def settle(self) -> None:
        """Wait, within `Config.patience`, until what a session did is reported; it ends after this, and its streams with it."""
        with contextlib.suppress(queue.Full):
            self._queue.put(("streams", None), timeout=self._config.patience)
        self._drain(self._config.patience)

    def receive(self, kind: str, request: Request) -> None:
        """Take the start or the end of a request, on the program's thread. Never waits."""
        try:
            self._queue.put_nowait((kind, request))
        except queue.Full:
            self._dropped += 1

    def watching(self, session: Any) -> Watching:
        """Return what takes the models of a session, on the program's thread."""
        return Watching(self._models, self._notes, lambda: self._reporter(session))

    def _reporter(self, session: Any) -> Reporter:
        if self._collector is None:
            raise NoAnswer("the server did not answer when capture began")
        # A model is asked for its metrics through the session that is active on the thread which asks.
        type(session)._active_session.session = session
        return self._collector.reporter(session.client)

    def _wake(self) -> None:
        with contextlib.suppress(queue.Full):  # reported with a later one
            self._queue.put_nowait(("noted", None))

    def is_own_thread(self) -> bool:
        return threading.current_thread() is self._thread

    def _drain(self, timeout: float) -> bool:
        if os.getpid() != self._pid or not self._thread.is_alive() or threading.current_thread() is self._thread:
            return True
        reached = threading.Event()
        try:
            self._queue.put(("mark", reached), timeout=timeout)
        except queue.Full:
            return False
        return reached.wait(timeout)

    def _listen(self) -> None:
        """Take requests in order, as the thread."""
        try:
            self._collector = collector = self._begin()
        except Exception as error:  # noqa: BLE001 - capture never harms its host
            log.warning("headwater capture: not attached: %s: %s", type(error).__name__, str(error)[:300])
            self.active = False
            collector = None
        while True:
            try:
                kind, item = self._queue.get(timeout=_TURN)
            except queue.Empty:
                if not self.active:
                    return
                kind, item = "", None
            if kind == "mark":
                if collector is not None:
                    collector.saves.report()
                item.set()
            elif kind == "streams" and collector is not None:
                collector.ask_streams()
            elif kind == "noted" and collector is not None:
                collector.saves.report_next()
            elif kind and collector is not None:
                collector.take(kind, item)
            if collector is not None:
                collector.beat(time.monotonic())
                self._log_dropped()

    def _log_dropped(self) -> None:
        if self._dropped:
            log.warning(
                "headwater capture: %s requests came faster than they were read, and are not reported", self._dropped
            )
            self._dropped = 0

    def _begin(self) -> Collector:
        server = Server(self._client)
        try:
            version = server.version()
        except NoAnswer:
            version = ""
        details = {
            "applicationId": _setting(server, "spark.app.id"),
            "master": _setting(server, "spark.master"),
            "deployMode": "connect",
        }
        name = _setting(server, "spark.app.name") or "spark-connect"
        self._application = Application(
            self.emitter, self._config.namespace, name, version, details, self._config.heartbeat, self._began
        )
        return Collector(self._application, self._config, details, self._models, self._notes)

    def _finish(self) -> None:
        """Finish when the interpreter ends, with or without `spark.stop()`."""
        if os.getpid() != self._pid or self._collector is None:
            return
        self._drain(self._config.patience)
        if name := stopping.stopped_by():
            self._collector.abort(f"the program was stopped by {name}")
        self._collector.end()

    def _stopped(self, signal_name: str) -> None:
        if os.getpid() == self._pid and self._collector is not None and self.active:
            self._collector.abort(f"the program was stopped by {signal_name}")


def _setting(server: Server, key: str) -> str:
    try:
        return server.setting(key)
    except NoAnswer:
        return ""


def attach(spark: Any, emitter: Emitter | None) -> Attachment:
    """Capture what this session, and every other with the same server, does from this call on."""
    client = spark._client
    with _lock:
        present = _attached.get(_address(client))
        if present is not None and present.active and present._pid == os.getpid():
            return present
        requests.follow(_receiver_of, _closing)
        models.follow_frames("remote", _watcher_of)
        made = _attached[_address(client)] = Attachment(client, configuration.from_environment(), emitter)
        return made


def _address(client: Any) -> str:
    return str(getattr(client._builder, "endpoint", "") or getattr(client._builder, "host", ""))


def _receiver_of(client: Any) -> Any:
    attachment = _attachment_of(client)
    return attachment.receive if attachment is not None and not attachment.is_own_thread() else None


def _attachment_of(client: Any) -> Attachment | None:
    found = _attached.get(_address(client))
    return found if found is not None and found.active and found._pid == os.getpid() else None


def _watcher_of(frame: Any) -> Watching | None:
    """Return what takes the models of a DataFrame's session; without one of the program's own."""
    if not models.is_remote(frame):
        return None
    from pyspark.sql.connect.session import SparkSession

    session = frame.sparkSession if frame is not None else SparkSession.getActiveSession()
    attachment = _attachment_of(session.client) if session is not None else None
    return attachment.watching(session) if attachment is not None else None


def _closing(client: Any) -> None:
    """Report what a session did, before it is gone: the server is asked about it until then."""
    try:
        attachment = _attached.get(_address(client))
        if attachment is not None and attachment.active and not sys.is_finalizing():
            attachment.settle()
    except Exception as error:  # noqa: BLE001 - capture never harms its host
        log.warning("headwater capture: the end of a session was not captured: %s", error)
