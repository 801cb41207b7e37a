"""`headwater sync query-log --follow`: import the files of a landing folder as they arrive, with Spark's Structured Streaming.

The stream detects new files; each of its micro-batches is a sync of the whole input, through the same stages and
with the same commits. The ledger, not the stream, decides which files are new, and for which time: no file is imported twice,
and a file that grew is imported with the next new one. The stream's checkpoint is in the store. It is written after
the last commit of a micro-batch, so an interrupted one is repeated to its end.
"""

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from hashlib import blake2b
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from headwater.errors import HeadwaterError, InvalidQuestion, NotFound, StageFailed
from headwater.pipeline.folder import folder, whole
from headwater.pipeline.query_log.batch import STATE, Asked
from headwater.pipeline.query_log.stages import BEHIND, UNPUBLISHED, Settings
from headwater.pipeline.query_log.sync import Progress, Publisher, Synced, sync
from headwater.pipeline.session import is_remote
from headwater.pipeline.stages import cause
from headwater.pipeline.tables import Store

EVERY: Final = 30.0
"""Seconds between two looks at the folder."""
LONGEST_WAIT: Final = 300.0
"""Seconds before the next try, at most, after what may help itself."""
_LOOK: Final = 0.1
_FOREVER: Final = "36500d"


def follow(
    spark: SparkSession,
    path: str,
    asked: Asked,
    settings: Settings,
    publisher: Publisher | None = None,
    show: Callable[[Progress], None] = lambda _: None,
    recorded: bool = False,
    *,
    every: float = EVERY,
    stop: threading.Event | None = None,
    took: Callable[[Synced], None] = lambda _: None,
    failed: Callable[[HeadwaterError, float], None] = lambda _error, _seconds: None,
) -> int:
    """Import present and new files until `stop` is set; return the number of syncs that imported something.

    A stop loses at most the current stage, which the next call repeats. `failed` is called with each error that is not permanent (an unreachable
    server, a faster concurrent sync) and the seconds until the next try. A folder or a glob may be empty yet.

    StageFailed: Spark is gone, or cannot look at the folder; another process can go on.
    InvalidQuestion: a Spark Connect session, whose streams run elsewhere. NotFound: a folder that is not there.
    """
    if is_remote(spark):
        raise InvalidQuestion(
            "--follow is a stream in Spark's own driver, and --remote has its driver elsewhere: use --master or spark-submit, or call without"
            " --follow again and again",
            parameter="follow",
        )
    following = _Following(spark, path, asked, settings, publisher, show, recorded, stop or threading.Event(), took)
    wait = every
    while True:
        try:
            following.until_stopped(every)
            return following.rounds
        except (PySparkException, Py4JError, ConnectionError) as error:
            raise StageFailed(f"the folder cannot be followed: {cause(error)}", stage="follow") from error
        except HeadwaterError as error:
            if error.permanent or not _runs(spark):
                raise
            wait = every if following.went_well else min(wait * 2, LONGEST_WAIT)
            failed(error, wait)
        if following.stop.wait(wait):
            return following.rounds


class _Stopped(KeyboardInterrupt):
    """Out of a stage's boundary, when it is time to stop. A step that it goes through was aborted and did not fail."""


def _runs(spark: SparkSession) -> bool:
    """Return whether trying again could help: if Spark is gone, only another process could."""
    context: Any = spark.sparkContext
    try:
        return not context._jsc.sc().isStopped()
    except (Py4JError, ConnectionError):
        return False


class _Following:
    def __init__(
        self,
        spark: SparkSession,
        path: str,
        asked: Asked,
        settings: Settings,
        publisher: Publisher | None,
        show: Callable[[Progress], None],
        recorded: bool,
        stop: threading.Event,
        took: Callable[[Synced], None],
    ) -> None:
        self.stop = stop
        self.rounds = 0
        self.went_well = False
        self._spark = spark
        self._path = path
        self._asked = asked
        self._settings = settings
        self._publisher = publisher
        self._show = show
        self._recorded = recorded
        self._took = took
        self._errors: list[BaseException] = []

    def until_stopped(self, every: float) -> None:
        """Sync the files that are there, then a stream of those that arrive. Raises the error of a round, or StageFailed when the stream
        itself ended."""
        self.went_well = False
        self._errors.clear()
        # Work that an earlier call left may wait without any file that is new to the stream.
        self._first()
        if not self._errors and not self.stop.is_set():
            self._stream_of_files(every)
        if self._errors and not self.stop.is_set():
            raise self._errors[0]

    def _first(self) -> None:
        """A round in a thread of its own: a signal to stop reaches only the main thread, which waits here."""

        context, group = self._spark.sparkContext, f"headwater-follow-{id(self)}"

        def run_round() -> None:
            try:
                context.setJobGroup(group, "headwater sync query-log --follow")
                self._round()
            except BaseException as error:  # noqa: BLE001 - it is raised again where the round was wanted
                self._errors.append(error)

        thread = threading.Thread(target=run_round, name="headwater-follow", daemon=True)
        thread.start()
        while thread.is_alive():
            if self.stop.wait(_LOOK):
                context.cancelJobGroup(group)
            thread.join(_LOOK)

    def _stream_of_files(self, every: float) -> None:
        """Until it is time to stop, or the stream ends, which is an error too."""
        writer = self._stream().writeStream.foreachBatch(self._batch)
        writer = writer.option("checkpointLocation", self._checkpoint()).trigger(processingTime=f"{every} seconds")
        query = writer.start()
        try:
            while query.isActive and not self.stop.wait(_LOOK):
                pass
        finally:
            query.stop()
        told = query.exception()
        why = cause(told) if told else "it was stopped"
        self._errors.append(StageFailed(f"the stream of new files ended: {why}", stage="follow"))

    def _batch(self, _files: DataFrame, _number: int) -> None:
        """Run a round, in a thread of Spark's. The rows of the files are not asked for, so nothing reads them here."""
        try:
            self._round()
        except BaseException as error:
            self._errors.append(error)
            raise RuntimeError(f"the micro-batch ended: {error}") from error  # what py4j can carry to the stream

    def _round(self) -> None:
        asked = replace(self._asked, inputs=tuple(pattern for pattern in self._asked.inputs if self._any(pattern)))
        state = Store(self._spark, self._path).state
        waiting = state.get(STATE) or state.get(BEHIND) or (self._publisher and state.get(UNPUBLISHED))
        if not asked.inputs and not waiting:
            return
        answer = sync(
            self._spark, self._path, asked, self._settings, self._publisher, self._between, recorded=self._recorded
        )
        self.went_well = True
        if answer.files or answer.resumed or waiting:
            self.rounds += 1
            self._took(answer)

    def _any(self, pattern: str) -> bool:
        return bool(folder(self._spark, pattern).matching(whole(pattern)))

    def _between(self, told: Progress) -> None:
        if self.stop.is_set():
            raise _Stopped
        self._show(told)

    def _stream(self) -> DataFrame:
        """The files of all patterns, as Spark's file source finds them: as lines, which are never read."""
        source = self._spark.readStream.option("recursiveFileLookup", "true")
        # Files that were copied with their old times are new all the same.
        source = source.option("maxFileAge", _FOREVER)
        try:
            found = [source.text(whole(pattern)) for pattern in self._asked.inputs]
        except PySparkException as error:
            if error.getCondition() == "PATH_NOT_FOUND":
                raise NotFound(f"there is no folder to follow: {cause(error)}") from error
            raise
        return reduce(DataFrame.unionByName, found)

    def _checkpoint(self) -> str:
        """Return the stream's folder in the store, for this question: with other inputs another stream begins, and the ledger knows
        which files are imported."""
        asked = "\0".join((self._asked.source, *map(whole, self._asked.inputs)))
        return f"{whole(self._path)}/follow/inputs-{blake2b(asked.encode(), digest_size=8).hexdigest()}"
