"""The faults of a GROUP BY: columns that are neither grouped nor aggregated, unless a grouped key decides them, and grouped aggregates."""

from collections.abc import Iterator
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

from headwater.columns.dialect import rules
from headwater.columns.script.engine import engine
from headwater.columns.script.template import plain

_LENIENT = frozenset({"mysql", "sqlite", "clickhouse", "doris", "starrocks"})
"""Dialects that take a value of any row for such a column, by a setting or always."""
_WHOLE = (exp.AggFunc, exp.Window, exp.WithinGroup, exp.Filter, exp.Query, exp.Anonymous)
"""Parts that take many rows, or that are not known."""


def refused_groups(text: str, dialect: str) -> frozenset[str]:
    """Return what a text does that GROUP BY or its aggregates forbid, in words that go on from `it`; none in doubt."""
    template = plain(text)
    if template.refusals or template.names or dialect in _LENIENT:
        return frozenset()
    try:
        trees = engine(rules(dialect).parser).parse(template.text)
    except (SqlglotError, RecursionError):
        return frozenset()
    selects = (select for tree in trees if tree is not None for select in tree.find_all(exp.Select))
    return frozenset(fault for select in selects for fault in _faults(select))


def _faults(select: exp.Select) -> Iterator[str]:
    group, having = select.args.get("group"), select.args.get("having")
    items = [one.unalias() for one in select.expressions]
    if any(one.is_star for one in items) or (group is None and not any(map(_has_aggregate, items))):
        return
    if group is not None and (group.args.get("all") or group.find(exp.Rollup, exp.Cube, exp.GroupingSets)):
        return
    aliases = {one.alias.lower(): one.unalias() for one in select.expressions if one.alias}
    listed: set[str] = set()
    for one in group.expressions if group is not None else ():
        place = int(one.name) if isinstance(one, exp.Literal) and one.name.isdigit() else 0
        by = items[place - 1] if 0 < place <= len(items) else one
        if _has_aggregate(by):
            yield f"groups by the aggregate {by.sql()}"
        listed.add(_form(by))
        if isinstance(one, exp.Column) and not one.table and one.name.lower() in aliases:
            listed.add(_form(aliases[one.name.lower()]))
    for part in (*items, *([having.this] if having is not None else [])):
        for column in _free_columns(part, listed):
            if column.table or column.name.lower() not in aliases:
                yield f"selects {column.sql()}, which is neither grouped nor aggregated"


def _has_aggregate(node: Any) -> bool:
    """Return whether an expression has an aggregate of its own SELECT."""
    if isinstance(node, exp.AggFunc):
        return True
    return not isinstance(node, exp.Window | exp.Query) and any(map(_has_aggregate, node.iter_expressions()))


def _free_columns(node: Any, listed: set[str]) -> Iterator[exp.Column]:
    if _form(node) in listed or isinstance(node, _WHOLE):
        return
    if isinstance(node, exp.Column):
        yield node
        return
    for one in node.iter_expressions():
        yield from _free_columns(one, listed)


def _form(node: Any) -> str:
    """Return an expression without the tables of its columns, which change nothing where they are right."""
    made = node.unnest().copy()
    for column in list(made.find_all(exp.Column)):
        for part in ("table", "db", "catalog"):
            column.set(part, None)
    return str(made.sql(normalize_functions="lower")).lower()
