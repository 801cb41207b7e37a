"""Statements that put rows into tables: INSERT, CREATE … AS, COPY, LOAD, EXPORT, multi-insert. `update` has those that change rows."""

from typing import Any

from sqlglot import exp

from headwater.columns import form
from headwater.columns.kinds import FILTER
from headwater.columns.lowering.context import Context
from headwater.columns.lowering.expression import lower
from headwater.columns.lowering.query import ctes, lower_query, projections
from headwater.columns.lowering.source import everything, item, join, sources
from headwater.columns.lowering.table_function import listed
from headwater.columns.lowering.target import is_temporary, partition, target
from headwater.columns.lowering.update import conflict


def _with(query: form.Query, own: list[form.Cte]) -> form.Query:
    if own:
        query.ctes = [*own, *query.ctes]
    return query


def select_into(context: Context, node: Any, holder: Any = None) -> form.Form:
    """SELECT … INTO. `holder`: the SELECT that has the INTO, when `node` is a set operation."""
    holder = holder or node
    into = holder.args["into"]
    context.check(into)
    where = target(context, into.this) if into.this is not None else form.Target(())
    temporary = bool(into.args.get("temporary")) or is_temporary(where.name)
    return form.WriteForm(where, "CREATE", lower_query(context, node), temporary=temporary, creates=True)


def create_as(context: Context, node: Any, query: Any, *, temporary: bool = False) -> form.Form:
    """CREATE TABLE/VIEW … AS query, CACHE TABLE, ALTER VIEW."""
    where = target(context, node.this)
    own = ctes(context, node)
    properties = node.args.get("properties")
    for one in properties.expressions if properties is not None else ():
        if type(one).__name__ == "ToTableProperty":  # ClickHouse: a materialised view writes another table
            where = target(context, one.this)
    temporary = temporary or is_temporary(where.name)
    listed = {type(one) for one in properties.expressions} if properties is not None else set()
    view: Any = (
        "view" if isinstance(node, exp.Alter) or str(node.args.get("kind") or "").upper().endswith("VIEW") else ""
    )
    if view and exp.MaterializedProperty in listed:
        view = "materialized"
    written = _with(lower_query(context, query), own)
    return form.WriteForm(where, "CREATE", written, temporary=temporary, creates=True, view=view)


def insert(context: Context, node: Any) -> form.Form:
    args = node.args
    where = target(context, node.this)
    if isinstance(args.get("partition"), exp.Partition):
        partition(context, args["partition"], where)
    body = args.get("expression")
    own = ctes(context, node)
    if isinstance(body, (exp.Query, exp.Values, exp.Table)):
        query = _with(lower_query(context, body), own)
    elif args.get("source"):
        query = everything(sources(context, args["source"]))
    else:
        query = form.Values([])
        if not args.get("default") and body is not None:
            context.warn("what is inserted is not a query")
    action = "OVERWRITE" if args.get("overwrite") else "APPEND"
    write = form.WriteForm(where, action, query, by_name=bool(args.get("by_name")))
    write.upserts = conflict(context, node, where, query)
    return write


def multiple(context: Context, node: Any) -> form.Form:
    """Hive's FROM … INSERT … INSERT …, and INSERT ALL/FIRST of Oracle and Snowflake."""
    source = node.args.get("source")
    own = ctes(context, node)
    forms: list[form.Form] = []
    if isinstance(source, exp.Query) and not (isinstance(source, exp.Subquery) and source.alias):
        shared = form.Item(form.Derived(context.query(source)))
    else:
        shared = item(context, source)
    hung = []
    for one in (source.args.get("joins") or ()) if isinstance(source, exp.Table) else ():
        hung += join(context, one)
    for one in (source.args.get("laterals") or ()) if isinstance(source, exp.Table) else ():
        hung.append(item(context, one))
    passed: list[Any] = []
    for one in node.expressions:
        condition = None
        inner = one
        if isinstance(one, exp.ConditionalInsert):
            condition, inner = one.args.get("expression"), one.this
        if condition is not None:
            passed.append(condition)
        body = inner.args.get("expression")
        where = target(context, inner.this)
        if isinstance(body, exp.Values):
            rows = body.expressions[0]
            values = rows.expressions if isinstance(rows, exp.Tuple) else [rows]
            query: form.Query = form.Select(projections(context, values), [shared])
        elif isinstance(body, exp.Select):
            query = lower_query(context, body)
            assert isinstance(query, form.Select)
            query.items = [shared, *hung, *query.items]
        elif body is None:
            query = everything([shared])
        else:
            query = lower_query(context, body)
        if isinstance(query, form.Select):
            if condition is not None:
                query.where.append(lower(context, condition, FILTER))
            elif isinstance(one, exp.ConditionalInsert) and one.args.get("else_"):
                query.where += [lower(context, before, FILTER) for before in passed]
        action = "OVERWRITE" if inner.args.get("overwrite") else "APPEND"
        forms.append(form.WriteForm(where, action, query))
    return form.SeveralForm(forms, own)


def returned(context: Context, node: Any) -> form.Query:
    """Return the query that RETURNING makes, of the changed table and of those of FROM and USING; it has no outputs when there is no such clause."""
    returning = node.args.get("returning")
    if returning is None:
        return form.Select([])
    where = node.this.this if isinstance(node.this, exp.Schema) else node.this
    items = sources(context, where) if isinstance(where, exp.Table) else []
    beside = node.args.get("using") or []
    for one in beside if isinstance(beside, list) else [beside]:
        items += sources(context, one)
    if (clause := node.args.get("from_")) is not None:
        items += sources(context, clause.this)
    outputs = returning.expressions
    if isinstance(where, exp.Table) and not {"old", "new"} & {one.alias.lower() for one in items}:
        outputs = [one.transform(_own_row, where.alias_or_name) for one in outputs]
    return form.Select(projections(context, outputs), items)


def _own_row(node: Any, name: str) -> Any:
    """A column of OLD or NEW as one of the changed table."""
    if isinstance(node, exp.Column) and node.table.lower() in {"old", "new"} and not node.args.get("db"):
        return exp.column(node.this, table=name)
    return node


def copy(context: Context, node: Any) -> form.Form:
    """COPY in all its directions: into a table from files or a query over a stage; into files from a table or a query."""
    args = node.args
    files = args.get("files") or []
    from_files = bool(args.get("kind"))
    where = target(context, node.this) if not isinstance(node.this, exp.Query) else form.Target(())
    if isinstance(node.this, exp.Query):
        paths = [one.name for one in files if isinstance(one, exp.Literal)] or ["stdout"]
        return form.WriteForm(form.Target((paths[0],), is_path=True), "EXPORT", context.query(node.this))
    if not from_files:
        paths = [one.name for one in files if isinstance(one, exp.Literal)] or ["stdout"]
        query = everything([form.Item(form.TableSource(where.name))])
        if where.columns:
            query = listed(where.columns, query.items)
        return form.WriteForm(form.Target((paths[0],), is_path=True), "EXPORT", query)
    action = "EXPORT" if where.is_path else "APPEND"
    items: list[form.Item] = []
    for one in files:
        if isinstance(one, exp.Query):
            return form.WriteForm(where, action, context.query(one))
        if isinstance(one, exp.Table):
            items.append(item(context, one))
        elif isinstance(one, (exp.Literal, exp.Var, exp.Identifier)):
            items.append(form.Item(form.TableSource((one.name,), True)))
    if where.columns and files and files[0].name.upper() == "STDIN":
        # A client's rows have no names but those of the list; a file may have others.
        return form.WriteForm(where, action, listed(where.columns, [form.Item(form.TableSource(("stdin",), True))]))
    return form.WriteForm(where, action, everything(items[:1]))


def load(context: Context, node: Any) -> form.Form:
    args = node.args
    where = target(context, node.this)
    action = "OVERWRITE" if args.get("overwrite") else "APPEND"
    if isinstance(args.get("partition"), exp.Partition):
        partition(context, args["partition"], where)
    paths = [args["inpath"].name] if args.get("inpath") else []
    files = args.get("files")
    if isinstance(files, exp.Expr):
        paths = [
            one.name
            for found in files.find_all(exp.Property)
            if found.this.name.lower() == "uris"
            for one in found.find_all(exp.Literal)
        ]
    return form.WriteForm(where, action, everything([form.Item(form.TableSource((path,), True)) for path in paths[:1]]))


def export(context: Context, node: Any) -> form.Form:
    options = node.args.get("options")
    paths = [
        found.args["value"].name
        for found in (options.find_all(exp.Property) if options is not None else ())
        if found.this.name.lower() in {"uri", "path", "location"} and isinstance(found.args.get("value"), exp.Literal)
    ]
    return form.WriteForm(
        form.Target((paths[0] if paths else "export",), is_path=True), "EXPORT", context.query(node.this)
    )
