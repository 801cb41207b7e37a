"""Statements that put rows into tables: INSERT, CREATE … AS, MERGE, UPDATE, DELETE, COPY, LOAD, EXPORT, multi-insert."""

from typing import Any

from sqlglot import exp

from headwater.columns import form
from headwater.columns.context import Context
from headwater.columns.expression import lower
from headwater.columns.kinds import FILTER, JOIN
from headwater.columns.query import ctes, everything, lower_query, projections
from headwater.columns.source import item, join, named, sources, table_parts


def target(context: Context, node: Any) -> form.Target:
    """What is written: a table, perhaps with columns and a partition, or a path."""
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
    partition = table.args.get("partition")
    if isinstance(partition, exp.Partition):
        _partition(context, partition, found)
    return found


def _partition(context: Context, node: Any, found: form.Target) -> None:
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


def _query(context: Context, node: Any) -> form.Query:
    return lower_query(context, node)


def _with(query: form.Query, own: list[form.Cte]) -> form.Query:
    if own:
        query.ctes = [*own, *query.ctes]
    return query


def select_into(context: Context, node: Any) -> form.Form:
    into = node.args["into"]
    bare = node.copy()
    bare.set("into", None)
    where = target(context, into.this) if into.this is not None else form.Target(())
    temporary = bool(into.args.get("temporary")) or bool(where.name and where.name[-1].startswith("#"))
    return form.WriteForm(where, "CREATE", _query(context, bare), temporary=temporary, creates=True)


def create_as(context: Context, node: Any, what: str, *, temporary: bool = False, query: Any = None) -> form.Form:
    """CREATE TABLE/VIEW … AS query, CACHE TABLE, ALTER VIEW."""
    where = target(context, node.this)
    own = ctes(context, node)
    properties = node.args.get("properties")
    for one in properties.expressions if properties is not None else ():
        if type(one).__name__ == "ToTableProperty":  # ClickHouse: a materialised view writes another table
            where = target(context, one.this)
    # Columns a table declares beside its partition columns are not those of the query, in order, unless no type is given.
    write = form.WriteForm(
        where, "CREATE", _with(_query(context, query if query is not None else node.args["expression"]), own),
        temporary=temporary or bool(where.name and where.name[-1].startswith("#")), creates=True,
    )  # fmt: skip
    del what
    return write


def insert(context: Context, node: Any) -> form.Form:
    args = node.args
    where = target(context, node.this)
    if isinstance(args.get("partition"), exp.Partition):
        _partition(context, args["partition"], where)
    body = args.get("expression")
    own = ctes(context, node)
    if isinstance(body, (exp.Query, exp.Values, exp.Table)):
        query = _with(_query(context, body), own)
    elif args.get("source"):
        query = everything(sources(context, args["source"]))
    else:
        query = form.Values([])
        if not args.get("default") and body is not None:
            context.warn("what is inserted is not a query")
    action = "OVERWRITE" if args.get("overwrite") else "APPEND"
    write = form.WriteForm(where, action, query, by_name=bool(args.get("by_name")))
    conflict = args.get("conflict")
    forms: list[form.Form] = [write]
    if conflict is not None and conflict.expressions:
        forms.append(_conflict(context, node, where, query, conflict))
    returning = args.get("returning")
    into = returning.args.get("into") if returning is not None else None
    if isinstance(into, exp.Expr):
        found: list[Any] = [*into.find_all(exp.Table)] or [*into.find_all(exp.Column)]
        if found:
            parts = table_parts(context, found[0]) if isinstance(found[0], exp.Table) else context.column(found[0])
            logged = form.Select(
                projections(context, returning.expressions), [_as(where, "inserted"), _as(where, "deleted")]
            )
            forms.append(form.WriteForm(form.Target(parts), "APPEND", logged))
    return forms[0] if len(forms) == 1 else form.SeveralForm(forms)


def _as(where: form.Target, alias: str) -> form.Item:
    return form.Item(form.TableSource(where.name), alias)


def _conflict(context: Context, node: Any, where: form.Target, query: form.Query, conflict: Any) -> form.Form:
    """ON CONFLICT DO UPDATE, ON DUPLICATE KEY UPDATE: the rows that were to come in are called excluded (MySQL: VALUES(c), or an alias)."""
    table = node.this.this if isinstance(node.this, exp.Schema) else node.this
    own = item(context, table)
    names = {context.fold(name, False) for name in ("excluded",)}
    alias = node.args.get("alternative")
    incoming = form.Item(form.Derived(query), next(iter(names)), list(where.columns))
    del alias
    assignments = []
    for one in conflict.expressions:
        if isinstance(one, exp.EQ):
            value = lower(context, one.expression)
            value.references = [
                (
                    (
                        (next(iter(names)), parts[0])
                        if len(parts) == 1 and _in_values(one.expression, parts[0])
                        else parts
                    ),
                    use,
                    path,
                )
                for parts, use, path in value.references
            ]
            assignments.append((context.output_name(one.this), value))
    conditions = [lower(context, found.this, FILTER)] if (found := conflict.args.get("where")) is not None else []
    return form.UpdateForm(
        form.Target(where.name), "UPDATE", own, [incoming], [form.SetClause(assignments, False, [])], conditions
    )


def _in_values(node: Any, name: str) -> bool:
    """MySQL's VALUES(column): the incoming value."""
    return any(
        isinstance(inner, exp.Column) and inner.name.lower() == name.lower()
        for found in node.find_all(exp.Anonymous)
        if str(found.this).upper() == "VALUES"
        for inner in found.expressions
    )


def multiple(context: Context, node: Any) -> form.Form:
    """Hive's FROM … INSERT … INSERT …, and INSERT ALL/FIRST of Oracle and Snowflake."""
    source = node.args.get("source")
    own = ctes(context, node)
    forms: list[form.Form] = []
    if isinstance(source, exp.Query) and not (isinstance(source, exp.Subquery) and source.alias):
        shared = form.Item(form.Derived(context.nested(source)))
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


def _assignments(context: Context, nodes: list[Any]) -> list[tuple[str, form.Expression]]:
    """SET a = x, (b, c) = (y, z), (d, e) = (SELECT …)."""
    found: list[tuple[str, form.Expression]] = []
    for one in nodes:
        if not isinstance(one, (exp.EQ, exp.PropertyEQ)):
            continue
        left, right = one.this, one.expression
        if isinstance(left, exp.Paren):
            left = exp.Tuple(expressions=[left.this])
        if not isinstance(left, exp.Tuple):
            found.append((_assigned_name(context, left), lower(context, right)))
            continue
        names = [_assigned_name(context, part) for part in left.expressions]
        inner = right.unnest() if isinstance(right, exp.Subquery) else right
        if isinstance(inner, exp.Tuple):
            found += [(name, lower(context, part)) for name, part in zip(names, inner.expressions, strict=False)]
        elif isinstance(inner, exp.Select):
            for place, name in enumerate(names):
                query = lower_query(context, inner)
                if isinstance(query, form.Select) and place < len(query.projections):
                    query.projections = [
                        query.projections[place],
                        *query.projections[:place],
                        *query.projections[place + 1 :],
                    ]
                found.append((name, form.Expression([], [(query, 0, form.SCALAR)])))
        else:
            found += [(name, lower(context, right)) for name in names]
    return found


def _assigned_name(context: Context, node: Any) -> str:
    """The column an assignment goes to; a field of a struct is its column."""
    while isinstance(node, (exp.Dot, exp.Bracket)):
        node = node.this
    if isinstance(node, exp.Column):
        return context.column(node)[-1]
    return context.output_name(node)


def update(context: Context, node: Any) -> form.Form:
    args = node.args
    own = ctes(context, node)
    table = node.this
    items: list[form.Item] = []
    clause = args.get("from_")
    if clause is not None:
        items += sources(context, clause.this)
    for one in (table.args.get("joins") or ()) if isinstance(table, exp.Table) else ():
        items += join(context, one)
    itself = item(context, table)
    itself, items = _same_table(itself, items)
    assignments = _assignments(context, args.get("expressions") or [])
    where = [lower(context, args["where"].this, FILTER)] if args.get("where") is not None else []
    name = itself.source.name if isinstance(itself.source, form.TableSource) else ()
    return form.UpdateForm(
        form.Target(name), "UPDATE", itself, items, [form.SetClause(assignments, False, [])], where, ctes=own
    )


def _same_table(itself: form.Item, items: list[form.Item]) -> tuple[form.Item, list[form.Item]]:
    """`UPDATE a … FROM t a`: the target is the one of FROM that has its name."""
    if not isinstance(itself.source, form.TableSource):
        return itself, items
    wanted = itself.source.name[-1].lower() if itself.source.name else ""
    for place, one in enumerate(items):
        if isinstance(one.source, form.TableSource) and (
            (one.alias.lower() == wanted and len(itself.source.name) == 1)
            or (one.source.name == itself.source.name and one.alias.lower() == itself.alias.lower())
        ):
            rest = items[:place] + items[place + 1 :]
            if one.on is not None and rest:
                rest[-1].on = form.Expression(
                    [*(rest[-1].on.references if rest[-1].on else []), *one.on.references],
                    [*(rest[-1].on.subqueries if rest[-1].on else []), *one.on.subqueries],
                )
            return form.Item(one.source, one.alias), rest
    return itself, items


def delete(context: Context, node: Any) -> form.Form:
    args = node.args
    own = ctes(context, node)
    table = node.this
    items: list[form.Item] = []
    for one in args.get("using") or ():
        items += sources(context, one)
    tables = args.get("tables") or ()
    if tables and not isinstance(table, exp.Expr):  # DELETE t WHERE …, without FROM
        table = tables[0]
    elif tables and isinstance(table, exp.Table):
        items = [*sources(context, table), *items]
        table = tables[0]
    elif isinstance(table, exp.Table):
        for one in table.args.get("joins") or ():
            items += join(context, one)
    itself, items = _same_table(item(context, table), items)
    where = [lower(context, args["where"].this, FILTER)] if args.get("where") is not None else []
    name = itself.source.name if isinstance(itself.source, form.TableSource) else ()
    return form.UpdateForm(form.Target(name), "DELETE", itself, items, [], where, ctes=own)


def merge(context: Context, node: Any) -> form.Form:
    args = node.args
    own = ctes(context, node)
    itself = item(context, node.this)
    incoming = sources(context, args["using"])
    clauses: list[form.SetClause] = []
    for when in args["whens"].expressions:
        condition = when.args.get("condition")
        deciding = [lower(context, condition, FILTER)] if condition is not None else []
        then = when.args.get("then")
        clauses.append(_branch(context, then, deciding))
    condition = args.get("on")
    on = lower(context, condition, JOIN) if isinstance(condition, exp.Expr) else None
    for one in args.get("using_cond") or ():
        on = on or form.Expression()
        on.references = [
            *on.references,
            *(((side.alias, context.key(one)), JOIN, "") for side in (itself, incoming[0])),
        ]
    name = itself.source.name if isinstance(itself.source, form.TableSource) else ()
    return form.UpdateForm(form.Target(name), "MERGE", itself, incoming, clauses, [], on, own)


def _branch(context: Context, then: Any, deciding: list[form.Expression]) -> form.SetClause:
    clause = form.SetClause([], False, deciding)
    if isinstance(then, exp.Update):
        listed: Any = then.args.get("expressions")
        if not listed or isinstance(listed, exp.Star) or isinstance(listed[0], exp.Star):  # DuckDB: UPDATE alone is all
            clause.star = True
        else:
            clause.assignments = _assignments(context, listed)
        if (where := then.args.get("where")) is not None:
            deciding.append(lower(context, where.this, FILTER))
    elif isinstance(then, exp.Insert):
        names, values = then.this, then.args.get("expression")
        if isinstance(names, (exp.Star, exp.Var)) or isinstance(values, exp.Star) or not (names or values):
            clause.star = True
            return clause
        if not values and isinstance(names, exp.Tuple) and names.sql().upper() == "(BY AS NAME)":
            clause.star = True
            return clause
        listed = values.expressions if isinstance(values, exp.Tuple) else [values] if values else []
        if isinstance(values, exp.Values):
            row = values.expressions[0]
            listed = row.expressions if isinstance(row, exp.Tuple) else [row]
        named_columns = (
            names.expressions if isinstance(names, (exp.Tuple, exp.Schema)) else [names] if names is not None else []
        )
        if named_columns:
            clause.assignments = [
                (_assigned_name(context, name), lower(context, value))
                for name, value in zip(named_columns, listed, strict=False)
            ]
        else:
            clause.by_position = [lower(context, value) for value in listed]
    return clause


def returned(context: Context, node: Any) -> form.Query:
    """What RETURNING gives."""
    returning = node.args.get("returning")
    if returning is None:
        return form.Select([])
    where = node.this.this if isinstance(node.this, exp.Schema) else node.this
    items = sources(context, where) if isinstance(where, exp.Table) else []
    return form.Select(projections(context, returning.expressions), items)


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
            query = form.Select(
                [form.Projection(name, form.Expression([((name,), 0, "")])) for name in where.columns], query.items
            )
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
    return form.WriteForm(where, action, everything(items[:1]))


def load(context: Context, node: Any) -> form.Form:
    args = node.args
    where = target(context, node.this)
    action = "OVERWRITE" if args.get("overwrite") else "APPEND"
    if isinstance(args.get("partition"), exp.Partition):
        _partition(context, args["partition"], where)
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
