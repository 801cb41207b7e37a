"""Compute the dependencies of one expression's value.

Rules, where OpenLineage leaves a choice:
- a bare column, an alias of one, or a cast that changes nothing is IDENTITY; any other function of it is TRANSFORMATION (a cast too);
- CASE, IF: the predicates are CONDITIONAL, the value branches TRANSFORMATION (as the OpenLineage jar has it), also when passed unchanged;
- COALESCE is a value: every argument is TRANSFORMATION; NVL2 and NULLIF equal their CASE; NANVL's first argument is CONDITIONAL too;
- indirect dependencies inside a predicate (the partition of a window) keep their kind; rank() and similar functions pass no value on;
- an aggregate's arguments are AGGREGATION, its ORDER BY is SORT, its FILTER clause CONDITIONAL; `count(*)` and literals depend on nothing;
- a window's partition and order are WINDOW of that column only;
- hashes and `mask` are TRANSFORMATION with masking;
- a scalar subquery is the value of its first column; what decides inside it decides about this column. A column of the outer query
  counts where the subquery uses it: Spark's list of outer attributes adds nothing.
Unknown expressions are TRANSFORMATION of everything in them: never a missing edge.
"""

from collections.abc import Callable

from headwater.capture.spark import dependencies as deps
from headwater.capture.spark.dependencies import Dependencies, Source
from headwater.capture.spark.plan import ATTRIBUTE, Node

Lookup = Callable[[int], Dependencies]
# From a subquery's plan to (its columns, the dependencies of its rows).
Subquery = Callable[[Node], tuple[list[Dependencies], Dependencies]]

_TRANSPARENT = frozenset(
    {"Alias", "PromotePrecision", "KnownNotNull", "KnownNullable", "KnownFloatingPointNormalized", "NormalizeNaNAndZero"}
    | {"ToPrettyString", "TempResolvedColumn", "UnresolvedAlias", "PreciseTimestampConversion", "SortOrder", "LateralColumnAliasReference"}
)  # fmt: skip
_MASKING = frozenset(
    {"Sha1", "Sha2", "Md5", "XxHash64", "Murmur3Hash", "HiveHash", "Crc32", "Mask", "CollationAwareMurmur3Hash"}
)
_DECIDING = frozenset({"NaNvl"})
# Nodes that only wrap what Spark rewrote them to. The ids in their own fields are outdated.
_REWRITTEN = frozenset({"NullIf", "Nvl2", "Between", "CommonExpressionDef"})
# Their children are the window's order: the value is a position in it, not a column.
_RANKS = frozenset({"Rank", "DenseRank", "PercentRank", "CumeDist", "NTile", "RowNumber"})
_AGGREGATES = frozenset({"AggregateExpression", "PythonUDAF", "ScalaAggregator", "ScalaUDAF"})


def value(expression: Node, lookup: Lookup, subquery: Subquery) -> Dependencies:
    """Return the direct and indirect dependencies of `expression`."""
    return _Reader(lookup, subquery).value(expression)


class _Reader:
    def __init__(self, lookup: Lookup, subquery: Subquery) -> None:
        self.lookup = lookup
        self.subquery = subquery
        self.shared: list[Dependencies] = []

    def value(self, node: Node) -> Dependencies:  # noqa: PLR0911, PLR0912 - one line per kind of expression
        kind = node.kind
        if kind == ATTRIBUTE:
            return self.lookup(node.expression_id)
        if kind == "OuterReference":  # A column of the outer query: Spark keeps it as a field, not as a child.
            return self._all(node.trees("e") or node.children)
        if kind in _TRANSPARENT or kind in _REWRITTEN:
            return self._all(node.children)
        if kind == "Cast":
            return self._cast(node)
        if kind == "GetStructField":
            return self._field(node)
        if kind == "If" and len(node.children) == 3:
            return self._branches(node.children[:1], node.children[1:])
        if kind == "CaseWhen":
            # Children come flattened: when, then, when, then, …, else.
            pairs = len(node.children) // 2 * 2
            return self._branches(node.children[:pairs:2], node.children[1:pairs:2] + node.children[pairs:])
        if kind == "With":
            return self._with(node)
        if kind == "CommonExpressionRef":
            return self.shared[-1] if self.shared else {}
        if kind == "NullIfResult" and len(node.children) == 2:
            return self._branches(node.children[:1], node.children[1:])
        if kind in _DECIDING and len(node.children) > 1:
            return self._branches(node.children[:-1], node.children)
        if kind in _AGGREGATES:
            return self._aggregate(node)
        if kind == "WindowExpression":
            return self._window(node)
        if kind in {"ScalarSubquery", "LateralSubquery"}:
            columns, deciding = self._inner(node)
            return deps.merged([*columns[:1], deciding])
        if kind in {"Exists", "ListQuery"}:
            columns, deciding = self._inner(node)
            return deps.merged([*(columns if kind == "ListQuery" else []), deciding])
        parts = self._all(node.children)
        return deps.strengthened(parts, deps.TRANSFORMATION, kind in _MASKING)

    def _all(self, nodes: list[Node]) -> Dependencies:
        return self.value(nodes[0]) if len(nodes) == 1 else deps.merged(self.value(node) for node in nodes)

    def _branches(self, predicates: list[Node], values: list[Node]) -> Dependencies:
        deciding = deps.deciding(self._all(predicates), deps.CONDITIONAL, keep_indirect=True)
        return deps.merged([deps.strengthened(self._all(values), deps.TRANSFORMATION), deciding])

    def _with(self, node: Node) -> Dependencies:
        """Resolve an expression over one that is computed once (NULLIF, BETWEEN). References have lost their ids: with several, each may be any."""
        expression, *definitions = node.children
        self.shared.append(self._all(definitions))
        result = self.value(expression)
        self.shared.pop()
        return result

    def _cast(self, node: Node) -> Dependencies:
        inner = node.children[0]
        same = inner.kind == ATTRIBUTE and inner.fields.get("dataType") == node.fields.get("dataType")
        return self.value(inner) if same else deps.strengthened(self.value(inner), deps.TRANSFORMATION)

    def _field(self, node: Node) -> Dependencies:
        """Resolve `a.b`: the field itself if `a` is an unchanged source column; else the dependencies of `a`."""
        below = self._all(node.children)
        name = node.fields.get("name") or _field_name(node)
        if not name:
            return deps.strengthened(below, deps.TRANSFORMATION)
        result: Dependencies = {}
        for source, hows in below.items():
            deeper = Source(source.leaf, f"{source.field}.{name}") if deps.SAME in hows else source
            result[deeper] = result.get(deeper, frozenset()) | hows
        return result

    def _aggregate(self, node: Node) -> Dependencies:
        function, *filters = node.children or [node]
        given = function.children if node.kind == "AggregateExpression" else node.children
        below = self._all([child for child in given if child.kind != "SortOrder"])
        order = deps.deciding(self._all([child for child in given if child.kind == "SortOrder"]), deps.SORT)
        masking = function.kind in _MASKING
        if function.kind == "PivotFirst" and len(function.children) == 2:
            # The pivot column only selects the rows whose value goes into this column.
            chosen = deps.deciding(self.value(function.children[0]), deps.CONDITIONAL)
            below = deps.merged([self.value(function.children[1]), chosen])
        condition = deps.deciding(self._all(filters), deps.CONDITIONAL) if node.kind == "AggregateExpression" else {}
        return deps.merged([deps.strengthened(below, deps.AGGREGATION, masking), order, condition])

    def _window(self, node: Node) -> Dependencies:
        function, *specification = node.children
        if function.kind in _RANKS:
            own: Dependencies = {}
        else:
            own = self._all(function.children) if function.kind not in _AGGREGATES else self.value(function)
        own = deps.strengthened(own, deps.TRANSFORMATION)
        return deps.merged([own, deps.deciding(self._all(specification), deps.WINDOW)])

    def _inner(self, node: Node) -> tuple[list[Dependencies], Dependencies]:
        plan = node.nested("plan")
        return self.subquery(plan) if plan else ([], {})


def _field_name(node: Node) -> str:
    """Return the name of a field from its ordinal, if the struct is a column."""
    child, ordinal = node.children[0], node.fields.get("ordinal")
    kind = child.fields.get("dataType")
    if isinstance(kind, dict) and isinstance(ordinal, int):
        fields = kind.get("fields") or []
        if ordinal < len(fields):
            return str(fields[ordinal].get("name") or "")
    return ""
