"""Report RDDs that a Python program saves or takes to the driver: Spark tells its listeners of jobs only, so the methods of PySpark are wrapped.

A save is a run like a query's: START before it, COMPLETE or FAIL after it. What is taken to the driver is read by the application. Both are only
noted here, and looked at on capture's own thread. Never raises, and passes on what the method itself raises.
"""

import functools
import logging
import time
from collections.abc import Callable
from typing import Any, Protocol

from headwater.capture.spark.analysis import UNSEEN, Analysis
from headwater.capture.spark.commands import CREATE, Write
from headwater.capture.spark.datasets import Dataset, Leaves, of_rdd, where_pair
from headwater.capture.spark.reported_saves import Prepare, SaveNotes
from headwater.model import names

log = logging.getLogger("headwater")

_OUTPUT = "mapreduce.output.fileoutputformat.outputdir"
_FORMATS = {
    "saveAsTextFile": "text",
    "saveAsPickleFile": "pickle",
    "saveAsSequenceFile": "sequence",
    "saveAsHadoopFile": "",
    "saveAsNewAPIHadoopFile": "",
    "saveAsHadoopDataset": "",
    "saveAsNewAPIHadoopDataset": "",
}


# PySpark's other actions (`count`, `reduce`, `foreach`, …) call one of these.
_TAKES = ("collect", "take", "toLocalIterator")


class Reporter(Protocol):
    """The reporter of saves and reads."""

    notes: SaveNotes

    def took(self, jrdd: Any, started: int) -> None: ...


def follow(reporter_of: Callable[[Any], Reporter | None]) -> None:
    """Wrap PySpark's methods that save an RDD, once. `reporter_of`: from a SparkContext to what reports for it, if anything does."""
    from pyspark.rdd import RDD

    for name in _FORMATS:
        original = getattr(RDD, name)
        if not hasattr(original, "headwater"):
            setattr(RDD, name, _wrapped(name, original, reporter_of))
    for name in _TAKES:
        original = getattr(RDD, name)
        if not hasattr(original, "headwater"):
            setattr(RDD, name, _noted(original, reporter_of))


def _noted(original: Any, reporter_of: Callable[[Any], Reporter | None]) -> Any:
    @functools.wraps(original)
    def take(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        try:
            reporter = reporter_of(self.ctx)
            if reporter is not None:
                reporter.took(_in_jvm(self), time.time_ns() // 1_000_000)
        except Exception as error:  # noqa: BLE001 - capture never harms its host
            log.warning(
                "headwater capture: a read RDD was not captured: %s: %s", type(error).__name__, str(error)[:300]
            )
        return result

    take.headwater = True  # type: ignore[attr-defined]
    return take


def _in_jvm(rdd: Any) -> Any:
    """Return the RDD of the JVM. A pipelined one is not there yet; the one that it reads is, and depends on the same files."""
    return getattr(rdd, "_prev_jrdd", None) or rdd._jrdd


def _wrapped(name: str, original: Any, reporter_of: Callable[[Any], Reporter | None]) -> Any:
    @functools.wraps(original)
    def save(self: Any, *args: Any, **kwargs: Any) -> Any:
        reporter = begun = None
        try:
            reporter = reporter_of(self.ctx)
            given = args[0] if args else kwargs.get("path", kwargs.get("conf"))
            place = given.get(_OUTPUT) or given.get("mapred.output.dir") if isinstance(given, dict) else given
            if reporter is not None and place:
                begun = reporter.notes.begin(_prepared(self, str(place), _FORMATS[name]), f"{name} {place}")
        except Exception as error:  # noqa: BLE001 - capture never harms its host
            log.warning(
                "headwater capture: a saved RDD was not captured: %s: %s", type(error).__name__, str(error)[:300]
            )
        failure: BaseException | None = None
        try:
            return original(self, *args, **kwargs)
        except BaseException as error:
            failure = error
            raise
        finally:
            if reporter is not None and begun is not None:
                try:
                    reporter.notes.finish(begun, failure)
                except Exception as error:  # noqa: BLE001 - capture never harms its host
                    log.warning(
                        "headwater capture: the end of a save was not captured: %s: %s",
                        type(error).__name__,
                        str(error)[:300],
                    )

    save.headwater = True  # type: ignore[attr-defined]
    return save


def _prepared(rdd: Any, place: str, storage: str) -> Prepare:
    """Return what finds out where an RDD is saved and of what it is made."""
    context, jrdd = rdd.ctx, _in_jvm(rdd)
    return lambda: (Write(whole_place(context, place, storage), CREATE), _analysis(jrdd))


def whole_place(context: Any, place: str, storage: str) -> Dataset:
    """Return the dataset of a place, which is made whole as Hadoop makes it."""
    jpath = context._jvm.org.apache.hadoop.fs.Path(place)
    whole = jpath.getFileSystem(context._jsc.hadoopConfiguration()).makeQualified(jpath)
    return Dataset(*where_pair(names.from_location(str(whole.toString()))), [], storage)


def _analysis(jrdd: Any) -> Analysis:
    found = Leaves()
    found.by_key["rdd"] = of_rdd(jrdd.rdd(), found.coverage)
    found.coverage.through_function += bool(found.by_key["rdd"])
    return Analysis(found, warnings=[UNSEEN], opaque=True)
