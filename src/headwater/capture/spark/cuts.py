"""Remember the columns of plans that Spark cuts off: a checkpoint or a micro-batch of `foreachBatch` leaves a leaf, whose RDD says nothing of them.

The leaf has the ExprIds of the plan before it. Where it is joined with itself, a copy of it has others, and the same RDD.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from headwater.capture.spark import crossing
from headwater.capture.spark.dependencies import Dependencies
from headwater.capture.spark.plan import Node
from headwater.capture.spark.relation import Column, EarlierColumn

if TYPE_CHECKING:
    from headwater.capture.spark.datasets import Leaves

_MOST_COLUMNS = 20_000
_MOST_LEAVES = 1000


class Cut(msgspec.Struct, frozen=True):
    """A column of a plan that was cut off, and the datasets of that plan."""

    column: EarlierColumn
    leaves: "Leaves"


class CutPlans:
    """The columns of the plans of one SparkContext that were cut off, by ExprId."""

    def __init__(self) -> None:
        self._columns: OrderedDict[int, Cut] = OrderedDict()
        # ExprIds of a leaf's columns, by the number of its RDD.
        self._by_rdd: OrderedDict[int, list[int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._columns)

    def remember(self, columns: Sequence[Column], rows: Dependencies, leaves: "Leaves") -> None:
        """Note the columns of a plan whose output begins another one, and what decides about its rows."""
        for column in columns:
            self._columns[column.id] = Cut(EarlierColumn(column.depends, column.fields, rows), leaves)
        while len(self._columns) > _MOST_COLUMNS:
            self._columns.popitem(last=False)

    def begins(self, leaf: Any, node: Node) -> bool:
        """Return whether a leaf is the rest of a plan that was cut off, or a copy of one, whose columns are then known too."""
        numbers = [attribute.expression_id for attribute in node.attributes("output")]
        if not self._columns or not numbers:
            return False
        known = numbers[0] in self._columns
        rdd = crossing.ask_optional(lambda: int(leaf.rdd().id()), lambda _why: None)
        if rdd is None:
            return known
        if known:
            self._by_rdd[rdd] = numbers
            while len(self._by_rdd) > _MOST_LEAVES:
                self._by_rdd.popitem(last=False)
            return True
        earlier = self._by_rdd.get(rdd, [])
        if len(earlier) != len(numbers):
            return False
        self._columns.update(
            (new, self._columns[old]) for new, old in zip(numbers, earlier, strict=True) if old in self._columns
        )
        return numbers[0] in self._columns

    def within(self, query: Node) -> dict[int, Cut]:
        """Return the columns of a plan that are known, by ExprId."""
        if not self._columns:
            return {}
        found = (
            attribute.expression_id
            for node in query.walk()
            if node.kind == "LogicalRDD"
            for attribute in node.attributes("output")
        )
        return {number: self._columns[number] for number in found if number in self._columns}
