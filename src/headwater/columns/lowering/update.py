"""Statements that change rows where they are: UPDATE, MERGE, DELETE, and an INSERT's ON CONFLICT."""

from typing import Any

from sqlglot import exp

from headwater.columns import form
from headwater.columns.kinds import AS_IS, FILTER, JOIN, TRANSFORMED
from headwater.columns.lowering.context import Context
from headwater.columns.lowering.expression import lower
from headwater.columns.lowering.fields import lower_value
from headwater.columns.lowering.query import ctes, lower_query
from headwater.columns.lowering.source import item, join, sources


def conflict(context: Context, node: Any, where: form.Target, query: form.Query) -> form.UpdateForm | None:
    """ON CONFLICT DO UPDATE, ON DUPLICATE KEY UPDATE: the rows that were to come in are called excluded (MySQL: VALUES(c))."""
    clause = node.args.get("conflict")
    if clause is None or not clause.expressions:
        return None
    table = node.this.this if isinstance(node.this, exp.Schema) else node.this
    incoming = form.Item(form.Derived(query), context.fold("excluded", False), list(where.columns))
    shown = query.items if isinstance(query, form.Select) else []  # MySQL lets the values name the query's own tables.
    assignments = [
        (_assigned_name(context, one.this), lower_value(context, one.expression.transform(_incoming)))
        for one in clause.expressions
        if isinstance(one, exp.EQ)
    ]
    conditions = [lower(context, found.this, FILTER)] if (found := clause.args.get("where")) is not None else []
    return form.UpdateForm(
        form.Target(where.name),
        "UPDATE",
        item(context, table),
        [incoming, *shown],
        [form.SetClause(assignments, False, [])],
        conditions,
    )


def _incoming(node: Any) -> Any:
    """MySQL's VALUES(c) as the column c of the incoming rows."""
    if isinstance(node, exp.Anonymous) and str(node.this).upper() == "VALUES" and len(node.expressions) == 1:
        return exp.column(node.expressions[0].name, table="excluded")
    return node


def _assignment(context: Context, left: Any, value: form.Expression, itself: form.Item) -> tuple[str, form.Expression]:
    """An assignment to a column of the table that is changed, or to a field of one: the column keeps its other fields."""
    if context.rule.parser not in _WITH_FIELDS or not isinstance(left, (exp.Column, exp.Dot)):
        return _assigned_name(context, left), value
    parts = context.key_path(left)
    own = itself.source.name if isinstance(itself.source, form.TableSource) else ()
    owners = {one.lower() for one in (*own, itself.alias) if one}
    while len(parts) > 1 and parts[0].lower() in owners:
        parts = parts[1:]
    if len(parts) < 2:
        return _assigned_name(context, left), value
    column = (itself.alias, parts[0]) if itself.alias else (parts[0],)
    kept = form.Expression([(column, AS_IS, "")])
    made = form.Expression([*value.references, (column, TRANSFORMED, "")], value.subqueries, value.taken)
    inner = value
    for name in reversed(parts[1:]):
        inner = form.Expression(inner.references, inner.subqueries, inner.taken, form.Fields([(name, inner)]))
    assert inner.fields is not None
    made.fields = form.Fields(inner.fields.given, [(kept, AS_IS)] if len(parts) == 2 else [])
    return parts[0], made


_WITH_FIELDS = frozenset({"bigquery", "spark", "databricks", "duckdb"})


def _assignments(context: Context, nodes: list[Any], itself: form.Item) -> list[tuple[str, form.Expression]]:
    """SET a = x, (b, c) = (y, z), (d, e) = (SELECT …)."""
    found: list[tuple[str, form.Expression]] = []
    for one in nodes:
        if not isinstance(one, (exp.EQ, exp.PropertyEQ)):
            continue
        left, right = one.this, one.expression
        if isinstance(left, exp.Paren):
            left = exp.Tuple(expressions=[left.this])
        if not isinstance(left, exp.Tuple):
            found.append(_assignment(context, left, lower_value(context, right), itself))
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


def _check_owners(context: Context, nodes: list[Any], itself: form.Item, items: list[form.Item]) -> None:
    """MySQL changes several tables at once; here one is."""
    others = {one.alias for one in items} - {itself.alias}
    for one in nodes:
        left = one.this if isinstance(one, exp.EQ) else None
        if isinstance(left, exp.Column) and left.table and context.key(left.args["table"]) in others:
            context.warn(f"{context.written(left)} is a column of another table, which is changed, too")


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
    assignments = _assignments(context, args.get("expressions") or [], itself)
    _check_owners(context, args.get("expressions") or [], itself, items)
    where = [lower(context, args["where"].this, FILTER)] if args.get("where") is not None else []
    name = itself.source.name if isinstance(itself.source, form.TableSource) else ()
    name, assignments = _beneath(context, own, itself, name, assignments)
    return form.UpdateForm(
        form.Target(name), "UPDATE", itself, items, [form.SetClause(assignments, False, [])], where, ctes=own
    )


def _beneath(
    context: Context,
    own: list[form.Cte],
    itself: form.Item,
    name: form.Parts,
    assignments: list[tuple[str, form.Expression]],
) -> tuple[form.Parts, list[tuple[str, form.Expression]]]:
    """A CTE that is changed (T-SQL): the table below it is what changes, its columns under their own names."""
    cte = next((one for one in own if name == (one.name,)), None)
    if cte is None:
        return name, assignments
    items = cte.query.items if isinstance(cte.query, form.Select) else []
    outputs = cte.query.projections if isinstance(cte.query, form.Select) else []
    columns = {
        (cte.columns[place] if place < len(cte.columns) else one.name): one.value.references[0][0]
        for place, one in enumerate(outputs)
        if one.star is None and len(one.value.references) == 1
    }
    changed = [columns.get(column, (column,)) for column, _ in assignments]
    if len(items) > 1:  # All columns that are changed are of one of the tables.
        owners = {parts[0] if len(parts) > 1 else "" for parts in changed}
        items = [one for one in items if owners == {one.alias}]
    source = items[0].source if len(items) == 1 else None
    if not isinstance(source, form.TableSource):
        context.warn(f"which table below {name[0]} is changed is not known")
        return name, assignments
    return source.name, [(parts[-1], value) for parts, (_, value) in zip(changed, assignments, strict=True)]


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
                    (*(rest[-1].on.taken if rest[-1].on else ()), *one.on.taken),
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
    # T-SQL's `DELETE TOP (n) FROM t` comes as a table called TOP with columns, its `DELETE t` as one before a FROM there is not.
    tables = [one for one in args.get("tables") or () if not one.alias_column_names]
    if tables and not isinstance(table, exp.Table):
        table = tables[0]
    elif tables:
        items = [*sources(context, table), *items]
        table = tables[0]
    elif isinstance(table, exp.Table):
        for one in table.args.get("joins") or ():
            items += join(context, one)
    if len(tables) > 1:
        rest = ", ".join(context.written(one) for one in tables[1:])
        context.warn(f"rows of several tables are deleted, and only the first is followed: {rest} too")
    itself, items = _same_table(item(context, table), items)
    where = [lower(context, args["where"].this, FILTER)] if args.get("where") is not None else []
    name = itself.source.name if isinstance(itself.source, form.TableSource) else ()
    name, _ = _beneath(context, own, itself, name, [])
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
        clause = _branch(context, then, deciding, itself)
        if not when.args.get("matched"):
            clause.sees = "target" if when.args.get("source") else "source"
        clauses.append(clause)
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


def _branch(context: Context, then: Any, deciding: list[form.Expression], itself: form.Item) -> form.SetClause:
    clause = form.SetClause([], False, deciding)
    if isinstance(then, exp.Update):
        listed: Any = then.args.get("expressions")
        if not listed or isinstance(listed, exp.Star) or isinstance(listed[0], exp.Star):  # DuckDB: UPDATE alone is all
            clause.star = True
        else:
            clause.assignments = _assignments(context, listed, itself)
        if (where := then.args.get("where")) is not None:
            deciding.append(lower(context, where.this, FILTER))
    elif isinstance(then, exp.Insert):
        names, values = then.this, then.args.get("expression")
        if (where := then.args.get("where")) is not None:
            deciding.append(lower(context, where.this, FILTER))
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
                (_assigned_name(context, name), lower_value(context, value))
                for name, value in zip(named_columns, listed, strict=False)
            ]
        else:
            clause.by_position = [lower_value(context, value) for value in listed]
    return clause
