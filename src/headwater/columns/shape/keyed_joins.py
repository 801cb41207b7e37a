"""LEFT JOINs by a unique key: their right side adds columns to each row, and no change of its rows adds, removes or doubles a row of the result.

Doubt is no such join: what cannot be proven here decides about rows.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlglot import exp
from sqlglot.errors import SqlglotError

from headwater.columns.dialect import rules
from headwater.columns.script.engine import engine
from headwater.columns.script.template import plain

TableName = tuple[str, ...]
Keys = Sequence[frozenset[str]]
"""The sets of columns, in lower case, of which no two rows of a table have the same values."""


class Stripped(NamedTuple):
    """A text without its LEFT JOINs by a unique key. `joins`: the text of each, by the key of its table. `columns`: those of each that only its
    conditions name, or that a condition names and the text shows under the same name. `compared`: those in conditions of the joins that stay."""

    text: str
    joins: dict[TableName, str]
    columns: dict[TableName, frozenset[str]]
    compared: frozenset[str]


def strip_keyed_joins(text: str, dialect: str, keys: Mapping[TableName, Keys]) -> Stripped | None:
    """Return a text without its LEFT JOINs of tables by one of their keys (`keys`, by table in lower case), written anew; None in doubt.

    A table that is also read in another way is not stripped.
    """
    template = plain(text)
    if template.refusals or template.names:
        return None
    try:
        trees = engine(rules(dialect).parser).parse(template.text)
    except (SqlglotError, RecursionError):
        return None
    if len(trees) != 1 or trees[0] is None or _may_drop_rows(trees[0]):
        return None
    joins: dict[TableName, str] = {}
    columns: dict[TableName, frozenset[str]] = {}
    used: dict[TableName, list[exp.Table]] = {}
    for table in trees[0].find_all(exp.Table):
        if (found := _find_key(table, keys)) is not None:
            used.setdefault(found, []).append(table)
    for name, tables in used.items():
        by = [_joined_by(table, keys[name]) for table in tables]
        if all(by):
            joins[name] = "; ".join(
                table.parent.sql(rules(dialect).parser) for table in tables if table.parent is not None
            )
            columns[name] = frozenset().union(*(one for one in by if one))
    for name in joins:
        for table in used[name]:
            if table.parent is not None:
                table.parent.pop()
    compared = frozenset(
        node.name.lower() for join in trees[0].find_all(exp.Join) for node in join.find_all(exp.Column, exp.Identifier)
    )
    if any(compared & some for some in columns.values()):
        return None
    return Stripped(trees[0].sql(rules(dialect).parser), joins, columns, compared)


def _may_drop_rows(tree: Any) -> bool:
    """Return whether rows may be chosen by columns that no clause names: DISTINCT, UNION, LIMIT, a recursive query."""
    return any(
        isinstance(node, exp.SetOperation)
        or (isinstance(node, exp.With) and node.args.get("recursive"))
        or (
            isinstance(node, exp.Select)
            and any(node.args.get(part) for part in ("distinct", "limit", "offset", "qualify", "laterals"))
        )
        for node in tree.walk()
    )


def _find_key(table: exp.Table, keys: Mapping[TableName, Keys]) -> TableName | None:
    """Return the table of `keys` that a name means: the same, or the only one that ends in it."""
    name = tuple(part.name.lower() for part in table.parts)
    if name in keys:
        return name
    fitting = [one for one in keys if one[-len(name) :] == name or name[-len(one) :] == one]
    return fitting[0] if len(fitting) == 1 else None


def _joined_by(table: exp.Table, keys: Keys) -> frozenset[str]:
    """Return the columns of the key by which a table is left-joined; none if it is read in another way."""
    join, nothing = table.parent, frozenset[str]()
    if (
        not isinstance(join, exp.Join)
        or join.args.get("side") != "LEFT"
        or join.args.get("kind") not in {None, "", "OUTER"}
        or join.args.get("method")
    ):
        return nothing
    query, on, alias = join.parent, join.args.get("on"), table.alias_or_name.lower()
    if not isinstance(query, exp.Select) or on is None or on.find(exp.Subquery, exp.Or):
        return nothing
    equal: set[str] = set()
    others: set[str] = set()
    if not all(one.table for one in on.find_all(exp.Column)):
        return nothing
    for part in on.flatten() if isinstance(on, exp.And) else (on,):
        mine = [one for one in part.find_all(exp.Column) if one.table.lower() == alias]
        is_equal = isinstance(part, exp.EQ) and len(mine) == 1 and mine[0] in (part.left, part.right)
        (equal if is_equal else others).update(one.name.lower() for one in mine)
    if not any(key and key <= equal for key in keys) or _is_exported(query, join, alias, equal, others - equal):
        return nothing
    return frozenset(equal | others)


def _is_exported(query: exp.Select, join: exp.Join, alias: str, hidden: set[str], shown: set[str]) -> bool:
    """Return whether a query uses the columns of a join's condition elsewhere, by which another part could decide about rows. `shown`: those that it
    may have in its result as they are."""
    inside = set(map(id, join.find_all(exp.Column)))
    for column in query.find_all(exp.Column):
        if id(column) in inside or column.table.lower() not in {"", alias}:
            continue
        name = column.name.lower()
        if name in hidden or name == "*" or (name in shown and column.parent is not query):
            return True
    return any(isinstance(one, exp.Star) for one in query.expressions)
