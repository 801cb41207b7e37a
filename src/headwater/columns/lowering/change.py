"""Statements about tables themselves and about the session: CREATE without rows, ALTER, DROP, TRUNCATE, USE, SET."""

from typing import Any

from sqlglot import exp

from headwater.columns import form
from headwater.columns.lowering.context import Context
from headwater.columns.lowering.source import table_parts
from headwater.columns.lowering.target import is_temporary
from headwater.columns.lowering.types import type_fields

_COUNTED = frozenset({"tsql", "fabric", "redshift"})
"""Dialects in which an INSERT without a list of columns gives no value for a column that the server counts up."""


def _table(node: Any) -> Any:
    while isinstance(node, (exp.Schema, exp.Alias)):
        node = node.this
    return node


def create_bare(context: Context, node: Any, *, temporary: bool) -> form.Form | None:
    """CREATE TABLE with columns, LIKE another or as its clone."""
    args = node.args
    table = _table(node.this)
    if not isinstance(table, exp.Table):
        return None
    name = table_parts(context, table)
    columns: list[str] = []
    own: list[str] = []
    types: list[tuple[str, Any]] = []
    other: form.Parts = ()
    action = "CREATE"
    listed = list(node.this.expressions) if isinstance(node.this, exp.Schema) else []
    properties = args["properties"].expressions if args.get("properties") is not None else []
    for one in [*listed, *properties]:
        if isinstance(one, exp.ColumnDef):
            columns.append(context.key(one.this))
            if inner := type_fields(context, one.args.get("kind")):
                types.append((columns[-1], inner))
            if _makes_itself(one, context.rule.parser):
                own.append(columns[-1])
        elif isinstance(one, exp.LikeProperty):
            other, action = table_parts(context, one.this), "LIKE"
        elif isinstance(one, exp.PartitionedByProperty) and isinstance(one.this, exp.Schema):
            columns += [context.key(inner.this) for inner in one.this.expressions if isinstance(inner, exp.ColumnDef)]
    parents = [
        table_parts(context, parent)
        for one in properties
        if isinstance(one, (exp.InheritsProperty, exp.PartitionedOfProperty))
        for parent in (one.expressions or [one.this])
        if isinstance(parent, exp.Table)
    ]
    clone = args.get("clone")
    if clone is not None:
        other, action = table_parts(context, clone.this), "CLONE"
    temporary = temporary or is_temporary(name)
    return form.ChangeForm(
        [(action, name, other), *(("PART", name, parent) for parent in parents)],
        list(dict.fromkeys(columns)) or None,
        temporary,
        own=own,
        types=types,
    )


def _makes_itself(node: Any, parser: str) -> bool:
    """A computed column, or one the server counts up where INSERT passes over it."""
    kind = node.args.get("kind")
    if parser in _COUNTED and isinstance(kind, exp.DataType) and kind.this == exp.DataType.Type.ROWVERSION:
        return True
    for one in node.args.get("constraints") or ():
        what = one.args.get("kind")
        if isinstance(what, (exp.ComputedColumnConstraint, exp.EphemeralColumnConstraint)):
            return True
        if parser in _COUNTED and isinstance(
            what, (exp.GeneratedAsIdentityColumnConstraint, exp.AutoIncrementColumnConstraint)
        ):
            return True
    return False


def declared(context: Context, node: Any) -> form.Form | None:
    """T-SQL's DECLARE of table variables."""
    found: list[form.Form] = []
    for one in node.expressions:
        listed, names = one.args.get("kind"), one.this
        if not isinstance(listed, exp.Schema):
            continue
        columns = [each for each in listed.expressions if isinstance(each, exp.ColumnDef)]
        keys = [context.key(each.this) for each in columns]
        own = [key for key, each in zip(keys, columns, strict=True) if _makes_itself(each, context.rule.parser)]
        for name in names if isinstance(names, list) else [names]:
            parts = ("@" + context.fold(name.name, False),)
            found.append(form.ChangeForm([("DECLARE", parts, ())], keys or None, True, own=own))
    if not found:
        return None
    return found[0] if len(found) == 1 else form.SeveralForm(found)


def alter(context: Context, node: Any) -> form.Form | None:
    if str(node.args.get("kind") or "").upper() == "INDEX":
        return form.ChangeForm([])
    table = _table(node.this)
    if not isinstance(table, exp.Table):
        return None
    name = table_parts(context, table)
    changes: list[tuple[str, form.Parts, form.Parts]] = []
    for action in node.args.get("actions") or ():
        if isinstance(action, (exp.AlterRename, exp.SwapTable)):
            other = (
                table_parts(context, action.this) if isinstance(action.this, exp.Table) else (context.key(action.this),)
            )
            if len(other) < len(name):  # A new name stays where the old one is.
                other = (*name[: len(name) - len(other)], *other)
            changes.append(("RENAME" if isinstance(action, exp.AlterRename) else "SWAP", name, other))
        else:
            changes.append(("ALTER", name, ()))
    return form.ChangeForm(list(dict.fromkeys(changes)))


def drop(context: Context, node: Any) -> form.Form | None:
    if str(node.args.get("kind") or "").upper() not in {"TABLE", "VIEW", "MATERIALIZED VIEW", "EXTERNAL TABLE"}:
        return None
    tables = node.args.get("tables") or ([node.this] if isinstance(node.args.get("this"), exp.Table) else [])
    return form.ChangeForm([("DROP", table_parts(context, one), ()) for one in tables if isinstance(one, exp.Table)])


def truncate(context: Context, node: Any) -> form.Form:
    return form.ChangeForm(
        [("TRUNCATE", table_parts(context, one), ()) for one in node.expressions if isinstance(one, exp.Table)]
    )


_UNDONE = frozenset({"duckdb", "postgres", "redshift", "sqlite", "tsql", "fabric"})
"""Products that undo CREATE, ALTER and DROP with their transaction; the others commit them at once."""


def transaction(context: Context, verb: str, *, partly: bool = False) -> form.Form | None:
    """BEGIN, COMMIT, ROLLBACK and their other names; `partly`: only back to a savepoint."""
    if context.rule.parser not in _UNDONE:
        return None
    if verb in {"ROLLBACK", "ABORT"}:
        return form.SessionForm("rollback partly" if partly else "rollback", ())
    return form.SessionForm("commit" if verb in {"COMMIT", "END"} else "begin", ())


def session_setting(context: Context, node: Any) -> form.Form | None:
    if isinstance(node, exp.Use):
        return _use(context, node)
    variables: list[str] = []
    for one in node.expressions:
        inner = one.this if isinstance(one, exp.SetItem) else one
        if not isinstance(inner, exp.EQ):
            continue
        left, right = inner.this, inner.expression
        name = left.name.lower()
        if name in {"search_path", "current_schema", "schema"}:
            values = right.expressions if isinstance(right, (exp.Tuple, exp.Array)) else [right]
            parts = tuple(
                context.fold(value.name, isinstance(value, exp.Literal) and False) for value in values if value.name
            )
            return form.SessionForm("search_path" if name == "search_path" else "schema", parts)
        # A setting is no name in a query, nor is a variable that a query has a mark or a function for.
        if context.rule.parser == "bigquery" or (
            str(one.args.get("kind")) == "VARIABLE" and context.rule.parser not in {"duckdb", "snowflake"}
        ):
            variables.append(name)
    return form.SessionForm("variables", tuple(variables)) if variables else None


def _use(context: Context, node: Any) -> form.Form | None:
    table, kind = node.args.get("this"), node.args.get("kind")
    word = kind.name.upper() if kind is not None else ""
    if not isinstance(table, exp.Table) or word in {"WAREHOUSE", "ROLE", "SECONDARY ROLES"}:
        return None
    parts = table_parts(context, table)
    if word in {"CATALOG", "DATABASE"}:
        return form.SessionForm("database", parts)
    if word == "SCHEMA" or len(parts) > 1:
        return form.SessionForm("schema", parts)
    # Without a word it is the product's outermost name that has no catalog above it.
    two_levels = context.rule.parser in {"snowflake", "tsql", "bigquery"}
    return form.SessionForm("database" if two_levels else "schema", parts)
