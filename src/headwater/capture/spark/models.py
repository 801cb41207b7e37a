"""Follow the models of `pyspark.ml`: Spark tells its listeners of jobs only, so the methods that fit, transform, evaluate, save and load are wrapped.

A save is a run whose output is the model; a load is read by the application. The program's thread notes them, and reads what the program may change
later (parameters); the rest is found out on capture's own thread. Never raises, and passes on what the method itself raises.
A session of Spark Connect has the same methods: what differs there is in `connect/models.py`.
"""

import contextlib
import functools
import importlib
import logging
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any, NamedTuple, Protocol

from headwater.capture.spark.analysis import Analysis
from headwater.capture.spark.commands import CREATE, OVERWRITE, Write
from headwater.capture.spark.datasets import Dataset
from headwater.capture.spark.imports import after_import
from headwater.capture.spark.predictions import Model
from headwater.capture.spark.reported_saves import Save, SaveNotes
from headwater.client import event

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


class Trainings(Protocol):
    """The memory of the models of a context or a server. A `frame` is as the watcher handles it."""

    def training(self, model: Model) -> Analysis: ...

    def note_metric(self, frame: Any, metric: str, value: float) -> None: ...

    def note_place(self, place: Dataset) -> None: ...


class Watcher(Protocol):
    """The reporter of the models of a context, or of a session of Spark Connect."""

    @property
    def predictions(self) -> Trainings: ...

    @property
    def notes(self) -> SaveNotes: ...

    def place(self, path: str) -> Dataset: ...

    def transformed(self, thing: Any, model: Model | None, before: Any, after: Any) -> None: ...

    def loaded(self, place: Dataset, started: int) -> None: ...


WatcherOf = Callable[[Any], Watcher | None]
"""From a DataFrame, or None, to the watcher of its context or session, if there is one. None: of the one that the program uses now."""
_watchers_of: list[WatcherOf] = []


def follow(watcher_of: Callable[[Any], Watcher | None]) -> None:
    """Wrap the methods, once, when the program imports `pyspark.ml`. `watcher_of`: from a SparkContext to what reports for it, if anything does."""

    def of_context(frame: Any) -> Watcher | None:
        from pyspark import SparkContext

        context = SparkContext._active_spark_context
        return None if context is None or is_remote(frame) else watcher_of(context)

    follow_frames("context", of_context)


def follow_frames(kind: str, watcher_of: WatcherOf) -> None:
    """Wrap the methods, once, when the program imports `pyspark.ml`. `kind`: of sessions that `watcher_of` is for."""

    def wrap(_module: ModuleType) -> None:
        with _unharmed("models are not captured"):
            _wrap()
            if kind == "remote":
                _wrap_remote()

    if all(getattr(one, "headwater", "") != kind for one in _watchers_of):
        watcher_of.headwater = kind  # type: ignore[attr-defined]
        _watchers_of.append(watcher_of)
        after_import("pyspark.ml", wrap)


def is_remote(frame: Any) -> bool:
    """Return whether a DataFrame is of Spark Connect; of None, whether `pyspark.ml` saves and loads by it: a process can have both."""
    if frame is None:
        from pyspark.sql import utils

        return bool(utils.is_remote())
    return type(frame).__module__.startswith("pyspark.sql.connect")


def watcher(frame: Any = None) -> Watcher | None:
    """Return what reports the models of a DataFrame's session; without one of the session that the program uses."""
    return next((found for one in _watchers_of if (found := one(frame)) is not None), None)


def _handle(frame: Any) -> Any:
    """Return what a DataFrame is in its session: a plan of Spark Connect, or an object of the JVM."""
    return frame._plan if is_remote(frame) else frame._jdf


def _wrap_remote() -> None:
    """Wrap the methods that save and load through Spark Connect, which PySpark 4 brought."""
    for place in ("pyspark.ml.connect.readwrite", "pyspark.ml.remote.readwrite"):
        try:
            module = importlib.import_module(place)
        except ImportError:
            continue
        if not hasattr(module, "RemoteMLWriter"):
            continue
        if not hasattr(module.RemoteMLWriter.save, "headwater"):
            _replace(module.RemoteMLWriter, "save", _saving)
        if not hasattr(module.RemoteMLReader.load, "headwater"):
            _replace(module.RemoteMLReader, "load", _loading)


def _wrap() -> None:
    from pyspark.ml import base, evaluation, util

    if hasattr(base.Estimator.fit, "headwater"):
        return

    _replace(base.Estimator, "fit", _fitting)
    _replace(base.Transformer, "transform", _transforming)
    _replace(evaluation.Evaluator, "evaluate", _evaluating)
    _replace(util.JavaMLWriter, "__init__", _naming)
    _replace(util.JavaMLWriter, "overwrite", _overwriting)
    for kind in (util.MLWriter, util.JavaMLWriter):
        _replace(kind, "save", _saving)
    readers: list[Any] = list(util.MLReader.__subclasses__())
    while readers:
        kind = readers.pop()
        readers += kind.__subclasses__()
        if "load" in vars(kind):
            _replace(kind, "load", _loading)
    util.MLReadable.load = classmethod(_loading(util.MLReadable.load.__func__))


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


def _fitting(original: Any) -> Any:
    @functools.wraps(original)
    def fit(self: Any, dataset: Any, params: Any = None) -> Any:
        result = original(self, dataset, params)
        with _unharmed("the fit of a model was not captured"):
            if watcher(dataset) is not None:
                several = isinstance(params, list | tuple)
                for one, given in zip(result, params, strict=True) if several else ((result, params),):
                    named, words = columns_named(self.copy(given) if given else self)
                    _models[one] = Model(
                        _handle(dataset), frozenset(named), frozenset(words) if words is not None else None
                    )
        return result

    return fit


def _transforming(original: Any) -> Any:
    @functools.wraps(original)
    def transform(self: Any, dataset: Any, params: Any = None) -> Any:
        result = original(self, dataset, params)
        with _unharmed("predictions were not captured"):
            if (found := watcher(dataset)) is not None:
                found.transformed(self, _models.get(self), _handle(dataset), _handle(result))
        return result

    return transform


def _evaluating(original: Any) -> Any:
    @functools.wraps(original)
    def evaluate(self: Any, dataset: Any, params: Any = None) -> Any:
        result = original(self, dataset, params)
        with _unharmed("a metric was not captured"):
            if (found := watcher(dataset)) is not None:
                measure = self.copy(params) if params else self
                found.predictions.note_metric(_handle(dataset), metric_of(measure), float(result))
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


def _saving(original: Any) -> Any:
    @functools.wraps(original)
    def save(self: Any, path: str) -> Any:
        found = begun = model = None
        failure: BaseException | None = None
        with _outermost() as first:
            with _unharmed("the save of a model was not captured"):
                instance = _written.get(self) or getattr(self, "instance", None) or getattr(self, "_instance", None)
                found = watcher() if first and _is_model(instance) else None
                if found is not None:
                    model = _models.setdefault(instance, Model())
                    again = self in _replaced or getattr(self, "shouldOverwrite", False)
                    saved = _Saved(instance, model, path, OVERWRITE if again else CREATE, described(instance))
                    begun = found.notes.begin(functools.partial(_prepare, found, saved), f"save {path}")
            try:
                return original(self, path)
            except BaseException as error:
                failure = error
                raise
            finally:
                with _unharmed("the end of a save was not captured"):
                    if found is not None and begun is not None and model is not None:
                        found.notes.finish(begun, failure, functools.partial(_place_model, begun, model))

    return save


class _Saved(NamedTuple):
    """A save of a model. `description`: as it was when the save began, without its metrics."""

    instance: Any
    model: Model
    path: str
    lifecycle: str
    description: dict[str, Any]


def _prepare(found: Watcher, saved: _Saved) -> tuple[Write, Analysis]:
    """Find out where a model is saved, what it was fitted to, and how well. On capture's thread."""
    place = found.place(saved.path)
    found.predictions.note_place(place)
    training = found.predictions.training(saved.model)
    metrics = measured(saved.instance) | saved.model.metrics
    facets = {"headwater_model": event.facet("headwater_model", **saved.description, metrics=metrics)}
    return Write(place, saved.lifecycle, facets=facets), training


def _place_model(begun: Save, model: Model) -> None:
    if begun.query is not None:
        model.place = begun.query.write.target


def _loading(original: Any) -> Any:
    @functools.wraps(original)
    def load(self: Any, path: str) -> Any:
        found = None
        model = Model()
        started = time.time_ns() // 1_000_000
        with _outermost() as first:
            with _unharmed("the load of a model was not captured"):
                found = watcher() if first else None
                if found is not None:
                    found.notes.later(functools.partial(_note_loaded, found, model, path))
            result = original(self, path)
        with _unharmed("the load of a model was not captured"):
            if found is not None and _is_model(result):
                model.named = frozenset(set().union(*(columns_named(part)[0] for part in [result, *stages(result)])))
                _models[result] = model
                found.notes.later(functools.partial(_report_loaded, found, model, started))
        return result

    return load


def _note_loaded(found: Watcher, model: Model, path: str) -> None:
    model.place = found.place(path)
    found.predictions.note_place(model.place)


def _report_loaded(found: Watcher, model: Model, started: int) -> None:
    if model.place is not None:
        found.loaded(model.place, started)


# --- what is told of a model


def columns_named(thing: Any) -> tuple[set[str], set[str] | None]:
    """Return the columns that the parameters of an estimator or a model name, and the words of its formulas; None for the words if one takes every
    column. Names made of a random id are left out.
    """
    named: set[str] = set()
    words: set[str] | None = set()
    for name, value in list_params(thing):
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


def described(model: Any) -> dict[str, Any]:
    """Return the class and the parameters of a model and its stages. Asks the JVM nothing."""
    parts = stages(model)
    own = [] if parts == [model] else [("params", dict(_plain(list_params(model))))]
    return {
        "class": type(model).__name__,
        **dict(own),
        "stages": [{"class": type(part).__name__, "params": dict(_plain(list_params(part)))} for part in parts],
    }


def measured(model: Any) -> dict[str, Any]:
    """Return the metrics that a model and its stages carry. Runs no query."""
    metrics: dict[str, Any] = {}
    for part in stages(model):
        metrics |= _summarised(part)
    for name in _SEARCHED:
        if values := getattr(model, name, None):
            metrics[f"{name}.{metric_of(model.getEvaluator())}"] = [float(value) for value in values]
    return metrics


def _summarised(part: Any) -> Iterator[tuple[str, Any]]:
    if not getattr(part, "hasSummary", False):
        return
    summary = part.summary
    for name in _MEASURED:
        if hasattr(type(summary), name):
            yield f"{type(part).__name__}.{name}", getattr(summary, name)


def list_params(thing: Any) -> list[tuple[str, Any]]:
    return [(one.name, thing.getOrDefault(one)) for one in thing.params if thing.isDefined(one)]


def _plain(params: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield what JSON can hold, without names that are made of a random id."""
    for name, value in params:
        plain = value if isinstance(value, bool | int | float | list | tuple) else str(value)
        text = str(plain)
        if not _RANDOM_ID.search(text) and len(text) <= _LONGEST:
            yield name, list(plain) if isinstance(plain, tuple) else plain


def metric_of(evaluator: Any) -> str:
    return str(evaluator.getMetricName()) if hasattr(evaluator, "getMetricName") else type(evaluator).__name__


def _is_model(thing: Any) -> bool:
    from pyspark.ml import base

    return isinstance(thing, base.Model)
