"""Find what a command writes, and how: from a root node and its JVM object to a `Write`, or None if nothing outside Spark changes.

Classes are known by name alone: Delta, Iceberg and Hive may be missing. Runs nothing; it only reads the command.
"""

import json
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from headwater.capture.spark import crossing, evolution, iceberg, kafka, schema, snapshots
from headwater.capture.spark.datasets import Catalog, Dataset, delta, jdbc, relation, topics, v2_table, where_pair
from headwater.capture.spark.plan import Node
from headwater.model import names

CREATE, OVERWRITE, DROP, RENAME, TRUNCATE, ALTER = "CREATE", "OVERWRITE", "DROP", "RENAME", "TRUNCATE", "ALTER"
_LIFECYCLE = {"Overwrite": OVERWRITE, "ErrorIfExists": CREATE, "Ignore": CREATE, "Append": ""}


class Write(msgspec.Struct):
    """The effect of a command. `query`/`jquery`: the plan whose output is written, in Python and in the JVM; None for plain DDL.
    `inner`: the plans that the command hides. `columns`: the target's, if only some of its rows are rewritten; `added`: those of them of which no
    row has a value before. `before`: the schema of a target that keeps its columns, and may get others. `jtable`: the V2 table that it
    writes; `jname`: the name of one that does not exist yet. `facets`: further ones of the target.
    `sources`: what it reads without a query. `renamed`: the names that it gives to the query's columns. `is_schema_open`: whether the target gets
    the query's schema or keeps its own is not in the plan.
    """

    target: Dataset | None
    lifecycle: str = ""
    query: Node | None = None
    jquery: Any = None
    partitions: list[str] = []
    previous: tuple[str, str] | None = None
    sql: str = ""
    streaming: bool = False
    foreach_batch: bool = False
    inner: list[Any] = []
    columns: list[dict[str, Any]] = []
    added: list[str] = []
    before: list[dict[str, Any]] = []
    jtable: Any = None
    jname: Any = None
    facets: dict[str, Any] = {}
    sources: list[Dataset] = []
    renamed: list[str] = []
    is_schema_open: bool = False


def write(jcommand: Any, node: Node, catalog: Catalog) -> Write | None:
    """Return what the root of a plan writes. None for a plain query, and for commands that touch no data (SHOW, SET, temp views)."""
    handler = _HANDLERS.get(node.kind)
    found = handler(jcommand, node, catalog) if handler else None
    if found is not None and found.target is not None:
        found.target.version = ""  # that is the earlier one
    return found


def _query(node: Node, field: str = "query") -> Node | None:
    value = node.fields.get(field)
    if isinstance(value, int) and value < len(node.children):
        return node.children[value]
    return node.nested(field)


def _located(where: str, storage: str = "", symlink: tuple[str, str] | None = None) -> Dataset:
    return Dataset(*where_pair(names.from_location(where)), [], storage.lower(), symlink)


def _identifier(value: Any) -> Any:
    return value.get("identifier") if isinstance(value, dict) else None


def _attribute_names(node: Node, field: str) -> list[str]:
    return [item.name for item in node.attributes(field)]


def _files(jcommand: Any, node: Node, catalog: Catalog) -> Write:
    symlink = catalog.symlink(_identifier(node.fields.get("catalogTable")))
    # A partition may have another location than its table.
    place = jcommand.catalogTable().get().location() if symlink else jcommand.outputPath()
    target = _located(str(place.toString()), str(jcommand.fileFormat().toString()), symlink)
    lifecycle = _LIFECYCLE.get(str(jcommand.mode().toString()), "")
    return Write(target, lifecycle, _query(node), jcommand.query(), _attribute_names(node, "partitionColumns"))


def _new_table(field: str) -> Callable[[Any, Node, Catalog], Write]:
    """Handle CREATE TABLE … AS SELECT, saveAsTable, CREATE TABLE: `field` describes the table."""

    def handler(jcommand: Any, node: Node, catalog: Catalog) -> Write:
        described = node.fields.get(field) or {}
        jtable = getattr(jcommand, field)()
        query = _query(node)
        lifecycle = CREATE
        if query is not None and node.fields.get("mode", 0) is None:
            lifecycle = _LIFECYCLE.get(str(jcommand.mode().toString()), CREATE)
        where = catalog.location(jtable.identifier(), jtable, replaced=lifecycle == OVERWRITE)
        provider = str(described.get("provider") or "hive")
        target = _located(where, provider, catalog.symlink(described.get("identifier")))
        if query is None:
            target.fields = schema.struct_fields(described.get("schema"))
        return Write(
            target, lifecycle, query, jcommand.query() if query is not None else None, _partitioned_by(described)
        )

    return handler


def _hive_insert(jcommand: Any, node: Node, catalog: Catalog) -> Write:
    jtable = jcommand.table()
    described = node.fields.get("table")
    target = _located(str(jtable.location().toString()), "hive", catalog.symlink(_identifier(described)))
    target.fields = schema.json_fields(jtable.schema())
    lifecycle = OVERWRITE if node.fields.get("overwrite") else ""
    return Write(target, lifecycle, _query(node), jcommand.query(), _partitioned_by(described))


def _partitioned_by(table: Any) -> list[str]:
    """Return the partition columns of a CatalogTable in JSON."""
    names = table.get("partitionColumnNames") if isinstance(table, dict) else None
    return [name for name in (names if isinstance(names, list) else str(names or "").strip("[]").split(", ")) if name]


def _load(jcommand: Any, node: Node, catalog: Catalog) -> Write:
    """Handle LOAD DATA: files become a table's, or a partition's."""
    target = _located(catalog.location(jcommand.table()), "", catalog.symlink(node.fields.get("table")))
    write = Write(target, OVERWRITE if jcommand.isOverwrite() else "")
    write.sources = _loaded(jcommand, catalog)
    return write


def _loaded(jcommand: Any, catalog: Catalog) -> list[Dataset]:
    """Return the files or the folder that LOAD DATA takes, made whole as Spark makes them. A pattern stands for the folder that it is in."""
    whole = str(jcommand.path())
    if ":" not in whole.split("/", 1)[0]:
        files, home = "file://", str(Path.cwd())  # the driver's JVM runs in the same folder
        if not jcommand.isLocal():
            files = str(catalog.jsession.sessionState().newHadoopConf().get("fs.defaultFS")).rstrip("/")
            home = f"/user/{catalog.jsession.sparkContext().sparkUser()}"
        whole = (files if "://" in files else f"{files}//") + str(PurePosixPath(home, whole))
    while any(sign in whole for sign in "*?[{"):
        whole = whole.rsplit("/", 1)[0]
    return [_located(whole)]


def _source_insert(jcommand: Any, node: Node, catalog: Catalog) -> Write:
    """Handle INSERT INTO a table of a V1 source (JDBC and others)."""
    relation = jcommand.logicalRelation().relation()
    options = crossing.ask_optional(lambda: relation.jdbcOptions(), catalog.failed("the target of an INSERT"))
    target = jdbc(str(options.url()), str(options.tableOrQuery()), []) if options is not None else None
    return Write(target, OVERWRITE if node.fields.get("overwrite") else "", _query(node), jcommand.query())


def _directory(jcommand: Any, node: Node, catalog: Catalog) -> Write:
    where = str(jcommand.storage().locationUri().get().toString())
    target = _located(where, str(node.fields.get("provider") or "hive"))
    return Write(target, OVERWRITE if node.fields.get("overwrite") else "", _query(node), jcommand.query())


def _source(jcommand: Any, node: Node, catalog: Catalog) -> Write:
    """Handle df.write.format(…).save() into a V1 source: JDBC by its URL, others by their path."""
    options = kafka.options(jcommand.options())
    partitions = json.loads(options.get("__partition_columns") or "[]")
    lifecycle = _LIFECYCLE.get(str(jcommand.mode().toString()), "")
    if options.get("url", "").startswith("jdbc:"):
        target: Dataset | None = jdbc(options["url"], options.get("dbtable", "?"), [])
    elif options.get("path"):
        kind = str(jcommand.dataSource().getClass().getSimpleName())
        target = delta(options["path"], []) if kind == "DeltaDataSource" else _located(options["path"], kind)
    else:
        target = next(iter(topics(options, [])), None)
    write = Write(target, lifecycle, _query(node), jcommand.query(), partitions)
    if target is not None and target.layer and lifecycle != CREATE and not evolution.is_replaced(options):
        write.before = evolution.delta_fields(catalog.jsession, target.location)
    return write


def _v2(jcommand: Any, node: Node, catalog: Catalog) -> Write:
    """Handle AppendData, OverwriteByExpression, OverwritePartitionsDynamic: the relation names the table."""
    jtable = jcommand.table().table()
    found = v2_table(jtable, [], catalog)
    write = Write(found[0] if found else None, OVERWRITE, _query(node), jcommand.query(), jtable=jtable)
    if node.kind == "AppendData":
        write.lifecycle = ""
    if node.kind != "OverwriteByExpression" or not evolution.is_replaced(kafka.options(jcommand.writeOptions())):
        write.before = evolution.relation_fields(node)
    return write


def _v2_new(jcommand: Any, node: Node, catalog: Catalog) -> Write:
    """Handle CREATE/REPLACE TABLE AS SELECT in a V2 catalog: the location is unknown until the table exists, unless the statement gives one or
    it is the session's catalog.
    """
    name = jcommand.name()
    identifier = ".".join([*(str(part) for part in name.identifier().namespace()), str(name.identifier().name())])
    failed = catalog.failed(f"the location of the table {identifier}")
    where = crossing.ask_optional(lambda: crossing.text(jcommand.tableSpec().location()), failed) or ""
    owner = str(name.catalog().name())
    symlink = catalog.named(identifier if owner == "spark_catalog" else f"{owner}.{identifier}")
    if not where and owner == "spark_catalog":
        table, database = str(name.identifier().name()), identifier.rpartition(".")[0] or "default"
        where = table if symlink is None else catalog.location(_table_identifier(catalog, table, database))
    elif not where:
        where = iceberg.place(catalog, owner, identifier)
    target = _located(where, "", symlink) if where else Dataset(*symlink, []) if symlink else None
    write = Write(target, CREATE, _query(node), jcommand.query(), jname=name)
    if node.kind.startswith("Replace"):
        write.lifecycle = OVERWRITE
        write.is_schema_open = _is_schema_open(jcommand, catalog.failed(f"the format of the table {identifier}"))
    return write


def _is_schema_open(jcommand: Any, failed: Callable[[str], None]) -> bool:
    """Return whether a table that is replaced may keep its columns. Delta's does, if it is `saveAsTable` that replaces it, without
    `overwriteSchema`: the plan is that of CREATE OR REPLACE TABLE, and Delta finds the caller in the thread's stack. Both name the format.
    """
    provider = crossing.ask_optional(lambda: crossing.text(jcommand.tableSpec().provider()), failed)
    if (provider or "").lower() != snapshots.DELTA:
        return False
    return not evolution.is_replaced(kafka.options(jcommand.writeOptions()))


def _rows(jcommand: Any, node: Node, catalog: Catalog) -> Write:
    """Handle UPDATE, DELETE, MERGE, as the analyzer rewrites them for a V2 table: some rows are replaced."""
    joriginal = jcommand.originalTable()
    found = v2_table(joriginal.table(), [], catalog)
    jtable, target = joriginal.table(), found[0] if found else None
    columns = schema.json_fields(joriginal.schema())
    evolves = target is not None and target.layer == snapshots.ICEBERG
    added = evolution.added_columns(jtable, catalog.started) if evolves else []
    return Write(target, "", _query(node), jcommand.query(), jtable=jtable, columns=columns, added=added)


def _merge(jcommand: Any, node: Node, catalog: Catalog) -> Write:
    """Handle MERGE, UPDATE, DELETE over a V2 table: the target and all that is read. Delta's own commands hide both."""
    field = {"MergeIntoTable": "targetTable"}.get(node.kind, "target" if node.kind.endswith("Command") else "table")
    target = relation(getattr(jcommand, field)(), _query(node, field), catalog)
    inner = []
    if node.kind.endswith("Command"):
        inner = [jcommand.target(), *([jcommand.source()] if node.kind == "MergeIntoCommand" else [])]
        if target is not None and (evolved := schema.struct_fields(node.fields.get("migratedSchema"))):
            target.fields = evolved
    return Write(target, "", node, jcommand, inner=inner)


def _restored(jcommand: Any, node: Node, catalog: Catalog) -> Write:
    """Handle RESTORE TABLE of Delta: an earlier version becomes a new one."""
    found = v2_table(jcommand.sourceTable(), [], catalog)
    return Write(found[0] if found else None, OVERWRITE)


def _view(jcommand: Any, node: Node, catalog: Catalog) -> Write | None:
    kind = str((node.fields.get("viewType") or {}).get("object", ""))
    if "PersistedView" not in kind:
        return None  # A temp view ends with the session: nothing outside changes.
    symlink = catalog.symlink(node.fields.get("name"))
    if symlink is None:
        return None
    target = Dataset(*symlink, [], kind="VIEW")
    lifecycle = OVERWRITE if node.fields.get("replace") else CREATE
    write = Write(
        target, lifecycle, _query(node, "plan"), jcommand.plan(), sql=str(node.fields.get("originalText") or "")
    )
    jnames = jcommand.userSpecifiedColumns()
    write.renamed = [str(jnames.apply(i)._1()) for i in range(jnames.size())]
    return write


def _table(field: str, lifecycle: str) -> Callable[[Any, Node, Catalog], Write]:
    """Handle DDL about one table, whose TableIdentifier is in `field`."""

    def handler(jcommand: Any, node: Node, catalog: Catalog) -> Write:
        identifier = node.fields.get(field)
        symlink = catalog.symlink(identifier)
        if node.fields.get("isView") and symlink:
            return Write(Dataset(*symlink, [], kind="VIEW"), lifecycle)
        return Write(_located(catalog.location(getattr(jcommand, field)()), "", symlink), lifecycle)

    return handler


def _drop_v2(jcommand: Any, node: Node, catalog: Catalog) -> Write:
    """Handle DROP TABLE, as the analyzer leaves it: an identifier in a catalog."""
    child = jcommand.child()
    parts = [str(part) for part in child.identifier().namespace()]
    table = str(child.identifier().name())
    if (owner := str(child.catalog().name())) != "spark_catalog":
        name = (catalog.namespace, ".".join([owner, *parts, table]))
        where = iceberg.place(catalog, owner, ".".join([*parts, table]))
        return Write(_located(where, "", name) if where else Dataset(*name, []), DROP)
    jvm_identifier = _table_identifier(catalog, table, parts[-1] if parts else "default")
    symlink = (catalog.namespace, ".".join([*(parts or ["default"]), table]))
    return Write(_located(catalog.location(jvm_identifier), "", symlink), DROP)


def _table_identifier(catalog: Catalog, table: str, database: str) -> Any:
    parser = catalog.jsession.sessionState().sqlParser()
    return parser.parseTableIdentifier(f"`{database}`.`{table}`")


def _rename(jcommand: Any, node: Node, catalog: Catalog) -> Write:
    old, new = node.fields["oldName"], dict(node.fields["newName"])
    new["database"] = new.get("database") or old.get("database")
    old_symlink, new_symlink = catalog.symlink(old), catalog.symlink(new)
    if node.fields.get("isView") and old_symlink and new_symlink:
        return Write(Dataset(*new_symlink, [], kind="VIEW"), RENAME, previous=old_symlink)
    database = str(old.get("database") or "default")
    before = _located(catalog.location(_table_identifier(catalog, str(old["table"]), database)))
    after = catalog.location(_table_identifier(catalog, str(new["table"]), str(new["database"] or database)))
    return Write(_located(after, "", new_symlink), RENAME, previous=before.key)


def _micro_batch(jcommand: Any, node: Node, catalog: Catalog) -> Write:
    """Handle one micro-batch of a streaming query. A foreachBatch sink is not a dataset; the writes inside it are."""
    failed = catalog.failed("the target of a stream")
    sink = crossing.ask_optional(lambda: str(jcommand.sink().toString()), failed) or ""
    query = _query(node)
    write = Write(None, "", query, jcommand.query(), streaming=True, foreach_batch="ForeachBatch" in sink)
    if sink.startswith("FileSink["):
        write.target = _located(sink[len("FileSink[") : -1])
    if sink.startswith("DeltaSink["):
        write.target = delta(sink[len("DeltaSink[") : -1], [])
    if node.kind == "WriteToMicroBatchDataSource":
        write.target = crossing.ask_optional(lambda: _v2_stream(jcommand, write, catalog), failed)
    if write.target is not None and write.target.layer == snapshots.DELTA:
        write.before = evolution.delta_fields(catalog.jsession, write.target.location)
    elif write.target is not None and write.target.layer == snapshots.ICEBERG:
        write.before = schema.json_fields(write.jtable.schema())
    return write


def _v2_stream(jcommand: Any, write: Write, catalog: Catalog) -> Dataset | None:
    jtable = jcommand.table()
    if str(jtable.getClass().getSimpleName()) == "DataSourceV2Relation":
        jtable = jtable.table()
    write.jtable = jtable
    if str(jtable.getClass().getSimpleName()) == kafka.TABLE:
        return next(iter(topics(kafka.options(jcommand.writeOptions()), [])), None)
    return next((one for one in v2_table(jtable, [], catalog) if one.namespace != "spark"), None)


_HANDLERS: dict[str, Callable[[Any, Node, Catalog], Write | None]] = {
    "InsertIntoHadoopFsRelationCommand": _files,
    "CreateDataSourceTableAsSelectCommand": _new_table("table"),
    "SaveAsV1TableCommand": _new_table("tableDesc"),
    "CreateHiveTableAsSelectCommand": _new_table("tableDesc"),
    "CreateDataSourceTableCommand": _new_table("table"),
    "CreateTableCommand": _new_table("table"),
    "InsertIntoHiveTable": _hive_insert,
    "LoadDataCommand": _load,
    "InsertIntoDataSourceCommand": _source_insert,
    "InsertIntoDataSourceDirCommand": _directory,
    "InsertIntoHiveDirCommand": _directory,
    "SaveIntoDataSourceCommand": _source,
    "AppendData": _v2,
    "OverwriteByExpression": _v2,
    "OverwritePartitionsDynamic": _v2,
    "ReplaceData": _rows,
    "WriteDelta": _rows,
    "CreateTableAsSelect": _v2_new,
    "ReplaceTableAsSelect": _v2_new,
    "MergeIntoTable": _merge,
    "MergeIntoCommand": _merge,
    "UpdateTable": _merge,
    "UpdateCommand": _merge,
    "DeleteFromTable": _merge,
    "DeleteCommand": _merge,
    "RestoreTableCommand": _restored,
    "CreateViewCommand": _view,
    "DropTableCommand": _table("tableName", DROP),
    "DropTable": _drop_v2,
    "TruncateTableCommand": _table("tableName", TRUNCATE),
    "AlterTableAddColumnsCommand": _table("table", ALTER),
    "AlterTableDropPartitionCommand": _table("tableName", ALTER),
    "AlterTableRenameCommand": _rename,
    "WriteToMicroBatchDataSourceV1": _micro_batch,
    "WriteToMicroBatchDataSource": _micro_batch,
}


SEVERAL = "Commands"
"""The kind of a plan that holds several commands: FROM … INSERT … INSERT."""
KINDS = (*_HANDLERS, SEVERAL)
"""The classes of commands that may write something."""
READING = frozenset({"SetVariable"})
"""The classes of commands that take what a query gives to the driver."""


def committed_target(write: Write, catalog: Catalog) -> Dataset | None:
    """Return the target, which exists now, if the table keeps versions; else None."""
    if write.jname is not None:
        write.jtable = write.jname.catalog().loadTable(write.jname.identifier())
        found = v2_table(write.jtable, [], catalog)
        if found and found[0].layer:
            write.target = msgspec.structs.replace(found[0], version="")
    return write.target if write.target is not None and write.target.layer else None


def writes(kind: str) -> bool:
    """Return whether a command of this class may write something."""
    return kind in _HANDLERS or kind == SEVERAL


def kind(janalyzed: Any) -> str:
    """Return the class of a plan's root, or SEVERAL."""
    found = str(janalyzed.getClass().getSimpleName())
    if found != "Union":
        return found
    first = str(janalyzed.children().head().getClass().getSimpleName())
    return SEVERAL if first in _HANDLERS else found


def are_several(root: Node) -> bool:
    """Return whether a plan is one of several commands, each a child of the root."""
    return root.kind == "Union" and root.children[0].kind in _HANDLERS
