"""Compute the column lineage of a logical plan's output. Pure: a tree of nodes in, dependencies out.

Dependencies of rows (JOIN, FILTER, GROUP_BY, SORT) are collected once for the whole output; those of one column stay with it.
Choices: UNION goes by position; both sides of EXCEPT and INTERSECT decide which rows stay (FILTER); DISTINCT and dropDuplicates group by
their keys (GROUP_BY); LIMIT and sampling change no column. Code Spark cannot see into (pandas functions, typed maps, scripts) is
TRANSFORMATION of all its inputs, and says that its inside is not seen. Leaves are keys that `datasets` resolves.
"""

from collections.abc import Mapping

import msgspec

from headwater.capture.spark import dependencies as deps
from headwater.capture.spark import expressions
from headwater.capture.spark.dependencies import Dependencies, Fields, Source, TooMany
from headwater.capture.spark.plan import Node, object_name

LIMIT = 200_000
_LEFT_ONLY = frozenset({"LeftSemi", "LeftAnti"})
# Python allows 1000 frames, and a node takes three.
_DEEPEST = 250
# Passes around a recursive query per column: each adds at least one kind of dependency.
_KINDS = 9


class Column(msgspec.Struct, gc=False):
    """A column of a relation: ExprId, name, dependencies; `fields`: of a struct that the query makes."""

    id: int
    name: str
    depends: Dependencies
    fields: Fields | None = None


class Relation(msgspec.Struct, gc=False):
    """The output of a node: its columns in order, and the dependencies of its rows."""

    columns: list[Column]
    rows: Dependencies


def leaf_key(node: Node) -> str:
    """Return a leaf's key: the ExprId of its first column (the leaf of a relation has the same ids everywhere), or empty."""
    columns = node.attributes("output")
    return str(columns[0].expression_id) if columns else ""


def resolve(
    plan: Node,
    known: Mapping[int, Dependencies] | None = None,
    predicted: Mapping[int, Dependencies] | None = None,
) -> Relation:
    """Return the relation that `plan` makes. `known`: earlier resolved columns, by ExprId, for plans that Spark cut off (checkpoints, micro-batches);
    `predicted`: what models give to columns that the plan makes.

    Raises TooMany beyond the limits.
    """
    return _Walk(known or {}, predicted or {}).relation(plan, None)


class _Scope:
    """Columns visible to an expression: those of the children, then those of the outer query (correlated subqueries)."""

    def __init__(self, columns: list[Column], outer: "_Scope | None") -> None:
        self.columns = {column.id: column.depends for column in columns}
        self.made = {column.id: column.fields for column in columns if column.fields}
        self.outer = outer

    def fields(self, expression_id: int) -> Fields | None:
        """Return the fields of a column, if the query makes it as a struct."""
        found = self.made.get(expression_id)
        return found if found or self.outer is None else self.outer.fields(expression_id)

    def __call__(self, expression_id: int) -> Dependencies:
        found = self.columns.get(expression_id)
        if found is not None:
            return found
        return self.outer(expression_id) if self.outer else {}


class _Walk:
    def __init__(self, known: Mapping[int, Dependencies], predicted: Mapping[int, Dependencies]) -> None:
        self.known = known
        self.predicted = predicted
        self.ctes: dict[int, Relation] = {}
        self.loops: dict[int, Relation] = {}
        self.spent = 0
        self.depth = 0

    def relation(self, node: Node, outer: _Scope | None) -> Relation:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise TooMany(f"the plan is more than {_DEEPEST} nodes deep")
        handler = _HANDLERS.get(node.kind, _Walk._other)
        result = handler(self, node, outer)
        self.depth -= 1
        self.spent += sum(len(column.depends) for column in result.columns) + len(result.rows)
        if self.spent > LIMIT:
            raise TooMany(f"the plan has more than {LIMIT} column dependencies")
        return result

    # --- pieces

    def _below(self, node: Node, outer: _Scope | None) -> Relation:
        if not node.children:
            return Relation([], {})
        if len(node.children) == 1:
            return self.relation(node.children[0], outer)
        parts = [self.relation(child, outer) for child in node.children]
        return Relation([column for part in parts for column in part.columns], deps.merged(part.rows for part in parts))

    def _subquery(self, scope: _Scope) -> expressions.Subquery:
        def subquery(plan: Node) -> tuple[list[Dependencies], Dependencies]:
            inner = self.relation(plan, scope)
            return [column.depends for column in inner.columns], inner.rows

        return subquery

    def _value(self, expression: Node, scope: _Scope) -> Dependencies:
        return expressions.value(expression, scope, self._subquery(scope), scope.fields)

    def _fields(self, expression: Node, scope: _Scope) -> Fields | None:
        return expressions.fields(expression, scope, self._subquery(scope), scope.fields)

    def _named(self, trees: list[Node], scope: _Scope) -> list[Column]:
        return [
            Column(
                tree.expression_id,
                tree.name,
                self._predicted(tree, self._value(tree, scope)),
                self._fields(tree, scope),
            )
            for tree in trees
        ]

    def _predicted(self, tree: Node, depends: Dependencies) -> Dependencies:
        given = self.predicted.get(tree.expression_id)
        return deps.merged([depends, given]) if given else depends

    def _deciding(self, trees: list[Node], scope: _Scope, subtype: str) -> Dependencies:
        return deps.deciding(deps.merged(self._value(tree, scope) for tree in trees), subtype)

    # --- kinds of nodes

    def _leaf(self, node: Node, _outer: _Scope | None) -> Relation:
        key = leaf_key(node)
        columns = []
        for attribute in node.attributes("output"):
            known = self.known.get(attribute.expression_id)
            if known is None:
                known = deps.of(Source(key, attribute.name)) if node.kind not in _SOURCELESS else {}
            columns.append(Column(attribute.expression_id, attribute.name, self._predicted(attribute, known)))
        return Relation(columns, {})

    def _project(self, node: Node, outer: _Scope | None) -> Relation:
        below = self._below(node, outer)
        return Relation(self._named(node.trees("projectList"), _Scope(below.columns, outer)), below.rows)

    def _filter(self, node: Node, outer: _Scope | None) -> Relation:
        below = self._below(node, outer)
        decided = self._deciding(node.trees("condition"), _Scope(below.columns, outer), deps.FILTER)
        return Relation(below.columns, deps.merged([below.rows, decided]))

    def _join(self, node: Node, outer: _Scope | None) -> Relation:
        left = self.relation(node.children[0], outer)
        lateral = _Scope(left.columns, outer) if node.kind == "LateralJoin" else outer
        if node.kind == "LateralJoin":
            plans = [plan for tree in node.trees("right") if (plan := tree.nested("plan"))]
            right = self.relation(plans[0], lateral) if plans else Relation([], {})
        else:
            right = self.relation(node.children[1], lateral)
        scope = _Scope(left.columns + right.columns, outer)
        decided = self._deciding(node.trees("condition"), scope, deps.JOIN)
        kind = object_name(node.fields.get("joinType"))
        columns = left.columns if kind in _LEFT_ONLY else left.columns + right.columns
        return Relation(columns, deps.merged([left.rows, right.rows, decided]))

    def _aggregate(self, node: Node, outer: _Scope | None) -> Relation:
        below = self._below(node, outer)
        scope = _Scope(below.columns, outer)
        decided = self._deciding(node.trees("groupingExpressions"), scope, deps.GROUP_BY)
        return Relation(self._named(node.trees("aggregateExpressions"), scope), deps.merged([below.rows, decided]))

    def _expand(self, node: Node, outer: _Scope | None) -> Relation:
        """Resolve grouping sets and UNPIVOT. `projections` is null in Spark's JSON; `datasets` adds the ids that each output column is made from,
        and whether they are bare."""
        below = self._below(node, outer)
        by_id = {column.id: column for column in below.columns}
        by_name = {column.name: column for column in below.columns}
        made_of = node.fields.get("headwater_made_of")
        columns = []
        for position, attribute in enumerate(node.attributes("output")):
            if isinstance(made_of, list) and position < len(made_of):
                depends = deps.merged(
                    by_id[i].depends if bare else deps.strengthened(by_id[i].depends, deps.TRANSFORMATION)
                    for i, bare in made_of[position]
                    if i in by_id
                )
            else:
                found = by_id.get(attribute.expression_id) or by_name.get(attribute.name)
                depends = found.depends if found else {}
            columns.append(Column(attribute.expression_id, attribute.name, depends))
        return Relation(columns, below.rows)

    def _window(self, node: Node, outer: _Scope | None) -> Relation:
        below = self._below(node, outer)
        added = self._named(node.trees("windowExpressions"), _Scope(below.columns, outer))
        return Relation(below.columns + added, below.rows)

    def _union(self, node: Node, outer: _Scope | None) -> Relation:
        parts = [self.relation(child, outer) for child in node.children]
        columns = [
            Column(
                first.id,
                first.name,
                deps.merged(part.columns[i].depends for part in parts if i < len(part.columns)),
                deps.merged_fields(part.columns[i].fields for part in parts if i < len(part.columns)),
            )
            for i, first in enumerate(parts[0].columns)
        ]
        return Relation(columns, deps.merged(part.rows for part in parts))

    def _set_difference(self, node: Node, outer: _Scope | None) -> Relation:
        left, right = (self.relation(child, outer) for child in node.children)
        decided = deps.deciding(deps.merged(column.depends for column in left.columns + right.columns), deps.FILTER)
        return Relation(left.columns, deps.merged([left.rows, right.rows, decided]))

    def _sort(self, node: Node, outer: _Scope | None) -> Relation:
        below = self._below(node, outer)
        decided = self._deciding(node.trees("order"), _Scope(below.columns, outer), deps.SORT)
        return Relation(below.columns, deps.merged([below.rows, decided]))

    def _deduplicate(self, node: Node, outer: _Scope | None) -> Relation:
        below = self._below(node, outer)
        if node.kind == "Distinct":
            keys = deps.deciding(deps.merged(column.depends for column in below.columns), deps.GROUP_BY)
        else:
            keys = self._deciding(node.trees("keys"), _Scope(below.columns, outer), deps.GROUP_BY)
        return Relation(below.columns, deps.merged([below.rows, keys]))

    def _generate(self, node: Node, outer: _Scope | None) -> Relation:
        below = self._below(node, outer)
        scope = _Scope(below.columns, outer)
        made = deps.merged(self._value(tree, scope) for tree in node.trees("generator"))
        made = deps.strengthened(made, deps.TRANSFORMATION)
        added = [Column(out.expression_id, out.name, made) for out in node.attributes("generatorOutput")]
        generator = node.trees("generator")
        if len(generator) == 1 and generator[0].kind == "Stack" and added:  # Its first argument says how many rows.
            for place, column in enumerate(added):
                laid = [self._value(tree, scope) for tree in generator[0].children[1 + place :: len(added)]]
                column.depends = deps.strengthened(deps.merged(laid), deps.TRANSFORMATION)
            return Relation(below.columns + added, below.rows)
        if len(generator) == 1 and generator[0].kind in {"Explode", "PosExplode", "Inline"} and added:
            inner = self._fields(generator[0].children[0], scope)
            if generator[0].kind == "Inline" and inner is not None and len(inner) == len(added):
                for column, part in zip(added, inner.values(), strict=True):
                    column.depends, column.fields = deps.strengthened(part.depends, deps.TRANSFORMATION), part.inner
            elif generator[0].kind != "Inline":
                added[-1].fields = inner
        # The list decides how many rows a row becomes.
        return Relation(below.columns + added, deps.merged([below.rows, deps.deciding(made, deps.JOIN)]))

    def _with_cte(self, node: Node, outer: _Scope | None) -> Relation:
        *definitions, plan = node.children
        for definition in definitions:
            self.ctes[int(definition.fields.get("id", -1))] = self._below(definition, outer)
        return self.relation(plan, outer)

    def _cte_reference(self, node: Node, _outer: _Scope | None) -> Relation:
        defined = self.ctes.get(int(node.fields.get("cteId", -1)))
        outputs = node.attributes("output")
        if defined is None:  # A reference to the definition that is being resolved.
            return Relation([Column(out.expression_id, out.name, {}) for out in outputs], {})
        columns = [
            Column(out.expression_id, out.name, made.depends, made.fields)
            for out, made in zip(outputs, defined.columns, strict=False)
        ]
        return Relation(columns, defined.rows)

    def _union_loop(self, node: Node, outer: _Scope | None) -> Relation:
        """Resolve a recursive query: the anchor, then the step over the columns so far, until nothing changes."""
        key = int(node.fields.get("id", -1))
        anchor, step = node.children
        known = self.relation(anchor, outer)
        for _ in range(len(known.columns) * _KINDS):
            self.loops[key] = known
            added = self.relation(step, outer)
            columns = [
                Column(first.id, first.name, deps.merged([first.depends, second.depends]))
                for first, second in zip(known.columns, added.columns, strict=False)
            ]
            more = Relation(columns, deps.merged([known.rows, added.rows]))
            if more == known:
                break
            known = more
        ids = [int(found["id"]) for found in node.fields.get("outputAttrIds") or []]
        columns = [Column(i, made.name, made.depends) for i, made in zip(ids, known.columns, strict=False)]
        return Relation(columns, known.rows)

    def _loop_reference(self, node: Node, _outer: _Scope | None) -> Relation:
        found = self.loops.get(int(node.fields.get("loopId", -1)), Relation([], {}))
        outputs = node.attributes("output")
        columns = [
            Column(out.expression_id, out.name, made.depends) for out, made in zip(outputs, found.columns, strict=False)
        ]
        return Relation(columns, found.rows)

    def _opaque(self, node: Node, outer: _Scope | None) -> Relation:
        """Resolve code that Spark cannot see into: every output column depends on every input."""
        below = self._below(node, outer)
        scope = _Scope(below.columns, outer)
        asked = [tree for field in ("functionExpr", "script_input") for tree in node.trees(field)]
        given = deps.merged(self._value(tree, scope) for tree in asked)
        if not given:
            given = deps.merged(column.depends for column in below.columns)
        given = deps.unseen(given)
        outputs = node.attributes(*_OUTPUTS)
        if not outputs:
            return below
        keys = [tree for field in _GROUPINGS for tree in node.trees(field)]
        rows = deps.merged([below.rows, self._deciding(keys, scope, deps.GROUP_BY)])
        return Relation([Column(out.expression_id, out.name, given) for out in outputs], rows)

    def _other(self, node: Node, outer: _Scope | None) -> Relation:
        if not node.children:
            inner = node.nested("child") or node.nested("plan") or node.nested("query")
            return self.relation(inner, outer) if inner else self._leaf(node, outer)
        if node.attributes(*_OUTPUTS):
            # An unknown node may pass columns through (same ids) and make new ones from anything.
            made = self._opaque(node, outer)
            passed = {column.id: column for column in self._below(node, outer).columns}
            return Relation([passed.get(column.id, column) for column in made.columns], made.rows)
        return self._below(node, outer)

    def _composed_rows(self, node: Node, outer: _Scope | None) -> Relation:
        """Resolve rows about which columns decide as another engine found it."""
        below = self._below(node, outer)
        scope = _Scope(below.columns, outer)
        return Relation(
            below.columns, deps.merged([below.rows, *(self._value(tree, scope) for tree in node.trees("rows"))])
        )

    # --- rewriting some rows: MERGE, UPDATE, DELETE

    def _merge_rows(self, node: Node, outer: _Scope | None) -> Relation:
        """Resolve MERGE into a V2 table: each instruction says what a row becomes under its condition, its first child."""
        below = self._below(node, outer)
        scope = _Scope(below.columns, outer)
        kinds = ("matchedInstructions", "notMatchedInstructions", "notMatchedBySourceInstructions")
        instructions = [tree for kind in kinds for tree in node.trees(kind)]
        made = [
            [self._value(tree.children[at], scope) for at in tree.fields[field]]
            for tree in instructions
            for field in ("output", "otherOutput")
            if isinstance(tree.fields.get(field), list)
        ]
        columns = [
            Column(each.expression_id, each.name, deps.merged(row[at] for row in made if at < len(row)))
            for at, each in enumerate(node.attributes("output"))
        ]
        decided = self._deciding([tree.children[0] for tree in instructions if tree.children], scope, deps.FILTER)
        return Relation(columns, deps.merged([below.rows, decided]))

    def _delta_merge(self, node: Node, outer: _Scope | None) -> Relation:
        """Resolve MERGE into a Delta table: columns keep their values, or get those of an action."""
        target, source = (self._nested(node, field, outer) for field in ("target", "source"))
        scope = _Scope(target.columns + source.columns, outer)
        made = {column.name: [column.depends] for column in target.columns}
        conditions: list[Node] = []
        for kind in ("matchedClauses", "notMatchedClauses", "notMatchedBySourceClauses"):
            for clause in node.trees(kind):
                for child in clause.children:
                    if child.kind == "DeltaMergeAction":
                        name = str(child.fields.get("targetColNameParts")).strip("[]").split(", ")[0]
                        made.setdefault(name, []).append(self._value(child.children[0], scope))
                    else:
                        conditions.append(child)
        ids = {column.name: column.id for column in target.columns}
        columns = [Column(ids.get(name, -1), name, deps.merged(parts)) for name, parts in made.items()]
        joined = self._deciding(node.trees("condition"), scope, deps.JOIN)
        decided = self._deciding(conditions, scope, deps.FILTER)
        return Relation(columns, deps.merged([target.rows, source.rows, joined, decided]))

    def _delta_update(self, node: Node, outer: _Scope | None) -> Relation:
        """Resolve UPDATE and DELETE of a Delta table: `updateExpressions` are in the order of the table's columns."""
        target = self._nested(node, "target", outer)
        scope = _Scope(target.columns, outer)
        updates = node.trees("updateExpressions")
        columns = [
            Column(column.id, column.name, deps.merged([column.depends, *(self._value(tree, scope) for tree in trees)]))
            for column, trees in zip(
                target.columns, [[tree] for tree in updates] or [[] for _ in target.columns], strict=False
            )
        ]
        decided = self._deciding(node.trees("condition"), scope, deps.FILTER)
        return Relation(columns, deps.merged([target.rows, decided]))

    def _nested(self, node: Node, field: str, outer: _Scope | None) -> Relation:
        plan = node.nested(field)
        return self.relation(plan, outer) if plan is not None else Relation([], {})


_OUTPUTS = ("output", "serializer", "outputAttrs", "resultAttrs", "outputObjAttr")
_GROUPINGS = ("groupingAttributes", "leftAttributes", "rightAttributes")
# Leaves whose source the plan does not name.
OPAQUE = frozenset({"LogicalRDD", "ExternalRDD", "CommandResult", "LogicalQueryStage"})
# Leaves without a dataset: by the plan, nothing outside Spark feeds them.
_SOURCELESS = OPAQUE | {"LocalRelation", "OneRowRelation", "Range", "EmptyRelation"}
_HANDLERS = {
    "Project": _Walk._project,
    "Filter": _Walk._filter,
    "Join": _Walk._join,
    "AsOfJoin": _Walk._join,
    "LateralJoin": _Walk._join,
    "Aggregate": _Walk._aggregate,
    "Expand": _Walk._expand,
    "Window": _Walk._window,
    "MergeRows": _Walk._merge_rows,
    "MergeIntoCommand": _Walk._delta_merge,
    "UpdateCommand": _Walk._delta_update,
    "DeleteCommand": _Walk._delta_update,
    "Union": _Walk._union,
    expressions.COMPOSED: _Walk._composed_rows,
    "Except": _Walk._set_difference,
    "Intersect": _Walk._set_difference,
    "Sort": _Walk._sort,
    "Distinct": _Walk._deduplicate,
    "Deduplicate": _Walk._deduplicate,
    "DeduplicateWithinWatermark": _Walk._deduplicate,
    "Generate": _Walk._generate,
    "WithCTE": _Walk._with_cte,
    "CTERelationRef": _Walk._cte_reference,
    "UnionLoop": _Walk._union_loop,
    "UnionLoopRef": _Walk._loop_reference,
    "MapInPandas": _Walk._opaque,
    "MapInArrow": _Walk._opaque,
    "PythonMapInArrow": _Walk._opaque,
    "FlatMapGroupsInPandas": _Walk._opaque,
    "FlatMapGroupsInArrow": _Walk._opaque,
    "FlatMapCoGroupsInPandas": _Walk._opaque,
    "FlatMapCoGroupsInArrow": _Walk._opaque,
    "FlatMapGroupsInPandasWithState": _Walk._opaque,
    "TransformWithStateInPySpark": _Walk._opaque,
    "ScriptTransformation": _Walk._opaque,
    "SerializeFromObject": _Walk._opaque,
    "DeserializeToObject": _Walk._opaque,
    "MapElements": _Walk._opaque,
    "MapPartitions": _Walk._opaque,
}
