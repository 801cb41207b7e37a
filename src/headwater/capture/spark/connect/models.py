"""Remember which relations of a client's plans fitted models made, by the client's ids of plans, so that what is written of them names the model.

The methods of `pyspark.ml` are wrapped as in a session with a JVM (`capture.spark.models`). The program's thread only notes; the server is asked
for schemas and metrics on capture's own thread.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from headwater.capture.spark import models
from headwater.capture.spark.analysis import Analysis
from headwater.capture.spark.datasets import Dataset, Leaves
from headwater.capture.spark.dependencies import Dependencies
from headwater.capture.spark.predictions import Model
from headwater.capture.spark.reported_saves import SaveNotes

_MOST_PLANS = 20_000
# Columns that a model is fitted to, and does not read to predict.
_FITTED_ONLY = frozenset({"labelCol", "weightCol", "validationIndicatorCol", "censorCol"})


class Derivation(msgspec.Struct):
    """The way a transformer or a model makes a relation. `inputs`: columns that its parameters name; `pairs`: from an output to its own input;
    `statement`: its SQL. `model`: the outermost model that makes it of the plan `base`.
    """

    inputs: frozenset[str] = frozenset()
    pairs: dict[str, str] = {}
    statement: str = ""
    model: Model | None = None
    base: int = -1


class ModelNotes:
    """The models and predictions of the sessions with one server."""

    def __init__(self) -> None:
        self.made: OrderedDict[int, Derivation] = OrderedDict()
        self.predicted: OrderedDict[int, Dependencies] = OrderedDict()
        """The dependencies that models give to columns, by the ids of attributes."""
        self._places: set[tuple[str, str]] = set()

    def note_transform(self, thing: Any, model: Model | None, before: Any, after: Any) -> None:
        """Note that a transformer made the plan `after` of `before`. On the program's thread."""
        own = self.made.get(after._plan_id)
        if own is None:
            own = self.made[after._plan_id] = _made_by(thing)
        for number in _plans_between(before, after) if model is not None else ():
            made = self.made.setdefault(number, Derivation())
            made.model, made.base = model, before._plan_id
        while len(self.made) > _MOST_PLANS:
            self.made.popitem(last=False)

    def note_metric(self, plan: Any, metric: str, value: float) -> None:
        """Note what an evaluator says of predictions."""
        for number in _plans_between(None, plan):
            made = self.made.get(number)
            if made is not None and made.model is not None:
                made.model.metrics = {**made.model.metrics, metric: value}

    def note_place(self, place: Dataset) -> None:
        """Note that a model is kept at a place: what Spark reads and writes there is not reported by itself."""
        self._places.add(place.key)

    def is_inside(self, dataset: Dataset) -> bool:
        """Return whether a dataset is a part of a model. Its own folder is none: a program may put other data there later."""
        namespace, name = dataset.key
        return any(namespace == one[0] and name.startswith(f"{one[1]}/") for one in list(self._places))

    def is_model(self, dataset: Dataset) -> bool:
        """Return whether a dataset is a model that is reported, or a part of one."""
        return dataset.key in self._places or self.is_inside(dataset)

    def give(self, attribute: int, depends: Dependencies) -> None:
        """Note what a model gives to a column."""
        self.predicted[attribute] = depends
        while len(self.predicted) > _MOST_PLANS:
            self.predicted.popitem(last=False)


class Reporter(NamedTuple):
    """The reporter on capture's own thread. `analyse`: finds out of what a plan of the client is made."""

    analyse: Callable[[Any], Analysis]
    place: Callable[[str], Dataset]
    loaded: Callable[[Dataset, int], None]


class Watching:
    """Reports the models of one session. `reporter_of`: made on capture's thread, when something is reported."""

    def __init__(self, found: ModelNotes, notes: SaveNotes, reporter_of: Callable[[], Reporter]) -> None:
        self.notes = notes
        self._found = found
        self._reporter_of = reporter_of

    @property
    def predictions(self) -> "Watching":
        return self

    def place(self, path: str) -> Dataset:
        """Return the dataset of a model's folder."""
        return self._reporter_of().place(path)

    def loaded(self, place: Dataset, started: int) -> None:
        """Report that the program loaded a model."""
        self._reporter_of().loaded(place, started)

    def transformed(self, thing: Any, model: Model | None, before: Any, after: Any) -> None:
        self._found.note_transform(thing, model, before, after)

    def training(self, model: Model) -> Analysis:
        """Return what a model is made of, as columns that it makes."""
        return self._reporter_of().analyse(model)

    def note_metric(self, plan: Any, metric: str, value: float) -> None:
        self.notes.later(lambda: self._found.note_metric(plan, metric, value))

    def note_place(self, place: Dataset) -> None:
        self._found.note_place(place)


def copy_training(found: Analysis) -> Analysis:
    """Return an analysis that a run may add its own warnings and counts to."""
    leaves = found.leaves
    leaves = Leaves(dict(leaves.by_key), dict(leaves.ids), msgspec.structs.replace(leaves.coverage))
    return msgspec.structs.replace(found, leaves=leaves, warnings=list(found.warnings))


def _made_by(thing: Any) -> Derivation:
    params = dict(models.list_params(thing))
    given, made = params.get("inputCols"), params.get("outputCols")
    pairs = dict(zip(made, given, strict=False)) if given and made and len(given) == len(made) else {}
    outputs = {str(value) for name, value in params.items() if name in {"outputCol", "predictionCol"}}
    inputs: set[str] = set()
    for name, value in params.items():
        if name in _FITTED_ONLY or name.startswith("output"):
            continue
        if name.endswith("Cols"):
            inputs.update(map(str, value))
        elif name.endswith("Col"):
            inputs.add(str(value))
    return Derivation(frozenset(inputs - outputs), pairs, str(params.get("statement", "")))


def _plans_between(before: Any, after: Any) -> Iterator[int]:
    """Yield the ids of the client's plans from `after` down to `before`, which is not one of them."""
    plan = after
    while plan is not None and plan is not before and (before is None or plan._plan_id != before._plan_id):
        yield plan._plan_id
        plan = plan._child
