"""Inputs of a sync besides its log: sizes of tables, tables to retain, and the exports of tools that attribute queries.

Each input has a version. When the version changes, the next sync computes what depends on that input again, and nothing else (`sync`).
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (its usual name)
from pyspark.sql.types import StringType, StructField, StructType

from headwater.errors import InvalidQuestion, NotFound
from headwater.pipeline.folder import InputFile, LocalFolder, inputs
from headwater.pipeline.query_log.who import Config, looker, lookml
from headwater.pipeline.query_log.who.assets import asset_names, looker_history, with_asset_names, with_looker_history
from headwater.pipeline.query_log.who.exports import DbtQuery, frame, linked, read
from headwater.pipeline.tables import Table


def _table(name: str, key: tuple[str, ...], *others: str) -> Table:
    told = [StructField(one, StringType(), one not in key) for one in (*key, *others)]
    return Table(name, StructType(told), key)


# The actors in exports of tools: dbt's artifacts by query, Looker's history by slug, names of assets (also those of LookML). Kept of every
# export that was given.
DBT_QUERIES: Final = _table("dbt_queries", ("query_id",), "job_namespace", "job_name", "job_run_id", "node", "relation")
LOOKER_HISTORY: Final = _table(
    "looker_history",
    ("slug",),
    *("person", "dashboard", "dashboard_title", "look", "look_title", "model", "explore", "folder"),
)
ASSET_NAMES: Final = _table("asset_names", ("tool", "asset"), "name")
EXPORTED: Final = (DBT_QUERIES, LOOKER_HISTORY, ASSET_NAMES)
_HERE: Final = "file://"


@dataclass(frozen=True, slots=True)
class Stored:
    """The size of a table in bytes."""

    namespace: str
    name: str
    size: int


@dataclass(frozen=True, slots=True)
class RetainedTable:
    """Tables that are needed even without reads. `name` may have `*` and `?`; letter case is ignored. None: any namespace."""

    name: str
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class Dbt:
    """Run results of dbt (a glob) and the manifest they belong to."""

    run_results: str
    manifest: str | None = None


@dataclass(frozen=True, slots=True)
class Exports:
    """Files that tools write about themselves: globs. dbt's and LookML's are read on this machine, the others wherever Spark reads."""

    dbt: tuple[Dbt, ...] = ()
    looker_history: tuple[str, ...] = ()
    asset_names: tuple[str, ...] = field(default=())
    lookml: tuple[str, ...] = ()

    def version(self, spark: SparkSession) -> str:
        """A digest of these files; the empty string if there are none. Raises NotFound for a glob without files."""
        globs = [*(one.run_results for one in self.dbt), *(one.manifest for one in self.dbt if one.manifest)]
        files = inputs(spark, [*globs, *self.looker_history, *self.asset_names, *self.lookml])
        return digest(files) if files else ""


def digest(told: object) -> str:
    """A short digest of a value; the empty string for an empty value."""
    return hashlib.blake2b(repr(told).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest() if told else ""


def storage(spark: SparkSession, told: Sequence[Stored]) -> DataFrame | None:
    """namespace, name, bytes, for `cost` and `pruning`; None without declared sizes."""
    if not told:
        return None
    rows = [(one.namespace, one.name, one.size) for one in told]
    return spark.createDataFrame(rows, "namespace string, name string, bytes long")


def retained_datasets(statements: DataFrame, told: Sequence[RetainedTable]) -> DataFrame | None:
    """namespace, name of the datasets in `statements` to retain; None without declared tables."""
    if not told:
        return None
    touched = F.explode(F.array_union(F.coalesce("reads", F.array()), F.coalesce("writes", F.array())))
    named = statements.select(touched.alias("one")).select("one.namespace", "one.name").distinct()
    # One expression a namespace: a project of LookML may name thousands.
    patterns: dict[str | None, list[str]] = {}
    for one in told:
        patterns.setdefault(one.namespace, []).append(_pattern(one.name))
    return named.where(reduce(Column.__or__, [_fits(*each) for each in patterns.items()]))


def _pattern(name: str) -> str:
    return "".join({"*": ".*", "?": "."}.get(character, re.escape(character)) for character in name)


def _fits(namespace: str | None, patterns: Sequence[str]) -> Column:
    name = F.col("name").rlike(f"(?is)^(?:{'|'.join(patterns)})$")
    return name if namespace is None else name & (F.col("namespace") == namespace)


def lookml_tables(path: str, namespace: str | None) -> tuple[RetainedTable, ...]:
    """The tables that the explores of a LookML project ask, in any database and schema if the name is shorter. Needs no Spark.

    NotFound: no file matches. InvalidQuestion, UnreadableContent: no file is LookML, or one is damaged.
    """
    files = LocalFolder().matching(str(_here(path, "lookml")))
    if not files:
        raise NotFound(f"no file matches {path}", pattern=path)
    names = sorted(lookml.tables(_project((path,), files)))
    return tuple(RetainedTable(pattern, namespace) for name in names for pattern in (name, f"*.{name}"))


def exported(spark: SparkSession, told: Exports, config: Config) -> dict[Table, DataFrame]:
    """The rows of the files that are given, by the table they belong to. UnreadableContent, InvalidQuestion: a file that is no such export."""
    found: dict[Table, DataFrame] = {}
    if told.dbt:
        found[DBT_QUERIES] = frame(spark, [one for each in told.dbt for one in _queries(spark, each, config)])
    for table, patterns, make in (
        (LOOKER_HISTORY, told.looker_history, looker_history),
        (ASSET_NAMES, told.asset_names, asset_names),
    ):
        if patterns:
            try:
                found[table] = make(spark, [file.path for file in inputs(spark, patterns)])
            except ValueError as error:
                raise InvalidQuestion(f"{table.name}: {error}", parameter=table.name) from error
    if told.lookml:
        known, names = found.get(ASSET_NAMES), _lookml(spark, told.lookml)
        # A name that is given for an asset beats the one in its LookML.
        found[ASSET_NAMES] = names if known is None else together(names, known, ASSET_NAMES)
    return found


def _lookml(spark: SparkSession, patterns: Sequence[str]) -> DataFrame:
    project = _project(patterns, inputs(spark, patterns))
    rows = [(looker.TOOL, asset, name) for asset, name in lookml.asset_names(project).items()]
    return spark.createDataFrame(rows, ASSET_NAMES.schema)


def _project(patterns: Sequence[str], found: Iterable[InputFile]) -> lookml.Project:
    files = [_here(file.path, "lookml") for file in found]
    if not any(map(lookml.is_lookml, files)):
        words = f"{' '.join(patterns)}: no file there is LookML (*.lkml, *.dashboard.lookml)"
        raise InvalidQuestion(words, parameter="lookml")
    return lookml.read(files)


def _queries(spark: SparkSession, told: Dbt, config: Config) -> Iterable[DbtQuery]:
    manifest = _here(told.manifest, "dbt") if told.manifest else None
    for file in inputs(spark, [told.run_results]):
        yield from read(_here(file.path, "dbt"), manifest, config)


def _here(path: str, part: str) -> Path:
    if "://" in path and not path.startswith(_HERE):
        raise InvalidQuestion(f"{path}: files of {part} are read on this machine: copy them here", parameter=part)
    return Path(path.removeprefix(_HERE))


def together(known: DataFrame, given: DataFrame, table: Table) -> DataFrame:
    """The rows of a table and those given, one of each key: what is given now stands."""
    fresh = given.select(*table.columns()).dropDuplicates(list(table.key))
    return (
        known.join(fresh.select(*table.key), list(table.key), "left_anti").select(*table.columns()).unionByName(fresh)
    )


def touched(executions: DataFrame, table: Table, fresh: DataFrame) -> DataFrame:
    """The days of executions that rows of an exports' table say something of."""
    on = {
        DBT_QUERIES.name: {"query_id": "query_id"},
        LOOKER_HISTORY.name: {"tool_run": "slug"},
        ASSET_NAMES.name: {"tool": "tool", "tool_asset": "asset"},
    }[table.name]
    keys = fresh.select(*(F.col(theirs).alias(ours) for ours, theirs in on.items())).distinct()
    return executions.select("day", *on).join(keys, list(on), "left_semi").select("day").distinct()


def with_exports(executions: DataFrame, tables: dict[str, DataFrame], present: Collection[str]) -> DataFrame:
    """Executions with what exports say of them. `present`: names of the tables that have rows; the others are not looked at."""
    found = executions
    for table, put in (
        (DBT_QUERIES, linked),
        (LOOKER_HISTORY, with_looker_history),
        (ASSET_NAMES, with_asset_names),
    ):
        if table.name in present:
            found = put(found, tables[table.name])
    return found.select(*executions.columns)
