"""Find what a command of a client writes, and of what: from its message to a `Write` and an `Analysis`, or None if nothing outside Spark changes."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from headwater.capture.spark import columns as column_walk
from headwater.capture.spark import datasets, evolution, predictions, snapshots
from headwater.capture.spark.analysis import Analysis
from headwater.capture.spark.commands import ALTER, CREATE, DROP, OVERWRITE, RENAME, TRUNCATE, Write
from headwater.capture.spark.connect import extending, merging, models, statements, views
from headwater.capture.spark.connect import scope as scopes
from headwater.capture.spark.connect.relations import Binder
from headwater.capture.spark.connect.scope import Bound
from headwater.capture.spark.connect.server import NoAnswer
from headwater.capture.spark.connect.sources import GLOBAL, Located, Sources, View
from headwater.capture.spark.datasets import Dataset, where_pair
from headwater.capture.spark.dependencies import TooMany
from headwater.capture.spark.predictions import Model
from headwater.model import names

_MODES = {"SAVE_MODE_OVERWRITE": OVERWRITE, "SAVE_MODE_APPEND": ""}
_V2_MODES = {
    "MODE_CREATE": CREATE, "MODE_OVERWRITE": OVERWRITE, "MODE_OVERWRITE_PARTITIONS": OVERWRITE, "MODE_APPEND": "",
    "MODE_REPLACE": OVERWRITE, "MODE_CREATE_OR_REPLACE": OVERWRITE,
}  # fmt: skip
_CHANGES = {"DROP": DROP, "TRUNCATE": TRUNCATE, "ALTER": ALTER, "CREATE": CREATE, "CLONE": CREATE, "LIKE": CREATE}
FUNCTION = "what a function of foreachBatch or foreach writes is not seen: Spark Connect runs it on the server"
# What SQL says of where a new table is.
_LOCATION = re.compile(r"\blocation\s+'([^']+)'|\boptions\s*\([^)]*\bpath['`\"]?\s*=?\s*['\"]([^'\"]+)", re.IGNORECASE)


_UNREAD_MODEL = "a model was saved by other methods than those of pyspark.ml: its fit was not seen"
_SCRIPT = re.compile(r"\s*begin\b(?!\s*;|\s+transaction)", re.IGNORECASE)
_VARIABLE = re.compile(
    r"\s*set\s+var(?:iable)?\s+[^=]+=\s*\(\s*((?:select|with)\b.*)\)\s*;?\s*$", re.IGNORECASE | re.DOTALL
)
_EXECUTED_INTO = re.compile(r"\s*execute\s+immediate\s+(['\"]).*\1\s*into\b", re.IGNORECASE | re.DOTALL)
_QUERY = re.compile(r"\bas\s+\(?\s*(?:select|with|from|values|table)\b", re.IGNORECASE)


class Effect(msgspec.Struct):
    """The effect of a command: what it writes, and of what. `sql`: its text; `unlocated`: a table whose place is asked for once it is made; `others`:
    further tables that an INSERT into several writes.
    """

    write: Write
    analysis: Analysis | None = None
    sql: str = ""
    unlocated: list[str] = []
    others: list["Effect"] = []


def effect(command: Any, sources: Sources) -> Effect | None:
    """Return what a command changes outside of Spark. Notes the views that it makes. Raises NoAnswer if its target cannot be named."""
    kind = str(command.WhichOneof("command_type"))
    handler = _HANDLERS.get(kind)
    return handler(getattr(command, kind), sources) if handler is not None else None


def unread(command: Any, sources: Sources) -> str:
    """Return what is not seen of a command that has no effect here, or empty if it writes nothing."""
    if str(command.WhichOneof("command_type")) != "ml_command" or command.ml_command.WhichOneof("command") != "write":
        return ""
    written = command.ml_command.write
    place = place_of("model", written.path, {}, sources)
    is_seen = place is not None and sources.models.is_model(place)
    return "" if is_seen or not written.HasField("obj_ref") else _UNREAD_MODEL


def analyse(binder: Binder, bound: Bound, relation: Any = None) -> Analysis:
    """Return the analysis of a relation. `relation`: its message, whose names and types the server tells."""
    result = Analysis(binder.leaves)
    result.fields = scopes.schema_fields(bound.attributes)
    try:
        found = column_walk.resolve(bound.node, None, binder.sources.models.predicted)
        result.columns, result.rows = found.columns, found.rows
    except (TooMany, RecursionError) as reason:
        result.warnings.append(f"column lineage left out: {reason}")
    if relation is not None:
        _say_names(result, binder.schema(relation), binder)
    result.opaque = binder.opaque
    result.warnings += binder.warnings
    return result


def _say_names(result: Analysis, schema: list[dict[str, Any]], binder: Binder) -> None:
    """Name the columns as the server does: it names what the client's plan leaves without a name."""
    if not schema:
        return
    if result.columns and len(schema) != len(result.columns):
        binder.warn(
            f"column lineage left out: {len(result.columns)} columns were found, and the server has {len(schema)}"
        )
        result.columns = []
    for column, one in zip(result.columns, schema, strict=False):
        column.name = str(one["name"])
    result.fields = scopes.schema_fields([scopes.attribute(one["name"], one["type"]) for one in schema])


def read(relation: Any, sources: Sources) -> Analysis:
    """Return the analysis of a query whose rows go to the client."""
    binder = Binder(sources)
    return analyse(binder, binder.bind(relation))


def training(model: Model, sources: Sources) -> Analysis:
    """Return what a model is made of, as columns that it makes. Raises NoAnswer."""
    if model.training is None:
        if model.frame is None:
            return predictions.not_fitted(model)
        model.training = predictions.fitted(model, read(model.frame.plan(sources.server.client), sources))
    return models.copy_training(model.training)


def _query(relation: Any, sources: Sources) -> Analysis:
    binder = Binder(sources)
    return analyse(binder, binder.bind(relation), relation)


# --- DataFrame writers


def _write_operation(inner: Any, sources: Sources) -> Effect | None:
    lifecycle = _MODES.get(inner.SaveMode.Name(inner.mode), CREATE)
    partitions = list(inner.partitioning_columns)
    options = {key.lower(): value for key, value in inner.options.items()}
    if inner.WhichOneof("save_type") == "table":
        parts = scopes.split(inner.table.table_name)
        inserts = inner.table.TableSaveMethod.Name(inner.table.save_method).endswith("INSERT_INTO")
        located = sources.table(parts)
        path = options.get("path", "")
        replaced = lifecycle == OVERWRITE and not inserts
        if replaced and not path and (located is None or not located.dataset.layer):
            target = sources.default_place(parts)  # Spark drops such a table, wherever it was, and makes a new one
            target.storage = inner.source or sources.server.setting("spark.sql.sources.default")
        else:
            target = target_of(None if replaced and path else located, sources, parts, path, inner.source)
        found = _query(inner.input, sources)
        if inserts and located is not None:
            _by_position(found, located.columns)
        if located is not None and (inserts or not lifecycle or (replaced and _keeps_columns(located, options))):
            extending.extend(found, located.dataset, sources.relation(parts), sources)
        if located is None or not inserts:
            unlocated = parts if located is None or replaced else []
            return Effect(Write(target, lifecycle, partitions=partitions), found, unlocated=unlocated)
        return Effect(Write(target, OVERWRITE if lifecycle == OVERWRITE else ""), found)
    kind = (inner.source or sources.server.setting("spark.sql.sources.default") or "parquet").lower()
    target_ = place_of(kind, inner.path or options.get("path", ""), {**dict(inner.options), **options}, sources)
    if target_ is None:
        return None
    found = _query(inner.input, sources)
    if lifecycle != CREATE and not evolution.is_replaced(options):
        extending.extend(found, target_, sources.relation([kind, target_.location]), sources)
    return Effect(Write(target_, lifecycle, partitions=partitions), found)


def _keeps_columns(located: Located, options: dict[str, str]) -> bool:
    """Return whether a table that saveAsTable overwrites keeps its columns. Iceberg makes a new one."""
    return located.dataset.layer == snapshots.DELTA and not evolution.is_replaced(options)


def place_of(kind: str, path: str, options: dict[str, str], sources: Sources) -> Dataset | None:
    """Return the dataset that a format writes; None if nothing is left of it (noop, console)."""
    if kind == "jdbc" and options.get("url"):
        return datasets.jdbc(options["url"], options.get("dbtable", "?"), [])
    if kind == "kafka":
        return next(iter(datasets.topics(options, [])), None)
    if not path:
        return None
    place = sources.qualified(path)
    return datasets.delta(place, []) if kind == "delta" else Dataset(*where_pair(names.from_location(place)), [], kind)


def target_of(located: Located | None, sources: Sources, parts: list[str], path: str, provider: str) -> Dataset:
    if located is not None:
        return msgspec.structs.replace(located.dataset, fields=[])
    if path:
        where = where_pair(names.from_location(sources.qualified(path)))
        return Dataset(*where, [], provider, sources.symlink(sources.full(parts)))
    made = sources.place(parts)
    made.storage = made.storage or provider or sources.server.setting("spark.sql.sources.default")
    return made


def _by_position(found: Analysis, names_: Sequence[str]) -> None:
    """Name the columns as the table that they go into does."""
    if len(found.columns) == len(found.fields) == len(names_):
        for column, field, name in zip(found.columns, found.fields, names_, strict=True):
            column.name = field["name"] = name


def _write_v2(inner: Any, sources: Sources) -> Effect:
    parts = scopes.split(inner.table_name)
    lifecycle = _V2_MODES.get(inner.Mode.Name(inner.mode), CREATE)
    located = sources.table(parts)
    options = {key.lower(): value for key, value in inner.options.items()}
    path = options.get("path") or inner.table_properties.get("location", "")
    target = target_of(located, sources, parts, path, inner.provider)
    partitions = [
        one.unresolved_attribute.unparsed_identifier
        for one in inner.partitioning_columns
        if one.WhichOneof("expr_type") == "unresolved_attribute"
    ]
    unlocated = parts if located is None else []
    found = _query(inner.input, sources)
    made_anew = inner.Mode.Name(inner.mode).endswith(("CREATE", "REPLACE")) or evolution.is_replaced(options)
    if located is not None and not made_anew:
        extending.extend(found, located.dataset, sources.relation(parts), sources)
    return Effect(Write(target, lifecycle, partitions=partitions), found, unlocated=unlocated)


def _merge_into(inner: Any, sources: Sources) -> Effect:
    """Return the effect of `DataFrame.mergeInto`."""
    parts = scopes.split(inner.target_table_name)
    binder = Binder(sources)
    target, source = binder.table(parts), binder.bind(inner.source_table_plan)
    tree, columns = merging.merge(inner, binder, target, source)
    found = analyse(binder, Bound(tree, columns))
    place = target_of(sources.table(parts), sources, parts, "", "")
    found.rewrites(place, scopes.schema_fields(columns), [one.name for one in columns[len(target.attributes) :]])
    return Effect(Write(place, ""), found)


def _create_view(inner: Any, sources: Sources) -> None:
    binder = Binder(sources)
    bound = binder.bind(inner.input)
    _name_view(f"{GLOBAL}.{inner.name}" if inner.is_global else inner.name, binder, bound, sources)


def _name_view(name: str, binder: Binder, bound: Bound, sources: Sources, text: str = "") -> None:
    sources.name(name, View(bound, binder.leaves, list(binder.warnings), binder.opaque, text))


def checkpoint(relation: Any, sources: Sources) -> View:
    """Return the relation of a checkpoint."""
    binder = Binder(sources)
    bound = binder.bind(relation)
    return View(bound, binder.leaves, list(binder.warnings), binder.opaque)


def _stream(inner: Any, sources: Sources) -> Effect:
    """Return the effect of a streaming query. Without a target (a sink that leaves nothing, a function) it only reads."""
    found = _query(inner.input, sources)
    options = {key.lower(): value for key, value in inner.options.items()}
    kind = (inner.format or "").lower()
    unlocated: list[str] = []
    if inner.WhichOneof("sink_destination") == "table_name":
        parts = scopes.split(inner.table_name)
        located = sources.table(parts)
        target: Dataset | None = target_of(located, sources, parts, options.get("path", ""), kind)
        unlocated = parts if located is None else []
        relation = sources.relation(parts)
    else:
        target = place_of(
            kind or "parquet", inner.path or options.get("path", ""), {**dict(inner.options), **options}, sources
        )
        relation = sources.relation([kind, target.location]) if target is not None else None
    if inner.HasField("foreach_batch") or inner.HasField("foreach_writer"):
        target = None
        found.warnings.append(FUNCTION)
    if target is not None:
        extending.extend(found, target, relation, sources)
    write = Write(target, "", partitions=list(inner.partitioning_column_names), streaming=True)
    return Effect(write, found, unlocated=unlocated)


# --- SQL


def _sql(inner: Any, sources: Sources) -> Effect | None:
    binder = Binder(sources)
    text = inner.sql
    relation = getattr(inner, "input", None)
    if relation is not None and inner.HasField("input"):
        root = relation
        if relation.WhichOneof("rel_type") == "with_relations":
            for reference in relation.with_relations.references:
                binder.views[reference.subquery_alias.alias] = binder.bind(reference)
            root = relation.with_relations.root
        text = root.sql.query
    try:
        statement = statements.parse(text)
    except statements.NoEngine as problem:
        binder.warn(str(problem))
        return None
    if _SCRIPT.match(text):
        sources.coverage.miss("a SQL script", "Spark Connect does not tell which of its statements ran")
        return None
    if statement is None:
        return None
    _follow_use(text, statement, sources)
    if statement.kind == "EXECUTE" and not statement.flows:
        sources.coverage.miss("EXECUTE IMMEDIATE", "its text is made on the server")
        return None
    flows = {one.target: one for one in statement.flows if one.target is not None}
    if not flows:
        made = [_change_effect(statement, sources)]
    else:
        made = [
            _flow_effect(target, statement, Binder(sources) if place else binder, sources)
            for place, target in enumerate(flows)
        ]
    found = [one for one in made if one is not None]
    for one in found:
        one.sql = text[:100_000]
        one.others = found[1:] if one is found[0] else []
    return found[0] if found else None


def variable(inner: Any, sources: Sources) -> Analysis | None:
    """Return the analysis of the query whose result SET VAR, or EXECUTE IMMEDIATE of a text, gives to a variable."""
    text = inner.sql or inner.input.sql.query
    found = _VARIABLE.match(text)
    if found is None and not _EXECUTED_INTO.match(text):
        return None
    binder = Binder(sources)
    return analyse(binder, binder.query(found[1] if found is not None else text))


def _follow_use(text: str, statement: Any, sources: Sources) -> None:
    if statement.kind == "USE":
        words = text.split(None, 1)[1].strip().rstrip(";").strip()
        for noise in ("database ", "schema ", "namespace "):
            if words.lower().startswith(noise):
                words = words[len(noise) :].strip()
        parts = scopes.split(words)
        sources.database = parts[-1]
        if len(parts) > 1:
            sources.catalog = parts[0]


def _flow_effect(into: Any, statement: Any, binder: Binder, sources: Sources) -> Effect | None:
    """Return the effect of the last flow of a statement into the table `into`."""
    flow = next(one for one in reversed(statement.flows) if one.target == into)
    parts = sources.spelled(flow.target, statement.text)
    change = next((one for one in statement.changes if one.table == flow.target), None)
    temporary = change is not None and change.temporary
    view = statement.kind.startswith("CREATE") and "VIEW" in statement.kind
    located = None if temporary else sources.table(parts) if not sources.path(parts) else None
    tables = binder.tables(statement)
    target_bound = None
    if flow.action in statements.REPLACING and located is not None and flow.target not in tables:
        tables[flow.target] = binder.table(parts)
    if flow.action in statements.REPLACING:
        target_bound = tables.get(flow.target)
    if located is not None and flow.target not in tables:
        known = dict(tables)
        for name in {one.target for one in statement.flows if one.target is not None and one.target not in tables}:
            other = located if name == into else sources.table(sources.spelled(name, statement.text))
            if other is not None:
                known[name] = scopes.leaf([scopes.attribute(column) for column in other.columns])
        statement = statements.resolve(statement, known)
    else:
        statement = statements.resolve(statement, tables)
    flow = next(one for one in reversed(statement.flows) if one.target == into)
    statements.complain(statement, binder.warn)
    bound = statements.select(flow, tables, binder.warn)
    if temporary:
        _name_view(views.name_of_view(statement.text, parts), binder, bound, sources, statement.text)
        return None
    found = analyse(binder, bound)
    if view:
        target = Dataset(*sources.symlink(sources.full(parts)), [], kind="VIEW")
        replaces = " or replace " in " " + " ".join(statement.text.lower().split()[:4]) + " "
        return Effect(Write(target, OVERWRITE if replaces else CREATE), found)
    if place := sources.path(parts):
        return Effect(Write(place[0], _lifecycle(flow.action, statement, exists=False)), found)
    target = target_of(located, sources, parts, _location(statement.text, flow.action), "")
    if flow.action in statements.REPLACING:
        if target_bound is not None:
            before = {one.name.lower() for one in target_bound.attributes}
            added = [one for one in bound.attributes if one.name != "*" and one.name.lower() not in before]
            fields = scopes.schema_fields([*target_bound.attributes, *added])
            found.rewrites(target, fields, [one.name for one in added])
        return Effect(Write(target, ""), found)
    lifecycle = _lifecycle(flow.action, statement, exists=located is not None)
    if located is not None and flow.action not in {CREATE, "CLONE", "EXPORT"}:
        extending.complete(found, located, sources.relation(parts), sources)
    return Effect(Write(target, lifecycle), found, unlocated=parts if located is None else [])


def _lifecycle(action: str, statement: Any, *, exists: bool) -> str:
    lifecycle = {"CREATE": CREATE, "OVERWRITE": OVERWRITE, "EXPORT": OVERWRITE}.get(action, "")
    replaces = lifecycle == CREATE and exists and "replace" in statement.text.lower().split()[:4]
    return OVERWRITE if replaces else lifecycle


def _location(text: str, action: str) -> str:
    """Return the place that a statement gives to a new table, or empty."""
    found = _LOCATION.search(_QUERY.split(text, 1)[0]) if action == CREATE else None
    return str(found[1] or found[2]) if found else ""


def _change_effect(statement: Any, sources: Sources) -> Effect | None:
    for change in statement.changes:
        parts = sources.spelled(change.table, statement.text)
        if change.action == "DROP" and sources.drop_view(parts):
            continue
        if change.temporary:
            if change.action == "CREATE" and (relation := views.source_of_view(statement.text)) is not None:
                binder = Binder(sources)
                _name_view(views.name_of_view(statement.text, parts), binder, binder.bind(relation), sources)
            continue
        if "VIEW" in statement.kind:
            target = Dataset(*sources.symlink(sources.full(parts)), [], kind="VIEW")
            return Effect(Write(target, _CHANGES.get(change.action, ALTER)))
        if change.action == "RENAME" and change.other is not None:
            before = target_of(None, sources, parts, "", "")
            other = [*parts[:-1], *change.other] if len(change.other) == 1 else list(change.other)
            after = sources.table(other)
            return Effect(Write(target_of(after, sources, other, "", ""), RENAME, previous=before.key))
        if change.action in _CHANGES:
            if statement.kind == "RESTORE":
                return Effect(Write(target_of(sources.table(parts), sources, parts, "", ""), OVERWRITE))
            located = _dropped(parts, sources) if change.action == "DROP" else sources.table(parts)
            if_exists = change.action == "DROP" and "exists" in statement.text.lower().split()[:5]
            if if_exists and located is None and not sources.is_known(parts):
                continue  # it may never have been there
            lifecycle = _CHANGES[change.action]
            place = _location(statement.text, lifecycle)
            unlocated = parts if lifecycle == CREATE and located is None else []
            return Effect(Write(target_of(located, sources, parts, place, ""), lifecycle), unlocated=unlocated)
    return None


def _dropped(parts: list[str], sources: Sources) -> Located | None:
    """Return a table that is just being dropped, or None: of one that is half gone the server may fail to tell."""
    try:
        return sources.table(parts)
    except NoAnswer:
        return None


_HANDLERS: dict[str, Callable[[Any, Sources], Effect | None]] = {
    "write_operation": _write_operation,
    "write_operation_v2": _write_v2,
    "create_dataframe_view": _create_view,
    "merge_into_table_command": _merge_into,
    "sql_command": _sql,
    "write_stream_operation_start": _stream,
}
