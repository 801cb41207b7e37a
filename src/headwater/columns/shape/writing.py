"""The trees of queries, written as tuples in which what has no order is sorted: conditions, GROUP BY, both sides of `=`, inner joins and WHERE."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sqlglot import exp

from headwater.columns.dialect import fold, rules


class Doubtful(Exception):
    """A text is written in a way that is not followed."""


class Writing:
    """Writes a tree as tuples, in which what has no order is sorted."""

    def __init__(self, dialect: str) -> None:
        self._rule = rules(dialect)

    def of(self, node: Any) -> Any:
        if isinstance(node, list):
            return tuple(self.of(one) for one in node)
        if not isinstance(node, exp.Expression):
            return node
        write: Callable[[Any], Any] | None = getattr(self, f"write_{type(node).__name__.lower()}", None)
        return write(node) if write is not None else self._plain(node)

    def _plain(self, node: exp.Expression, without: Sequence[str] = ()) -> Any:
        args = ((key, self.of(value)) for key, value in sorted(node.args.items()) if key not in without)
        return type(node).__name__, tuple((key, value) for key, value in args if value not in (None, False, (), ""))

    def write_identifier(self, node: exp.Identifier) -> Any:
        return fold(node.name, bool(node.args.get("quoted")), self._rule)

    def write_paren(self, node: exp.Paren) -> Any:
        return self.of(node.this)

    def write_and(self, node: exp.Expression) -> Any:
        return type(node).__name__, _sorted({self.of(one.unnest()) for one in node.flatten()})

    write_or = write_and

    def write_eq(self, node: exp.Expression) -> Any:
        return type(node).__name__, _sorted([self.of(node.this), self.of(node.expression)])

    write_neq = write_eq

    def write_between(self, node: exp.Between) -> Any:
        if node.args.get("symmetric"):
            return self._plain(node)
        bounds = (
            exp.GTE(this=node.this, expression=node.args["low"]),
            exp.LTE(this=node.this, expression=node.args["high"]),
        )
        return "And", _sorted(map(self.of, bounds))

    def write_count(self, node: exp.Count) -> Any:
        is_all = isinstance(node.this, exp.Literal) and not node.expressions
        return ("Count", "*") if is_all or isinstance(node.this, exp.Star) else self._plain(node)

    def write_lag(self, node: exp.Expression) -> Any:
        offset = node.args.get("offset")
        is_default = isinstance(offset, exp.Literal) and offset.name == "1" and node.args.get("default") is None
        return self._plain(node, ("offset",) if is_default else ())

    write_lead = write_lag

    def write_case(self, node: exp.Case) -> Any:
        """Write `CASE WHEN a IS NULL THEN b ELSE a END` as COALESCE(a, b)."""
        ifs, default = node.args.get("ifs") or [], node.args.get("default")
        if node.this is None and len(ifs) == 1 and default is not None:
            test, then = ifs[0].this.unnest(), ifs[0].args["true"]
            if isinstance(test, exp.Is) and test.args.get("negate"):
                then, default = default, then
            is_null = isinstance(test, exp.Is) and isinstance(test.expression, exp.Null)
            if is_null and isinstance(test.this, exp.Column) and test.this == default:
                return self.of(exp.Coalesce(this=test.this.copy(), expressions=[then.copy()]))
        return self._plain(node)

    def write_select(self, node: exp.Select) -> Any:
        # A column without a name is called by its function.
        names = [
            fold(one.output_name, _is_quoted(one), self._rule) or f"{type(one).__name__}?" for one in node.expressions
        ]
        values = [self.of(one.unalias()) for one in node.expressions]
        items = list(zip(names, values, strict=True))
        joins = node.args.get("joins") or []
        conditions = list(_parts(node.args.get("where")))
        first = node.args.get("from_")
        read = [self.of(first.this)] if first is not None else []
        if all(_is_inner(one) for one in joins):
            conditions += [
                part for one in joins if one.args.get("on") is not None for part in _and_parts(one.args["on"])
            ]
            read += [self.of(one.this) for one in joins]
        else:
            read += [self._join(one) for one in joins]
        rest = ("expressions", "joins", "where", "from_", "group", "order", "distinct")
        distinct: Any = self.of(node.args.get("distinct"))
        group = self._group(node)
        if group and not distinct and _is_distinct(node, values, group):
            distinct, group = self.of(exp.Distinct()), ()
        return ("Select", tuple(items), tuple(read), _sorted({self.of(one) for one in conditions}), group, self._order(node), distinct,
                self._plain(node, rest))  # fmt: skip

    def _join(self, node: exp.Join) -> Any:
        on = _sorted({self.of(one) for one in _and_parts(node.args["on"])}) if node.args.get("on") is not None else ()
        kind = "" if node.kind in {"INNER", "OUTER"} else node.kind
        return "Join", node.side, kind, on, self._plain(node, ("on", "side", "kind"))

    def _group(self, select: exp.Select) -> Any:
        group = select.args.get("group")
        if group is None:
            return ()
        listed = {self.of(_by_number(one, select)) for one in group.expressions}
        return _sorted(listed), self._plain(group, ("expressions",))

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
            written.append((self.of(by), self._plain(one, ("this",))))
        return tuple(written)


def _is_distinct(select: exp.Select, items: Sequence[Any], group: Any) -> bool:
    """Return whether GROUP BY lists all that a query selects, and nothing else is made of the groups."""
    parts = [*select.expressions, select.args.get("having"), select.args.get("order")]
    makes = any(part is not None and part.find(exp.AggFunc, exp.Window) for part in parts)
    return not makes and not select.args.get("having") and group == (_sorted(set(items)), ("Group", ()))


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
        yield from _and_parts(where.this)


def _and_parts(condition: Any) -> Iterator[Any]:
    one = condition.unnest()
    if isinstance(one, exp.And):
        for each in (one.left, one.right):
            yield from _and_parts(each)
    elif isinstance(one, exp.Between) and not one.args.get("symmetric"):
        yield exp.GTE(this=one.this.copy(), expression=one.args["low"].copy())
        yield exp.LTE(this=one.this.copy(), expression=one.args["high"].copy())
    else:
        yield one


def _sorted(some: Any) -> tuple[Any, ...]:
    return tuple(sorted(some, key=repr))
