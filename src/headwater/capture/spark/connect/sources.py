"""The datasets that a Spark Connect session names: files, tables, JDBC, topics, and the views and checkpoints that the program has made.

Views are followed from the commands that make them, in the order in which the program sent them; tables are asked of the server. Where the answer may
be of a later moment than the command it is asked for, a table is as the program's earlier commands left it.
"""

import re
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import msgspec

from headwater.capture.spark import datasets, snapshots
from headwater.capture.spark.analysis import Analysis
from headwater.capture.spark.commands import ALTER, CREATE, DROP, OVERWRITE, RENAME, Write
from headwater.capture.spark.connect.models import ModelNotes
from headwater.capture.spark.connect.scope import Bound
from headwater.capture.spark.connect.server import NoAnswer, Server, Table
from headwater.capture.spark.connect.statements import quoted
from headwater.capture.spark.connect.versions import TableVersions
from headwater.capture.spark.coverage import Coverage
from headwater.capture.spark.datasets import Dataset, Leaves, where_pair
from headwater.capture.spark.predictions import Model, not_fitted
from headwater.model import names

_MOST_VIEWS = 5000
_WILD = re.compile(r"[*?\[{]")
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.\-]+:")
_NOWHERE = frozenset({"noop", "console", "memory", "rate", "rate-micro-batch", "socket"})
GLOBAL = "global_temp"
_VIEWED = re.compile(r"\bas\s+(\(?\s*(?:select|with|from|values|table)\b.*)", re.IGNORECASE | re.DOTALL)


class View(msgspec.Struct):
    """A relation that the program has named: a temporary view or a checkpoint. `text`: of a view that SQL made: its names mean what they mean when
    it is read.
    """

    bound: Bound
    leaves: Leaves
    warnings: list[str] = []
    opaque: bool = False
    text: str = ""


class Located(msgspec.Struct):
    """A table of the catalog. `text`: of a stored view. `columns`: names in order."""

    dataset: Dataset
    identity: list[str]
    columns: list[str]
    text: str = ""


class Sources:
    """The names of one session. `coverage`: of the application; `notes`: the models of its sessions; `training`: of what one was made."""

    def __init__(self, server: Server, coverage: Coverage, notes: ModelNotes | None = None) -> None:
        self.server = server
        self.models = notes or ModelNotes()
        self.training: Callable[[Model], Analysis] = not_fitted
        self.coverage = coverage
        self.versions = TableVersions(server)
        self.database = "default"
        self.catalog = "spark_catalog"
        self.views: OrderedDict[str, View] = OrderedDict()
        self.checkpoints: OrderedDict[str, View] = OrderedDict()
        self._places: OrderedDict[str, Dataset] = OrderedDict()
        self._left: OrderedDict[str, Located | None] = OrderedDict()  # by catalog name: None where it was dropped
        self.is_late: Callable[[], bool] = lambda: False
        self.is_overtaken: Callable[[], bool] = lambda: False  # by a further command

    # --- what the program has named

    def name(self, name: str, view: View) -> None:
        """Note a temporary view; a global one by `global_temp.NAME`."""
        _put(self.views, name.lower(), view)

    def view(self, parts: list[str]) -> View | None:
        return self.views.get(".".join(parts).lower())

    def drop_view(self, parts: list[str]) -> bool:
        """Forget a temporary view; False if there is none."""
        return self.views.pop(".".join(parts).lower(), None) is not None

    def checkpoint(self, relation_id: str) -> View | None:
        return self.checkpoints.get(relation_id)

    def keep_checkpoint(self, relation_id: str, view: View) -> None:
        _put(self.checkpoints, relation_id, view)

    # --- tables

    @property
    def namespace(self) -> str:
        """Return the namespace of catalog names, as in a session with a JVM."""
        metastore = self.server.setting("spark.hadoop.hive.metastore.uris")
        if metastore:
            return "hive://" + metastore.split(",")[0].split("://")[-1].rstrip("/")
        return self.server.setting("spark.sql.warehouse.dir").rstrip("/")

    def table(self, parts: list[str]) -> Located | None:
        """Return a table or view of the catalog, or None if there is none. Raises NoAnswer.

        The server answers while the command runs that it is asked for: a table that is gone then, or half gone, is as the program left it before.
        """
        name = self.symlink(self.full(parts))[1].lower()
        left = self._left.get(name)
        try:
            located = self._asked(parts)
        except NoAnswer:
            if left is None and not (self.is_late() and name in self._left):
                raise
            return left
        if self.is_late():
            return self._left.get(name, located)
        if located is None and left is not None:
            return left
        _put(self._left, name, located)
        return located

    def find_new_table(self, parts: list[str]) -> Located | None:
        """Return a table that a command has made, or None if the server's answer may be of a later one. Raises NoAnswer."""
        return None if self.is_late() or (located := self.table(parts)) is None or self.is_late() else located

    def note(self, write: Write, columns: list[str], sql: str) -> None:
        """Note the table or view that a command left. `sql`: its text."""
        target = write.target
        if target is None:
            return
        name = (target.symlink or target.key)[1].lower()
        if write.lifecycle == DROP:
            _put(self._left, name, None)
        elif write.lifecycle in {ALTER, RENAME}:
            self._left.pop(name, None)
            for other, one in self._left.items():
                if one is not None and one.dataset.key == write.previous:
                    self._left[other] = None
        elif write.lifecycle in {CREATE, OVERWRITE} and columns:
            last = [one for one in columns if one in write.partitions]
            identity = name.split(".")
            kept = msgspec.structs.replace(target, fields=[], version="")
            located = Located(kept, identity, [one for one in columns if one not in last] + last)
            if target.kind == "VIEW" and (query := _VIEWED.search(sql)) is not None:
                located.text = query[1]
            _put(self._left, name, located)
        elif write.lifecycle in {CREATE, OVERWRITE} and self._left.get(name) is None:
            self._left.pop(name, None)  # it is there now, and its columns are not known
            place = ".".join(self.full(name.split("."))).lower()
            _put(self._places, place, msgspec.structs.replace(target, fields=[], version=""))

    def _asked(self, parts: list[str]) -> Located | None:
        found = self.server.table(quoted(parts))
        if found is None:
            return None
        identity = found.identity or self.full(parts)
        located = Located(self._dataset(found, identity), identity, [name for name, _ in found.columns])
        if found.details.get("Type", "").upper() == "VIEW":
            located.text = found.details.get("View Text", "")
        _put(self._places, ".".join(identity).lower(), located.dataset)
        return located

    def _dataset(self, found: Table, identity: list[str]) -> Dataset:
        details = found.details
        symlink = self.symlink(identity)
        if details.get("Type", "").upper() == "VIEW":
            return Dataset(*symlink, [], kind="VIEW")
        provider = details.get("Provider", "").lower()
        place = details.get("Location", "")
        if not place:
            return Dataset(*symlink, [], provider)
        made = Dataset(*where_pair(names.from_location(place)), [], provider, symlink)
        if provider in snapshots.KEPT:
            made.layer, made.location, made.storage = provider, place, "parquet"
        return made

    def symlink(self, identity: list[str]) -> tuple[str, str]:
        return self.namespace, ".".join(identity[1:] if identity[0] == "spark_catalog" else identity)

    def full(self, parts: list[str]) -> list[str]:
        """Return a table's name with its catalog and database."""
        if len(parts) == 1:
            return [self.catalog, self.database, *parts]
        return ["spark_catalog", *parts] if len(parts) == 2 else parts

    def is_known(self, parts: list[str]) -> bool:
        """Return whether the session has named this table before."""
        return ".".join(self.full(parts)).lower() in self._places

    def place(self, parts: list[str]) -> Dataset:
        """Return a table that is not there: one that was, by its last place, or one that will be, by its database's. Raises NoAnswer.

        A new table is not where the one was that the program has dropped.
        """
        identity = self.full(parts)
        name = self.symlink(identity)[1].lower()
        known = self._places.get(".".join(identity).lower()) if name not in self._left else None
        return msgspec.structs.replace(known, fields=[]) if known is not None else self.default_place(parts)

    def default_place(self, parts: list[str]) -> Dataset:
        """Return a table where its database puts it. Raises NoAnswer."""
        identity = self.full(parts)
        symlink = self.symlink(identity)
        if identity[0] != "spark_catalog":
            folder = self._catalog_of_folders(identity[0])
            where = names.from_location("/".join([folder, *identity[1:]])) if folder else None
            return Dataset(*where_pair(where), [], "", symlink) if where is not None else Dataset(*symlink, [])
        folder = self.server.database(quoted(identity[1:-1])).rstrip("/")
        return Dataset(*where_pair(names.from_location(f"{folder}/{identity[-1].lower()}")), [], "", symlink)

    def _catalog_of_folders(self, owner: str) -> str:
        """Return the warehouse of an Iceberg catalog that puts each table where its name says, else empty."""
        prefix = f"spark.sql.catalog.{owner}"
        folders = self.server.setting(f"{prefix}.type") == "hadoop" or self.server.setting(
            f"{prefix}.catalog-impl"
        ).endswith(".HadoopCatalog")
        return self.server.setting(f"{prefix}.warehouse").rstrip("/") if folders else ""

    def relation(self, parts: list[str]) -> Any:
        """Return the message that reads a table."""
        from pyspark.sql.connect.proto import relations_pb2

        made = relations_pb2.Relation()
        if self.path(parts):
            made.read.data_source.format = parts[0]
            made.read.data_source.paths.append(parts[-1])
        else:
            made.read.named_table.unparsed_identifier = quoted(parts)
        return made

    # --- files and other sources

    def place_of_model(self, path: str) -> Dataset:
        """Return the dataset of a folder that a model is saved to."""
        return Dataset(*where_pair(names.from_location(self.qualified(path))), [], "model")

    def spelled(self, name: tuple[str, ...], text: str) -> list[str]:
        """Return a name of the column engine as Spark has it: the engine drops the format of a path, and the schema of a global temporary view."""
        if len(name) == 1 and re.search(rf"\b{GLOBAL}`?\s*\.\s*`?{re.escape(name[0])}\b", text, re.IGNORECASE):
            return [GLOBAL, *name]
        if len(name) == 1 and "/" in name[0]:
            found = re.search(rf"(\w+)\s*\.\s*`{re.escape(name[0])}`", text)
            return [found[1] if found else "parquet", name[0]]
        return list(name)

    def path(self, parts: list[str]) -> list[Dataset]:
        """Return the files that SQL names by their path (parquet.`/a/b`), or nothing if it is the name of a table."""
        if len(parts) == 2 and "/" in parts[1]:
            return self._files([parts[1]], parts[0].lower(), None)
        return []

    def read(self, source: Any, streaming: bool) -> list[Dataset]:
        """Return the datasets that a DataFrameReader names; none if the source has no name (its columns then have no source)."""
        kind = (source.format or self.server.setting("spark.sql.sources.default") or "parquet").lower()
        options = {key.lower(): value for key, value in source.options.items()}
        paths = [*source.paths, *([options["path"]] if options.get("path") else [])]
        if kind in _NOWHERE:
            return []
        if kind == "jdbc" and options.get("url"):
            table = options.get("dbtable") or f"({options.get('query', '?')})"
            return [datasets.jdbc(options["url"], table, [])]
        if kind == "kafka":
            return datasets.topics({**dict(source.options), **options}, [])
        if paths and all("/" not in path for path in paths) and kind in snapshots.KEPT:
            found = self._named_table(paths[0])
            return [found] if found is not None else []
        return self._files(paths, kind, source)

    def _named_table(self, name: str) -> Dataset | None:
        from headwater.capture.spark.connect.scope import split

        located = self.table(split(name))
        return located.dataset if located is not None else None

    def _files(self, paths: list[str], kind: str, source: Any) -> list[Dataset]:
        found: list[str] = []
        for path in paths:
            found += (
                self._expanded(path, source) if source is not None and _WILD.search(path) else [self.qualified(path)]
            )
        made = datasets._files(found, [], kind, self.coverage)
        if kind in snapshots.KEPT:
            for one, path in zip(made, found, strict=False):
                one.layer, one.location, one.storage = kind, path, "parquet"
        return made

    def _expanded(self, pattern: str, source: Any) -> list[str]:
        """Return the places that a pattern finds, as its files name them."""
        from pyspark.sql.connect.proto import relations_pb2

        asked = relations_pb2.Relation()
        asked.read.data_source.CopyFrom(source)
        try:
            files = self.server.input_files(asked)
        except NoAnswer:
            files = []
        if not files:
            return [self.qualified(pattern[: _WILD.search(pattern).start()].rpartition("/")[0])]  # type: ignore[union-attr]
        deep = len(_SCHEME.sub("", pattern).lstrip("/").split("/"))
        return list(dict.fromkeys(_first_segments(file, deep) for file in files))

    def qualified(self, path: str) -> str:
        """Return a path with its scheme: without one it is of the server's file system, whose name its warehouse has."""
        if _SCHEME.match(path):
            return path
        root = self.server.setting("spark.hadoop.fs.defaultFS") or self.server.setting("spark.sql.warehouse.dir")
        scheme = re.match(r"^([A-Za-z][A-Za-z0-9+.\-]+):(//[^/]*)?", root)
        prefix = f"{scheme[1]}:{scheme[2] or ''}" if scheme and scheme[1] != "file" else "file:"
        return prefix + path if path.startswith("/") else path


def _first_segments(file: str, count: int) -> str:
    head, mark, rest = file.partition("://")
    if not mark:
        head, mark, rest = file.partition(":")
    start = rest[: len(rest) - len(rest.lstrip("/"))]
    parts = rest.lstrip("/").split("/")
    bucket = mark == "://" and not start
    return head + mark + start + "/".join(parts[: count + (1 if bucket else 0)])


def _put(where: "OrderedDict[str, Any]", key: str, value: Any) -> None:
    where[key] = value
    where.move_to_end(key)
    while len(where) > _MOST_VIEWS:
        where.popitem(last=False)
