"""Functions in FROM: readers of files, rows made of values, tables of other systems. One that is not known lowers the level."""

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from headwater.columns import form
from headwater.columns.dialect import EXTERNAL, HIVES
from headwater.columns.kinds import AS_IS, FILTER, TRANSFORMED
from headwater.columns.lowering.context import Context
from headwater.columns.lowering.elements import element
from headwater.columns.lowering.expression import lower
from headwater.columns.lowering.fields import lower_value, spread
from headwater.columns.lowering.lambdas import parts_of

_READERS = frozenset(
    (
        "read_parquet parquet_scan read_csv read_csv_auto read_json read_json_auto read_ndjson read_text read_blob "
        "read_files cloud_files iceberg_scan delta_scan s3 s3cluster gcs hdfs file url urlcluster azureblobstorage read_xlsx st_read "
        "deltalake iceberg hudi filecluster hdfscluster sqlite_scan read_ndjson_auto read_json_objects"
    ).split()
)
_ROW_MAKERS = (
    exp.Explode, exp.ExplodeOuter, exp.Posexplode, exp.PosexplodeOuter, exp.Inline, exp.Stack, exp.Unnest, exp.Flatten, exp.GenerateSeries,
    exp.ExplodingGenerateSeries, exp.GenerateDateArray, exp.GenerateTimestampArray, exp.SplitToTable, exp.StrtokSplitToTable,
    exp.JSONTable, exp.OpenJSON, exp.XMLTable, exp.Generator, exp.JSONKeys, exp.JSONExtract, exp.RegexpExtractAll, exp.Split, exp.StringToArray,
    exp.Array, exp.MapKeys, exp.RegexpSplit, exp.Values, exp.Bracket, exp.Column, exp.Struct, exp.Map, exp.VarMap, exp.List, exp.Cast,
)  # fmt: skip
_MAKERS = frozenset(
    (
        "explode explode_outer posexplode posexplode_outer inline inline_outer stack json_tuple parse_url_tuple range generate_series "
        "generate_subscripts unnest flatten json_each json_each_text jsonb_each jsonb_each_text json_tree json_to_record json_to_recordset "
        "jsonb_to_record jsonb_to_recordset json_array_elements json_array_elements_text jsonb_array_elements jsonb_array_elements_text "
        "json_object_keys jsonb_object_keys json_populate_record json_populate_recordset jsonb_populate_recordset jsonb_path_query "
        "regexp_matches regexp_split_to_table regexp_matches string_to_table string_split split_to_table strtok_split_to_table numbers "
        "numbers_mt zeros generaterandom values generator json_table xmltable openjson openxml tumble hop cumulate session sequence "
        "array_join splitbystring splitbychar json_extract map_explode variant_explode "
        "variant_explode_outer nodes"
    ).split()
)
"""Names of functions whose rows are made of their arguments and of nothing else."""
_FOREIGN_SQL: dict[str, tuple[str | None, int, int]] = {
    "external_query": (None, 0, 1),
    "openquery": (None, 0, 1),
    "openrowset": (None, 1, 2),
    "opendatasource": (None, 1, 2),
    "postgres_query": ("postgres", 0, 1),
    "mysql_query": ("mysql", 0, 1),
    "sqlite_query": ("sqlite", 0, 1),
    "dblink": ("postgres", 0, 1),
    "remote_query": (None, 0, -1),
}
"""Functions that send a text to another system: its dialect (None: not known), the place of its name, and of the text (-1: query => …)."""
_FOREIGN_TABLES = {
    "remote": 2, "remotesecure": 2, "postgresql": 2, "mysql": 2, "mongodb": 2, "sqlite": 1, "jdbc": 2, "odbc": 2, "redis": 1,
    "postgres_scan": 2, "postgres_scan_pushdown": 2, "mysql_scan": 2,
}  # fmt: skip
"""Functions that read a table of another system: how many arguments behind the system's name are parts of the table's."""
_CLUSTERS = frozenset({"cluster", "clusterallreplicas"})
_EXPLODED = {
    exp.Explode: ["col"],
    exp.ExplodeOuter: ["col"],
    exp.Posexplode: ["pos", "col"],
    exp.PosexplodeOuter: ["pos", "col"],
}


def everything(items: list[form.Item]) -> form.Select:
    return form.Select([form.Projection("*", form.Expression(), form.Star((), [], [], [], ""))], items)


def listed(columns: Sequence[str], items: list[form.Item]) -> form.Select:
    """The columns of these names."""
    return form.Select([form.Projection(name, form.Expression([((name,), 0, "")])) for name in columns], items)


def joined(parts: list[form.Expression]) -> form.Expression:
    return form.Expression(
        [one for part in parts for one in part.references],
        [one for part in parts for one in part.subqueries],
        tuple(one for part in parts for one in part.taken),
        parts[0].fields if len(parts) == 1 else None,
    )


def stacked(context: Context, node: Any) -> list[form.Expression] | None:
    """The columns of `stack(n, …)`, which lays its arguments out in n rows; None, if n is no number. The arguments decide about no row."""
    count = int(node.this.name) if isinstance(node.this, exp.Literal) and node.this.name.isdigit() else 0
    if count < 1:
        context.warn("how many rows stack makes is not known: its columns are taken to be made of all of its arguments")
        return None
    arguments = node.expressions
    width = -(-len(arguments) // count)
    return [joined([lower(context, one, TRANSFORMED) for one in arguments[place::width]]) for place in range(width)]


def function(context: Context, node: Any, alias: str, columns: list[str]) -> form.Item:
    """A table function: every column is made of every argument; a reader of files is a path."""
    if isinstance(node, (exp.Kwarg, exp.Alias)):
        node = node.this
    whole = node
    while isinstance(node, exp.Dot):  # schema.function(…)
        node = node.args.get("expression")
    if isinstance(node, exp.SemanticView):
        return _semantic_view(context, node, alias, columns)
    name = str(node.this if isinstance(node, exp.Anonymous) else node.key).lower()
    arguments = list(node.expressions) if isinstance(node, exp.Anonymous) else []
    if name == "stream" and len(arguments) == 1 and isinstance(arguments[0], exp.Column):
        parts = context.column(arguments[0])  # Databricks: a table read as a stream
        return form.Item(form.TableSource(parts), alias or parts[-1], columns)
    if isinstance(node, exp.DynamicIdentifier) and isinstance(node.this, exp.Literal):
        name, arguments = "identifier", [node.this]
    if name in {"table", "identifier"} and len(arguments) == 1:
        inner = arguments[0]
        if isinstance(inner, exp.Literal):
            parts = tuple(context.fold(part.strip('"`'), False) for part in inner.name.split("."))
            return form.Item(form.TableSource(parts), alias or parts[-1], columns)
        return function(context, inner, alias, columns)
    if name in _READERS or isinstance(node, (exp.ReadCSV, exp.ReadParquet)):
        read = _files(node, alias, columns)
        if read is not None:
            return read
    other = _elsewhere(context, name, arguments, whole)
    if other is not None:
        source, own = other
        return form.Item(source, alias or own, columns)
    if name == "nodes" and whole is not node:  # T-SQL: rows of an XML column
        parts = context.key_path(whole.this)
        value = form.Expression([(parts, TRANSFORMED, "")]) if parts else lower(context, whole, TRANSFORMED)
        return form.Item(form.Generated(value, columns, not columns), alias, [], lateral=True)
    return _made_of_arguments(context, node, name, alias, columns)


def known_rows(context: Context, node: Any) -> None:
    """Warn if the rows of a function in ROWS FROM are made of more than its arguments."""
    name = str(node.this if isinstance(node, exp.Anonymous) else node.key).lower()
    if not (isinstance(node, _ROW_MAKERS) or name in _MAKERS):
        context.warn(f"the table function {name} is not known: its columns are taken to be made of its arguments")


def _made_of_arguments(context: Context, node: Any, name: str, alias: str, columns: list[str]) -> form.Item:
    if not (isinstance(node, _ROW_MAKERS) or name in _MAKERS):
        context.warn(f"the table function {name} is not known: its columns are taken to be made of its arguments")
    if isinstance(node, exp.Stack) and (laid := stacked(context, node)) is not None:
        names = [*columns, *(f"col{place}" for place in range(len(columns), len(laid)))]
        return form.Item(form.Generated(form.Expression(), names, False, laid), alias, [], lateral=True)
    if name == "range" and not columns and context.rule.parser in {"spark", "databricks"}:
        columns = ["id"]
    value = lower(context, node, TRANSFORMED)
    value.subqueries = [(query, use, form.WHOLE) for query, use, _ in value.subqueries]
    listed = _elements_of(context, node, name)
    if listed is not None:
        value = spread(listed) if name in _SPREADING else element(listed, TRANSFORMED)
    if name in _SPREADING:
        return form.Item(form.Generated(value, columns, not columns, [], True), alias, [], lateral=True)
    if listed is not None and (exploded := _exploded(context, node, listed, columns)) is not None:
        return form.Item(form.Generated(value, columns, False, exploded), alias, [], lateral=True)
    known = columns or ([] if context.rule.parser == "snowflake" else _EXPLODED.get(type(node), []))
    if context.rule.parser == "snowflake" and isinstance(node, exp.Explode) and not columns:
        known = ["SEQ", "KEY", "PATH", "INDEX", "VALUE", "THIS"]
    if alias and not columns and len(known) <= 1:
        # `f(x) AS a`: in some dialects a also names the single column; any other name is a column of it as well.
        return form.Item(form.Generated(value, known, True), alias, [], lateral=True)
    return form.Item(form.Generated(value, list(known), not columns), alias, [], lateral=True)


def _exploded(context: Context, node: Any, value: form.Expression, columns: list[str]) -> list[form.Expression] | None:
    """The columns of an exploded map, or of a list with its places: in Spark and Hive a list has one column less. None of anything else."""
    if context.rule.parser not in HIVES or not isinstance(node, _LISTED[:4]):
        return None
    places = isinstance(node, (exp.Posexplode, exp.PosexplodeOuter))
    if len(columns) == 2 + places:
        made = [element(part, TRANSFORMED) for part in parts_of(value)]
    elif places and len(columns) == 2:
        made = [element(value, TRANSFORMED)]
    else:
        return None
    whole = element(value, TRANSFORMED)
    whole.fields = None  # A place has no fields.
    return [whole] * places + made


def _elements_of(context: Context, node: Any, name: str) -> form.Expression | None:
    """The list of which a function makes a row for each element; None, if it does something else."""
    if isinstance(node, _LISTED) and node.args.get("this") is not None and not node.args.get("expressions"):
        inner = node.this
    elif name in _ELEMENTS and isinstance(node, exp.Anonymous) and node.expressions:
        inner = node.expressions[0]
        for one in node.expressions:
            if isinstance(one, exp.Kwarg) and one.this.name.lower() == "input":
                inner = one
    elif isinstance(node, (exp.Column, exp.Bracket, exp.Array)):
        inner = node
    else:
        return None
    if isinstance(inner, (exp.Kwarg, exp.PropertyEQ)):
        inner = inner.expression
    return lower_value(context, inner)


_LISTED = (exp.Explode, exp.ExplodeOuter, exp.Posexplode, exp.PosexplodeOuter, exp.Inline, exp.Flatten, exp.Unnest)
_ELEMENTS = frozenset(
    "inline inline_outer flatten unnest explode explode_outer posexplode posexplode_outer json_array_elements jsonb_array_elements".split()
)
_SPREADING = frozenset({"inline", "inline_outer"})
"""Functions whose columns are the fields of the elements."""


def _files(node: Any, alias: str, columns: list[str]) -> form.Item | None:
    paths = [one.name for one in node.find_all(exp.Literal) if one.is_string]
    first = node.this if isinstance(node.this, exp.Array) else next(iter(node.expressions), None)
    if isinstance(first, exp.Array) and len(paths) > 1:
        files: list[form.Query] = [everything([form.Item(form.TableSource((path,), True))]) for path in paths]
        united = form.SetOperation(files, [("union", False, True)] * (len(files) - 1))
        return form.Item(form.Derived(united), alias, columns)
    return form.Item(form.TableSource((paths[0],), True), alias, columns) if paths else None


def _semantic_view(context: Context, node: Any, alias: str, columns: list[str]) -> form.Item:
    """Snowflake's: facts, metrics and dimensions are columns of the semantic view itself."""
    inner = node.this
    parts = (
        tuple(context.table_key(one) for one in inner.parts)
        if isinstance(inner, exp.Table)
        else (context.output_name(inner),)
    )
    outputs: list[form.Projection] = []
    for one in [
        *(node.args.get("dimensions") or ()),
        *(node.args.get("facts") or ()),
        *(node.args.get("metrics") or ()),
    ]:
        value = one.this if isinstance(one, exp.Alias) else one
        expression = lower(context, value, AS_IS)
        expression.references = [((found[0][-1],), *found[1:]) for found in expression.references]
        outputs.append(form.Projection(context.output_name(one), expression))
    if any(one.name == "*" for one in outputs):
        return form.Item(form.TableSource(parts), alias or parts[-1], columns)
    query = form.Select(outputs, [form.Item(form.TableSource(parts), parts[-1])])
    where = node.args.get("where")
    if where is not None:
        condition = lower(context, where, FILTER)
        condition.references = [((found[0][-1],), *found[1:]) for found in condition.references]
        query.where.append(condition)
    return form.Item(form.Derived(query), alias or parts[-1], columns)


# --- other systems


def _elsewhere(context: Context, name: str, arguments: list[Any], whole: Any) -> tuple[form.Source, str] | None:
    """A table or a query of another system, with the name it has here; None when `name` is no such function."""
    if name in _FOREIGN_SQL:
        dialect, system, place = _FOREIGN_SQL[name]
        text = _keyword(arguments, "query") if place < 0 else _text(arguments, place)
        return _foreign_query(context, _text(arguments, system) or name, text, dialect), name
    if name == "query" and isinstance(whole, exp.Dot):  # Trino: catalog.system.query(query => '…')
        parts = [one.name for one in whole.flatten() if isinstance(one, exp.Identifier)]
        return _foreign_query(context, parts[0] if parts else name, _keyword(arguments, "query"), None), name
    if name in _CLUSTERS or name in _FOREIGN_TABLES:
        table = _parts(context, arguments[1 : 1 + _FOREIGN_TABLES.get(name, 2)])
        if not table:
            return None
        if name not in _CLUSTERS:
            table = (EXTERNAL + (_text(arguments, 0) or name), *table)
        return form.TableSource(table), table[-1]
    return None


def _text(arguments: list[Any], place: int) -> str:
    if place >= len(arguments):
        return ""
    found = arguments[place]
    return found.name if isinstance(found, (exp.Literal, exp.Column, exp.Identifier)) else ""


def _keyword(arguments: list[Any], name: str) -> str:
    for one in arguments:
        if (
            isinstance(one, (exp.Kwarg, exp.PropertyEQ))
            and one.this.name.lower() == name
            and isinstance(one.expression, exp.Literal)
        ):
            return str(one.expression.name)
    return ""


def _parts(context: Context, arguments: list[Any]) -> form.Parts:
    found: list[str] = []
    for one in arguments:
        if isinstance(one, exp.Column):
            found += context.column(one)
            if len(one.parts) > 1:
                break
        elif isinstance(one, exp.Literal) and one.is_string:
            found += one.name.split(".")
            if "." in one.name:
                break
        else:
            break
    return tuple(found)


def _foreign_query(context: Context, system: str, text: str, dialect: str | None) -> form.Source:
    """Return the source that a query text reads in another system: its tables are in that system's own namespace."""
    query = context.inside(system, text, dialect) if text else None
    if query is None:
        context.warn(f"what is read from {system} is not understood")
        return form.Generated(form.Expression(), [], True)
    if dialect is None:
        context.warn(f"what {system} is asked is read as standard SQL: its dialect is not known")
    return form.Derived(query)
