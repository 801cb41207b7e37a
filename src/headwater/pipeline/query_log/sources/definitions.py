"""Definitions that stand in a warehouse (views, materialized views, dynamic tables, streams, tasks, functions, references), beside its log.

A log begins somewhere; most views were made before. A file whose name begins with `definitions` holds one definition a row, as the product's own
catalog has them: its text (a whole CREATE statement, or only the query of one that is named), when it was made, and where. Each becomes an execution
at the time when it was made: the statement did run then, so nothing after this module has to know that the log does not go that far back, but for
those who ask how long the log is (`tool` is DEFINITION). A foreign key, a policy, a publication and the like (`REFERENCES schema.table`) read the
table that they refer to: it cannot be dropped before them.
"""

import posixpath
from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from headwater.pipeline.query_log.sources import files
from headwater.pipeline.query_log.sources.fields import TEXT, TIME, Export, Field, text
from headwater.pipeline.query_log.sources.rows import BAD_ROW, SKIPPED, Case, Rows, landed

DEFINITION: Final = "definition"
"""Begins the query id of a definition, and is its tool."""
_PREFIX: Final = "definitions"
_REFERRED: Final = r"""(?i)\bREFERENCES\s+((?:"(?:[^"]|"")+"|[^\s(".]+)(?:\.(?:"(?:[^"]|"")+"|[^\s(".]+))*)"""
_BACKTICKED: Final = ("bigquery", "databricks")

FIELDS: Final = (
    Field("definition", TEXT, ("ddl", "view_definition", "text")),
    Field("defined_at", TIME, ("last_ddl", "last_altered", "creation_time", "created", "created_on")),
    Field("database", TEXT, ("table_catalog", "database_name", "catalog_name", "catalog")),
    Field("schema", TEXT, ("table_schema", "schema_name", "schemaname")),
    Field("name", TEXT, ("table_name", "viewname", "matviewname")),
    Field("kind", TEXT, ("table_type",)),
    Field("owner", TEXT, ("table_owner", "viewowner", "matviewowner")),
)
EXPORTS: Final = (Export("definitions", ("definition", "defined_at")),)


def is_definitions(path: str) -> bool:
    return posixpath.basename(path).lower().startswith(_PREFIX)


def read(spark: SparkSession, paths: Sequence[str], namespace: str, source: str) -> Rows:
    """The definitions in the files as executions of `source`. A row without a text (a secure view, a plain table) is skipped."""
    raw, _, _ = files.read(spark, paths, files.Wanted(source, FIELDS, EXPORTS))
    definition = text(F.col("definition"))
    digest = F.sha2(F.concat_ws("\0", "database", "schema", "name", definition), 256)
    columns = {
        "query_id": F.when(definition.isNotNull(), F.concat(F.lit(f"{DEFINITION} "), F.substring(digest, 1, 32))),
        "started_at": F.col("defined_at"),
        "ended_at": F.col("defined_at"),
        "statement": F.when(
            definition.rlike(r"(?i)^(?:\s|--[^\n]*\n|/\*.*?\*/)*(?:create|alter)\b") | _is_task(), definition
        )
        .when(
            _is_reference(definition),
            F.concat(F.lit("TABLE "), F.nullif(F.regexp_extract(definition, _REFERRED, 1), F.lit(""))),
        )
        .otherwise(F.concat(F.lit("CREATE "), _kind(), F.lit(" "), _name(source), F.lit(" AS\n"), definition)),
        "database": text(F.col("database")),
        "schema": text(F.col("schema")),
        "user": text(F.col("owner")),
        "state": F.lit("succeeded"),
        "statement_kind": F.lit("DEFINITION"),
    }
    cases = (
        Case(F.col("unread") & definition.isNull(), BAD_ROW, "the record is not of its file's format"),
        Case(definition.isNull(), SKIPPED, "the object has no definition, or this user may not see it"),
        Case(
            _is_reference(definition) & ~definition.rlike(_REFERRED),
            BAD_ROW,
            "the reference names no table: write REFERENCES schema.table",
        ),
    )
    return landed(raw, source, source, namespace, columns, cases)


def _is_task() -> Column:
    """The definition of a task is the statement that it runs."""
    return F.coalesce(F.upper("kind") == "TASK", F.lit(False))


def _is_reference(definition: Column) -> Column:
    """Some other object that needs a table: a foreign key in its own words, or any kind that says only to which table it refers."""
    return F.coalesce(F.upper("kind") == "FOREIGN KEY", F.lit(False)) | definition.rlike(r"(?i)^\s*references\b")


def _kind() -> Column:
    kind = F.upper(F.coalesce("kind", F.lit("")))
    return (
        F.when(kind.contains("MATERIALIZED"), "MATERIALIZED VIEW")
        .when(kind.contains("DYNAMIC"), "DYNAMIC TABLE")
        .otherwise("VIEW")
    )


def _name(source: str) -> Column:
    mark = "`" if source in _BACKTICKED else '"'
    parts = (
        F.concat(F.lit(mark), F.replace(text(F.col(part)), F.lit(mark), F.lit(mark * 2)), F.lit(mark))
        for part in ("schema", "name")
    )
    return F.concat_ws(".", *parts)
