"""Find the names of datasets: walk over JVM objects through py4j.

`toJSON` omits paths and relations, so each leaf of a plan is asked. Every crossing costs about 0.1 ms, so calls are few.
An unknown relation raises nothing: its leaf has no dataset.
"""

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import msgspec

from headwater.capture.spark import crossing, expands, kafka, origins, plan, rdds, schema, snapshots
from headwater.capture.spark.coverage import Coverage
from headwater.capture.spark.plan import Node
from headwater.capture.spark.recorded import Recorded
from headwater.model import names

# More root paths than this under one leaf (a glob over single files) are named by their folders.
MOST_PATHS = 64
_ID = re.compile(r"#(\d+)")
SEPARATOR = "\x01"
_NOWHERE = frozenset({"NoopTable", "MemoryStreamTable", "RateStreamTable", "ConsoleTable", "MemoryTable"})
# Leaves that nothing outside of the program feeds.
_OWN = frozenset(
    {
        "LocalRelation",
        "OneRowRelation",
        "Range",
        "EmptyRelation",
        "CommandResult",
        "CTERelationRef",
        "UnionLoopRef",
        "LogicalQueryStage",
    }
)
RDDS = frozenset({"LogicalRDD", "ExternalRDD"})
_SUBQUERIES = frozenset({"ScalarSubquery", "ListQuery", "Exists", "LateralSubquery"})
_V2 = frozenset(
    {
        "DataSourceV2Relation",
        "DataSourceV2ScanRelation",
        "StreamingDataSourceV2Relation",
        "StreamingDataSourceV2ScanRelation",
    }
)


Begins = Callable[[Any, Node], bool]


class Dataset(msgspec.Struct, gc=False):
    """A dataset, and data of its facets. `layer`: what keeps its versions; `location`: as Spark writes it; `current`: its latest version is read."""

    namespace: str
    name: str
    fields: list[dict[str, Any]]
    storage: str = ""
    symlink: tuple[str, str] | None = None
    kind: str = ""
    uri: str = ""
    version: str = ""
    layer: str = ""
    location: str = ""
    current: bool = True

    @property
    def key(self) -> tuple[str, str]:
        return self.namespace, self.name


class Leaves(msgspec.Struct):
    """The datasets of each leaf, by the leaf's key (the ExprId of its first column); `ids`: all ExprIds of a leaf."""

    by_key: dict[str, list[Dataset]] = {}
    ids: dict[str, frozenset[str]] = {}
    coverage: Coverage = msgspec.field(default_factory=Coverage)

    def datasets(self) -> list[Dataset]:
        """Return each dataset once, in order of discovery."""
        return list({dataset.key: dataset for group in self.by_key.values() for dataset in group}.values())


class Catalog:
    """Tables of a session's catalog: their identity and location, cached because a dropped table cannot be asked. `started`: the query, in
    milliseconds. `coverage`: what could not be read.
    """

    def __init__(self, jqe: Any, namespaces: dict[str, str] | None = None, started: int = 0) -> None:
        self._jqe = jqe
        self.started = started
        self._namespaces = {} if namespaces is None else namespaces  # of the SparkContext: it has one
        self.coverage = Coverage()  # what was not found out on the way

    @cached_property
    def jsession(self) -> Any:
        """The session of the query; most queries do not need it."""
        return self._jqe.sparkSession()

    @property
    def namespace(self) -> str:
        """Return the namespace of catalog names: the metastore if there is one, else the warehouse's location."""
        if "" not in self._namespaces:
            conf = self.jsession.conf()
            metastore = conf.get("spark.hadoop.hive.metastore.uris", "") or conf.get("hive.metastore.uris", "")
            if metastore:
                self._namespaces[""] = "hive://" + metastore.split(",")[0].split("://")[-1].rstrip("/")
            else:
                self._namespaces[""] = conf.get("spark.sql.warehouse.dir").rstrip("/")
        return self._namespaces[""]

    def symlink(self, identifier: Any) -> tuple[str, str] | None:
        """Return the catalog identity of a TableIdentifier in JSON."""
        if not isinstance(identifier, dict) or not identifier.get("table"):
            return None
        parts = [identifier.get("database") or "default", identifier["table"]]
        catalog = identifier.get("catalog")
        if catalog and catalog != "spark_catalog":
            parts.insert(0, catalog)
        return self.namespace, ".".join(parts)

    def named(self, name: str) -> tuple[str, str] | None:
        """Return the catalog identity of a table by its name; none if the name is a path."""
        return None if "/" in name or "`" in name else (self.namespace, name.removeprefix("spark_catalog."))

    def failed(self, what: str) -> Callable[[str], None]:
        """Return what takes the reason for which something was not read."""
        return lambda why: self.coverage.limit(f"not read: {what}: {why}")

    def location(self, jidentifier: Any, jtable: Any = None, *, replaced: bool = False) -> str:
        """Return where a table is, was, or will be. `jidentifier`: a TableIdentifier; `jtable`: the CatalogTable that will be created; `replaced`: a
        table of this name is dropped before.
        """
        if jtable is not None:
            uri = jtable.storage().locationUri()
            if uri.isDefined():
                where = str(uri.get().toString())
                _remember(_in_database(jidentifier), where)
                return where
        catalog = self.jsession.sessionState().catalog()
        table = _in_database(jidentifier)
        try:
            if not replaced and catalog.tableExists(jidentifier):
                where = str(catalog.getTableMetadata(jidentifier).location().toString())
                _remember(table, where)
                return where
        except Exception as error:  # noqa: BLE001 - py4j raises its own kinds; the run says it
            self.failed(f"the table {table}, which is taken to be where its database puts it")(str(error)[:300])
        if replaced or not remembered(table):
            _remember(table, str(catalog.defaultTablePath(jidentifier).toString()))
        return remembered(table)


_REMEMBERED: dict[str, str] = {}


def _remember(table: str, where: str) -> None:
    if len(_REMEMBERED) > 5000:
        _REMEMBERED.clear()
    _REMEMBERED[table] = where


def _in_database(jidentifier: Any) -> str:
    """Return the name of a table of the session's catalog with its database."""
    name = str(jidentifier.unquotedString()).removeprefix("spark_catalog.")
    return name if "." in name else f"default.{name}"


def remembered(table: str) -> str:
    """Return where a table was when it was last seen. `table`: with its database, and its catalog unless that is the session's."""
    return _REMEMBERED.get(table, "")


def leaves(jplan: Any, root: Node, catalog: Catalog, inner: Sequence[Any] = (), begins: Begins | None = None) -> Leaves:
    """Return the datasets of the leaves of `jplan`, whose tree is `root`, and of the plans that it hides. Also completes
    Expand nodes in `root`. `begins`: whether a leaf is the rest of a plan that was read before, so that it need not be asked.
    """
    result = Leaves()
    nodes: dict[str, Node] = {}
    leaf_nodes, kinds = _leaf_nodes(root)
    for each in leaf_nodes:
        if (
            each.kind in _OWN
        ):  # a CTE's reference has the columns of its definition, and the table's if that passes them on
            continue
        nodes.setdefault(_first_id(each), each)  # a scan comes before the relation in it, which has the same columns
    plans = [jplan, *inner]
    if not kinds.isdisjoint(_SUBQUERIES):
        plans += list(_items(jplan.subqueriesAll()))
    for each in plans:
        for leaf in _items(each.collectLeaves()):
            first = _first_of(leaf)
            node = nodes.get(first) if first else None
            if node is None or first in result.by_key:
                continue
            if node.kind in RDDS and begins is not None and begins(leaf, node):
                continue
            datasets = _counted(leaf, node, catalog, result.coverage)
            if datasets:
                result.by_key[first] = datasets
                result.ids[first] = frozenset(str(item.expression_id) for item in node.attributes("output"))
    if "Expand" in kinds and not any(node.rows("projections") for node in root.walk() if node.kind == "Expand"):
        made = [expands.sources(node) for node in expands.nodes(jplan)]
        for node, sources in zip((n for n in root.walk() if n.kind == "Expand"), made, strict=False):
            if sources is not None and len(sources) == len(node.attributes("output")):
                node.fields["headwater_made_of"] = sources
    return result


def _first_of(leaf: Any) -> str:
    """Return the ExprId of a leaf's first column, or empty."""
    if isinstance(leaf, Recorded):
        return leaf.first_id
    found = _ID.search(str(leaf.output().mkString(",")))
    return found[1] if found else ""


def _items(sequence: Any) -> list[Any]:
    return sequence if isinstance(sequence, list) else [sequence.apply(i) for i in range(sequence.size())]


def _first_id(node: Node) -> str:
    columns = node.attributes("output")
    return str(columns[0].expression_id) if columns else ""


def _leaf_nodes(root: Node) -> tuple[list[Node], set[str]]:
    """Return every leaf of the plan and of the plans inside its expressions and commands, and the kinds of all nodes."""
    found = []
    kinds = set()
    waiting: list[Node] = [root]
    while waiting:
        node = waiting.pop()
        kinds.add(node.kind)
        if node.kind == plan.ATTRIBUTE:
            continue
        waiting.extend(node.children)
        for name, value in node.fields.items():
            if isinstance(value, list) and value and name not in {"output", "metadata"}:
                waiting.extend(node.trees(name))
        if not node.children and "output" in node.fields:
            found.append(node)
    return found, kinds


def _counted(leaf: Any, node: Node, catalog: Catalog, coverage: Coverage) -> list[Dataset]:
    """Return the datasets of a leaf, and count the read."""
    missed = coverage.reads
    found = _datasets(leaf, node, catalog, coverage)
    if found and node.kind in RDDS:
        coverage.through_function += 1
    elif found:
        coverage.traced += 1
    elif node.kind not in _OWN and node.kind not in RDDS and coverage.reads == missed and not _is_nowhere(leaf, node):
        coverage.miss(node.kind, "a source that names no place")
    return found


def _is_nowhere(leaf: Any, node: Node) -> bool:
    """Return whether a V2 relation is of a table that holds nothing outside Spark (rate, memory)."""
    if node.kind not in _V2:
        return False
    relation = leaf.relation() if node.kind.endswith("ScanRelation") else leaf
    return str(relation.table().getClass().getSimpleName()).rstrip("$") in _NOWHERE


def _datasets(leaf: Any, node: Node, catalog: Catalog, coverage: Coverage) -> list[Dataset]:
    fields = schema.fields(node.attributes("output"))
    try:
        if node.kind == "LogicalRelation":
            return _relation(leaf, node, fields, catalog)
        if node.kind == "HiveTableRelation":
            table = leaf.tableMeta()
            where = names.from_location(str(table.location().toString()))
            identity = (node.fields.get("tableMeta") or {}).get("identifier")
            return [Dataset(*where_pair(where), fields, "hive", catalog.symlink(identity))]
        if node.kind in RDDS:
            return of_rdd(leaf.rdd(), coverage)
        if node.kind in _V2:
            relation = leaf.relation() if node.kind.endswith("ScanRelation") else leaf
            table = relation.table()
            if str(table.getClass().getSimpleName()) == kafka.TABLE:
                return topics(kafka.options(relation.options()), fields)
            return v2_table(table, fields, catalog)
    except Exception as error:  # noqa: BLE001 - a leaf that cannot be read must not take the others along; the run says it
        coverage.miss(node.kind, error)
    return []


def of_rdd(jrdd: Any, coverage: Coverage) -> list[Dataset]:
    """Return the datasets behind an RDD (a Scala one), without their columns: an RDD does not say which it uses. Those of a DataFrame
    that it was made of, as the DataFrame names them, and else of its files.
    """
    found: dict[tuple[str, str], Dataset] = {}

    def resolved(number: int) -> bool:
        jdf = origins.frame(number)
        tables = _of_frame(jdf, coverage) if jdf is not None else []
        found.update((one.key, one) for one in tables)
        return bool(tables)

    files = _files(rdds.places(jrdd, coverage, resolved), [], "", coverage)
    return list(({one.key: one for one in files} | found).values())


def _of_frame(jdf: Any, coverage: Coverage) -> list[Dataset]:
    """Return the datasets that a DataFrame reads, without their columns; none if one of its leaves cannot be read."""
    try:
        jqe = jdf.queryExecution()
        catalog, janalyzed = Catalog(jqe), jqe.analyzed()
        plans = [janalyzed, *_items(janalyzed.subqueriesAll())]
        leaves_of = [leaf for jplan in plans for leaf in _items(jplan.collectLeaves())]
        named = [(leaf, str(leaf.getClass().getSimpleName())) for leaf in leaves_of]
        found = [_datasets(leaf, _leaf(leaf, kind), catalog, coverage) for leaf, kind in named if kind not in _OWN]
    except Exception as error:  # noqa: BLE001 - py4j raises its own kinds; the files of the RDD are looked at then
        coverage.limit(f"not read: the tables of a DataFrame that an RDD is made of: {type(error).__name__}")
        return []
    return [msgspec.structs.replace(one, fields=[]) for some in found for one in some] if all(found) else []


def _leaf(leaf: Any, kind: str) -> Node:
    """Return the node of one leaf."""
    return bare(leaf) if kind in RDDS else plan.parse(str(leaf.toJSON()))


def topics(options: dict[str, str], fields: list[dict[str, Any]]) -> list[Dataset]:
    """Return the Kafka topics that options name."""
    return [Dataset(namespace, name, fields, "kafka") for namespace, name in kafka.topics(options)]


def where_pair(name: names.DatasetName) -> tuple[str, str]:
    return name.namespace, name.name


def _relation(leaf: Any, node: Node, fields: list[dict[str, Any]], catalog: Catalog) -> list[Dataset]:
    relation = leaf.relation()
    identity = (node.fields.get("catalogTable") or {}).get("identifier")
    symlink = catalog.symlink(identity)
    kind = str(relation.getClass().getSimpleName())
    if kind == "HadoopFsRelation":
        if symlink and identity:
            place = str(leaf.catalogTable().get().location().toString())
            _remember(f"{identity.get('database') or 'default'}.{identity['table']}", place)
            return [Dataset(*where_pair(names.from_location(place)), fields, str(relation.toString()), symlink)]
        if node.fields.get("isStreaming"):
            read = crossing.ask_optional(
                lambda: snapshots.read_by(relation.location()), catalog.failed("the table of a stream")
            )
            if read is not None:
                return [delta(read[0], fields, symlink)]
        paths = str(relation.location().rootPaths().mkString(SEPARATOR)).split(SEPARATOR)
        if node.fields.get("isStreaming"):
            # A micro-batch lists its files; the dataset is their folder.
            paths = [path.rsplit("/", 1)[0] for path in paths]
        return _files(paths, fields, str(relation.toString()), catalog.coverage)
    if kind == kafka.RELATION:
        return topics(kafka.of_relation(relation), fields)
    if kind == "JDBCRelation":
        options = relation.jdbcOptions()
        return [jdbc(str(options.url()), str(options.tableOrQuery()), fields)]
    return _other(relation, kind, node, fields, symlink, catalog)


def _other(
    relation: Any,
    kind: str,
    node: Node,
    fields: list[dict[str, Any]],
    symlink: tuple[str, str] | None,
    catalog: Catalog,
) -> list[Dataset]:
    """Return the dataset of another source's relation, if it names its place."""
    failed = catalog.failed(f"the place of a {kind}")
    read = crossing.ask_optional(lambda: snapshots.read_by(relation.location()), failed)
    if read is not None:
        return [delta(read[0], fields, symlink, "" if node.fields.get("isStreaming") else read[1])]
    path = crossing.ask_optional(lambda: str(relation.path()), failed)
    if path is not None:
        return _files([path], fields, kind, catalog.coverage)
    return [Dataset("spark", kind, fields, symlink=symlink)] if symlink else []


def _files(paths: list[str], fields: list[dict[str, Any]], storage: str, coverage: Coverage) -> list[Dataset]:
    found = dict.fromkeys(names.from_location(path) for path in paths if path and snapshots.LOG not in f"{path}/")
    if len(found) > MOST_PATHS:
        found = dict.fromkeys(names.DatasetName(n.namespace, n.name.rsplit("/", 1)[0] or "/") for n in found)
    if len(found) > MOST_PATHS:
        coverage.limit(f"of {len(found)} folders that one read has, {MOST_PATHS} are named")
    return [Dataset(*where_pair(name), fields, storage) for name in list(found)[:MOST_PATHS]]


def jdbc(url: str, table: str, fields: list[dict[str, Any]]) -> Dataset:
    """Return a JDBC table. A query in place of a table (`(select …) alias`) is named by the query's text, shortened."""
    clean = table.strip()
    if clean.startswith("("):
        simple = re.match(r"(?is)^\(\s*select\b.*?\bfrom\s+([\w.\"`\[\]]+)\s*(?:where\b.*)?\)\s*\w*$", clean)
        clean = simple[1] if simple else clean[:200]
    name = names.from_jdbc(url, clean)
    return Dataset(name.namespace, name.name, fields, "jdbc", uri=re.split(r"[?;]", url)[0])


def delta(
    place: str, fields: list[dict[str, Any]], symlink: tuple[str, str] | None = None, version: str = ""
) -> Dataset:
    """Return a Delta table by its location."""
    name = where_pair(names.from_location(place))
    return Dataset(*name, fields, "parquet", symlink, version=version, layer=snapshots.DELTA, location=place)


def relation(jplan: Any, node: Node | None, catalog: Catalog) -> Dataset | None:
    """Return the table that a plan merely names; without its columns if there is no `node`."""
    while str(jplan.nodeName()) == "SubqueryAlias":
        jplan, node = jplan.child(), node.children[0] if node is not None else None
    return next(iter(_datasets(jplan, node or bare(jplan), catalog, catalog.coverage)), None)


def bare(jplan: Any) -> Node:
    """Return the node of a plan that was not read."""
    return Node(str(jplan.getClass().getSimpleName()), {"class": ""}, [])


def v2_table(table: Any, fields: list[dict[str, Any]], catalog: Catalog) -> list[Dataset]:
    """Return a DataSourceV2 table by its location if it has one (Iceberg, Delta, files), else by its own name."""
    kind = str(table.getClass().getSimpleName()).rstrip("$")
    if kind == "RowLevelOperationTable":
        return v2_table(table.table(), fields, catalog)
    if kind in _NOWHERE:
        return []
    failed = catalog.failed(f"the place of a {kind}")
    options = crossing.ask_optional(lambda: table.jdbcOptions(), failed)
    if options is not None:
        return [jdbc(str(options.url()), str(options.tableOrQuery()), fields)]
    paths = crossing.ask_optional(lambda: str(table.fileIndex().rootPaths().mkString(SEPARATOR)), failed)
    if paths is not None:
        return _files(paths.split(SEPARATOR), fields, str(table.formatName()).lower(), catalog.coverage)
    properties = crossing.ask_optional(lambda: {str(k): str(v) for k, v in table.properties().items()}, failed) or {}
    name = str(table.name())
    if properties.get("location"):
        _remember(name, properties["location"])
        where = names.from_location(properties["location"])
        storage = properties.get("provider", kind).lower()
        found = Dataset(*where_pair(where), fields, storage, catalog.named(name))
        if storage in snapshots.KEPT:
            found.layer, found.location = storage, properties["location"]
            found.storage = properties.get("format", "").rpartition("/")[2] or "parquet"
        if storage == snapshots.ICEBERG:
            found.version = snapshots.current(table, properties)
        return [] if storage == snapshots.ICEBERG and snapshots.about(table) else [found]
    return [Dataset("spark", name, fields, kind)]
