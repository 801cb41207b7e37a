"""The trees of queries, written as tuples in which what has no order is sorted: conditions, GROUP BY, inner joins and WHERE."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
from sqlglot import exp

from headwater.columns.dialect import fold, rules
from headwater.columns.shape.conditions import (
    ConditionWriting,
    and_parts,
    compared_columns,
    in_order,
    is_plain,
    scalar_columns,
)


class Doubtful(Exception):
    """A text is written in a way that is not followed."""


_DISTINCT = 7
"""The place of DISTINCT in a written SELECT."""
_SUMS = frozenset({"postgres", "redshift", "snowflake", "bigquery"})
"""Dialects in which `+` adds and nothing else."""


_MAKING = (exp.Anonymous, exp.UDTF, exp.Explode, exp.GenerateSeries)
"""Functions that make rows, and those that are not known."""


class WrittenColumn(msgspec.Struct, frozen=True):
    """A column of a result. `decides`: another value may make more rows or fewer. `types`: those that it is cast to."""

    name: str
    value: Any
    decides: bool
    types: tuple[Any, ...]


class WrittenArm(msgspec.Struct, frozen=True):
    """One SELECT: its columns in their order, and `rest`, which decides about its rows; all of it in `rest` for another query."""

    columns: tuple[WrittenColumn, ...]
    rest: Any
    is_distinct: bool = False


class WrittenQuery(msgspec.Struct, frozen=True):
    """A query in one writing. `arms`: those of its UNION ALL, or itself. `order`: ORDER BY of the whole where it only sorts."""

    arms: tuple[WrittenArm, ...]
    order: Any = ()


class Writing(ConditionWriting):
    """Writes a tree as tuples, in which what has no order is sorted."""

    def __init__(self, dialect: str) -> None:
        super().__init__(dialect)
        self._rule = rules(dialect)
        self._adds = dialect in _SUMS

    def query(self, tree: exp.Query) -> WrittenQuery:
        """Write a whole query."""
        order: Any = ()
        if not tree.args.get("limit") and not tree.args.get("offset") and not _is_distinct_on(tree):
            if isinstance(tree, exp.Select):
                order = self._order(tree)
            elif tree.args.get("order"):
                order = self.of(tree.args["order"])
            tree.set("order", None)
        return WrittenQuery(tuple(self._arm(one) for one in arms_of(tree)), order)

    def _arm(self, query: Any) -> WrittenArm:
        if not isinstance(query, exp.Select):
            return WrittenArm((), self.of(query))
        written = self.of(query)
        items = [one.unalias() for one in query.expressions]
        columns = (
            WrittenColumn(
                name, value, _may_decide(item, query), in_order({self.of(one) for one in item.find_all(exp.DataType)})
            )
            for (name, value), item in zip(written[1], items, strict=True)
        )
        return WrittenArm(tuple(columns), written[2:], bool(written[_DISTINCT]))

    def of(self, node: Any) -> Any:
        if isinstance(node, list):
            return tuple(self.of(one) for one in node)
        if not isinstance(node, exp.Expression):
            return node
        write: Callable[[Any], Any] | None = getattr(self, f"write_{type(node).__name__.lower()}", None)
        return write(node) if write is not None else self.plain(node)

    def write_identifier(self, node: exp.Identifier) -> Any:
        return fold(node.name, bool(node.args.get("quoted")), self._rule)

    def write_paren(self, node: exp.Paren) -> Any:
        return self.of(node.this)

    def write_mul(self, node: exp.Expression) -> Any:
        return "Mul", in_order([self.of(node.this.unnest()), self.of(node.expression.unnest())])

    def write_add(self, node: exp.Expression) -> Any:
        both = [self.of(node.this.unnest()), self.of(node.expression.unnest())]
        return "Add", in_order(both) if self._adds else tuple(both)

    def write_count(self, node: exp.Count) -> Any:
        is_all = isinstance(node.this, exp.Literal) and not node.expressions
        return ("Count", "*") if is_all or isinstance(node.this, exp.Star) else self.plain(node)

    def write_lag(self, node: exp.Expression) -> Any:
        offset = node.args.get("offset")
        is_default = isinstance(offset, exp.Literal) and offset.name == "1" and node.args.get("default") is None
        return self.plain(node, ("offset",) if is_default else ())

    write_lead = write_lag

    def write_case(self, node: exp.Case) -> Any:
        """Write `CASE a WHEN 1` as `CASE WHEN a = 1`, and `CASE WHEN a IS NULL THEN b ELSE a END` as COALESCE(a, b)."""
        ifs, default = node.args.get("ifs") or [], node.args.get("default")
        if isinstance(node.this, exp.Column):
            ifs = [
                exp.If(this=exp.EQ(this=node.this.copy(), expression=one.this.copy()), true=one.args["true"].copy())
                for one in ifs
            ]
            node = exp.Case(ifs=ifs, default=default)
        if node.this is None and len(ifs) == 1 and default is not None:
            test, then = ifs[0].this.unnest(), ifs[0].args["true"]
            if isinstance(test, exp.Is) and test.args.get("negate"):
                then, default = default, then
            is_null = isinstance(test, exp.Is) and isinstance(test.expression, exp.Null)
            if is_null and isinstance(test.this, exp.Column) and test.this == default:
                return self.of(exp.Coalesce(this=test.this.copy(), expressions=[then.copy()]))
        if node.this is not None:
            return self.plain(node)
        other = None if isinstance(default, exp.Null) else self.of(default)
        while ifs and is_plain(ifs[-1].this) and self._branch(ifs[-1]) == other:
            ifs = ifs[:-1]  # Without it the row gets the same value by ELSE.
        if not ifs:
            return self.of(default or exp.Null())
        return "Case", _nulls_first([(self.of(one.this.unnest()), self._branch(one)) for one in ifs]), other

    def _branch(self, one: exp.If) -> Any:
        value = one.args["true"]
        return None if isinstance(value, exp.Null) else self.of(value)

    def write_select(self, node: exp.Select) -> Any:
        joins = node.args.get("joins") or []
        is_inner = all(_is_inner(one) for one in joins)
        filters = list(_parts(node.args.get("where")))
        group, moved, having = self._group(node), *self._having(node)
        filters += moved
        if is_inner:
            filters += [part for one in joins if one.args.get("on") is not None for part in and_parts(one.args["on"])]
        conditions = self.conditions(filters)
        self._count_rows(node, compared_columns(conditions) | {one[1] for one in conditions if one[0] == "NotNull"})
        # A column without a name is called by its function.
        names = [
            fold(one.output_name, _is_quoted(one), self._rule) or f"{type(one).__name__}?" for one in node.expressions
        ]
        values = [self.of(one.unalias()) for one in node.expressions]
        items = list(zip(names, values, strict=True))
        first = node.args.get("from_")
        read = [self.of(first.this)] if first is not None else []
        read += [self.of(one.this) if is_inner else self._join(one) for one in joins]
        rest = ("expressions", "joins", "where", "from_", "group", "having", "order", "distinct")
        distinct: Any = self.of(node.args.get("distinct"))
        if group and not distinct and not having and _is_distinct(node, values, group):
            distinct, group = self.of(exp.Distinct()), ()
        elif (
            group
            and group[1] == ("Group", ())
            and {*group[0]} <= {*values}
            and not _is_distinct_on(node)
            and not node.find(*_MAKING)
        ):
            distinct = None
        return ("Select", tuple(items), tuple(read), in_order({*conditions}), group, in_order({*having}), self._order(node), distinct,
                self.plain(node, rest))  # fmt: skip

    def _having(self, select: exp.Select) -> tuple[list[Any], list[Any]]:
        """Return the conditions of HAVING on what is grouped by, which hold for rows just as well, and the others, written."""
        having, group = select.args.get("having"), select.args.get("group")
        if having is None:
            return [], []
        is_grouped = group is not None and not {key for key, value in group.args.items() if value} - {"expressions"}
        listed = (
            {self.of(_by_number(one, select)) for one in group.expressions}
            if group is not None and is_grouped
            else set()
        )
        other = {one.alias for one in select.expressions if one.alias and one.unalias().name != one.alias}
        moved: list[Any] = []
        kept: list[Any] = []
        for part in and_parts(having.this):
            columns = list(part.find_all(exp.Column))
            is_key = (
                is_plain(part) and columns and all(self.of(one) in listed and one.name not in other for one in columns)
            )
            (moved if is_key else kept).append(part)
        return moved, self.conditions(kept)

    def _count_rows(self, select: exp.Select, present: set[Any]) -> None:
        """Count rows instead of a column that is never NULL in them."""
        for count in select.find_all(exp.Count):
            is_column = isinstance(count.this, exp.Column) and not count.expressions
            if is_column and count.parent_select is select and self.of(count.this) in present:
                count.set("this", exp.Star())

    def _join(self, node: exp.Join) -> Any:
        on = in_order({*self.conditions(and_parts(node.args["on"]))}) if node.args.get("on") is not None else ()
        kind = "" if node.kind in {"INNER", "OUTER"} else node.kind
        return "Join", node.side, kind, on, self.plain(node, ("on", "side", "kind"))

    def _group(self, select: exp.Select) -> Any:
        group = select.args.get("group")
        if group is None:
            return ()
        listed = {self.of(_by_number(one, select)) for one in group.expressions}
        return in_order(listed), self.plain(group, ("expressions",))

    def _order(self, select: exp.Select) -> Any:
        order = select.args.get("order")
        if order is None:
            return ()
        names = {one.alias: one.unalias() for one in select.expressions if one.alias}
        written = []
        for one in order.expressions:
            by = _by_number(one.this, select)
            if isinstance(by, exp.Column) and not by.args.get("table"):
                by = names.get(by.name, by)
            written.append((self.of(by), self.plain(one, ("this",))))
        return tuple(written)


def _is_distinct(select: exp.Select, items: Sequence[Any], group: Any) -> bool:
    """Return whether GROUP BY lists all that a query selects, and nothing else is made of the groups."""
    parts = [*select.expressions, select.args.get("order")]
    makes = any(part is not None and part.find(exp.AggFunc, exp.Window) for part in parts)
    return not makes and group == (in_order(set(items)), ("Group", ()))


def _is_quoted(item: exp.Expression) -> bool:
    name = item.args.get("alias") or item.this
    return isinstance(name, exp.Identifier) and bool(name.args.get("quoted"))


def _by_number(one: Any, select: exp.Select) -> Any:
    if isinstance(one, exp.Literal) and not one.is_string:
        place = int(one.name) if one.name.isdigit() else 0
        if not 0 < place <= len(select.expressions) or any(each.is_star for each in select.expressions):
            raise Doubtful
        return select.expressions[place - 1].unalias()
    return one


def _is_inner(join: exp.Join) -> bool:
    return not join.side and join.kind in {"", "INNER", "CROSS"} and not join.args.get("using") and not join.method


def _parts(where: exp.Where | None) -> Iterator[Any]:
    if where is not None:
        yield from and_parts(where.this)


def arms_of(tree: Any) -> Iterator[Any]:
    """Yield the queries of which UNION ALL is all that a query is."""
    one = tree.unnest()
    used = {key for key, value in one.args.items() if value}
    if isinstance(one, exp.Union) and one.args.get("distinct") is False and used <= {"this", "expression"}:
        yield from arms_of(one.this)
        yield from arms_of(one.expression)
    else:
        yield one


def _may_decide(item: exp.Expression, select: exp.Select) -> bool:
    """Return whether an item may decide about rows: an aggregate without a group, or a function that may make rows."""
    return item.find(*_MAKING) is not None or (item.find(exp.AggFunc) is not None and not select.args.get("group"))


def _is_distinct_on(query: exp.Query) -> bool:
    distinct = query.args.get("distinct") if isinstance(query, exp.Select) else None
    return distinct is not None and bool(distinct.args.get("on"))


def _nulls_first(arms: Sequence[Any]) -> tuple[Any, ...]:
    """Put `WHEN x IS NULL` before the arms that compare x, which cannot both be true."""
    found: list[Any] = []
    for arm in arms:
        place = len(found)
        if arm[0][0] == "IsNull" and arm[0][1][0] == "Column":
            while place and arm[0][1] in compared_columns([test := found[place - 1][0]]) & scalar_columns(test):
                place -= 1
        found.insert(place, arm)
    return tuple(found)
