"""Compute the dependencies of one expression's value.

Rules, where OpenLineage leaves a choice:
- a bare column, an alias of one, or a cast that changes nothing is IDENTITY; any other function of it is TRANSFORMATION (a cast too);
- CASE, IF: the predicates are CONDITIONAL, the value branches TRANSFORMATION (as the OpenLineage jar has it), also when passed unchanged;
- COALESCE is a value: every argument is TRANSFORMATION; NVL2 and NULLIF equal their CASE; NANVL's first argument is CONDITIONAL too;
- indirect dependencies inside a predicate (the partition of a window) keep their kind; rank() and similar functions pass no value on;
- an aggregate's arguments are AGGREGATION, its ORDER BY and what `max_by` goes by are SORT, its FILTER clause is CONDITIONAL; `count(*)` and
  literals depend on nothing;
- a window's partition and order are WINDOW of that column only;
- hashes and `mask` are TRANSFORMATION with masking;
- a scalar subquery is the value of its first column; what decides inside it decides about this column. A column of the outer query
  counts where the subquery uses it: Spark's list of outer attributes adds nothing.
- `filter` of a list or a map: the condition is FILTER, of that column only;
- the fields of a struct that the query makes are told apart, and the keys and values of maps (`maps`), through arrays, `withField`,
  `dropFields`, `transform`, aggregates, windows and JSON that the query writes and reads; `max` of a struct orders by all its fields (SORT).
Unknown expressions are TRANSFORMATION of everything in them: never a missing edge.
"""

from collections.abc import Callable

from headwater.capture.spark import dependencies as deps
from headwater.capture.spark import maps, source_fields
from headwater.capture.spark.dependencies import Dependencies, Fields, Parts, Source
from headwater.capture.spark.plan import ATTRIBUTE, Node

Lookup = Callable[[int], Dependencies]
Inner = Callable[[int], Fields | None]
# From a subquery's plan to (its columns, the dependencies of its rows).
Subquery = Callable[[Node], tuple[list[Parts], Dependencies]]

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


_UNITED = frozenset({"CreateArray", "Concat", "ArrayUnion", "Coalesce", "MapConcat", "ArrayAppend", "ArrayPrepend"})
# A function of the elements of arrays or maps, whose body makes the elements of the value: the arguments that its variables stand for.
_MAPPED = frozenset({"ArrayTransform", "ZipWith", "ArrayExists", "ArrayForAll"})
_MOST_ROUNDS = 4
# The value has the fields of a row's argument, or of each row's.
_PICKING = frozenset({"First", "Last", "AnyValue", "Mode", "CollectList", "CollectSet"})
# The first argument's fields; which row they are of is decided by all fields, or by the second argument.
_ORDERING = frozenset({"Max", "Min"})
_ORDERED = frozenset({"MaxBy", "MinBy"})
_PLACED = frozenset({"Lag", "Lead", "NthValue"})
# A value whose sources another engine found (`headwater.columns`): `hows` has the ways in which it takes each child, `parts` its fields by path.
COMPOSED = "headwater.Composed"
# Stands for the value that a JSON text was written from. No field has this name, so it is reported nowhere.
WRITTEN = "\0"


def value(expression: Node, lookup: Lookup, subquery: Subquery, inner: Inner | None = None) -> Dependencies:
    """Return the direct and indirect dependencies of `expression`. `inner`: the fields of a column, by its ExprId."""
    return _Reader(lookup, subquery, inner).value(expression)


def fields(expression: Node, lookup: Lookup, subquery: Subquery, inner: Inner) -> Fields | None:
    """Return the fields of the struct that `expression` is, if the query makes it; else None."""
    return _Reader(lookup, subquery, inner).fields(expression)


def elements(expression: Node, lookup: Lookup, subquery: Subquery, inner: Inner) -> Fields | None:
    """Return the fields of the structs in the array that `expression` is, of a source's too; None if they are not known."""
    reader = _Reader(lookup, subquery, inner)
    made = reader.fields(expression)
    return made if made is not None else source_fields.fields_of(reader, expression)


class _Reader:
    def __init__(self, lookup: Lookup, subquery: Subquery, inner: Inner | None = None) -> None:
        self.lookup = lookup
        self.subquery = subquery
        self.inner = inner
        self.bound: dict[int, Parts] = {}
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
        if kind in {"GetStructField", "GetArrayStructFields"}:
            return self._field(node)
        if kind == "UpdateFields" and (changed := self._updated(node)) is not None:
            return deps.strengthened(deps.merged(one.depends for one in changed.values()), deps.TRANSFORMATION)
        if kind == "GetJsonObject" and (found := self._json_path(node)) is not None:
            return found
        if kind == "NamedLambdaVariable" and node.expression_id in self.bound:
            return self.bound[node.expression_id].depends
        if kind in maps.KINDS and node.children and (of_map := maps.value(self, node)) is not None:
            return of_map
        if kind in _MAPPED and len(node.children[-1].children) > 1:
            made = self.value(self._body(node)) or deps.deciding(self._all(node.children[:-1]), deps.CONDITIONAL)
            return deps.strengthened(made, deps.TRANSFORMATION)
        if kind in source_fields.FILTERED and node.children:
            return deps.merged(
                [deps.strengthened(self.value(node.children[0]), deps.TRANSFORMATION), self.choosing(node)]
            )
        if kind == "ArrayAggregate" and len(node.children) == 4:
            return deps.strengthened(self._folded(node).depends, deps.TRANSFORMATION)
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
            return deps.merged([*(each.depends for each in columns[:1]), deciding])
        if kind in {"Exists", "ListQuery"}:
            columns, deciding = self._inner(node)
            return deps.merged([*(each.depends for each in columns if kind == "ListQuery"), deciding])
        if kind == COMPOSED:
            return self._composed(node)
        parts = self._all(node.children)
        return deps.strengthened(parts, deps.TRANSFORMATION, kind in _MASKING)

    def _composed(self, node: Node) -> Dependencies:
        hows = node.fields["hows"]
        return deps.merged(deps.through(self.value(child), how) for child, how in zip(node.children, hows, strict=True))

    def _all(self, nodes: list[Node]) -> Dependencies:
        return self.value(nodes[0]) if len(nodes) == 1 else deps.merged(self.value(node) for node in nodes)

    def _branches(self, predicates: list[Node], values: list[Node]) -> Dependencies:
        deciding = deps.deciding(self._all(predicates), deps.CONDITIONAL, keep_indirect=True)
        return deps.merged([deps.strengthened(self._all(values), deps.TRANSFORMATION), deciding])

    def _branched(self, predicates: list[Node], values: list[Node]) -> Fields | None:
        """Return the fields of a value that predicates choose."""
        made = deps.merged_fields(self.fields(value) for value in values)
        if not made:
            return made
        decided = deps.deciding(self._all(predicates), deps.CONDITIONAL, keep_indirect=True)
        return deps.changed_fields(
            made, lambda one: deps.merged([deps.strengthened(one, deps.TRANSFORMATION), decided])
        )

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
        name = node.fields.get("name") or source_fields.field_name(node)
        made = self.fields(node.children[0])
        if made is None:
            made = source_fields.fields_deep(self, node.children[0])
        if made is not None and name in made:
            found = made[name].depends
            return found if node.kind == "GetStructField" else deps.strengthened(found, deps.TRANSFORMATION)
        below = self._all(node.children)
        if node.kind == "GetArrayStructFields":
            name = ""
        if not name:
            return deps.strengthened(below, deps.TRANSFORMATION)
        result: Dependencies = {}
        for source, hows in below.items():
            deeper = Source(source.leaf, f"{source.field}.{name}") if deps.SAME in hows else source
            result[deeper] = result.get(deeper, frozenset()) | hows
        return result

    def fields(self, node: Node) -> Fields | None:  # noqa: PLR0911, PLR0912 - one line per kind of expression
        """Return the fields of a struct, or of an array's or a map's structs, that the query makes; None if it does not."""
        kind, children = node.kind, node.children
        if kind == ATTRIBUTE:
            return self.inner(node.expression_id) if self.inner is not None else None
        if kind == "NamedLambdaVariable":
            return self.bound[node.expression_id].inner if node.expression_id in self.bound else None
        if kind == "CreateNamedStruct":
            names = [str(child.fields.get("value")) for child in children[::2]]
            return {name: self._parts(child) for name, child in zip(names, children[1::2], strict=False)}
        if kind in maps.KINDS and (children or kind == "CreateMap"):
            return maps.fields(self, node)
        if kind in _UNITED:
            return deps.merged_fields(self.fields(child) for child in children)
        if kind == "If" and len(children) == 3:
            return self._branched(children[:1], children[1:])
        if kind == "CaseWhen":
            pairs = len(children) // 2 * 2
            return self._branched(children[:pairs:2], children[1:pairs:2] + children[pairs:])
        if kind == "Literal":
            return {}  # NULL, or values that no column gives
        if kind == "ArraysZip" and children:
            return self._zipped(node)
        if kind == "ArrayAggregate" and len(children) == 4:
            return self._folded(node).inner
        if kind == "ScalarSubquery":
            columns, _ = self._inner(node)
            return columns[0].inner if columns else None
        if (kind in _TRANSPARENT or kind == "Cast") and children:
            return self.fields(children[0])
        if kind in source_fields.ELEMENTS and children:
            return source_fields.chosen(self, self.fields(children[0]), node)
        if kind in {"GetStructField", "GetArrayStructFields"}:
            made = self.fields(children[0])
            found = (
                made.get(str(node.fields.get("name") or source_fields.field_name(node))) if made is not None else None
            )
            return found.inner if found is not None else None
        if kind == "UpdateFields":
            return self._updated(node)
        if kind == COMPOSED:
            return self._composed_fields(node)
        if kind in _AGGREGATES and children:
            return self._aggregated(children[0])
        if kind == "WindowExpression":
            function = children[0]
            made = self.fields(function.children[0] if function.kind in _PLACED else function)
            decided = deps.deciding(self._all(children[1:]), deps.WINDOW)
            return deps.changed_fields(
                made, lambda one: deps.merged([deps.strengthened(one, deps.TRANSFORMATION), decided])
            )
        if kind == "StructsToJson" and children:
            return {WRITTEN: Parts({}, self.fields(children[0]))}
        if kind == "JsonToStructs" and children:
            return self._read_json(node)
        if kind in _MAPPED and len(children[-1].children) > 1:
            return self.fields(self._body(node))
        return None

    def choosing(self, node: Node) -> Dependencies:
        """Return what chooses elements of the first argument: a place, a length, other lists (part of the value), or a condition (FILTER)."""
        if node.kind not in source_fields.FILTERED or len(node.children[-1].children) < 2:
            return deps.strengthened(self._all(node.children[1:]), deps.TRANSFORMATION)
        body, *variables = node.children[-1].children
        whole = self._parts(node.children[0])
        elements = [whole]
        if node.kind == "MapFilter":
            elements = [*(maps.entries(self, node.children[0]) or (whole, whole))]
        for variable, part in zip(variables, elements, strict=False):
            self.bound[variable.expression_id] = part
        return deps.deciding(self.value(body), deps.FILTER)

    def _body(self, node: Node) -> Node:
        """Return the body of a function of elements, whose variables now stand for those of the arguments."""
        body, *variables = node.children[-1].children
        for variable, argument in zip(variables, node.children[:-1], strict=False):
            self.bound[variable.expression_id] = self._parts(argument)
        return body

    def _folded(self, node: Node) -> Parts:
        """Return the value of `aggregate`: it is what the last function makes of what the first makes of the beginning and each element."""
        items, zero, merge, finish = node.children
        if len(merge.children) < 3 or len(finish.children) < 2:
            return Parts(self._all(node.children))
        body, total, item = merge.children[:3]
        self.bound[item.expression_id] = self._parts(items)
        so_far = self._parts(zero)
        for _ in range(_MOST_ROUNDS):
            self.bound[total.expression_id] = so_far
            added = self._parts(body)
            more = Parts(deps.merged([so_far.depends, added.depends]), deps.merged_fields([so_far.inner, added.inner]))
            if more == so_far:
                break
            so_far = more
        self.bound[finish.children[1].expression_id] = so_far
        return self._parts(finish.children[0])

    def _zipped(self, node: Node) -> Fields | None:
        """Return the fields of lists that are laid side by side."""
        names = source_fields.names_zipped(node)
        if names is None:
            return None
        return {
            name: Parts(deps.strengthened(self.value(child), deps.TRANSFORMATION), self.fields(child))
            for name, child in zip(names, node.children, strict=True)
        }

    def _composed_fields(self, node: Node) -> Fields | None:
        if parts := node.fields.get("parts"):
            return _nested({path: self.value(part) for path, part in parts.items()})
        same = len(node.children) == 1 and node.fields["hows"][0] == {deps.SAME}
        return self.fields(node.children[0]) if same else None

    def _aggregated(self, function: Node) -> Fields | None:
        """Return the fields of an aggregate's value, if it is one of its rows' values or a list of them."""
        kind, children = function.kind, function.children
        if not children or kind not in _PICKING | _ORDERING | _ORDERED:
            return None
        if kind in _ORDERED:
            decided = deps.deciding(self._all(children[1:2]), deps.SORT)
        else:
            decided = deps.deciding(self.value(children[0]), deps.SORT) if kind in _ORDERING else {}
        made = self.fields(children[0])
        return deps.changed_fields(made, lambda one: deps.merged([deps.strengthened(one, deps.AGGREGATION), decided]))

    def _read_json(self, node: Node) -> Fields | None:
        """Return the fields of what is read from a JSON text that the query wrote."""
        text = self.fields(node.children[0])
        made = text.get(WRITTEN, Parts({})).inner if text is not None else None
        return deps.changed_fields(made, lambda one: deps.strengthened(one, deps.TRANSFORMATION))

    def _json_path(self, node: Node) -> Dependencies | None:
        """Return what `$.a.b` of a JSON text that the query wrote depends on; None if the path is another kind or leads nowhere."""
        path = str(node.children[1].fields.get("value")) if len(node.children) == 2 else ""
        within, found = self._read_json(node), None
        for name in path.removeprefix("$.").split("."):
            if within is None or name not in within:
                return None
            found, within = within[name].depends, within[name].inner
        return found

    def _parts(self, node: Node) -> Parts:
        return Parts(self.value(node), self.fields(node))

    def _updated(self, node: Node) -> Fields | None:
        """Return the fields of a struct after `withField` and `dropFields`."""
        made = self.fields(node.children[0])
        result = source_fields.fields_of(self, node.children[0]) if made is None else dict(made)
        if result is None:
            return None
        for operation in node.children[1:]:
            name = str(operation.fields.get("name"))
            if operation.kind == "WithField" and operation.children:
                result[name] = self._parts(operation.children[0])
            elif operation.kind == "DropField":
                result.pop(name, None)
            else:
                return None
        return result

    def _aggregate(self, node: Node) -> Dependencies:
        function, *filters = node.children or [node]
        given = function.children if node.kind == "AggregateExpression" else node.children
        below = self._all([child for child in given if child.kind != "SortOrder"])
        order = deps.deciding(self._all([child for child in given if child.kind == "SortOrder"]), deps.SORT)
        masking = function.kind in _MASKING
        if function.kind in _ORDERED:
            below, order = self.value(function.children[0]), deps.deciding(self._all(function.children[1:2]), deps.SORT)
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

    def _inner(self, node: Node) -> tuple[list[Parts], Dependencies]:
        plan = node.nested("plan")
        return self.subquery(plan) if plan else ([], {})


def _nested(paths: dict[str, Dependencies]) -> Fields:
    """Return fields by their dotted paths (`a`, `a.b`) as a tree."""
    names = dict.fromkeys(path.split(".", 1)[0] for path in paths)
    return {
        name: Parts(
            paths.get(name, {}),
            _nested({path[len(name) + 1 :]: one for path, one in paths.items() if path.startswith(f"{name}.")}) or None,
        )
        for name in names
    }
