"""Remember which columns a fitted model made, by ExprId, so that what is written of them names the model; and which folders are models.

A model that is saved, or was loaded, is a dataset: its place, without the random ids of its stages. Of one that is neither, what it was fitted to is
the source. The program's thread only notes; plans are read when a query needs them. Not followed: the copy of a prediction that Spark makes when a
table is joined with itself.
"""

import re
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

import msgspec

from headwater.capture.spark import analysis, datasets
from headwater.capture.spark import dependencies as deps
from headwater.capture.spark.analysis import Analysis
from headwater.capture.spark.config import Config
from headwater.capture.spark.coverage import Coverage
from headwater.capture.spark.cuts import CutPlans
from headwater.capture.spark.datasets import Catalog, Dataset, Leaves
from headwater.capture.spark.dependencies import Dependencies, How, Source
from headwater.capture.spark.plan import Node
from headwater.capture.spark.relation import Column

NOT_FITTED_HERE = "the training of this model was not seen: it was neither fitted nor loaded since capture began"
_MOST_COLUMNS = 20_000
_MOST_WAITING = 1000
_COLUMN = re.compile(r"(?:^|\x01)(.*?)#(\d+)L?(?=\x01|$)")
_TRAINED = How(True, deps.TRANSFORMATION)


class Model(msgspec.Struct, eq=False):
    """A fitted model. `frame`: the DataFrame it was fitted to, in the JVM or as a plan of Spark Connect; `named`: columns that its parameters name;
    `words`: those that its formula may name, None if it takes all. `place`: the dataset that it was loaded from or saved as. `metrics`: measured of
    its predictions.
    """

    frame: Any = None
    named: frozenset[str] = frozenset()
    words: frozenset[str] | None = frozenset()
    place: Dataset | None = None
    metrics: dict[str, float] = {}
    training: Analysis | None = None


def fitted(model: Model, frame: Analysis) -> Analysis:
    """Return what a model is made of, as columns that it makes. `frame`: of the DataFrame that it was fitted to."""
    given = {column.name for column in frame.columns}
    used = model.named & given | (given if model.words is None else model.words & given) or given
    depends = deps.unseen(deps.merged(column.depends for column in frame.columns if column.name in used))
    made = [Column(-1, name, depends) for name in sorted(model.named - given)]
    frame.columns, frame.fields = made, [{"name": one.name} for one in made]
    return frame


def not_fitted(model: Model) -> Analysis:
    """Return what a model is made of whose fit was not seen: the place that it was loaded from, if it was."""
    if model.place is None:
        return Analysis(Leaves(), warnings=[NOT_FITTED_HERE])
    leaves = Leaves()
    made = [Column(-1, name, _of_place(model.place, name, leaves)) for name in sorted(model.named)]
    return Analysis(leaves, made, fields=[{"name": one.name} for one in made])


def source(model: Model, column: str, leaves: Leaves, training: Callable[[Model], Analysis]) -> Dependencies:
    """Return what a model gives to a column that it makes: its place, or what it was fitted to, which `training` tells.

    Adds the datasets to `leaves`.
    """
    if model.place is not None:
        return _of_place(model.place, column, leaves)
    found = training(model)
    leaves.by_key = {**leaves.by_key, **found.leaves.by_key}
    leaves.ids = {**leaves.ids, **found.leaves.ids}
    return next((each.depends for each in found.columns if each.name == column), {})


def _of_place(place: Dataset, column: str, leaves: Leaves) -> Dependencies:
    key = f"model {place.namespace} {place.name}"
    leaves.by_key = {**leaves.by_key, key: [place]}
    return {Source(key, column): frozenset((_TRAINED,))}


class Predictions:
    """The models and predicted columns of one SparkContext. `cuts`: the plans that Spark cut off."""

    def __init__(self, config: Config, cuts: CutPlans, coverage: Coverage) -> None:
        self._config = config
        self._coverage = coverage
        self._cuts = cuts
        self._columns: OrderedDict[int, tuple[Model, str]] = OrderedDict()
        self._places: set[tuple[str, str]] = set()
        # Actions of the program's thread, done later.
        self._waiting: deque[Callable[[], None]] = deque()
        self._lock = threading.RLock()

    def note_prediction(self, model: Model, jbefore: Any, jafter: Any) -> None:
        """Note that the model made the DataFrame `jafter` of `jbefore`."""
        self._later(lambda: self._read_made(model, jbefore, jafter))

    def note_metric(self, jdf: Any, metric: str, value: float) -> None:
        """Note what an evaluator says of predictions."""
        self._later(lambda: self._read_measured(jdf, metric, value))

    def note_place(self, place: Dataset) -> None:
        """Note that a model is kept at a place: what Spark reads and writes below it is not reported by itself."""
        self._places.add(place.key)

    @property
    def any(self) -> bool:
        """Return whether there are models: then more than a plan decides what its columns depend on."""
        return bool(self._columns or self._places or self._waiting)

    def inside(self, dataset: Dataset) -> bool:
        """Return whether a dataset is a part of a model."""
        namespace, name = dataset.key
        return any(namespace == one[0] and name.startswith(f"{one[1]}/") for one in list(self._places))

    def training(self, model: Model) -> Analysis:
        """Return what a model is made of, as columns that it makes. Runs no query."""
        with self._lock:
            self._settle()
            if model.training is None:
                model.training = self._training(model)
            return model.training

    def within(self, query: Node) -> tuple[dict[int, Dependencies], Leaves]:
        """Return the dependencies that models give to columns of a plan, by ExprId, and their datasets."""
        with self._lock:
            self._settle()
            found: dict[int, Dependencies] = {}
            leaves = Leaves()
            for node in query.walk() if self._columns else ():
                for tree in [*node.trees("projectList"), *node.attributes("output")]:
                    if (made := self._columns.get(tree.expression_id)) and tree.expression_id not in found:
                        found[tree.expression_id] = source(*made, leaves, self.training)
            return found, leaves

    def _training(self, model: Model) -> Analysis:
        if model.frame is None:
            return not_fitted(model)
        jqe = model.frame.queryExecution()
        janalyzed = jqe.analyzed()
        catalog = Catalog(jqe)
        root, why = analysis.tree_of(janalyzed, self._config)
        if root is None:
            return analysis.tables_only([janalyzed], catalog, why)
        found = analysis.analyse(janalyzed, root, catalog, self._cuts, output=False, within=self.within)
        return fitted(model, found)

    def _later(self, action: Callable[[], None]) -> None:
        self._waiting.append(action)
        if len(self._waiting) > _MOST_WAITING:
            with self._lock:
                self._settle()

    def _settle(self) -> None:
        while self._waiting:
            action = self._waiting.popleft()
            try:
                action()
            except Exception as error:  # noqa: BLE001 - capture never harms its host; the application says it
                self._coverage.miss("the predictions of a model", error)

    def _read_made(self, model: Model, jbefore: Any, jafter: Any) -> None:
        before = {number for _, number in _columns(jbefore)}
        for name, number in _columns(jafter):
            if number not in before:
                self._columns[number] = (model, name)
        while len(self._columns) > _MOST_COLUMNS:
            self._columns.popitem(last=False)
            self._coverage.limit(f"of columns that models made the last {_MOST_COLUMNS} were remembered")

    def _read_measured(self, jdf: Any, metric: str, value: float) -> None:
        for _, number in _columns(jdf):
            if number in self._columns:
                model, _ = self._columns[number]
                model.metrics = {**model.metrics, metric: value}


def _columns(jdf: Any) -> list[tuple[str, int]]:
    """Return the columns of a DataFrame with their ExprIds."""
    text = str(jdf.queryExecution().analyzed().output().mkString(datasets.SEPARATOR))
    return [(name, int(number)) for name, number in _COLUMN.findall(text)]
