"""One expression of the parser's tree to the references it takes its value from.

The walk goes down with the use that everything below has (`kinds.Use`), on a stack of its own: a chain of ten thousand ANDs is as deep as any.
Rules, where OpenLineage leaves a choice, are those of `capture.spark.expressions`: CASE predicates are CONDITIONAL and branches
TRANSFORMATION, COALESCE takes a value of every argument, a window's partition and order are WINDOW, ranks and count(*) pass nothing on,
an aggregate's FILTER is CONDITIONAL and its ORDER BY is SORT, hashing masks. A construct it does not know is TRANSFORMATION of all in it.
"""

import re
from typing import Any

from sqlglot import exp

from headwater.columns import form
from headwater.columns.dialect import HIVES
from headwater.columns.kinds import (
    AGGREGATED,
    AS_IS,
    BRANCHED,
    CONDITIONAL,
    FILTER,
    MASKING_USE,
    SORT,
    TRANSFORMED,
    WINDOW,
)
from headwater.columns.lowering.access import as_element, bracket, dot, field_of, interval, json_path, part_of_map
from headwater.columns.lowering.context import Context
from headwater.columns.lowering.dictionary import looked_up
from headwater.columns.lowering.functions import (
    AGGREGATE_NAMES,
    CHOOSING_NAMES,
    CURSOR_ATTRIBUTES,
    DATE_FUNCTIONS,
    MASKING_NAMES,
    MASKING_PREFIXES,
    NOTHING_NAMES,
    is_aggregate_any,
    is_date_part,
)
from headwater.columns.lowering.grammar import NOTHING, STEPS, UNREAD
from headwater.columns.lowering.lambdas import MAP_FILTER, MAPPED_NAMES, filter_elements, filtered, map_lists, mapped
from headwater.columns.lowering.time_window import NAMES as TIME_WINDOWS
from headwater.columns.lowering.time_window import times_of
from headwater.columns.lowering.walk import Handler, Node, Stack, below_use, children, push


def lower(context: Context, node: Any, use: int = AS_IS) -> form.Expression:
    """The references and subqueries of `node`, used as `use`."""
    if type(node) is exp.Column:
        return form.Expression([(context.column(node), use, "")], [])
    result = form.Expression([], [])
    references = result.references
    stack: Stack = [(node, use)]
    hows, binary, column, literal = _HOW, _BINARY, exp.Column, exp.Literal
    while stack:
        node, use = stack.pop()
        kind = type(node)
        if kind is column:
            references.append((context.column(node), use, ""))
            continue
        if kind is literal:
            continue
        how = hows.get(kind, _unread)
        if type(how) is int:
            if how == NOTHING:
                continue
            below = use
            if use < how:
                below = how
            elif use >= MASKING_USE:
                below = below_use(use, how)
            args = node.args
            if kind in binary:
                left, right = args["this"], args["expression"]
                if type(left) is column:  # In the order of the text, without a way over the stack.
                    references.append((context.column(left), below, ""))
                    if type(right) is column:
                        references.append((context.column(right), below, ""))
                    elif type(right) is not literal:
                        stack.append((right, below))
                    continue
                if type(right) is not literal:
                    stack.append((right, below))
                stack.append((left, below))
                continue
            for child in args.values():
                if type(child) is list:
                    for one in child:
                        if isinstance(one, Node):
                            stack.append((one, below))
                elif isinstance(child, Node):
                    stack.append((child, below))
        else:
            if UNREAD.get(kind):
                context.check(node)
            how(context, node, use, stack, result)
    return result


def _unread(context: Context, node: Any, use: int, stack: Stack, _result: form.Expression) -> None:
    """A class that the table does not know how to read: what is in it is taken to be its value."""
    context.unread(node)
    below = below_use(use, TRANSFORMED)
    stack.extend((child, below) for child in children(node))


# --- handlers: what is not "all children, used so"


def _only(argument: str, step: int) -> Handler:
    def handler(_context: Context, node: Any, use: int, stack: Stack, _result: form.Expression) -> None:
        push(stack, node.args.get(argument), below_use(use, step))

    return handler


def _star(context: Context, node: Any, use: int, stack: Stack, result: form.Expression) -> None:
    result.references.append((("*",), below_use(use, TRANSFORMED), ""))


def _case(_context: Context, node: Any, use: int, stack: Stack, _result: form.Expression) -> None:
    args = node.args
    value, decides = below_use(use, TRANSFORMED), below_use(use, BRANCHED)
    push(stack, args.get("this"), decides)
    for branch in args.get("ifs") or ():
        push(stack, branch.args.get("this"), decides)
        push(stack, branch.args.get("true"), value)
    push(stack, args.get("default"), value)


def _if(_context: Context, node: Any, use: int, stack: Stack, _result: form.Expression) -> None:
    push(stack, node.args.get("this"), below_use(use, BRANCHED))
    for branch in ("true", "false"):
        push(stack, node.args.get(branch), below_use(use, TRANSFORMED))


def _decode(_context: Context, node: Any, use: int, stack: Stack, _result: form.Expression) -> None:
    """DECODE(value, search, result, …, default): values that are searched decide, results are passed on."""
    arguments = node.args.get("expressions") or []
    value, decides = below_use(use, TRANSFORMED), below_use(use, BRANCHED)
    for position, argument in enumerate(arguments):
        is_result = position > 0 and (position % 2 == 0 or (position == len(arguments) - 1 and position % 2 == 1))
        push(stack, argument, value if is_result else decides)


def _nullif(_context: Context, node: Any, use: int, stack: Stack, _result: form.Expression) -> None:
    push(stack, node.args.get("this"), below_use(use, TRANSFORMED))
    for side in ("this", "expression"):
        push(stack, node.args.get(side), below_use(use, BRANCHED))


def _window(context: Context, node: Any, use: int, stack: Stack, _result: form.Expression) -> None:
    decides = below_use(use, SORT if node.args.get("over") == "KEEP" else WINDOW)  # Oracle's KEEP orders an aggregate
    push(stack, node.args.get("this"), below_use(use, TRANSFORMED))
    for found in context.window_parts(node):
        push(stack, found, decides)


def _filter(_context: Context, node: Any, use: int, stack: Stack, _result: form.Expression) -> None:
    push(stack, node.args.get("this"), use)
    push(stack, node.args.get("expression"), below_use(use, CONDITIONAL))


def _within_group(_context: Context, node: Any, use: int, stack: Stack, _result: form.Expression) -> None:
    """A percentile's value is what it orders; a list's order only decides."""
    function = node.args.get("this")
    push(stack, function, use)
    is_value = not isinstance(function, (exp.GroupConcat, exp.ArrayAgg))
    order = node.args.get("expression")
    found = order.args.get("expressions") if isinstance(order, exp.Order) else order
    push(stack, found, below_use(use, AGGREGATED if is_value else SORT))


def _ordered_argument(_context: Context, node: Any, use: int, stack: Stack, _result: form.Expression) -> None:
    """`f(x ORDER BY y)`: the parser hangs x below the order."""
    push(stack, node.args.get("this"), use)
    push(stack, node.args.get("expressions"), below_use(use, SORT))


def _combined(_context: Context, node: Any, use: int, stack: Stack, _result: form.Expression) -> None:
    """ClickHouse's combinators: `sumIf(x, condition)` is `sum(x) FILTER (WHERE condition)`."""
    args = node.args
    arguments = [*(args.get("params") or args.get("expressions") or ())]
    if len(arguments) > 1 and _IF.search(str(node.this)):
        push(stack, arguments.pop(), below_use(use, CONDITIONAL))
    if len(arguments) > 1 and _CHOOSING.match(str(node.this)):
        push(stack, arguments.pop(), below_use(use, SORT))
    push(stack, arguments, below_use(use, AGGREGATED))
    if args.get("params"):
        push(stack, args.get("expressions"), below_use(use, AGGREGATED))


_IF = re.compile(r"If(?![a-z])")
_CHOOSING = re.compile(r"arg_?(?:max|min)", re.IGNORECASE)


def _chosen(_context: Context, node: Any, use: int, stack: Stack, _result: form.Expression) -> None:
    """`max_by(x, y)`: y only decides whose x it is, as an order does."""
    push(stack, node.args.get("this"), below_use(use, AGGREGATED))
    push(stack, node.args.get("expression"), below_use(use, SORT))


def _having_max(_context: Context, node: Any, use: int, stack: Stack, _result: form.Expression) -> None:
    push(stack, node.args.get("this"), use)
    push(stack, node.args.get("expression"), below_use(use, SORT))


def _count(_context: Context, node: Any, use: int, stack: Stack, _result: form.Expression) -> None:
    waiting = list(children(node))
    for child in waiting:
        if isinstance(child, exp.Distinct):
            waiting.extend(children(child))
        elif not (isinstance(child, exp.Star) or (isinstance(child, exp.Column) and isinstance(child.this, exp.Star))):
            stack.append((child, below_use(use, AGGREGATED)))


def _masking(_context: Context, node: Any, use: int, stack: Stack, _result: form.Expression) -> None:
    below = below_use(use, TRANSFORMED) | MASKING_USE
    stack.extend((child, below) for child in children(node))


def _subquery(context: Context, node: Any, use: int, stack: Stack, result: form.Expression) -> None:
    if isinstance(node, exp.Subquery) and not isinstance(node.this, (exp.Query, exp.Table)):
        push(stack, node.this, use)
        return
    result.subqueries.append((context.query(node), use, _standing(node)))


def _standing(node: Any) -> int:
    inner = node.unnest() if isinstance(node, exp.Subquery) else node
    return form.WHOLE if inner.args.get("kind") == "STRUCT" or inner.args.get("for_") else form.SCALAR


def _table(context: Context, node: Any, use: int, stack: Stack, result: form.Expression) -> None:
    """A table as an argument: all of its columns."""
    result.subqueries.append((context.query(node), below_use(use, TRANSFORMED), form.WHOLE))


_VARIABLES = {"tsql": "@", "fabric": "@", "mysql": "@", "singlestore": "@", "snowflake": "@:$"}
"""Products whose text says of a variable that it is one, and the mark of its name here."""


def _parameter(context: Context, node: Any, use: int, stack: Stack, result: form.Expression) -> None:
    """A parameter is no column; but `$1` is one of a staged file's in Snowflake."""
    if context.rule.parser == "snowflake" and isinstance(node.this, exp.Literal) and node.this.name.isdigit():
        result.references.append((("$" + node.this.name,), use, ""))
    elif context.rule.parser in _VARIABLES and isinstance(node.this, (exp.Var, exp.Identifier)):
        # It holds what a query before gave it.
        result.references.append(((_VARIABLES[context.rule.parser] + node.this.name.lower(),), use, ""))


def _bound(_context: Context, node: Any, use: int, _stack: Stack, result: form.Expression) -> None:
    """`:x` is what a variable x of the script holds, if there is one."""
    if isinstance(node.this, str):
        result.references.append((("@:" + node.this.lower(),), use, ""))


def _exists(context: Context, node: Any, use: int, stack: Stack, result: form.Expression) -> None:
    inner = node.this
    if isinstance(inner, exp.Query):
        result.subqueries.append((context.query(inner), below_use(use, TRANSFORMED), form.EXISTS))
    else:  # Spark's exists(array, predicate)
        mapped(context, node, use, stack, result)


def _in(context: Context, node: Any, use: int, stack: Stack, result: form.Expression) -> None:
    below = below_use(use, TRANSFORMED)
    query = node.args.get("query")
    for name, child in node.args.items():
        if name == "query" and isinstance(query, exp.Query):
            result.subqueries.append((context.query(query), below, form.MEMBERS))
        else:
            push(stack, child, below)


def _any(context: Context, node: Any, use: int, stack: Stack, result: form.Expression) -> None:
    inner = node.this
    while isinstance(inner, (exp.Paren, exp.Tuple)) and len(list(children(inner))) == 1:
        inner = next(children(inner))
    if isinstance(inner, exp.Query):
        result.subqueries.append((context.query(inner), below_use(use, TRANSFORMED), form.MEMBERS))
    else:
        push(stack, inner, below_use(use, AGGREGATED if is_aggregate_any(node) else TRANSFORMED))


def _array(context: Context, node: Any, use: int, stack: Stack, result: form.Expression) -> None:
    below = below_use(use, TRANSFORMED)
    for child in children(node):
        if isinstance(child, exp.Query) and not isinstance(child, exp.Subquery):
            result.subqueries.append((context.query(child), below, form.WHOLE))
        else:
            stack.append((child, below))


def _list(context: Context, node: Any, use: int, stack: Stack, result: form.Expression) -> None:
    if as_element(context, node) is not node:
        bracket(context, node, use, stack, result)
    else:
        _array(context, node, use, stack, result)


def _lambda(context: Context, node: Any, use: int, stack: Stack, result: form.Expression) -> None:
    """The parameters of a lambda hide columns of the same name; what they stand for is among the function's other arguments."""
    hidden = {context.key(found) for one in node.expressions for found in one.find_all(exp.Identifier)}
    body = lower(context, node.this, use)
    result.references.extend(found for found in body.references if found[0][0] not in hidden)
    result.subqueries.extend(body.subqueries)


def _anonymous(context: Context, node: Any, use: int, stack: Stack, result: form.Expression) -> None:
    """A function the parser does not know: takes a value of all its arguments; a date part among them is none."""
    name = str(node.this).lower().rsplit(".", 1)[-1]
    if name == "table" and len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Column):
        parts = node.expressions[0].parts
        table = exp.Table(
            this=parts[-1], db=parts[-2] if len(parts) > 1 else None, catalog=parts[-3] if len(parts) > 2 else None
        )
        _table(context, table, use, stack, result)
        return
    arguments = list(node.expressions)
    if name == "map_values" and len(arguments) == 1:
        part_of_map(context, arguments[0], form.VALUES, use, stack, result)
        return
    if name == "getvariable" and len(arguments) == 1 and isinstance(arguments[0], exp.Literal):
        result.references.append((("@:$" + arguments[0].name.lower(),), use, ""))
        return
    if name in MAPPED_NAMES and len(arguments) > 1:
        map_lists(context, arguments[:-1], arguments[-1], use, stack, result)
        return
    if name == MAP_FILTER and len(arguments) == 2:
        filter_elements(context, name, arguments[0], arguments[1], use, stack, result)
        return
    found = looked_up(context, name, arguments)
    if found is not None:
        result.subqueries.append((found[0], below_use(use, TRANSFORMED), form.WHOLE))
        push(stack, found[1], below_use(use, BRANCHED))
        return
    if name.startswith(DATE_FUNCTIONS) and arguments and is_date_part(arguments[0]):
        context.warn(f"{arguments[0].name} is taken for a part of a date, and no column, in {name}")
        arguments = arguments[1:]
    if name == "multiif":  # ClickHouse: conditions with what each of them gives, and what is given else.
        push(stack, arguments[:-1:2], below_use(use, BRANCHED))
        push(stack, [*arguments[1:-1:2], *arguments[-1:]], below_use(use, TRANSFORMED))
        return
    if name in TIME_WINDOWS and context.rule.parser in HIVES and arguments:
        context.timed += [lower(context, one, FILTER) for one in times_of(node)]
        if name == "window":  # Where it begins is found by a condition.
            push(stack, arguments[:1], below_use(use, BRANCHED))
    step = AGGREGATED if name in AGGREGATE_NAMES else TRANSFORMED
    below = below_use(use, step)
    if name in MASKING_NAMES or name.startswith(MASKING_PREFIXES):
        below |= MASKING_USE
    if name in NOTHING_NAMES:
        return
    if name in CHOOSING_NAMES and len(arguments) > 1:
        push(stack, arguments[1:2], below_use(use, SORT))
        arguments = [arguments[0], *arguments[2:]]
    push(stack, arguments, below)


def _map_keys(context: Context, node: Any, use: int, stack: Stack, result: form.Expression) -> None:
    part_of_map(context, node.this, form.KEYS, use, stack, result)
    push(stack, node.args.get("key"), below_use(use, TRANSFORMED))


def _modulo(context: Context, node: Any, use: int, stack: Stack, _result: form.Expression) -> None:
    """PL/SQL's `SQL%ROWCOUNT`, `cursor%FOUND`: what the last statement did; no column is in it."""
    right = node.args.get("expression")
    if context.rule.parser == "oracle" and isinstance(right, exp.Column) and right.name.upper() in CURSOR_ATTRIBUTES:
        return
    stack.extend((child, below_use(use, TRANSFORMED)) for child in children(node))


_BINARY = frozenset(
    {
        exp.And,
        exp.Or,
        exp.EQ,
        exp.NEQ,
        exp.GT,
        exp.GTE,
        exp.LT,
        exp.LTE,
        exp.Add,
        exp.Sub,
        exp.Mul,
        exp.Div,
        exp.DPipe,
        exp.Like,
    }
)
"""Two children and no more, where one look at each is enough. They are the bulk of what people write."""
_HOW: dict[type, Any] = {
    **STEPS,
    **dict.fromkeys((exp.Alias, exp.Aliases, exp.PivotAlias), _only("this", AS_IS)),
    **dict.fromkeys((exp.Kwarg, exp.PropertyEQ), _only("expression", TRANSFORMED)),
    **dict.fromkeys((exp.Cast, exp.TryCast, exp.JSONCast), _only("this", TRANSFORMED)),
    exp.Interval: interval,
    exp.Extract: _only("expression", TRANSFORMED),
    **dict.fromkeys((exp.Select, exp.Union, exp.Except, exp.Intersect, exp.Subquery, exp.Values), _subquery),
    **dict.fromkeys((exp.JSONExtract, exp.JSONExtractScalar, exp.JSONBExtract, exp.JSONBExtractScalar), json_path),
    **dict.fromkeys((exp.GetExtract, exp.StructExtract), field_of),
    **{kind: _masking for kind, step in STEPS.items() if step >= MASKING_USE},
    exp.Anonymous: _anonymous,
    exp.Any: _any,
    exp.All: _any,
    exp.Array: _list,
    exp.Star: _star,
    exp.Case: _case,
    exp.If: _if,
    exp.DecodeCase: _decode,
    exp.Nullif: _nullif,
    exp.Nvl2: _if,
    exp.Window: _window,
    exp.Filter: _filter,
    exp.WithinGroup: _within_group,
    exp.Order: _ordered_argument,
    exp.HavingMax: _having_max,
    **dict.fromkeys((exp.ArgMax, exp.ArgMin), _chosen),
    exp.Count: _count,
    exp.Dot: dot,
    exp.Bracket: bracket,
    exp.List: _list,
    exp.Exists: _exists,
    exp.In: _in,
    exp.Lambda: _lambda,
    exp.ArrayFilter: filtered,
    exp.Transform: mapped,
    **dict.fromkeys((exp.MapKeys, exp.MapContainsKey), _map_keys),
    exp.Mod: _modulo,
    exp.Table: _table,
    exp.Parameter: _parameter,
    exp.Placeholder: _bound,
    exp.Struct: TRANSFORMED,
    **dict.fromkeys((exp.CombinedAggFunc, exp.CombinedParameterizedAgg), _combined),
}
