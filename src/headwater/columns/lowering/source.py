"""Lowering of FROM to the internal form: tables, paths, derived tables, laterals, UNNEST and table functions, VALUES, PIVOT, UNPIVOT,
joins."""

import itertools
from typing import Any

from sqlglot import exp

from headwater.columns import form
from headwater.columns.dialect import EXTERNAL
from headwater.columns.kinds import AS_IS, CONDITIONAL, JOIN, TRANSFORMED
from headwater.columns.lowering.context import Context
from headwater.columns.lowering.elements import element
from headwater.columns.lowering.expression import lower
from headwater.columns.lowering.fields import lower_value
from headwater.columns.lowering.star import starred
from headwater.columns.lowering.table_function import everything, function, joined, known_rows

__all__ = ["everything", "is_pivot", "item", "join", "joined", "named", "sources", "table_parts"]

_PATH_FORMATS = frozenset(["delta", "parquet", "csv", "json", "orc", "text", "avro", "binaryfile", "iceberg"])
_PATH_DIALECTS = frozenset({"duckdb", "spark", "databricks", "snowflake", "spark2"})
_SIMPLE = frozenset({"this", "alias"})
_SPREADING = frozenset({"trino", "presto", "athena", "postgres"})
"""Dialects in which the fields of an array's rows become the columns of UNNEST."""
_NAMING = (exp.Identifier, exp.Literal, exp.Var, exp.Parameter, exp.SessionParameter, exp.Placeholder, exp.Dot)


def sources(context: Context, node: Any) -> list[form.Item]:
    """The items of one entry of FROM, joins hung below it included."""
    found = [item(context, node)]
    if _SIMPLE.issuperset(node.args):
        return found
    for one in node.args.get("joins") or ():
        found += join(context, one)
    for one in node.args.get("laterals") or ():
        found.append(item(context, one))
    return found


def join(context: Context, node: Any) -> list[form.Item]:
    args = node.args
    if len(args) == 1:  # A comma.
        return sources(context, args["this"])
    context.check(node)
    side, kind = str(args.get("side") or "").lower(), str(args.get("kind") or "").lower()
    if kind == "array":
        return _array_join(context, node)
    found = sources(context, node.this)
    first = found[0]
    first.join = kind if kind in {"semi", "anti"} else side
    if kind in {"semi", "anti"} and side == "right":
        first.join = side
    first.natural = str(args.get("method") or "").lower() == "natural"
    first.using = [context.key(one.this if isinstance(one, exp.Column) else one) for one in args.get("using") or ()]
    conditions = [args[name] for name in ("on", "match_condition") if args.get(name) is not None]
    if conditions:
        first.on = lower(context, conditions[0], JOIN)
        for more in conditions[1:]:
            extra = lower(context, more, JOIN)
            first.on.references.extend(extra.references)
            first.on.subqueries.extend(extra.subqueries)
            first.on.taken += extra.taken
    return found


def _array_join(context: Context, node: Any) -> list[form.Item]:
    """ClickHouse's ARRAY JOIN: each array's elements under its alias."""
    arrays = [node.this, *(node.args.get("expressions") or ())] if node.this is not None else node.expressions
    found = []
    for one in arrays:
        name = context.key(one.args["alias"]) if isinstance(one, exp.Alias) else context.output_name(one)
        value = table_parts(context, one) if isinstance(one, exp.Table) else ()
        if value:
            alias = one.args.get("alias")
            name = context.key(alias.this) if alias is not None and alias.this is not None else value[-1]
            expression = element(form.Expression([(value, AS_IS, "")]), TRANSFORMED)
        else:
            expression = element(lower_value(context, one.this if isinstance(one, exp.Alias) else one), TRANSFORMED)
        found.append(form.Item(form.Generated(expression, [name], False), lateral=True))
    return found


def item(context: Context, node: Any) -> form.Item:
    """One source with its alias, pivots around it."""
    kind = type(node)
    if kind is exp.Final:  # ClickHouse: the table's rows as they will be merged
        node = node.this
        kind = type(node)
    args = node.args
    this = args.get("this")
    if kind is exp.Table and type(this) is exp.Identifier and _SIMPLE.issuperset(args):
        # Nearly all of them: a name, perhaps with an alias.
        inner = this.args
        if (
            not inner.get("quoted")
            and not inner.get("temporary")
            and not inner.get("global_")
            and not context.system
            and "@" not in inner["this"]
        ):
            key, alias = context.table_key(this), args.get("alias")
            own = alias.args.get("this") if alias is not None else this
            if own is not None and not (alias is not None and alias.args.get("columns")):
                return form.Item(form.TableSource((key,)), context.key(own))
    alias = args.get("alias")
    name, columns = "", []
    if isinstance(alias, exp.TableAlias):
        name = context.key(alias.this) if alias.this is not None else ""
        columns = [
            context.key(one.this if isinstance(one, exp.ColumnDef) else one) for one in alias.args.get("columns") or ()
        ]
    context.check(node)
    result = _plain(context, node, name, columns)
    for pivot in args.get("pivots") or ():
        result.source = _pivot(context, pivot, form.Nested([result]) if result.columns else result.source)
        result.columns = []
        own = pivot.args.get("alias")
        if own is not None:
            result.alias = context.key(own.this) if own.this is not None else result.alias
            result.columns = [context.key(one) for one in own.args.get("columns") or ()]
    return result


def _plain(context: Context, node: Any, alias: str, columns: list[str]) -> form.Item:
    if isinstance(node, exp.Table):
        return _table(context, node, alias, columns)
    if isinstance(node, exp.TableAlias):  # after `|> AS t`, the parser's name for the pipe so far
        return _table(context, exp.Table(this=node.this), alias, columns)
    if isinstance(node, exp.Subquery):
        inner = node.this
        if is_pivot(inner):
            return _plain(context, inner, alias, columns)
        is_query = _holds_query(inner)
        source = form.Derived(_inner(context, node)) if is_query else form.Nested(sources(context, inner))
        return form.Item(source, alias, columns)
    if isinstance(node, exp.Query):
        return form.Item(form.Derived(context.query(node)), alias, columns)
    if is_pivot(node):
        return form.Item(_pivot(context, node, item(context, node.this).source), alias, columns)
    if isinstance(node, exp.Lateral):
        found = _lateral(context, node, alias, columns)
        found.lateral = True
        return found
    if isinstance(node, exp.Unnest):
        return _unnest(context, node, alias, columns)
    if isinstance(node, exp.Values):
        return form.Item(form.Derived(context.query(node)), alias, columns)
    if isinstance(node, exp.Final):  # ClickHouse
        inner = item(context, node.this)
        return form.Item(inner.source, alias or inner.alias, columns or inner.columns)
    if isinstance(node, exp.Stream):  # Databricks: a table read as a stream
        inner = node.this
        while isinstance(inner, exp.Subquery) and not isinstance(inner.this, exp.Select):
            inner = inner.this
        found = item(context, inner)
        return form.Item(found.source, alias or found.alias, columns or found.columns)
    if isinstance(node, exp.TableFromRows):
        return function(context, node.this, alias, columns)
    return function(context, node, alias, columns)


def _holds_query(node: Any) -> bool:
    """Return whether the parentheses hold a query, and not a table or a join."""
    while isinstance(node, exp.Subquery) and not (node.args.get("alias") or node.args.get("joins")):
        node = node.this
    return isinstance(node, (exp.Select, exp.SetOperation, exp.Values))


def _inner(context: Context, node: Any) -> form.Query:
    """The query in parentheses, with what hangs on the parentheses (ORDER BY, WITH) and without their alias."""
    args = node.args
    if args.get("order") or args.get("with_"):
        bare = exp.Subquery(**{name: value for name, value in args.items() if name not in {"alias", "pivots", "joins"}})
        return context.query(bare)
    return context.query(node.this)


def table_parts(context: Context, node: Any) -> form.Parts:
    """The parts of a table's name as written, empty when it is no name. `#temp` keeps its mark; `db..t` is in `dbo`."""
    parts: list[str] = []
    for argument in ("catalog", "db", "this"):
        part = node.args.get(argument)
        if part is None or part == "":
            if parts and context.rule.parser == "tsql":
                parts.append("dbo")
            continue
        if isinstance(part, exp.Dot):
            parts += [context.table_key(one) for one in part.flatten()]
            continue
        if isinstance(part, (exp.Func, exp.Star)) and not isinstance(part, exp.Parameter):
            return ()
        if not isinstance(part, _NAMING):
            context.unread(part)
        text = (
            context.table_key(part)
            if isinstance(part, exp.Identifier)
            else part.sql(dialect=context.rule.parser or None)
        )
        if isinstance(part, exp.Identifier) and (part.args.get("temporary") or part.args.get("global_")):
            text = ("##" if part.args.get("global_") else "#") + text
        if isinstance(part, exp.Literal):
            text = part.name
        elif isinstance(part, exp.Parameter) and context.rule.parser == "tsql":
            text = context.fold(text, False)
        parts.append(text)
    return tuple(parts)


def named(context: Context, node: Any) -> form.TableSource:
    """A table by name, or a path where the dialect reads paths."""
    parts = table_parts(context, node)
    this = node.args.get("this")
    rule = context.rule.parser
    if context.system and not (len(parts) == 1 and parts[0].lower() in context.common):
        return form.TableSource((context.system, *parts))
    if rule == "oracle" and parts and "@" in parts[-1][1:] and not this.args.get("quoted"):  # Over a database link.
        table, _, link = parts[-1].partition("@")
        return form.TableSource((EXTERNAL + link, *parts[:-1], table))
    if isinstance(this, exp.Literal):
        return form.TableSource(parts, True)
    if rule in _PATH_DIALECTS and isinstance(this, exp.Identifier) and this.args.get("quoted"):
        if len(parts) == 2 and parts[0].lower() in _PATH_FORMATS and ("/" in parts[1] or ":" in parts[1]):
            return form.TableSource((this.name,), True)
        if rule == "duckdb" and len(parts) == 1 and _looks_like_a_path(this.name):
            return form.TableSource((this.name,), True)
    if parts and parts[-1].startswith("@") and rule == "snowflake":
        return form.TableSource((parts[-1] if len(parts) == 1 else ".".join(parts),), True)
    return form.TableSource(parts)


def _looks_like_a_path(text: str) -> bool:
    return "/" in text or text.lower().endswith(
        (".parquet", ".csv", ".json", ".tsv", ".gz", ".ndjson", ".jsonl", ".xlsx", ".db")
    )


def _table(context: Context, node: Any, alias: str, columns: list[str]) -> form.Item:
    rows = node.args.get("rows_from")
    if rows:
        values = [lower(context, one.this, TRANSFORMED) for one in rows]
        for one in rows:
            known_rows(context, one.this)
        return form.Item(form.Generated(joined(values), columns, not columns), alias, lateral=True)
    this = node.args.get("this")
    if isinstance(this, exp.Func) and not isinstance(this, (exp.Parameter, exp.SessionParameter)):
        found = function(context, this, alias, columns)
        if node.args.get("ordinality") and isinstance(found.source, form.Generated) and not columns:
            found.source.columns.append(context.fold("ordinality", False))
        return found
    if isinstance(this, exp.Query):
        return form.Item(form.Derived(context.query(this)), alias, columns)
    if isinstance(this, exp.SemanticView):
        return function(context, this, alias, columns)
    source = named(context, node)
    own = alias or (context.key(this) if isinstance(this, exp.Identifier) else source.name[-1] if source.name else "")
    if not alias and source.name and source.name[-1].startswith("#"):
        own = source.name[-1]
    if context.rule.parser == "oracle" and not alias and source.name and source.name[0].startswith(EXTERNAL):
        own = source.name[-1]
    if isinstance(this, exp.Dot) and not alias:
        own = context.key(list(this.flatten())[-1])
    return form.Item(source, own, columns)


def _lateral(context: Context, node: Any, alias: str, columns: list[str]) -> form.Item:
    inner = node.this
    if isinstance(inner, exp.Subquery):
        return form.Item(form.Derived(_inner(context, inner)), alias, columns)
    if isinstance(inner, exp.Query):
        return form.Item(form.Derived(context.query(inner)), alias, columns)
    if isinstance(inner, exp.Table):
        found = item(context, inner)
        return form.Item(found.source, alias or found.alias, columns or found.columns)
    if isinstance(inner, exp.Unnest):
        return _unnest(context, inner, alias, columns)
    return function(context, inner, alias, columns)


def _unnest(context: Context, node: Any, alias: str, columns: list[str]) -> form.Item:
    values = [element(lower_value(context, one), TRANSFORMED) for one in node.expressions]
    whole = joined(values)
    offset = node.args.get("offset")
    named_offset = (
        [context.key(offset)]
        if isinstance(offset, exp.Identifier)
        else [context.fold("offset", False)]
        if offset
        else []
    )
    if context.rule.parser == "bigquery":
        alias = alias or (columns[0] if columns else "")
        return form.Item(form.Generated(whole, ([alias] if alias else []) + named_offset, True), alias, lateral=True)
    each = values if columns and len(values) > 1 and len(columns) in {len(values), len(values) + 1} else []
    spread = len(values) == 1 and context.rule.parser in _SPREADING
    if len(each) < len(columns) and each:
        each = [*each, whole]
    if not columns and len(values) == 1 and alias:
        columns = [alias] if context.rule.parser in {"postgres", "redshift", "duckdb"} else []
        return form.Item(form.Generated(whole, columns + named_offset, True, each), alias, lateral=True)
    return form.Item(form.Generated(whole, columns + named_offset, not columns, each, spread), alias, lateral=True)


def is_pivot(node: Any) -> bool:
    """Return whether the node is DuckDB's PIVOT or UNPIVOT where a query stands."""
    return isinstance(node, exp.Pivot) and isinstance(node.this, exp.Expr)


def _pivot(context: Context, node: Any, source: form.Source) -> form.Source:
    args = node.args
    context.check(node)
    fields = [one for one in args.get("fields") or () if isinstance(one, exp.In)]
    if args.get("unpivot"):
        return _unpivot(context, node, fields, source)
    aggregates = list(args.get("expressions") or ())
    using = args.get("using")
    simplified = not fields  # DuckDB: PIVOT t ON x USING sum(y); the number of rows without USING
    if simplified:
        choosers, aggregates = aggregates, list(using or ())
        if choosers and not aggregates:
            aggregates = [exp.Count(this=exp.Star())]
    else:
        choosers = [one.this for one in fields]
    chooser = joined([lower(context, one.this if isinstance(one, exp.In) else one, CONDITIONAL) for one in choosers])
    values = [lower(context, one.this if isinstance(one, exp.Alias) else one, AS_IS) for one in aggregates]
    names = [context.key(one) for one in args.get("columns") or ()] or (
        _spread(choosers, aggregates) if simplified else []
    )
    group = args.get("group")
    keys = None
    if simplified and not choosers:  # PIVOT t USING sum(x): the aggregates alone
        names, keys = [context.output_name(one) for one in aggregates], []
    columns = [(name, place % len(values)) for place, name in enumerate(names)] if values else []
    if group is not None:
        keys = [(context.output_name(one), lower(context, one)) for one in group.expressions]
    return form.Pivoted(source, values, chooser, columns, keys)


def _spread(choosers: list[Any], aggregates: list[Any]) -> list[str]:
    """Return the columns of DuckDB's PIVOT t ON x IN ('a', 'b') USING …: each value with each aggregate's alias; none if a name is not known.

    Source: DuckDB's documentation of PIVOT. An aggregate without an alias is left out of the name if it is the only one.
    """
    if not all(isinstance(one, exp.In) and one.expressions for one in choosers):
        return []
    listed = [[value.name for value in one.expressions] for one in choosers]
    endings = [f"_{one.alias}" if one.alias else "" for one in aggregates]
    if len(endings) > 1 and not all(endings):
        return []
    return ["_".join(values) + ending for values in itertools.product(*listed) for ending in endings]


def _unpivot(context: Context, node: Any, fields: list[Any], source: form.Source) -> form.Source:
    """Every value column is fed by what is at its place in each entry of IN, or of DuckDB's ON; the name column by none."""
    args = node.args
    if fields:
        made = [context.output_name(part) for one in args.get("expressions") or () for part in _parts(one)]
        names = [context.output_name(field.this) for field in fields]
        entries = [entry for field in fields for entry in field.expressions]
    else:  # DuckDB: UNPIVOT t ON a, b INTO NAME n VALUE v
        into = args.get("into")
        made = [context.key(one) for one in into.expressions] if into is not None else ["value"]
        names = [context.key(into.this)] if into is not None and into.this is not None else ["name"]
        entries = list(args.get("expressions") or ())
    fed: list[list[form.Feeding]] = [[] for _ in made]
    for entry in entries:
        inner = entry.this if isinstance(entry, (exp.Alias, exp.PivotAlias)) else entry
        for place, part in enumerate(_parts(inner)[: len(fed)]):
            fed[place].append(_feeding(context, part))
    values = list(zip(made, fed, strict=True))
    return form.Unpivoted(source, values, names, bool(args.get("value_columns_first")), bool(args.get("include_nulls")))


def _parts(node: Any) -> list[Any]:
    return node.expressions if isinstance(node, exp.Tuple) else [node]


def _feeding(context: Context, node: Any) -> form.Feeding:
    """The value of an entry of UNPIVOT: an expression of a column, or of all that a star means."""
    found = next((star for one in node.find_all(exp.Columns, exp.Star) if (star := starred(context, one))), None)
    if found is not None:
        return form.Feeding(
            form.Expression(), found, AS_IS if node.unnest().key in {"columns", "star"} else TRANSFORMED
        )
    name = (context.key(node),) if isinstance(node, exp.Identifier) else None
    return form.Feeding(form.Expression([(name, AS_IS, "")]) if name else lower(context, node))
