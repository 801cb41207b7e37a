"""Statements of the parser's tree to the internal form: what is written from what. `query` knows queries, `write` and `change` their kinds."""

from typing import Any

from sqlglot import exp

from headwater.columns import form
from headwater.columns.dialect import Rules
from headwater.columns.kinds import AGGREGATED
from headwater.columns.lowering.change import alter, create_bare, declared, drop, session_setting, transaction, truncate
from headwater.columns.lowering.context import Context
from headwater.columns.lowering.fields import lower_value
from headwater.columns.lowering.grammar import VERDICTS, irrelevant
from headwater.columns.lowering.query import lower_query
from headwater.columns.lowering.source import everything, is_pivot, sources
from headwater.columns.lowering.update import delete, merge, update
from headwater.columns.lowering.write import copy, create_as, export, insert, load, multiple, returned, select_into


def new_context(rule: Rules) -> Context:
    return Context(rule, lower_query, _changing, lower_value)


def _changing(context: Context, node: Any) -> tuple[form.Query, form.Form]:
    """A statement that stands as a CTE: what it returns, and what it does."""
    _, effect = _lowered(context, node)
    return returned(context, node), effect or form.SeveralForm([])


def lower_statement(node: Any, rule: Rules) -> form.Lowered:
    """The form of one parsed statement. An unknown construct is a warning. The caller catches RecursionError."""
    context = new_context(rule)
    kind, found = _lowered(context, node)
    if context.effects and found is not None:
        found = form.SeveralForm([*context.effects, found])
    return form.Lowered(kind, found, rule.parser, context.spelling, context.warnings)


def _lowered(context: Context, node: Any) -> tuple[str, form.Form | None]:
    context.check(node)
    if isinstance(node, exp.Query):
        if isinstance(node, exp.Select) and node.args.get("into") is not None:
            return "SELECT INTO", select_into(context, node)
        holder = _first_branch(node)
        if holder is not None and holder.args.get("into") is not None:
            return "SELECT INTO", select_into(context, node, holder)
        return "SELECT", form.QueryForm(lower_query(context, node))
    if isinstance(node, exp.Insert):
        return ("INSERT OVERWRITE" if node.args.get("overwrite") else "INSERT"), insert(context, node)
    if isinstance(node, exp.Create):
        return _create(context, node)
    if isinstance(node, exp.Merge):
        return "MERGE", merge(context, node)
    if isinstance(node, exp.Update):
        return "UPDATE", update(context, node)
    if isinstance(node, exp.Delete):
        return "DELETE", delete(context, node)
    if isinstance(node, exp.MultitableInserts):
        return "INSERT", multiple(context, node)
    if isinstance(node, exp.Copy):
        return "COPY", copy(context, node)
    if isinstance(node, exp.LoadData):
        return "LOAD", load(context, node)
    if isinstance(node, exp.Export):
        return "EXPORT", export(context, node)
    if isinstance(node, exp.Cache):
        query = node.args.get("expression")
        return "CACHE TABLE", create_as(context, node, query, temporary=True) if query is not None else None
    if isinstance(node, exp.Alter):
        actions = node.args.get("actions") or []
        if actions and isinstance(actions[0], exp.Query):
            return f"ALTER {node.args.get('kind') or 'VIEW'}", create_as(context, node, actions[0])
        return f"ALTER {node.args.get('kind') or ''}".strip(), alter(context, node)
    if isinstance(node, exp.Drop):
        return f"DROP {node.args.get('kind') or ''}".strip(), drop(context, node)
    if isinstance(node, exp.TruncateTable):
        return "TRUNCATE", truncate(context, node)
    if isinstance(node, (exp.Transaction, exp.Commit, exp.Rollback)):
        verb = {"Transaction": "BEGIN"}.get(type(node).__name__, type(node).__name__.upper())
        partly = node.args.get("savepoint") is not None or node.args.get("this") is not None
        return verb, transaction(context, verb, partly=partly)
    if isinstance(node, (exp.Use, exp.Set)):
        return type(node).__name__.upper(), session_setting(context, node)
    if isinstance(node, (exp.Values, exp.Table)) or is_pivot(node):
        return "SELECT", form.QueryForm(lower_query(context, node))
    if isinstance(node, exp.Summarize):
        read = (
            everything(sources(context, node.this))
            if isinstance(node.this, exp.Table)
            else lower_query(context, node.this)
        )
        whole = form.Expression([(("*",), AGGREGATED, "")])
        return "SUMMARIZE", form.QueryForm(form.Select([form.Projection("*", whole)], [form.Item(form.Derived(read))]))
    if isinstance(node, exp.Declare):
        return "DECLARE", declared(context, node)
    if VERDICTS.get(type(node)) != "silent":
        context.unread(node)
        return "UNKNOWN", None
    return type(node).__name__.upper(), None


_KEYS = (exp.Order, exp.Cluster, exp.Tuple, exp.Partition)
"""Clauses that a table is sorted or partitioned by."""
_BODIES = frozenset({"FUNCTION", "PROCEDURE", "TRIGGER", "RULE"})
_TABLES = frozenset({"TABLE", "VIEW", "MODEL", "DYNAMIC TABLE"})


def _first_branch(node: Any) -> Any:
    """The first SELECT of a set operation: its INTO is that of the whole."""
    while isinstance(node, (exp.SetOperation, exp.Subquery)):
        node = node.this
    return node if isinstance(node, exp.Select) else None


def _create(context: Context, node: Any) -> tuple[str, form.Form | None]:
    args = node.args
    what = str(args.get("kind") or "").upper()
    listed = args["properties"].expressions if args.get("properties") else []
    properties = {type(one) for one in listed}
    words = ["CREATE"]
    temporary = exp.TemporaryProperty in properties or exp.VolatileProperty in properties
    if exp.MaterializedProperty in properties:
        words.append("MATERIALIZED")
    kind = " ".join([*words, what])
    query = args.get("expression")
    if what == "TYPE" and isinstance(query, exp.Schema) and isinstance(node.this, exp.Table):
        fields = [context.key(one.this) for one in query.expressions if isinstance(one, exp.ColumnDef)]
        return kind, form.SessionForm("type", (context.key(node.this.this), *fields))
    if what not in _TABLES:
        if what in _BODIES or isinstance(query, exp.Expr):
            context.warn(f"what the {what} does when it runs is not followed")
        return kind, None
    for one in listed:
        if not (irrelevant(one) or VERDICTS.get(type(one)) == "part" or isinstance(one, _KEYS)):
            context.unread(one)
    if isinstance(query, (exp.Query, exp.Values, exp.Table)):
        return kind, create_as(context, node, query, temporary=temporary)
    if query is not None:
        context.unread(query)
    return kind, create_bare(context, node, temporary=temporary)
