"""Queries of the parser's tree to the internal form: SELECT with all its clauses, set operations, VALUES. Sources are `source`'s.

Chains of set operations are walked, not recursed into: a thousand branches are as deep as two.
"""

import re
from typing import Any

from sqlglot import exp

from headwater.columns import form
from headwater.columns.kinds import AGGREGATED, AS_IS, FILTER, GROUP_BY, JOIN, MASKING_USE, SORT, TRANSFORMED, UNSEEN
from headwater.columns.lowering.context import Context
from headwater.columns.lowering.expression import lower
from headwater.columns.lowering.fields import lower_value, spread
from headwater.columns.lowering.functions import AGGREGATE_NAMES, is_aggregate_any
from headwater.columns.lowering.source import everything, is_pivot, item, join, joined, sources
from headwater.columns.lowering.star import column_named, listed, matching_star, starred
from headwater.columns.lowering.table_function import stacked
from headwater.columns.lowering.time_window import spelled_out
from headwater.columns.lowering.walk import children

_RECURSIVE_WITHOUT_A_WORD = frozenset({"tsql", "oracle", "snowflake", "teradata"})
_ROWS_BY_NAME = frozenset({"trino", "presto", "athena", "mysql", "singlestore"})
_OPERATORS = {exp.Union: "union", exp.Except: "except", exp.Intersect: "intersect"}


def lower_query(context: Context, node: Any) -> form.Query:
    """The form of any query node: SELECT, a set operation, a parenthesised query, VALUES, TABLE t."""
    context.check(node)
    if type(node) is exp.Select:
        return _select(context, node)
    if isinstance(node, exp.SetOperation):
        return _set_operation(context, node)
    if isinstance(node, exp.Subquery):
        return _parenthesised(context, node)
    if isinstance(node, exp.Values):
        return form.Values(value_rows(context, node), ctes(context, node))
    if isinstance(node, exp.Table) or is_pivot(node):
        return everything(sources(context, node))
    context.unread(node)
    return form.Select([])


def value_rows(context: Context, node: Any) -> list[list[form.Expression]]:
    return [[lower_value(context, value) for value in _row(context, row)] for row in node.expressions]


def _row(context: Context, node: Any) -> list[Any]:
    """The values of one row; `ROW(…)` is one, too, which the parser takes for a value."""
    values = node.expressions if isinstance(node, exp.Tuple) else [node]
    if len(values) == 1 and context.rule.parser in _ROWS_BY_NAME:
        (only,) = values
        if isinstance(only, exp.Struct) or (isinstance(only, exp.Anonymous) and str(only.this).lower() == "row"):
            return list(only.expressions)
    return list(values)


def ctes(context: Context, node: Any) -> list[form.Cte]:
    clause = node.args.get("with_")
    if clause is None:
        return []
    context.check(clause)
    found: list[form.Cte] = []
    recursive = bool(clause.args.get("recursive")) or context.rule.parser in _RECURSIVE_WITHOUT_A_WORD
    for one in clause.expressions:
        alias = one.args.get("alias")
        context.check(one)
        if alias is None:
            continue
        name, columns = context.key(alias.this), [context.key(column) for column in alias.args.get("columns") or ()]
        inner = one.this
        if one.args.get("scalar") and not isinstance(inner, exp.Query):  # ClickHouse: WITH expression AS name
            query: form.Query = form.Select([form.Projection(name, lower(context, inner))])
        elif isinstance(inner, exp.DML):
            query = context.changing(inner, found)
        else:
            query = context.query(inner)
        found.append(form.Cte(name, columns, query, recursive, bool(one.args.get("scalar"))))
    return found


def _parenthesised(context: Context, node: Any) -> form.Query:
    args = node.args
    inner = node.this
    if args.get("joins") or args.get("pivots") or not isinstance(inner, (exp.Query, exp.Values)):
        return everything(sources(context, node))
    query = context.query(inner)
    order, own = order_keys(context, args.get("order")), ctes(context, node)
    if not order and not own:
        return query
    return form.SetOperation([query], [], own, order)


def _set_operation(context: Context, node: Any) -> form.Query:
    own, order = ctes(context, node), order_keys(context, node.args.get("order"))
    rights: list[Any] = []
    operations: list[tuple[Any, bool, bool]] = []
    left = node
    while True:
        args = left.args
        rights.append(args["expression"])
        operations.append((_OPERATORS.get(type(left), "union"), bool(args.get("distinct")), bool(args.get("by_name"))))
        left = args["this"]
        while isinstance(left, exp.Subquery) and isinstance(left.this, exp.Query) and _is_bare(left):
            left = left.this
        if not (isinstance(left, exp.SetOperation) and _is_bare(left)):
            break
    branches = [context.query(left)]
    branches += [context.query(right) for right in reversed(rights)]
    operations.reverse()
    return form.SetOperation(branches, operations, own, order)


def _is_bare(node: Any) -> bool:
    args = node.args
    return not (args.get("with_") or args.get("order") or args.get("limit") or args.get("pivots") or args.get("joins"))


def _select(context: Context, node: Any) -> form.Select:
    node = spelled_out(context, node)
    args = node.args
    timed, context.timed = context.timed, []
    own = ctes(context, node)
    windows = context.windows
    named = args.get("windows")
    if named:
        context.windows = {**windows, **{context.key(one.this): one for one in named}}
    items: list[form.Item] = []
    clause = args.get("from_")
    if clause is not None:
        items += sources(context, clause.this)
    for one in args.get("joins") or ():
        items += join(context, one)
    for one in args.get("laterals") or ():
        items.append(item(context, one))
    match = args.get("match")
    if match is not None and items:
        _match(context, match, items)
    makers: list[Any] = []
    result = form.Select(projections(context, args["expressions"], args.get("exclude"), makers), items, own)
    if (
        args.get("kind") == "VALUE" and len(result.projections) == 1
    ):  # BigQuery: a row is the value, its fields are the columns.
        result.projections[0].name = "*"
    for one in makers:
        _make_rows(context, one, result)
    for argument in ("prewhere", "where"):
        if (found := args.get(argument)) is not None:
            result.where.append(lower(context, found.this, FILTER))
    if (connect := args.get("connect")) is not None:
        level = (context.fold("level", False),)
        for one in result.projections:
            one.value.references = [found for found in one.value.references if found[0] != level]
        for argument in ("start", "connect"):
            if (found := connect.args.get(argument)) is not None:
                result.where.append(lower(context, found, FILTER))
    if (group := args.get("group")) is not None:
        result.group = group_keys(context, group)
        result.group_all = bool(group.args.get("all"))
        if result.group_all:
            _mark_aggregates(args["expressions"], result.projections)
    if (having := args.get("having")) is not None:
        result.having = lower(context, having.this, TRANSFORMED)
    if (qualify := args.get("qualify")) is not None:
        result.qualify = lower(context, qualify.this, FILTER)
    for argument in ("order", "sort", "cluster"):
        if (found := args.get(argument)) is not None:
            result.order += order_keys(context, found)
            result.order_all = result.order_all or _orders_all(context, found)
    if (distinct := args.get("distinct")) is not None:
        on = distinct.args.get("on")
        if on is None:
            result.distinct = True
        else:
            result.distinct_on = _keys(context, [on], GROUP_BY)
    result.where += context.timed
    context.windows, context.timed = windows, timed
    return result


def _mark_aggregates(nodes: list[Any], found: list[form.Projection]) -> None:
    """Mark the outputs that are made of aggregates."""
    place = 0
    for node in nodes:
        several = isinstance(node, exp.Aliases)
        width = len(node.args["expressions"]) if several else 2 if type(node) in _TWO_COLUMNS else 1
        for one in found[place : place + width]:
            one.aggregates = _has_aggregate(node)
        place += width


def _has_aggregate(node: Any) -> bool:
    """Return whether an expression is made of an aggregate: not of one in a subquery, nor of a function over a window."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, exp.Query):
            continue
        if isinstance(one, exp.Window):
            function = one.this
            while isinstance(function, (exp.IgnoreNulls, exp.RespectNulls, exp.Filter)):
                function = function.this
            waiting += [child for child in children(one) if child is not one.this]
            waiting += children(function)
            continue
        if (
            isinstance(one, exp.AggFunc)
            or is_aggregate_any(one)
            or (isinstance(one, exp.Anonymous) and str(one.this).lower().rsplit(".", 1)[-1] in AGGREGATE_NAMES)
        ):
            return True
        waiting += children(one)
    return False


def projections(
    context: Context, nodes: list[Any], exclude: list[Any] | None = None, makers: list[Any] | None = None
) -> list[form.Projection]:
    """The outputs of a SELECT list; `exclude` is EXCLUDE written after the whole list (Redshift). Those that make rows are added to `makers`."""
    result: list[form.Projection] = []
    column, alias = exp.Column, exp.Alias
    for node in nodes:
        kind = type(node)
        if kind is column and type(node.args["this"]) is exp.Identifier:
            parts = context.column(node)
            result.append(form.Projection(parts[-1], form.Expression([(parts, AS_IS, "")])))
            continue
        args = node.args
        inner = args["this"] if kind is alias or kind is exp.Aliases else node
        if type(inner) is column and kind is alias:
            value = form.Expression([(context.column(inner), AS_IS, "")])
            result.append(form.Projection(context.key(args["alias"]), value))
            continue
        if makers is not None and type(inner) in _ROW_MAKERS:
            makers.append(inner)
        if kind is alias:
            result.append(form.Projection(context.key(args["alias"]), lower_value(context, inner)))
        elif kind is exp.Inline:  # The fields of the elements.
            result.append(form.Projection("*", spread(lower_value(context, node.this))))
        elif kind is exp.Aliases and type(node.this) is exp.Inline:
            value = spread(lower_value(context, node.this.this))
            result += [
                form.Projection(context.key(name), form.Expression([], [], ((value, f"#{place}", AS_IS),)))
                for place, name in enumerate(node.args["expressions"])
            ]
        elif (maker := _stack(node)) is not None and (laid := stacked(context, maker)) is not None:
            given = [context.key(name) for name in node.args["expressions"]] if kind is exp.Aliases else []
            given += [f"col{place}" for place in range(len(given), len(laid))]
            result += [form.Projection(name, value) for name, value in zip(given, laid, strict=False)]
        elif kind is exp.Aliases:
            value = lower(context, node.this)
            result += [form.Projection(context.key(name), value) for name in node.args["expressions"]]
        elif kind in _TWO_COLUMNS:
            value = lower(context, node)
            result += [form.Projection(name, value) for name in ("pos", "col")]
        elif kind is exp.QueryTransform:
            values = [_hidden(lower(context, one, TRANSFORMED)) for one in node.expressions]
            schema = node.args.get("schema")
            listed = schema.expressions if schema is not None else []
            named = [one.this if isinstance(one, exp.ColumnDef) else one for one in listed]
            names = [context.output_name(one) for one in named] or ["key", "value"]
            result += [form.Projection(name, joined(values)) for name in names]
        elif (
            kind is exp.Dot
            and isinstance(node.expression, exp.Star)
            and not isinstance(node.this, (exp.Column, exp.Dot))
        ):
            result.append(form.Projection("*", lower_value(context, node.this)))  # The fields of a value made here.
        elif (star := starred(context, node) or matching_star(context, node)) is not None:
            star.excluded += [column_named(context, name) for name in exclude or ()]
            result.append(form.Projection("*", form.Expression(), star))
        else:
            name = (
                "" if kind is exp.Literal else context.output_name(node)
            )  # A literal is no alias that others could name.
            result.append(form.Projection(name, lower_value(context, node)))
    return result


def _hidden(value: form.Expression) -> form.Expression:
    """Return what a program makes of a value, whose inside is not seen."""

    def use(one: int) -> int:
        low = one & (MASKING_USE - 1)
        return one - low + UNSEEN if low in {TRANSFORMED, AGGREGATED} else one

    return form.Expression(
        [(name, use(one), path) for name, one, path in value.references],
        [(query, use(one), standing) for query, one, standing in value.subqueries],
        tuple((inner, path, use(one)) for inner, path, one in value.taken),
    )


_ROW_MAKERS = frozenset(
    {exp.Explode, exp.ExplodeOuter, exp.Posexplode, exp.PosexplodeOuter, exp.Inline, exp.Stack, exp.Unnest}
)


def _make_rows(context: Context, node: Any, result: form.Select) -> None:
    """The list decides how many rows come of a row, here as in FROM; `stack(2, …)` makes as many of each."""
    if type(node) is exp.Explode and node.expressions:  # DuckDB: unnest(x, recursive := true)
        context.warn(f"the columns that {context.written(node)} makes are known only with the type")
    if not (isinstance(node, exp.Stack) and isinstance(node.this, exp.Literal)):
        result.where.append(lower(context, node, JOIN))


_TWO_COLUMNS = frozenset({exp.Posexplode, exp.PosexplodeOuter})


def _stack(node: Any) -> Any:
    inner = node.this if isinstance(node, exp.Aliases) else node
    return inner if isinstance(inner, exp.Stack) else None


def group_keys(context: Context, node: Any) -> list[int | form.Expression]:
    args = node.args
    nodes = list(args.get("expressions") or ())
    for argument in ("grouping_sets", "cube", "rollup"):
        nodes += [one for one in listed(args.get(argument)) if isinstance(one, exp.Expr)]
    return _keys(context, nodes, GROUP_BY)


def order_keys(context: Context, node: Any) -> list[int | form.Expression]:
    if node is None or _orders_all(context, node):
        return []
    return _keys(context, node.expressions, AS_IS)


def _orders_all(context: Context, node: Any) -> bool:
    if len(node.expressions) != 1 or context.rule.parser not in {"duckdb", "databricks", "spark"}:
        return False
    inner = node.expressions[0].this
    return (
        isinstance(inner, exp.Column)
        and len(inner.parts) == 1
        and inner.name.lower() == "all"
        and not inner.this.quoted
    ) or (isinstance(inner, exp.Var) and inner.name.upper() == "ALL")


_KEY_LISTS = frozenset({exp.Paren, exp.Tuple, exp.GroupingSets, exp.Cube, exp.Rollup, exp.Ordered})


def _keys(context: Context, nodes: list[Any], use: int) -> list[int | form.Expression]:
    """Keys of GROUP BY, ORDER BY, DISTINCT ON, lists of lists flattened; integers are ordinals."""
    result: list[int | form.Expression] = []
    waiting = list(reversed(nodes))
    while waiting:
        node = waiting.pop()
        kind = type(node)
        if kind is exp.Column:
            result.append(form.Expression([(context.column(node), use, "")]))
        elif kind in _KEY_LISTS:
            waiting.extend(reversed(list(children(node))))
        elif isinstance(node, exp.Literal):
            if not node.is_string and node.name.isdigit():
                result.append(int(node.name))
        else:
            result.append(lower(context, node, use))
    return result


def _pattern_variables(context: Context, node: Any) -> set[str]:
    """The names of rows in MATCH_RECOGNIZE: `x.c` is the column c of the rows that matched as x."""
    pattern = node.args.get("pattern")
    words = re.findall(r"[A-Za-z_]\w*", pattern.name if pattern is not None else "")
    defined = [one.alias for one in node.args.get("define") or () if isinstance(one, exp.Alias)]
    return {context.fold(one, False) for one in (*words, *defined)}


def _match(context: Context, node: Any, items: list[form.Item]) -> None:
    """MATCH_RECOGNIZE stands behind one of the tables in FROM."""
    if len(items) > 1:  # The tree does not tell which.
        context.warn(f"MATCH_RECOGNIZE is taken to be of {items[0].alias}, the first table in FROM")
    items[0].source = _described(context, node, items[0].source)
    alias = node.args.get("alias")
    if alias is not None and alias.this is not None:
        items[0].alias = context.key(alias.this)
        items[0].columns = [context.key(one) for one in alias.args.get("columns") or ()]


def _described(context: Context, node: Any, source: form.Source) -> form.Source:
    args = node.args
    partition = [
        form.Projection(context.output_name(one), lower(context, one)) for one in args.get("partition_by") or ()
    ]
    measured = [one.this if isinstance(one, exp.MatchRecognizeMeasure) else one for one in args.get("measures") or ()]
    deciding = [lower(context, one, FILTER) for one in args.get("define") or ()]
    order = args.get("order")
    if order is not None:
        deciding += [lower(context, one, SORT) for one in order.expressions]
    variables = _pattern_variables(context, node)
    projected = projections(context, measured)
    for expression in [*deciding, *(one.value for one in projected)]:
        expression.references = [
            (parts[1:] if len(parts) > 1 and parts[0] in variables else parts, use, path)
            for parts, use, path in expression.references
        ]
    rows = args.get("rows")
    keeps = rows is not None and "ALL ROWS" in rows.name.upper()
    return form.Described(source, partition + projected, deciding, keeps)
