"""Conditions as tuples in one writing: NOT stands at the leaves, `a > b` is `b < a`, an IN list is an OR, and both sides of `=` are sorted."""

from collections.abc import Iterable, Iterator
from typing import Any

from sqlglot import exp

_ORDERED = frozenset({"postgres", "redshift", "snowflake", "spark", "spark2", "databricks", "duckdb"})
"""Dialects in which NaN has a place in the order, so that NOT (a < b) is a >= b. Others follow IEEE 754, where both are false of it."""
_OPPOSITES = {exp.EQ: exp.NEQ, exp.NEQ: exp.EQ}
_ORDER_OPPOSITES = {exp.LT: exp.GTE, exp.GTE: exp.LT, exp.GT: exp.LTE, exp.LTE: exp.GT}
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_PLAIN = (
    *_COMPARISONS, exp.Column, exp.Identifier, exp.Literal, exp.Paren, exp.And, exp.Or, exp.Not, exp.Is, exp.Null, exp.In, exp.Between, exp.Neg,
)  # fmt: skip
Written = Any


class ConditionWriting:
    """Writes conditions; `of` writes any tree."""

    def __init__(self, dialect: str) -> None:
        self._is_ordered = dialect in _ORDERED

    def of(self, node: Any) -> Written:
        raise NotImplementedError

    def plain(self, node: exp.Expression, without: tuple[str, ...] = ()) -> Written:
        """Write a node by its kind and its parts."""
        args = ((key, self.of(value)) for key, value in sorted(node.args.items()) if key not in without)
        return type(node).__name__, tuple((key, value) for key, value in args if value not in (None, False, (), ""))

    def write_and(self, node: exp.Expression) -> Written:
        return joined("And", (self.of(one.unnest()) for one in node.flatten()))

    def write_or(self, node: exp.Expression) -> Written:
        return joined("Or", (self.of(one.unnest()) for one in node.flatten()))

    def write_eq(self, node: exp.Expression) -> Written:
        return type(node).__name__, in_order([self.of(node.this), self.of(node.expression)])

    write_neq = write_eq

    def write_lt(self, node: exp.Expression) -> Written:
        return "LT", (self.of(node.this), self.of(node.expression))

    def write_gt(self, node: exp.Expression) -> Written:
        return "LT", (self.of(node.expression), self.of(node.this))

    def write_lte(self, node: exp.Expression) -> Written:
        return self._at_most(node.this, node.expression)

    def write_gte(self, node: exp.Expression) -> Written:
        return self._at_most(node.expression, node.this)

    def _at_most(self, low: Any, high: Any) -> Written:
        """Write `low <= high`; of a count and a whole number as `<`."""
        low, high = low.unnest(), high.unnest()
        for one, other, step in ((low, high, -1), (high, low, 1)):
            if (
                isinstance(other, exp.Count)
                and isinstance(one, exp.Literal)
                and not one.is_string
                and one.name.isdigit()
                and int(one.name)
            ):
                number = exp.Literal.number(int(one.name) + step)
                return "LT", tuple(map(self.of, (number, high) if one is low else (low, number)))
        return "LTE", (self.of(low), self.of(high))

    def write_is(self, node: exp.Is) -> Written:
        if not isinstance(node.expression, exp.Null):
            return self.plain(node)
        return "NotNull" if node.args.get("negate") else "IsNull", self.of(node.this.unnest())

    def write_between(self, node: exp.Between) -> Written:
        return joined("And", map(self.of, bounds_of(node))) if not node.args.get("symmetric") else self.plain(node)

    def write_in(self, node: exp.In) -> Written:
        if (listed := self._listed(node, exp.EQ)) is not None:
            return joined("Or", listed)
        if isinstance(query := node.args.get("query"), exp.Subquery) and _is_repeated(query.this):
            query.this.set("distinct", None)
        return self.plain(node)

    def write_exists(self, node: exp.Exists) -> Written:
        """Write EXISTS without its select list, which decides about nothing."""
        query = node.this.unnest()
        if isinstance(query, exp.Select) and not query.find(exp.AggFunc):
            if all(isinstance(one, exp.Star | exp.Column | exp.Literal | exp.Null) for one in query.expressions):
                query.set("expressions", [exp.Literal.number(1)])
            if _is_repeated(query):
                query.set("distinct", None)
        return "Exists", self.of(query)

    def write_not(self, node: exp.Not) -> Written:
        """Write NOT at the leaves, by the laws that hold for NULL, too."""
        one = node.this.unnest()
        if isinstance(one, exp.And | exp.Or):
            kind = "Or" if isinstance(one, exp.And) else "And"
            parts = [part.unnest() for part in one.flatten()]
            written = [self.write_not(exp.Not(this=part.copy())) for part in parts]
            scalars = {column for part in written for column in scalar_columns(part)}
            # NOT (x IS NULL) is not x IS NOT NULL of a row in which some fields are NULL.
            return joined(
                kind,
                (("NotNull", part[1]) if part[0] == "Present" and part[1] in scalars else part for part in written),
            )
        if isinstance(one, exp.Is) and isinstance(one.expression, exp.Null) and not one.args.get("negate"):
            return "Present", self.of(one.this.unnest())
        if isinstance(one, exp.Not):
            return self.of(one.this.unnest())
        if isinstance(one, exp.Between) and not one.args.get("symmetric"):
            return self.write_not(exp.Not(this=exp.And(this=bounds_of(one)[0], expression=bounds_of(one)[1])))
        opposite: Any = _OPPOSITES.get(type(one)) or (_ORDER_OPPOSITES.get(type(one)) if self._is_ordered else None)
        if opposite is not None:
            return self.of(opposite(this=one.this.copy(), expression=one.expression.copy()))
        if isinstance(one, exp.In) and (listed := self._listed(one, exp.NEQ)) is not None:
            return joined("And", listed)
        return self.plain(node)

    def _listed(self, node: exp.In, kind: Any) -> list[Written] | None:
        """Return the comparisons of `x IN (literals)`; None for another IN, or literals of more than one kind."""
        literals = node.expressions
        if (
            not literals
            or not all(isinstance(one, exp.Literal) for one in literals)
            or len({one.is_string for one in literals}) > 1
        ):
            return None
        own = self.of(node.this.unnest())
        return [(kind.__name__, in_order([own, self.of(one)])) for one in literals]

    def conditions(self, parts: Iterable[Any]) -> list[Written]:
        """Write what must be true of a row, without `x IS NOT NULL` where another condition cannot be true of NULL."""
        written: list[Written] = []
        for part in parts:
            one = self.of(_as_exists(part.unnest()))
            written += one[1] if one[0] == "And" else [one]
        compared = compared_columns(written) & {column for one in written for column in scalar_columns(one)}
        return [one for one in written if one[0] != "NotNull" or one[1] not in compared]


def compared_columns(written: Iterable[Written]) -> set[Written]:
    """Return the written columns that are not NULL where all of the conditions are true, because they are compared."""
    found: set[Written] = set()
    for kind, value in (one for one in written if one[0] in {"EQ", "NEQ", "LT", "LTE", "Or"}):
        if kind == "Or":
            found |= set.intersection(*(compared_columns([one]) for one in value)) if value else set()
        else:
            found |= {one for one in value if one[0] == "Column"}
    return found


def scalar_columns(written: Written) -> set[Written]:
    """Return the written columns that a comparison holds against a literal: they are no rows."""
    kind, value = written[:2]
    if kind in {"And", "Or"}:
        return {column for one in value for column in scalar_columns(one)}
    is_compared = kind in {"EQ", "NEQ", "LT", "LTE"} and any(one[0] == "Literal" for one in value)
    return {one for one in value if one[0] == "Column"} if is_compared else set()


def is_plain(condition: exp.Expression) -> bool:
    """Return whether a condition has only comparisons of columns and literals."""
    return all(isinstance(one, _PLAIN) for one in condition.walk()) and condition.find(exp.Query) is None


def and_parts(condition: Any) -> Iterator[Any]:
    one = condition.unnest()
    if isinstance(one, exp.And):
        for each in (one.left, one.right):
            yield from and_parts(each)
    else:
        yield one


def bounds_of(node: exp.Between) -> tuple[exp.Expression, exp.Expression]:
    return (
        exp.GTE(this=node.this.copy(), expression=node.args["low"].copy()),
        exp.LTE(this=node.this.copy(), expression=node.args["high"].copy()),
    )


def joined(kind: str, parts: Iterable[Written]) -> Written:
    """Write AND or OR of parts, which may be ANDs or ORs themselves."""
    every: set[Written] = set()
    for one in parts:
        every.update(one[1] if one[0] == kind else [one])
    return (kind, in_order(every)) if len(every) > 1 else every.pop()


def in_order(some: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(sorted(some, key=repr))


def _is_repeated(query: Any) -> bool:
    """Return whether DISTINCT of a query only takes away repeated rows."""
    distinct = query.args.get("distinct") if isinstance(query, exp.Select) else None
    return (
        distinct is not None
        and not distinct.args.get("on")
        and not query.args.get("limit")
        and not query.args.get("offset")
    )


def _as_exists(part: Any) -> Any:
    """Write `a.x IN (SELECT b.y FROM … b WHERE …)` as EXISTS, in a place where NULL and false are one."""
    query = part.args.get("query") if isinstance(part, exp.In) else None
    select = query.this if isinstance(query, exp.Subquery) else None
    if (
        not isinstance(select, exp.Select)
        or not isinstance(part.this, exp.Column)
        or not part.this.table
        or len(select.expressions) != 1
    ):
        return part
    used = {key for key, value in select.args.items() if value}
    item = select.expressions[0].unalias()
    inner = {one.alias_or_name for one in select.find_all(exp.Table, exp.Subquery)}
    if used - {"expressions", "from_", "joins", "where", "distinct"} or (
        used & {"distinct"} and not _is_repeated(select)
    ):
        return part
    if (
        not isinstance(item, exp.Column)
        or not item.table
        or isinstance(item.this, exp.Star)
        or part.this.table in inner
    ):
        return part
    made = select.copy()
    made.set("distinct", None)
    made.where(exp.EQ(this=item.copy(), expression=part.this.copy()), copy=False)
    made.set("expressions", [exp.Literal.number(1)])
    return exp.Exists(this=made)
