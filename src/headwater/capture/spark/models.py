"""Follow the models of `pyspark.ml`: Spark tells its listeners of jobs only, so the methods that fit, transform, evaluate, save and load are wrapped.

A save is a run whose output is the model; a load is read by the application. Never raises, and passes on what the method itself raises.
Models of a Spark Connect session are not followed.
"""

import contextlib
import functools
import logging
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, Protocol

from headwater.capture.spark.analysis import Analysis
from headwater.capture.spark.commands import CREATE, OVERWRITE, Write
from headwater.capture.spark.datasets import Dataset, where_pair
from headwater.capture.spark.imports import after_import
from headwater.capture.spark.predictions import Model, Predictions
from headwater.client import event
from headwater.model import names

log = logging.getLogger("headwater")

# The rest of a summary would run a query.
_MEASURED = ("totalIterations", "numIter", "trainingCost")
_SEARCHED = ("avgMetrics", "validationMetrics")
_RANDOM_ID = re.compile(r"_[0-9a-f]{12}(?:_|$)")
_WORD = re.compile(r"\w+")
_LONGEST = 500
# By the program's object: an attribute would be pickled with it.
_models: "weakref.WeakKeyDictionary[Any, Model]" = weakref.WeakKeyDictionary()
_written: "weakref.WeakKeyDictionary[Any, Any]" = weakref.WeakKeyDictionary()
_replaced: "weakref.WeakSet[Any]" = weakref.WeakSet()
_inside = threading.local()


class Watcher(Protocol):
    """The reporter of a context's models."""

    predictions: Predictions

    def begin(self, write: Write, found: Analysis, description: str, started: int) -> Any: ...

    def finish(self, begun: Any, failure: BaseException | None) -> None: ...

    def loaded(self, place: Dataset, started: int) -> None: ...


WatcherOf = Callable[[Any], Watcher | None]


def follow(watcher_of: WatcherOf) -> None:
    """Wrap the methods, once, when the program imports `pyspark.ml`. `watcher_of`: from a SparkContext to what reports for it, if anything does."""

    def wrap(_module: ModuleType) -> None:
        with _unharmed("models are not captured"):
            _wrap(watcher_of)

    after_import("pyspark.ml", wrap)


def _wrap(watcher_of: WatcherOf) -> None:
    from pyspark.ml import base, evaluation, util

    if hasattr(base.Estimator.fit, "headwater"):
        return

    def watcher() -> Watcher | None:
        from pyspark import SparkContext

        context = SparkContext._active_spark_context
        return watcher_of(context) if context is not None else None

    _replace(base.Estimator, "fit", lambda original: _fitting(original, watcher))
    _replace(base.Transformer, "transform", lambda original: _transforming(original, watcher))
    _replace(evaluation.Evaluator, "evaluate", lambda original: _evaluating(original, watcher))
    _replace(util.JavaMLWriter, "__init__", _naming)
    _replace(util.JavaMLWriter, "overwrite", _overwriting)
    for kind in (util.MLWriter, util.JavaMLWriter):
        _replace(kind, "save", lambda original: _saving(original, watcher))
    readers: list[Any] = list(util.MLReader.__subclasses__())
    while readers:
        kind = readers.pop()
        readers += kind.__subclasses__()
        if "load" in vars(kind):
            _replace(kind, "load", lambda original: _loading(original, watcher))
    util.MLReadable.load = classmethod(_loading(util.MLReadable.load.__func__, watcher))


def _replace(kind: Any, name: str, around: Callable[[Any], Any]) -> None:
    made = around(getattr(kind, name))
    made.headwater = True
    setattr(kind, name, made)


@contextlib.contextmanager
def _unharmed(what: str) -> Iterator[None]:
    """Log an error of capture's own, which never harms its host."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - the program goes on
        log.warning("headwater capture: %s: %s: %s", what, type(error).__name__, str(error)[:300])


@contextlib.contextmanager
def _outermost() -> Iterator[bool]:
    """Tell whether no save or load is under way on this thread: a pipeline saves and loads its stages."""
    depth = getattr(_inside, "depth", 0)
    _inside.depth = depth + 1
    try:
        yield depth == 0
    finally:
        _inside.depth = depth


# --- the methods


def _fitting(original: Any, watcher: Callable[[], Watcher | None]) -> Any:
    @functools.wraps(original)
    def fit(self: Any, dataset: Any, params: Any = None) -> Any:
        result = original(self, dataset, params)
        with _unharmed("the fit of a model was not captured"):
            if watcher() is not None:
                several = isinstance(params, list | tuple)
                for one, given in zip(result, params, strict=True) if several else ((result, params),):
                    named, words = columns_named(self.copy(given) if given else self)
                    _models[one] = Model(
                        dataset._jdf, frozenset(named), frozenset(words) if words is not None else None
                    )
        return result

    return fit


def _transforming(original: Any, watcher: Callable[[], Watcher | None]) -> Any:
    @functools.wraps(original)
    def transform(self: Any, dataset: Any, params: Any = None) -> Any:
        result = original(self, dataset, params)
        with _unharmed("predictions were not captured"):
            model = _models.get(self)
            if model is not None and (found := watcher()) is not None:
                found.predictions.note_prediction(model, dataset._jdf, result._jdf)
        return result

    return transform


def _evaluating(original: Any, watcher: Callable[[], Watcher | None]) -> Any:
    @functools.wraps(original)
    def evaluate(self: Any, dataset: Any, params: Any = None) -> Any:
        result = original(self, dataset, params)
        with _unharmed("a metric was not captured"):
            if (found := watcher()) is not None:
                measure = self.copy(params) if params else self
                found.predictions.note_metric(dataset._jdf, _metric(measure), float(result))
        return result

    return evaluate


def _naming(original: Any) -> Any:
    @functools.wraps(original)
    def create(self: Any, instance: Any) -> None:
        original(self, instance)
        with _unharmed("the save of a model will not be captured"):
            _written[self] = instance

    return create


def _overwriting(original: Any) -> Any:
    @functools.wraps(original)
    def overwrite(self: Any) -> Any:
        result = original(self)
        with _unharmed("the mode of a save was not captured"):
            _replaced.add(self)
        return result

    return overwrite


def _saving(original: Any, watcher: Callable[[], Watcher | None]) -> Any:
    @functools.wraps(original)
    def save(self: Any, path: str) -> Any:
        found = begun = place = model = None
        failure: BaseException | None = None
        with _outermost() as first:
            with _unharmed("the save of a model was not captured"):
                instance = _written.get(self) or getattr(self, "instance", None)
                found = watcher() if first and _is_model(instance) else None
                if found is not None:
                    model, place = _models.setdefault(instance, Model()), _place(path)
                    found.predictions.note_place(place)
                    again = self in _replaced or getattr(self, "shouldOverwrite", False)
                    begun = _begin(found, instance, model, place, OVERWRITE if again else CREATE)
            try:
                return original(self, path)
            except BaseException as error:
                failure = error
                raise
            finally:
                with _unharmed("the end of a save was not captured"):
                    if found is not None and begun is not None:
                        found.finish(begun, failure)
                        if failure is None and model is not None:
                            model.place = place

    return save


def _begin(found: Watcher, instance: Any, model: Model, place: Dataset, lifecycle: str) -> Any:
    training = found.predictions.training(model)
    facets = {"headwater_model": event.facet("headwater_model", **described(instance, model.metrics))}
    started = time.time_ns() // 1_000_000
    return found.begin(Write(place, lifecycle, facets=facets), training, f"save {place.name}", started)


def _loading(original: Any, watcher: Callable[[], Watcher | None]) -> Any:
    @functools.wraps(original)
    def load(self: Any, path: str) -> Any:
        found = place = None
        started = time.time_ns() // 1_000_000
        with _outermost() as first:
            with _unharmed("the load of a model was not captured"):
                found = watcher() if first else None
                if found is not None:
                    place = _place(path)
                    found.predictions.note_place(place)
            result = original(self, path)
        with _unharmed("the load of a model was not captured"):
            if found is not None and place is not None and _is_model(result):
                named = set().union(*(columns_named(part)[0] for part in [result, *stages(result)]))
                _models[result] = Model(named=frozenset(named), place=place)
                found.loaded(place, started)
        return result

    return load


# --- what is told of a model


def columns_named(thing: Any) -> tuple[set[str], set[str] | None]:
    """Return the columns that the parameters of an estimator or a model name, and the words of its formulas; None for the words if one takes every
    column. Names made of a random id are left out.
    """
    named: set[str] = set()
    words: set[str] | None = set()
    for name, value in _params(thing):
        if parts := [one for one in (value if isinstance(value, list | tuple) else [value]) if hasattr(one, "params")]:
            for part in parts:
                more, spoken = columns_named(part)
                named |= more
                words = None if words is None or spoken is None else words | spoken
        elif name in {"formula", "statement"}:
            whole = "*" in value or re.search(r"(?<![\w)])\.(?![\w(])", value)
            words = None if whole or words is None else words | set(_WORD.findall(value))
        elif name.endswith("Col"):
            named.add(str(value))
        elif name.endswith("Cols"):
            named.update(map(str, value))
    return {one for one in named if one and not _RANDOM_ID.search(one)}, words


def stages(model: Any) -> list[Any]:
    """Return the models and transformers that a model is made of, in order; itself if it is one."""
    parts = getattr(model, "stages", None) or getattr(model, "models", None) or []
    best = getattr(model, "bestModel", None)
    inner = [best] if best is not None else list(parts)
    return [one for part in inner for one in stages(part)] if inner else [model]


def described(model: Any, measured: Mapping[str, float]) -> dict[str, Any]:
    """Return the class, the parameters and the metrics of a model and its stages. `measured`: by evaluators. Runs no query."""
    parts = stages(model)
    own = [] if parts == [model] else [("params", dict(_plain(_params(model))))]
    metrics: dict[str, Any] = {}
    for part in parts:
        metrics |= _summarised(part)
    for name in _SEARCHED:
        if values := getattr(model, name, None):
            metrics[f"{name}.{_metric(model.getEvaluator())}"] = [float(value) for value in values]
    return {
        "class": type(model).__name__,
        **dict(own),
        "stages": [{"class": type(part).__name__, "params": dict(_plain(_params(part)))} for part in parts],
        "metrics": {**metrics, **measured},
    }


def _summarised(part: Any) -> Iterator[tuple[str, Any]]:
    if not getattr(part, "hasSummary", False):
        return
    summary = part.summary
    for name in _MEASURED:
        if hasattr(type(summary), name):
            yield f"{type(part).__name__}.{name}", getattr(summary, name)


def _params(thing: Any) -> list[tuple[str, Any]]:
    return [(one.name, thing.getOrDefault(one)) for one in thing.params if thing.isDefined(one)]


def _plain(params: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield what JSON can hold, without names that are made of a random id."""
    for name, value in params:
        plain = value if isinstance(value, bool | int | float | list | tuple) else str(value)
        text = str(plain)
        if not _RANDOM_ID.search(text) and len(text) <= _LONGEST:
            yield name, list(plain) if isinstance(plain, tuple) else plain


def _metric(evaluator: Any) -> str:
    return str(evaluator.getMetricName()) if hasattr(evaluator, "getMetricName") else type(evaluator).__name__


def _is_model(thing: Any) -> bool:
    from pyspark.ml import base

    return isinstance(thing, base.Model)


def _place(path: str) -> Dataset:
    """Return the dataset of a place, which is made whole as Hadoop makes it."""
    from pyspark import SparkContext

    context: Any = SparkContext._active_spark_context
    jpath = context._jvm.org.apache.hadoop.fs.Path(path)
    whole = jpath.getFileSystem(context._jsc.hadoopConfiguration()).makeQualified(jpath)
    return Dataset(*where_pair(names.from_location(str(whole.toString()))), [], "model")
