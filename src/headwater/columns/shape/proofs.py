"""The facts of tables that their project proves on every build, and queries without what these facts make needless. Pure.

A query of such tables is written without a COALESCE or a test for NULL of a column that is never NULL, without a condition that accepted values
always meet, with an inner join for a LEFT JOIN of a row that is always there, and without a DISTINCT of a key. Doubt leaves the query as it is.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from sqlglot import exp

from headwater.columns.shape.conditions import and_parts

TableName = tuple[str, ...]
Literal = tuple[str, bool]
"""A value as it is written, and whether it is a string."""
_MAKING = (exp.Anonymous, exp.UDTF, exp.Explode, exp.GenerateSeries)
_GROUPINGS = (exp.Rollup, exp.Cube, exp.GroupingSets)
_MOST_WHOLE = 2**31 - 1


class TableProofs(msgspec.Struct, frozen=True):
    """The facts of one table; columns in lower case. `keys`: sets of columns that no two rows share, unless one of them is NULL. `references`: a
    column of which each value is in a column of another table. `accepted`: all values of a column, beside NULL."""

    keys: frozenset[frozenset[str]] = frozenset()
    not_null: frozenset[str] = frozenset()
    references: frozenset[tuple[str, TableName, str]] = frozenset()
    accepted: frozenset[tuple[str, frozenset[Literal]]] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.keys or self.not_null or self.references or self.accepted)

    def __and__(self, other: "TableProofs") -> "TableProofs":
        return TableProofs(
            self.keys & other.keys,
            self.not_null & other.not_null,
            self.references & other.references,
            self.accepted & other.accepted,
        )


class ProvenQuery:
    """Takes needless parts out of queries. `refusable`: those that a database refuses for some types, so that adding one may break a query."""

    def __init__(self, tables: Mapping[TableName, TableProofs]) -> None:
        self._tables = tables
        self.refusable: set[str] = set()
        self.is_unsorted = False
        """A DISTINCT was taken out of the whole: the rows may stand in another order."""

    def simplify(self, tree: exp.Query, arms: list[Any]) -> None:
        """Take needless parts out of a query whose common tables are put in. `arms`: the queries of which UNION ALL is all that it is."""
        for select in list(tree.find_all(exp.Select)):
            tables = {alias: proofs for alias, _, proofs in self._sources(select)}
            if not tables or select.args.get("laterals"):
                continue
            self._match_joins(select, tables)
            tables = {alias: proofs for alias, may_lack, proofs in self._sources(select) if not may_lack}
            self._drop_distinct(select, tables, is_whole=any(select is one for one in arms))
            group = select.args.get("group")
            if group is None or not (
                {k for k, v in group.args.items() if v} - {"expressions"} or group.find(*_GROUPINGS)
            ):
                self._drop_defaults(select, tables)
                self._drop_conditions(select, tables)

    def _sources(self, select: exp.Select) -> Iterator[tuple[str, bool, TableProofs]]:
        """Yield the tables of a SELECT that have facts, each by its alias, with whether its columns may be NULL for want of a row."""
        first, joins = select.args.get("from_"), select.args.get("joins") or []
        if any(one.method for one in joins) or first is None:
            return
        sides = [one.side for one in joins]
        read = [(first.this, any(one in {"RIGHT", "FULL"} for one in sides))]
        read += [
            (one.this, one.side in {"LEFT", "FULL"} or any(side in {"RIGHT", "FULL"} for side in sides[place + 1 :]))
            for place, one in enumerate(joins)
            if one.side in {"", "LEFT", "RIGHT", "FULL"} and one.kind in {"", "INNER", "OUTER", "CROSS"}
        ]
        for source, may_lack in read:
            proofs = self._proofs_of(source)
            if proofs:
                yield source.alias_or_name, may_lack, proofs

    def _proofs_of(self, source: Any) -> TableProofs | None:
        name = _plain_name(source)
        fitting = [key for key in self._tables if name and _fits(key, name)]
        return self._tables[fitting[0]] if len(fitting) == 1 else None

    def _match_joins(self, select: exp.Select, tables: Mapping[str, TableProofs]) -> None:
        """Make inner joins of LEFT JOINs that find a row for each row."""
        present = {alias for alias, may_lack, _ in self._sources(select) if not may_lack}
        for join in select.args.get("joins") or []:
            on, right = join.args.get("on"), join.this.alias_or_name
            name = _plain_name(join.this)
            if (
                join.side != "LEFT"
                or join.kind not in {"", "OUTER"}
                or join.args.get("using")
                or on is None
                or not name
            ):
                continue
            parts = list(and_parts(on))
            if len(parts) != 1 or not isinstance(parts[0], exp.EQ):
                continue
            sides = parts[0].this.unnest(), parts[0].expression.unnest()
            if not all(isinstance(one, exp.Column) and one.table for one in sides):
                continue
            child, parent = sides if sides[1].table == right else sides[::-1]
            proofs = tables.get(child.table)
            if parent.table != right or child.table not in present or proofs is None:
                continue
            if _name(child) in proofs.not_null and any(
                column == _name(child) and field == _name(parent) and _fits(table, name)
                for column, table, field in proofs.references
            ):
                join.set("side", None)
                join.set("kind", None)
                present.add(right)

    def _drop_distinct(self, select: exp.Select, tables: Mapping[str, TableProofs], *, is_whole: bool) -> None:
        """Take out the DISTINCT of rows or of a count that have a key of the one table that is read."""
        if select.args.get("joins") or len(tables) != 1:
            return
        (proofs,) = tables.values()
        for count in select.find_all(exp.Count):
            counted = count.this.expressions if isinstance(count.this, exp.Distinct) else []
            if (
                len(counted) == 1
                and isinstance(counted[0], exp.Column)
                and count.parent_select is select
                and frozenset({_name(counted[0])}) in proofs.keys
            ):
                count.set("this", counted[0].copy())
        distinct = select.args.get("distinct")
        names = {_name(one.unalias()) for one in select.expressions if isinstance(one.unalias(), exp.Column)}
        if (
            distinct is not None
            and not distinct.args.get("on")
            and is_whole
            and not any(select.args.get(one) for one in ("limit", "offset", "group", "having"))
            and not any(one.find(exp.AggFunc, *_MAKING) for one in select.expressions)
            and any(key <= names & proofs.not_null for key in proofs.keys)
        ):
            self.refusable.add(f"distinct {sorted(names)}")
            self.is_unsorted = True
            select.set("distinct", None)

    def _drop_defaults(self, select: exp.Select, tables: Mapping[str, TableProofs]) -> None:
        """Take out COALESCE(column, literal) of a column that is never NULL."""
        aliases = {one.alias for one in select.expressions if isinstance(one, exp.Alias)}
        for call in list(select.find_all(exp.Coalesce)):
            column, others = call.this.unnest(), call.expressions
            if call.parent is select or not self._is_present(column, select, tables):
                continue
            if not column.table and column.name in aliases and call.find_ancestor(exp.Order, exp.Group, exp.Having):
                continue
            if all(_keeps_type(one) for one in others):
                self.refusable.add(f"{_name(column)} {[one.sql().lower() for one in others]}")
                call.replace(column.copy())

    def _drop_conditions(self, select: exp.Select, tables: Mapping[str, TableProofs]) -> None:
        where = select.args.get("where")
        if where is None:
            return
        parts = list(and_parts(where.this))
        kept = [one for one in parts if not self._always_holds(one, select, tables)]
        if len(kept) < len(parts):
            select.set("where", exp.Where(this=exp.and_(*(one.copy() for one in kept), copy=False)) if kept else None)

    def _always_holds(self, part: Any, select: exp.Select, tables: Mapping[str, TableProofs]) -> bool:
        is_negated = isinstance(part, exp.Not)
        test = part.this.unnest() if is_negated else part
        if isinstance(test, exp.Is) and isinstance(test.expression, exp.Null):
            return bool(test.args.get("negate")) != is_negated and self._is_present(test.this.unnest(), select, tables)
        if (
            is_negated
            or not isinstance(test, exp.In | exp.NEQ)
            or not self._is_present(test.this.unnest(), select, tables)
        ):
            return False
        column = test.this.unnest()
        listed = [one.unnest() for one in (test.expressions if isinstance(test, exp.In) else [test.expression])]
        if not listed or not all(isinstance(one, exp.Literal) for one in listed):
            return False
        written = {(one.name, one.is_string) for one in listed}
        for one, values in self._facts_of(column, tables).accepted:
            if one != _name(column) or {is_string for _, is_string in values} != {
                is_string for _, is_string in written
            }:
                continue
            cased = {text.casefold() for text, _ in values} & {text.casefold() for text, _ in written}
            # Numbers may be written in several ways.
            is_text = all(is_string for _, is_string in values)
            if values <= written if isinstance(test, exp.In) else is_text and not cased:
                self.refusable.add(f"{one} in {sorted(written)}")
                return True
        return False

    def _facts_of(self, column: exp.Column, tables: Mapping[str, TableProofs]) -> TableProofs:
        return tables[column.table] if column.table else next(iter(tables.values()))

    def _is_present(self, column: Any, select: exp.Select, tables: Mapping[str, TableProofs]) -> bool:
        """Return whether a node is a column of these tables that is never NULL in the rows of this SELECT."""
        if (
            not isinstance(column, exp.Column)
            or column.parent_select is not select
            or isinstance(column.this, exp.Star)
        ):
            return False
        if column.table not in tables and (column.table or select.args.get("joins") or len(tables) != 1):
            return False
        return _name(column) in self._facts_of(column, tables).not_null


def _plain_name(source: Any) -> TableName:
    """Return the name of a table that is read whole; () for all else, and for a name without a schema, which may be another table's."""
    if not isinstance(source, exp.Table) or {key for key, one in source.args.items() if one} - {
        "this",
        "db",
        "catalog",
        "alias",
    }:
        return ()
    alias = source.args.get("alias")
    name = tuple(part.name.lower() for part in source.parts)
    return name if len(name) > 1 and not (alias is not None and alias.columns) else ()


def _fits(one: TableName, other: TableName) -> bool:
    return one[-len(other) :] == other or other[-len(one) :] == one


def _name(column: Any) -> str:
    """Return a column's name in lower case; "" for one that is quoted for its capitals."""
    name: str = column.name
    quoted = isinstance(column.this, exp.Identifier) and bool(column.this.args.get("quoted"))
    return "" if quoted and name != name.lower() else name.lower()


def _keeps_type(one: Any) -> bool:
    """Return whether a default of a column has no type of its own to give to it: a string, or a whole number of usual size."""
    if not isinstance(one, exp.Literal):
        return False
    return one.is_string or (one.name.isdigit() and int(one.name) <= _MOST_WHOLE)
