"""Lowering of a statement's target: the table, its columns and partition, or the path."""

from typing import Any

from sqlglot import exp

from headwater.columns import form
from headwater.columns.dialect import TEMPORARY_SCHEMAS
from headwater.columns.lowering.context import Context
from headwater.columns.lowering.source import named


def target(context: Context, node: Any) -> form.Target:
    """Return the target of a statement: a table, perhaps with columns and a partition, or a path."""
    columns: list[str] = []
    table = node
    if isinstance(node, exp.Schema):
        table = node.this
        columns = [context.key(_identifier(one)) for one in node.expressions if _identifier(one) is not None]
    if isinstance(table, exp.Directory):
        return form.Target((table.this.name,), columns, is_path=True)
    if isinstance(table, exp.Literal):
        return form.Target((table.name,), columns, is_path=True)
    if not isinstance(table, exp.Table):
        return form.Target((context.output_name(table),) if table is not None else (), columns)
    source = named(context, table)
    found = form.Target(source.name, columns, is_path=source.is_path)
    chosen = table.args.get("partition")
    if isinstance(chosen, exp.Partition):
        partition(context, chosen, found)
    return found


def partition(context: Context, node: Any, found: form.Target) -> None:
    for one in node.expressions:
        if isinstance(one, exp.EQ):
            found.partition.append(context.output_name(one.this))
        elif isinstance(one, (exp.Column, exp.Identifier)):
            found.dynamic.append(context.output_name(one))


def _identifier(node: Any) -> Any:
    if isinstance(node, exp.Identifier):
        return node
    if isinstance(node, (exp.ColumnDef, exp.Column)):
        return node.this
    if isinstance(node, (exp.Ordered, exp.Alias)):
        return _identifier(node.this)
    return None


def is_temporary(name: form.Parts) -> bool:
    """Return whether a table's name alone says that it ends with the session."""
    return bool(name) and (name[-1].startswith("#") or (len(name) == 2 and name[0].lower() in TEMPORARY_SCHEMAS))
