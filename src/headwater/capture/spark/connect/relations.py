"""Turn a relation of a client's plan into the tree that `capture.spark.columns` reads, with the datasets of its leaves.

The client's plan has names where Spark's analyzer has columns: they are found here, with the schemas of the leaves from the server.
A relation that is not known makes all its columns of all columns below it, and the run says so.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from headwater.capture.spark.connect import expressions, joins, rewrites, shapes, statements, transforms, versions
from headwater.capture.spark.connect import scope as scopes
from headwater.capture.spark.connect.expressions import GENERATED, Named, Scope
from headwater.capture.spark.connect.scope import Attribute, Bound, alias, attribute, literal
from headwater.capture.spark.connect.server import NoAnswer
from headwater.capture.spark.connect.sources import Sources, View
from headwater.capture.spark.connect.versions import LATEST, Asked
from headwater.capture.spark.datasets import Dataset, Leaves
from headwater.capture.spark.expressions import COMPOSED
from headwater.capture.spark.plan import Node

_DEEPEST = 200
# Same columns, other rows or none: nothing about them is a column's.
_PASSING = frozenset(
    "limit offset tail sample repartition repartition_by_expression hint with_watermark collect_metrics show_string html_string".split()
)


class Binder:
    """The relations of one command. `warnings`: what could not be found out; `opaque`: a part has a source that is not known."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.server = sources.server
        self.leaves = Leaves()
        self.warnings: dict[str, None] = {}
        self.opaque = False
        self.plan_ids: dict[int, list[Attribute]] = {}
        self.subqueries: dict[int, Any] = {}  # relations, which are bound where an expression asks for one
        self.outer: list[Attribute] = []  # columns of the queries around the one that is being bound
        self.views: dict[str, Bound] = {}  # names that hold for this command alone
        self.graph: Callable[[list[str]], View | None] = lambda _: None  # datasets of a pipeline
        self.deciding: list[Node] = []  # of texts that are generators: what decides about rows
        self.depth = 0
        self._reading: set[str] = set()  # texts of views that are being read

    def warn(self, text: str) -> None:
        self.warnings.setdefault(text[:500])
        self.opaque = True

    def bind(self, relation: Any) -> Bound:
        """Return the resolved relation."""
        self.depth += 1
        try:
            kind = str(relation.WhichOneof("rel_type"))
            if self.depth > _DEEPEST:
                self.warn(f"the plan is more than {_DEEPEST} relations deep")
                return self._unknown(relation)
            inner: Any = getattr(relation, kind, None)
            if kind in _PASSING:
                found = self.bind(inner.input)
            elif kind in _HANDLERS:
                found = _HANDLERS[kind](self, inner, relation)
            else:
                found = self._other(inner, relation, kind)
            if relation.HasField("common") and relation.common.plan_id is not None:
                self.plan_ids[relation.common.plan_id] = found.attributes
                transforms.give(self, relation.common.plan_id, found)
            return found
        finally:
            self.depth -= 1

    # --- pieces

    def scope(self, *below: Bound) -> Scope:
        attributes = [one for bound in below for one in bound.attributes]
        return Scope(attributes, self.plan_ids, self._subquery, self._text, self.warn, outer=self.outer)

    def _text(self, text: str, attributes: list[Attribute]) -> list[Named]:
        doubts: list[str] = []
        found, rows = statements.expression(text, attributes, doubts.append)
        if doubts and self.outer:  # a text may name columns of the query around it
            doubts = []
            found, rows = statements.expression(text, [*attributes, *self.outer], doubts.append)
        for doubt in doubts:
            self.warn(doubt)
        self.deciding += rows
        return found

    def _subquery(self, plan_id: int, around: list[Attribute]) -> Bound | None:
        """Return the relation of a subquery in an expression over columns `around`; None if the command has none of this id."""
        relation = self.subqueries.get(plan_id)
        return self.within(relation, around) if relation is not None else None

    def within(self, relation: Any, around: list[Attribute]) -> Bound:
        """Return a relation that may use columns `around` it."""
        before = self.outer, self.deciding
        self.outer, self.deciding = [*around, *self.outer], []
        try:
            return self.bind(relation)
        finally:
            self.outer, self.deciding = before

    def values(self, listed: Any, scope: Scope) -> list[Named]:
        return [named for one in listed for named in expressions.values(one, scope)]

    def projected(self, below: Bound, made: list[Named]) -> Bound:
        """Return a projection; a generator in it is a relation below."""
        together = {id(tree): tree for _, tree in made if tree.kind == GENERATED}
        node = shapes.in_windows(below, [tree for _, tree in made]).node
        for tree in together.values():
            node = Node("Generate", dict(tree.fields), [node])
        if self.deciding:
            node = Node(COMPOSED, {"rows": self.deciding}, [node])
            self.deciding = []
        plain: list[Named] = []
        for key, generated in together.items():
            outputs = generated.attributes("generatorOutput")
            same = [one for one, tree in made if id(tree) == key]
            for one, output in zip(same, outputs, strict=False):
                output.fields["exprId"] = {"id": one.id}
        for one, tree in made:
            plain.append((one, one.node if tree.kind == GENERATED else tree))
        return scopes.project(Bound(node, []), plain)

    def schema(self, relation: Any) -> list[dict[str, Any]]:
        """Return the columns as the server resolves them, or none with a warning."""
        try:
            return self.server.schema(relation)
        except NoAnswer as problem:
            self.warn(f"the server does not tell the columns: {_first_line(problem)}")
            return []

    def _unknown(self, relation: Any) -> Bound:
        """Return a relation whose columns are known and their sources are not."""
        self.leaves.coverage.miss(str(relation.WhichOneof("rel_type")), next(reversed(self.warnings), "not read"))
        return scopes.leaf([attribute(one["name"], one["type"]) for one in self.schema(relation)], "LogicalRDD")

    def opaque_of(self, below: Bound, names: list[tuple[str, Any]], kind: str = "MapInPandas", **fields: Any) -> Bound:
        made = [attribute(name, type_) for name, type_ in names]
        function = Node("PythonUDF", {}, [one.node for one in below.attributes])
        node = Node(kind, {"output": [one.node for one in made], "functionExpr": [function], **fields}, [below.node])
        return Bound(node, made)

    def _other(self, inner: Any, relation: Any, kind: str) -> Bound:
        """Resolve a relation that is not known: each column is made of all those below."""
        below = [
            self.bind(part)
            for descriptor, value in (inner.ListFields() if inner is not None else ())
            if descriptor.message_type is not None and descriptor.message_type.name == "Relation"
            for part in ([value] if hasattr(value, "WhichOneof") else value)
        ]
        if kind in _SOURCELESS:
            return scopes.leaf([attribute(one["name"], one["type"]) for one in self.schema(relation)], "LocalRelation")
        if not below:
            self.warn(f"a relation of the kind {kind} is not read")
            return self._unknown(relation)
        joined = below[0]
        if len(below) > 1:
            joined = Bound(Node("Zip", {}, [one.node for one in below]), [a for one in below for a in one.attributes])
        names = [(one["name"], one["type"]) for one in self.schema(relation)]
        return self.opaque_of(joined, names)

    # --- leaves

    def _read(self, inner: Any, relation: Any) -> Bound:
        if inner.WhichOneof("read_type") == "named_table":
            named = inner.named_table
            return self.table(scopes.split(named.unparsed_identifier), relation, Asked(named.options))
        places = map(Asked(inner.data_source.options).of, self.sources.read(inner.data_source, inner.is_streaming))
        return self._leaf(relation, list(places), ())

    def _leaf(self, relation: Any, datasets: list[Dataset], qualifier: tuple[str, ...]) -> Bound:
        columns = self.schema(relation)
        bound = scopes.leaf([attribute(one["name"], one["type"], qualifier) for one in columns])
        self.add(bound, datasets)
        return bound

    def add(self, bound: Bound, datasets: list[Dataset]) -> None:
        """Add the datasets of a leaf, whose columns are those of `bound`."""
        fields = scopes.schema_fields(bound.attributes)
        found = [msgspec.structs.replace(one, fields=fields) for one in datasets]
        if not found:
            self.opaque = True
            bound.node.kind = "LogicalRDD"
            self.leaves.coverage.miss("a source", "it names no place")
            return
        self.leaves.coverage.traced += bool(bound.attributes)
        key = str(bound.attributes[0].id) if bound.attributes else f"leaf-{attribute('').id}"
        self.leaves.by_key = {**self.leaves.by_key, key: found}

    def table(self, parts: list[str], relation: Any = None, version: Asked = LATEST) -> Bound:
        """Return a table, a view, or a file as SQL names it."""
        name = parts[-1]
        view = (self.views.get(name) if len(parts) == 1 else None) or self.graph(parts) or self.sources.view(parts)
        if view is not None:
            return shapes.qualified(self._named(view), (name,))
        asked = relation if relation is not None else self.sources.relation(parts)
        if place := self.sources.path(parts):
            return self._leaf(asked, list(map(version.of, place)), ())
        try:
            found = self.sources.table(parts)
        except NoAnswer as problem:
            self.warn(f"the table {'.'.join(parts)} was not found out: {_first_line(problem)}")
            return self._unknown(asked)
        if found is None:
            self.warn(f"the table {'.'.join(parts)} is not there any more")
            return self._unknown(asked)
        if found.text:
            return shapes.qualified(self._view(found.text, asked, found.columns), tuple(found.identity))
        return self._leaf(asked, [version.of(found.dataset)], tuple(found.identity))

    def _carry(self, view: Any) -> None:
        if not isinstance(view, Bound):
            self.leaves.by_key = {**view.leaves.by_key, **self.leaves.by_key}
            self.leaves.coverage.add(view.leaves.coverage)
            self.opaque = self.opaque or view.opaque
            for text in view.warnings:
                self.warnings.setdefault(text)

    def _named(self, view: Any) -> Bound:
        """Return the relation of a view. One that SQL made is read again: another table may have taken a name in it since."""
        text = "" if isinstance(view, Bound) else view.text
        if not text or text in self._reading:
            self._carry(view)
            return view if isinstance(view, Bound) else Bound(view.bound.node, view.bound.attributes)
        self._reading.add(text)
        tables = self.tables(statement := statements.parse(text))
        flow = next(one for one in reversed(statements.resolve(statement, tables).flows) if one.target is not None)
        self._reading.discard(text)
        return statements.select(flow, tables, self.warn)

    def _view(self, text: str, relation: Any, columns: list[str]) -> Bound:
        """Return what a stored view's text selects, under the names of the view."""
        bound = self.query(text)
        names = [one["name"] for one in self.schema(relation)] or columns
        if len(names) == len(bound.attributes):
            return shapes.renamed(bound, names)
        return bound

    def query(self, text: str, relation: Any = None) -> Bound:
        """Return the relation that a text of SQL selects."""
        try:
            statement = statements.parse(text)
        except statements.NoEngine as problem:
            self.warn(str(problem))
            return self._unknown(relation) if relation is not None else scopes.leaf([], "LogicalRDD")
        tables = self.tables(statement)
        statement = statements.resolve(statement, tables)
        flow = next((one for one in reversed(statement.flows) if one.target is None), None)
        if flow is None:
            self.warn(f"SQL: not understood: {text[:200]}")
            return self._unknown(relation) if relation is not None else scopes.leaf([], "LogicalRDD")
        statements.complain(statement, self.warn)
        return statements.select(flow, tables, self.warn)

    def tables(self, statement: Any) -> dict[tuple[str, ...], Bound]:
        """Return the tables that a statement reads, by its names for them."""
        names = dict.fromkeys([*statement.reads, *(name for flow in statement.flows for name in flow.reads)])
        version = versions.asked_in(statement.text)
        return {name: self.table(self.sources.spelled(name, statement.text), version=version) for name in names}

    def _sql(self, inner: Any, relation: Any) -> Bound:
        return self.query(inner.query, relation)

    def _with_relations(self, inner: Any, relation: Any) -> Bound:
        for reference in inner.references:
            if reference.WhichOneof("rel_type") == "subquery_alias":
                self.views[reference.subquery_alias.alias] = self.bind(reference)
            if reference.HasField("common"):
                self.subqueries[reference.common.plan_id] = reference
        return self.bind(inner.root)

    def _remote(self, inner: Any, relation: Any) -> Bound:
        found = self.sources.checkpoint(inner.relation_id)
        if found is None:
            self.warn("a cached relation was made before capture began")
            return self._unknown(relation)
        self._carry(found)
        return Bound(found.bound.node, found.bound.attributes)

    # --- one relation below

    def _project(self, inner: Any, relation: Any) -> Bound:
        below = self.bind(inner.input) if inner.HasField("input") else scopes.leaf([], "OneRowRelation")
        return self.projected(below, self.values(inner.expressions, self.scope(below)))

    def _filter(self, inner: Any, relation: Any) -> Bound:
        below = self.bind(inner.input)
        condition = expressions.value(inner.condition, self.scope(below))
        self.deciding = []
        return Bound(Node("Filter", {"condition": [condition]}, [below.node]), below.attributes)

    def _sort(self, inner: Any, relation: Any) -> Bound:
        below = self.bind(inner.input)
        order = [expressions.sort_order(one, self.scope(below)) for one in inner.order]
        return Bound(Node("Sort", {"order": order}, [below.node]), below.attributes)

    def _with_columns(self, inner: Any, relation: Any) -> Bound:
        below = self.bind(inner.input)
        scope = self.scope(below)
        made: dict[str, list[Named]] = {}
        for one in inner.aliases:
            for named in expressions.aliased(one, scope):
                made[named[0].name.lower()] = [named]
        kept: list[Named] = []
        for one in below.attributes:
            kept += made.pop(one.name.lower(), []) or [(one, one.node)]
        return self.projected(below, kept + [named for some in made.values() for named in some])

    def _with_columns_renamed(self, inner: Any, relation: Any) -> Bound:
        below = self.bind(inner.input)
        renamed = {old.lower(): new for old, new in inner.rename_columns_map.items()}
        for one in getattr(inner, "renames", ()):
            renamed = {
                old: (one.new_col_name if new.lower() == one.col_name.lower() else new) for old, new in renamed.items()
            }
            renamed.setdefault(one.col_name.lower(), one.new_col_name)
        return shapes.renamed(below, [renamed.get(one.name.lower(), one.name) for one in below.attributes])

    def _to_df(self, inner: Any, relation: Any) -> Bound:
        return shapes.renamed(self.bind(inner.input), list(inner.column_names))

    def _drop(self, inner: Any, relation: Any) -> Bound:
        below = self.bind(inner.input)
        gone = {name.lower() for name in inner.column_names}
        scope = Scope(below.attributes, self.plan_ids, self._subquery, self._text, lambda _: None)
        ids = {expressions.value(one, scope).expression_id for one in inner.columns}
        left = [one for one in below.attributes if one.name.lower() not in gone and one.id not in ids]
        return scopes.project(below, [(one, one.node) for one in left])

    def _deduplicate(self, inner: Any, relation: Any) -> Bound:
        below = self.bind(inner.input)
        wanted = {name.lower() for name in inner.column_names}
        keys = [one.node for one in below.attributes if inner.all_columns_as_keys or one.name.lower() in wanted]
        return Bound(Node("Deduplicate", {"keys": keys}, [below.node]), below.attributes)

    def _subquery_alias(self, inner: Any, relation: Any) -> Bound:
        return shapes.qualified(self.bind(inner.input), (*inner.qualifier, inner.alias))

    def _to_schema(self, inner: Any, relation: Any) -> Bound:
        below = self.bind(inner.input)
        made: list[Named] = []
        for one in self.schema(relation):
            tree = scopes.find([one["name"]], below.attributes)
            made.append(
                (
                    attribute(one["name"], one["type"]),
                    Node("Cast", {"dataType": one["type"]}, [tree]) if tree else literal(None),
                )
            )
        return self.projected(below, made)

    def _aggregate(self, inner: Any, relation: Any) -> Bound:
        below = self.bind(inner.input)
        scope = self.scope(below)
        keys = self.values(inner.grouping_expressions, scope)
        for grouping in getattr(inner, "grouping_sets", ()):
            for named in self.values(grouping.grouping_set, scope):
                if named[0].id not in {one.id for one, _ in keys}:
                    keys.append(named)
        made = self.values(inner.aggregate_expressions, scope)
        groupings = [tree for _, tree in keys]
        if inner.HasField("pivot"):
            column = expressions.value(inner.pivot.col, scope)
            groupings.append(column)
            names = [one["name"] for one in self.schema(relation)][len(keys) :]
            picked = [shapes.of_one_value(tree, column) for _, tree in made]
            made = [(attribute(name), picked[at % len(picked)]) for at, name in enumerate(names)] if picked else []
        columns = [*keys, *made]
        below = shapes.in_windows(below, [*groupings, *(tree for _, tree in made)])
        trees = [tree if tree.expression_id == one.id else alias(tree, one) for one, tree in columns]
        node = Node("Aggregate", {"groupingExpressions": groupings, "aggregateExpressions": trees}, [below.node])
        return Bound(node, [one for one, _ in columns])


def _first_line(problem: Exception) -> str:
    return str(problem).strip().split("\n", 1)[0][:300]


_SOURCELESS = frozenset(
    {"local_relation", "cached_local_relation", "chunked_cached_local_relation", "range", "catalog"}
)
_HANDLERS: dict[str, Callable[[Binder, Any, Any], Bound]] = {
    "read": Binder._read,
    "sql": Binder._sql,
    "with_relations": Binder._with_relations,
    "cached_remote_relation": Binder._remote,
    "project": Binder._project,
    "filter": Binder._filter,
    "sort": Binder._sort,
    "with_columns": Binder._with_columns,
    "with_columns_renamed": Binder._with_columns_renamed,
    "to_df": Binder._to_df,
    "drop": Binder._drop,
    "deduplicate": Binder._deduplicate,
    "subquery_alias": Binder._subquery_alias,
    "to_schema": Binder._to_schema,
    "aggregate": Binder._aggregate,
    "unpivot": rewrites.unpivot,
    "ml_relation": transforms.ml,
    "fill_na": rewrites.na_fill,
    "replace": rewrites.na_replace,
    "drop_na": rewrites.na_drop,
    "map_partitions": rewrites.map_partitions,
    "group_map": rewrites.group_map,
    "apply_in_pandas_with_state": rewrites.group_map,
    "co_group_map": rewrites.co_group_map,
    "join": joins.join,
    "lateral_join": joins.lateral_join,
    "as_of_join": joins.as_of_join,
    "set_op": joins.set_operation,
}
