"""Relations that transformers and models of `pyspark.ml` make: the columns that they add, and what the model gives to them."""

from typing import Any, cast

from headwater.capture.spark import dependencies as deps
from headwater.capture.spark import predictions
from headwater.capture.spark.connect import scope as scopes
from headwater.capture.spark.connect.expressions import Named
from headwater.capture.spark.connect.models import Derivation
from headwater.capture.spark.connect.scope import Bound, attribute
from headwater.capture.spark.dependencies import How
from headwater.capture.spark.expressions import COMPOSED
from headwater.capture.spark.plan import Node

_THIS = "__THIS__"  # the input of a SQLTransformer
_OF_INPUT = frozenset((How(True, deps.TRANSFORMATION),))


def ml(binder: Any, inner: Any, relation: Any) -> Bound:
    """Return what a transformer or a model makes of a relation: its columns, and further ones.

    A table that a model keeps (its summary, its weights) is not read.
    """
    if inner.WhichOneof("ml_type") != "transform":
        binder.warn("a table that a model keeps is not read: Spark Connect does not tell of what it is made")
        return cast("Bound", binder._unknown(relation))
    below: Bound = binder.bind(inner.transform.input)
    made = binder.sources.models.made.get(relation.common.plan_id, None) or _named_in(inner.transform.params)
    if made.statement:
        binder.views[_THIS] = below
        return cast("Bound", binder.query(made.statement, relation))
    columns = binder.schema(relation)
    names = [one.name for one in below.attributes]
    if [one["name"] for one in columns[: len(names)]] != names:
        return cast("Bound", binder.opaque_of(below, [(one["name"], one["type"]) for one in columns]))
    kept: list[Named] = [(one, one.node) for one in below.attributes]
    further: list[Named] = []
    for one in columns[len(names) :]:
        sources = [each for each in below.attributes if each.name in _inputs_of(made, one["name"])]
        trees = [each.node for each in sources or below.attributes]
        tree = Node(COMPOSED, {"hows": [_OF_INPUT] * len(trees)}, trees)
        further.append((attribute(one["name"], one["type"]), tree))
    return scopes.project(below, kept + further)


def _inputs_of(made: Derivation, name: str) -> frozenset[str]:
    return frozenset((made.pairs[name],)) if name in made.pairs else made.inputs


def _named_in(params: Any) -> Derivation:
    """Return what a message says of a transformer: the parameters that the program set."""
    values = {name: one for name, one in params.params.items() if name.endswith(("Col", "Cols"))}
    named = {one.string for name, one in values.items() if name in {"inputCol", "featuresCol"}}
    return Derivation(frozenset(named))


def give(binder: Any, plan_id: int, found: Bound) -> None:
    """Note what a model gives to the columns of a relation that it made."""
    notes = binder.sources.models
    made = notes.made.get(plan_id)
    if made is None or made.model is None:
        return
    before = {one.id for one in binder.plan_ids.get(made.base, ())}
    for one in found.attributes:
        if one.id not in before:
            given = predictions.source(made.model, one.name, binder.leaves, binder.sources.training)
            notes.give(one.id, given)
