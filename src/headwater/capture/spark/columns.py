"""Compute the column lineage of a logical plan's output. Pure: a tree of nodes in, dependencies out.

Dependencies of rows (JOIN, FILTER, GROUP_BY, SORT) are collected once for the whole output; those of one column stay with it.
Choices: UNION goes by position; both sides of EXCEPT and INTERSECT decide which rows stay (FILTER); DISTINCT and dropDuplicates group by
their keys (GROUP_BY); LIMIT and sampling change no column. Code Spark cannot see into (pandas functions, typed maps, scripts) is
TRANSFORMATION of all its inputs, and says that its inside is not seen. Leaves are keys that `datasets` resolves.
"""

from collections.abc import Callable, Mapping, Sequence

from headwater.capture.spark import changed_rows, expressions, source_fields
from headwater.capture.spark import dependencies as deps
from headwater.capture.spark.dependencies import Dependencies, Fields, Parts, Source, TooMany
from headwater.capture.spark.plan import ATTRIBUTE, Node, object_name
from headwater.capture.spark.relation import Column, EarlierColumn, Relation, Scope, leaf_key

LIMIT = 1_000_000
_LEFT_ONLY = frozenset({"LeftSemi", "LeftAnti"})
# They say themselves in which order, and with what in sight, the plans below them are resolved.
_ORDERING = frozenset({"WithCTE", "UnionLoop"})
# Passes around a recursive query per column: each adds at least one kind of dependency.
_KINDS = 9


def resolve(
    plan: Node,
    known: Mapping[int, EarlierColumn] | None = None,
    predicted: Mapping[int, Dependencies] | None = None,
) -> Relation:
    """Return the relation that `plan` makes. `known`: earlier resolved columns, by ExprId, for plans that Spark cut off (checkpoints, micro-batches);
    `predicted`: what models give to columns that the plan makes.

    Raises TooMany beyond the limits.
    """
    return _Walk(known or {}, predicted or {}).relation(plan, None)


class _Walk:
    def __init__(self, known: Mapping[int, EarlierColumn], predicted: Mapping[int, Dependencies]) -> None:
        self.known = known
        self.predicted = predicted
        self.ctes: dict[int, Relation] = {}
        self.loops: dict[int, Relation] = {}
        self.spent = 0
        self.ready: dict[int, Relation] = {}

    def relation(self, node: Node, outer: Scope | None) -> Relation:
        """Return the relation that a node makes. Resolves what is below it first: plans can be thousands of nodes deep, Python's stack cannot."""
        if (found := self.ready.pop(id(node), None)) is not None:
            return found
        waiting = [(node, False)]
        while waiting:
            each, is_ready = waiting.pop()
            if not is_ready and each.children and each.kind not in _ORDERING:
                waiting.append((each, True))
                waiting.extend((child, False) for child in reversed(each.children))
                continue
            result = _HANDLERS.get(each.kind, _Walk._other)(self, each, outer)
            for child in each.children:
                self.ready.pop(id(child), None)
            self.ready[id(each)] = result
            self._spend(len(result.rows))
        return self.ready.pop(id(node))

    def _spend(self, dependencies: int) -> None:
        self.spent += dependencies
        if self.spent > LIMIT:
            raise TooMany(f"the plan has more than {LIMIT} column dependencies")

    # --- pieces

    def below(self, node: Node, outer: Scope | None) -> Relation:
        if not node.children:
            return Relation([], {})
        if len(node.children) == 1:
            return self.relation(node.children[0], outer)
        parts = [self.relation(child, outer) for child in node.children]
        return Relation([column for part in parts for column in part.columns], deps.merged(part.rows for part in parts))

    def _subquery(self, scope: Scope) -> expressions.Subquery:
        def subquery(plan: Node) -> tuple[list[Parts], Dependencies]:
            inner = self.relation(plan, scope)
            return [Parts(column.depends, column.fields) for column in inner.columns], inner.rows

        return subquery

    def value(self, expression: Node, scope: Scope) -> Dependencies:
        return expressions.value(expression, scope, self._subquery(scope), scope.fields)

    def _fields(self, expression: Node, scope: Scope) -> Fields | None:
        return expressions.fields(expression, scope, self._subquery(scope), scope.fields)

    def _named(self, trees: list[Node], scope: Scope) -> list[Column]:
        made = []
        for tree in trees:
            number = tree.expression_id
            if tree.kind == ATTRIBUTE:  # most columns of wide plans: passed on as they are
                depends, fields = scope(number), scope.fields(number)
            else:
                depends, fields = self.value(tree, scope), self._fields(tree, scope)
                self._spend(len(depends))
            made.append(Column(number, tree.name, self._predicted(tree, depends), fields))
        return made

    def _predicted(self, tree: Node, depends: Dependencies) -> Dependencies:
        given = self.predicted.get(tree.expression_id)
        return deps.merged([depends, given]) if given else depends

    def deciding(self, trees: Sequence[Node], scope: Scope, subtype: str) -> Dependencies:
        return deps.deciding(deps.merged(self.value(tree, scope) for tree in trees), subtype)

    # --- kinds of nodes

    def _leaf(self, node: Node, _outer: Scope | None) -> Relation:
        key = leaf_key(node)
        columns = []
        rows: Dependencies = {}
        for attribute in node.attributes("output"):
            earlier = self.known.get(attribute.expression_id)
            if earlier is None:
                depends = deps.of(Source(key, attribute.name)) if node.kind not in _SOURCELESS else {}
            else:
                depends, rows = earlier.depends, earlier.rows
            fields = earlier.fields if earlier is not None else None
            columns.append(Column(attribute.expression_id, attribute.name, self._predicted(attribute, depends), fields))
        self._spend(len(columns))
        return Relation(columns, rows)

    def _project(self, node: Node, outer: Scope | None) -> Relation:
        below = self.below(node, outer)
        return Relation(self._named(node.trees("projectList"), Scope(below.columns, outer)), below.rows)

    def _filter(self, node: Node, outer: Scope | None) -> Relation:
        below = self.below(node, outer)
        decided = self.deciding(node.trees("condition"), Scope(below.columns, outer), deps.FILTER)
        return Relation(below.columns, deps.merged([below.rows, decided]))

    def _join(self, node: Node, outer: Scope | None) -> Relation:
        left = self.relation(node.children[0], outer)
        lateral = Scope(left.columns, outer) if node.kind == "LateralJoin" else outer
        if node.kind == "LateralJoin":
            plans = [plan for tree in node.trees("right") if (plan := tree.nested("plan"))]
            right = self.relation(plans[0], lateral) if plans else Relation([], {})
        else:
            right = self.relation(node.children[1], lateral)
        scope = Scope(left.columns + right.columns, outer)
        # An as-of join also takes the nearest row by an order.
        conditions = [tree for name in ("condition", "asOfCondition", "orderExpression") for tree in node.trees(name)]
        decided = self.deciding(conditions, scope, deps.JOIN)
        kind = object_name(node.fields.get("joinType"))
        columns = left.columns if kind in _LEFT_ONLY else left.columns + right.columns
        return Relation(columns, deps.merged([left.rows, right.rows, decided]))

    def _aggregate(self, node: Node, outer: Scope | None) -> Relation:
        below = self.below(node, outer)
        scope = Scope(below.columns, outer)
        decided = self.deciding(node.trees("groupingExpressions"), scope, deps.GROUP_BY)
        return Relation(self._named(node.trees("aggregateExpressions"), scope), deps.merged([below.rows, decided]))

    def _expand(self, node: Node, outer: Scope | None) -> Relation:
        """Resolve grouping sets and UNPIVOT. Older Sparks leave `projections` out of the JSON; then `datasets` adds the ids that each output
        column is made from, and whether they are bare.
        """
        below = self.below(node, outer)
        if rows := node.rows("projections"):
            scope = Scope(below.columns, outer)
            made = [deps.merged(self.value(tree, scope) for tree in cells) for cells in zip(*rows, strict=True)]
            outputs = node.attributes("output")
            return Relation(
                [Column(out.expression_id, out.name, each) for out, each in zip(outputs, made, strict=True)], below.rows
            )
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

    def _window(self, node: Node, outer: Scope | None) -> Relation:
        below = self.below(node, outer)
        added = self._named(node.trees("windowExpressions"), Scope(below.columns, outer))
        return Relation(below.columns + added, below.rows)

    def _union(self, node: Node, outer: Scope | None) -> Relation:
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
        self._spend(sum(len(column.depends) for column in columns))
        return Relation(columns, deps.merged(part.rows for part in parts))

    def _set_difference(self, node: Node, outer: Scope | None) -> Relation:
        left, right = (self.relation(child, outer) for child in node.children)
        decided = deps.deciding(deps.merged(column.depends for column in left.columns + right.columns), deps.FILTER)
        return Relation(left.columns, deps.merged([left.rows, right.rows, decided]))

    def _sort(self, node: Node, outer: Scope | None) -> Relation:
        below = self.below(node, outer)
        decided = self.deciding(node.trees("order"), Scope(below.columns, outer), deps.SORT)
        return Relation(below.columns, deps.merged([below.rows, decided]))

    def _deduplicate(self, node: Node, outer: Scope | None) -> Relation:
        below = self.below(node, outer)
        if node.kind == "Distinct":
            keys = deps.deciding(deps.merged(column.depends for column in below.columns), deps.GROUP_BY)
        else:
            keys = self.deciding(node.trees("keys"), Scope(below.columns, outer), deps.GROUP_BY)
        return Relation(below.columns, deps.merged([below.rows, keys]))

    def _generate(self, node: Node, outer: Scope | None) -> Relation:
        below = self.below(node, outer)
        scope = Scope(below.columns, outer)
        made = deps.merged(self.value(tree, scope) for tree in node.trees("generator"))
        made = deps.strengthened(made, deps.TRANSFORMATION)
        added = [Column(out.expression_id, out.name, made) for out in node.attributes("generatorOutput")]
        generator = node.trees("generator")
        if len(generator) == 1 and generator[0].kind == "Stack" and added:  # Its first argument says how many rows.
            for place, column in enumerate(added):
                laid = [self.value(tree, scope) for tree in generator[0].children[1 + place :: len(added)]]
                column.depends = deps.strengthened(deps.merged(laid), deps.TRANSFORMATION)
            return Relation(below.columns + added, below.rows)
        if len(generator) == 1 and generator[0].kind in {"Explode", "PosExplode", "Inline"} and added:
            inner = expressions.elements(generator[0].children[0], scope, self._subquery(scope), scope.fields)
            if generator[0].kind == "Inline" and inner is not None and len(inner) == len(added):
                for column, part in zip(added, inner.values(), strict=True):
                    column.depends, column.fields = deps.strengthened(part.depends, deps.TRANSFORMATION), part.inner
            elif generator[0].kind != "Inline" and inner is not None and source_fields.KEY in inner and len(added) > 1:
                for column, part in zip(
                    added[-2:], (inner[source_fields.KEY], inner[source_fields.VALUE]), strict=True
                ):
                    column.depends, column.fields = deps.strengthened(part.depends, deps.TRANSFORMATION), part.inner
            elif generator[0].kind != "Inline":
                added[-1].fields = inner
        # The list decides how many rows a row becomes.
        return Relation(below.columns + added, deps.merged([below.rows, deps.deciding(made, deps.JOIN)]))

    def _with_cte(self, node: Node, outer: Scope | None) -> Relation:
        *definitions, plan = node.children
        for definition in definitions:
            self.ctes[int(definition.fields.get("id", -1))] = self.below(definition, outer)
        return self.relation(plan, outer)

    def _cte_reference(self, node: Node, _outer: Scope | None) -> Relation:
        defined = self.ctes.get(int(node.fields.get("cteId", -1)))
        outputs = node.attributes("output")
        if defined is None:  # A reference to the definition that is being resolved.
            return Relation([Column(out.expression_id, out.name, {}) for out in outputs], {})
        columns = [
            Column(out.expression_id, out.name, made.depends, made.fields)
            for out, made in zip(outputs, defined.columns, strict=False)
        ]
        return Relation(columns, defined.rows)

    def _union_loop(self, node: Node, outer: Scope | None) -> Relation:
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

    def _loop_reference(self, node: Node, _outer: Scope | None) -> Relation:
        found = self.loops.get(int(node.fields.get("loopId", -1)), Relation([], {}))
        outputs = node.attributes("output")
        columns = [
            Column(out.expression_id, out.name, made.depends) for out, made in zip(outputs, found.columns, strict=False)
        ]
        return Relation(columns, found.rows)

    def _opaque(self, node: Node, outer: Scope | None) -> Relation:
        """Resolve code that Spark cannot see into: every output column depends on every input."""
        return self._unseen(node, self.below(node, outer), outer)

    def _cogrouped(self, node: Node, outer: Scope | None) -> Relation:
        """Resolve a function of two frames: the first columns of each are its keys."""
        sides = [self.relation(child, outer) for child in node.children]
        counts = [node.fields.get(field) for field in ("leftGroupingLen", "rightGroupingLen")]
        keys = [
            column.depends
            for side, count in zip(sides, counts, strict=False)
            if isinstance(count, int)
            for column in side.columns[:count]
        ]
        rows = deps.merged([*(side.rows for side in sides), deps.deciding(deps.merged(keys), deps.GROUP_BY)])
        return self._unseen(node, Relation([column for side in sides for column in side.columns], rows), outer)

    def _unseen(self, node: Node, below: Relation, outer: Scope | None) -> Relation:
        scope = Scope(below.columns, outer)
        asked = [tree for field in ("functionExpr", "script_input") for tree in node.trees(field)]
        given = deps.merged(self.value(tree, scope) for tree in asked)
        if not given:
            given = deps.merged(column.depends for column in below.columns)
        given = deps.unseen(given)
        outputs = node.attributes(*_OUTPUTS)
        if not outputs:
            return below
        keys = [tree for field in _GROUPINGS for tree in node.trees(field)]
        rows = deps.merged([below.rows, self.deciding(keys, scope, deps.GROUP_BY)])
        self._spend(len(given))
        return Relation([Column(out.expression_id, out.name, given) for out in outputs], rows)

    def _other(self, node: Node, outer: Scope | None) -> Relation:
        if not node.children:
            inner = node.nested("child") or node.nested("plan") or node.nested("query")
            return self.relation(inner, outer) if inner else self._leaf(node, outer)
        if node.attributes(*_OUTPUTS):
            # An unknown node may pass columns through (same ids) and make new ones from anything.
            below = self.below(node, outer)
            made = self._unseen(node, below, outer)
            passed = {column.id: column for column in below.columns}
            return Relation([passed.get(column.id, column) for column in made.columns], made.rows)
        return self.below(node, outer)

    def _composed_rows(self, node: Node, outer: Scope | None) -> Relation:
        """Resolve rows about which columns decide as another engine found it."""
        below = self.below(node, outer)
        scope = Scope(below.columns, outer)
        return Relation(
            below.columns, deps.merged([below.rows, *(self.value(tree, scope) for tree in node.trees("rows"))])
        )


_OUTPUTS = ("output", "serializer", "outputAttrs", "resultAttrs", "outputObjAttr")
_GROUPINGS = ("groupingAttributes", "leftAttributes", "rightAttributes")
# Leaves whose source the plan does not name.
OPAQUE = frozenset({"LogicalRDD", "ExternalRDD", "CommandResult", "LogicalQueryStage"})
# Leaves without a dataset: by the plan, nothing outside Spark feeds them.
_SOURCELESS = OPAQUE | {"LocalRelation", "OneRowRelation", "Range", "EmptyRelation"}
_HANDLERS: dict[str, Callable[[_Walk, Node, Scope | None], Relation]] = {
    "Project": _Walk._project,
    "Filter": _Walk._filter,
    "Join": _Walk._join,
    "AsOfJoin": _Walk._join,
    "LateralJoin": _Walk._join,
    "Aggregate": _Walk._aggregate,
    "Expand": _Walk._expand,
    "Window": _Walk._window,
    "MergeRows": changed_rows.merge_rows,
    "MergeIntoCommand": changed_rows.delta_merge,
    "UpdateCommand": changed_rows.delta_update,
    "DeleteCommand": changed_rows.delta_update,
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
    "FlatMapCoGroupsInPandas": _Walk._cogrouped,
    "FlatMapCoGroupsInArrow": _Walk._cogrouped,
    "FlatMapGroupsInPandasWithState": _Walk._opaque,
    "TransformWithStateInPySpark": _Walk._opaque,
    "ScriptTransformation": _Walk._opaque,
    "SerializeFromObject": _Walk._opaque,
    "DeserializeToObject": _Walk._opaque,
    "MapElements": _Walk._opaque,
    "MapPartitions": _Walk._opaque,
}
