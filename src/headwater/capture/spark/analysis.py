"""Analyse a query: its inputs, the lineage of its columns, its schema. This module alone bounds that work.

A plan that is too large to read yields tables without columns and a warning, without a wait.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import msgspec

from headwater.capture.spark import columns, datasets, plan, schema
from headwater.capture.spark import dependencies as deps
from headwater.capture.spark.config import Config
from headwater.capture.spark.cuts import CutPlans
from headwater.capture.spark.datasets import Catalog, Dataset, Leaves
from headwater.capture.spark.dependencies import Dependencies, TooMany
from headwater.capture.spark.plan import Node
from headwater.capture.spark.recorded import QueryFacts
from headwater.capture.spark.relation import Column, EarlierColumn, leaf_key

Within = Callable[[Node], tuple[Mapping[int, Dependencies], Leaves]]
_MOST_LEAVES = 200
_CHARACTERS = 3
"""A character of the text by which a plan is measured that the driver does not write itself, in the unit of `Config.largest_plan`."""
UNSEEN = "the columns of an RDD are not seen, and of its inputs only files are"


class Analysis(msgspec.Struct):
    """The inputs and outputs of a query. `opaque`: a part has an unknown source, an RDD."""

    leaves: Leaves
    columns: list[Column] = []
    rows: Dependencies = {}
    fields: list[dict[str, Any]] = []
    warnings: list[str] = []
    opaque: bool = False
    lineage: dict[str, Any] | msgspec.UnsetType | None = msgspec.UNSET  # the facet, once it is made
    driver: tuple[list[dict[str, Any]], str] | None = None  # the entries of a driver's read, once they are made

    def gives(self, partitions: Sequence[str]) -> None:
        """Add the partition columns that the statement sets to a value."""
        made = {column.name.lower() for column in self.columns}
        self.columns += [Column(-1, name, {}) for name in partitions if made and name.lower() not in made]

    def renames(self, names: Sequence[str]) -> None:
        """Give the columns other names, as a view does."""
        if len(names) == len(self.columns):
            self.columns = [
                msgspec.structs.replace(column, name=name) for column, name in zip(self.columns, names, strict=True)
            ]
        if len(names) == len(self.fields):
            self.fields = [field | {"name": name} for field, name in zip(self.fields, names, strict=True)]

    def rewrites(self, table: Dataset, fields: list[dict[str, Any]], added: Collection[str] = ()) -> None:
        """Describe a rewrite of some rows of a table that it reads: the columns are the table's, and other rows keep their values.

        `added`: columns that the table gets by this, of which no row has a value before.
        """
        made = {column.name: column for column in self.columns}
        own = [leaf for leaf, some in self.leaves.by_key.items() if any(one.key == table.key for one in some)]
        leaf = own[0] if own else ""
        if added:
            self.rows = deps.without(self.rows, own, added)
            for name, column in made.items():
                depends = deps.without(column.depends, own, added)
                made[name] = msgspec.structs.replace(column, depends=depends)
        self.fields = fields
        self.columns = [
            each
            if each.name in added
            else Column(each.id, each.name, deps.merged([each.depends, deps.of(deps.Source(leaf, each.name))]))
            for each in (made.get(name, Column(-1, name, {})) for name in (str(field["name"]) for field in fields))
        ]

    def extends(self, earlier: "Analysis") -> "Analysis":
        """Return the analysis of a stream whose micro-batches have both: a source without new data is not in the plan of a batch.

        The richer one of the two, where one has all inputs of the other, so that the result does not grow with each batch.
        """
        own, before = ({one.key for one in each.inputs} for each in (self, earlier))
        if before <= own:
            return self
        if own <= before:
            return earlier
        made = {column.name: column for column in earlier.columns}
        for column in self.columns:
            known = made.get(column.name)
            depends = deps.merged([known.depends, column.depends]) if known is not None else column.depends
            fields = deps.merged_fields([known.fields, column.fields]) if known is not None else column.fields
            made[column.name] = Column(column.id, column.name, depends, fields)
        leaves = msgspec.structs.replace(
            self.leaves,
            by_key={**earlier.leaves.by_key, **self.leaves.by_key},
            ids={**earlier.leaves.ids, **self.leaves.ids},
        )
        return Analysis(
            leaves,
            list(made.values()),
            deps.merged([earlier.rows, self.rows]),
            self.fields or earlier.fields,
            list(dict.fromkeys([*earlier.warnings, *self.warnings])),
            self.opaque or earlier.opaque,
        )

    @property
    def inputs(self) -> list[Dataset]:
        return self.leaves.datasets()


def analyse(
    jquery: Any,
    query: Node,
    catalog: Catalog,
    cuts: CutPlans,
    *,
    output: bool = True,
    inner: Sequence[Any] = (),
    within: Within | None = None,
) -> Analysis:
    """Analyse a query. `query` is the tree of `jquery`; `cuts`: plans that end where it begins; `output`: also its schema;
    `inner`: plans that it hides; `within`: what models give to columns of a plan, by ExprId.
    """
    found = datasets.leaves(jquery, query, catalog, inner, cuts.begins)
    carried: dict[int, EarlierColumn] = {}
    for number, cut in cuts.within(query).items():
        carried[number] = cut.column
        found.by_key = {**cut.leaves.by_key, **found.by_key}
        found.ids = {**cut.leaves.ids, **found.ids}
    predicted, sources = within(query) if within else ({}, Leaves())
    found.by_key = {**sources.by_key, **found.by_key}
    found.ids = {**sources.ids, **found.ids}
    result = Analysis(found, opaque=any(_opaque(node, carried) for node in query.walk()))
    if result.opaque and any(node.kind in datasets.RDDS and leaf_key(node) in found.by_key for node in query.walk()):
        result.warnings.append(UNSEEN)
    if output:
        result.fields = schema.json_fields(jquery.schema())
    try:
        made = columns.resolve(query, carried, predicted)
        result.columns, result.rows = made.columns, made.rows
    except RecursionError:
        result.warnings.append("column lineage left out: an expression, or a query in a query, is nested too deeply")
    except TooMany as reason:
        result.warnings.append(f"column lineage left out: {reason}")
    return result


def _opaque(node: Node, carried: Mapping[int, EarlierColumn]) -> bool:
    if node.kind not in columns.OPAQUE:
        return False
    return not all(attribute.expression_id in carried for attribute in node.attributes("output"))


def tree_of(jplan: Any, config: Config, facts: QueryFacts | None = None) -> tuple[Node | None, str]:
    """Return a plan's tree; or None, and why it has none: the plan is too large, or holds something that Spark cannot write.

    `facts`: of the query, if they came along.
    """
    if facts is not None and facts.body:
        return (facts.tree(), "") if facts.is_whole else (None, f"{facts.body} nodes of the plan were read")
    size = len(str(jplan.toString()))
    if size > config.largest_plan // _CHARACTERS:
        return None, f"the plan's text has {size} characters, the limit is {config.largest_plan // _CHARACTERS}"
    try:
        return plan.parse(str(jplan.toJSON())), ""
    except Exception as error:  # noqa: BLE001 - py4j raises its own kinds; the run says it
        return None, f"Spark does not write the plan as JSON: {type(error).__name__}: {str(error)[:200]}"


def whole(sources: list[Dataset]) -> Analysis:
    """Return datasets that a command reads whole, without a look at their columns."""
    found = Leaves({"sources": sources})
    found.coverage.through_function += 1
    return Analysis(found, opaque=True)


def tables_only(plans: Sequence[Any], catalog: Catalog, why: str) -> Analysis:
    """Return only the datasets that the leaves of plans name, without columns. `why`: the plans have no text."""
    found = Leaves()
    leaves = [leaf for jplan in plans for leaf in datasets._items(jplan.collectLeaves())]
    for i, leaf in enumerate(leaves[:_MOST_LEAVES]):
        if places := datasets._datasets(leaf, datasets.bare(leaf), catalog, found.coverage):
            found.by_key[f"leaf-{i}"] = places
            found.coverage.through_function += 1
    if len(leaves) > _MOST_LEAVES:
        found.coverage.limit(f"of {len(leaves)} leaves of a plan without columns {_MOST_LEAVES} were looked at")
    return Analysis(found, warnings=[f"column lineage left out: {why}"])
