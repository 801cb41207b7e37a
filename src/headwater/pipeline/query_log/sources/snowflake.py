"""Snowflake: ACCOUNT_USAGE.QUERY_HISTORY (or the table function of that name), and ACCESS_HISTORY beside it.

ACCESS_HISTORY names the tables that Snowflake saw read (those of the text, and those below its views) and written, and the parent of a statement
inside a procedure. Its rows may be in files of their own among the same paths, or be joined to QUERY_HISTORY by the export already. Without it those
three are null. A row of it whose query is not in the history is a query of which the tables, the user and the time are known.
"""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from headwater.pipeline.query_log.sources import files
from headwater.pipeline.query_log.sources.fields import (
    MILLIS,
    REAL,
    TEXT,
    TIME,
    WHOLE,
    Export,
    Field,
    labelled,
    milliseconds,
    names,
    nested,
    text,
    total,
)
from headwater.pipeline.query_log.sources.rows import BAD_ROW, NO_HISTORY, UNFINISHED, Case, Rows, landed, named

NAME: Final = "snowflake"
_OBJECTS: Final = nested("array<struct<objectName:string,objectDomain:string>>")

FIELDS: Final = (
    Field("QUERY_ID", TEXT),
    Field("QUERY_TEXT", TEXT),
    Field("START_TIME", TIME),
    Field("END_TIME", TIME),
    Field("DATABASE_NAME", TEXT),
    Field("SCHEMA_NAME", TEXT),
    Field("QUERY_TYPE", TEXT),
    Field("SESSION_ID", TEXT),
    Field("USER_NAME", TEXT),
    Field("ROLE_NAME", TEXT),
    Field("WAREHOUSE_NAME", TEXT),
    Field("QUERY_TAG", TEXT),
    Field("EXECUTION_STATUS", TEXT),
    Field("ERROR_CODE", TEXT),
    Field("ERROR_MESSAGE", TEXT),
    Field("TOTAL_ELAPSED_TIME", MILLIS),
    Field("QUEUED_PROVISIONING_TIME", MILLIS),
    Field("QUEUED_REPAIR_TIME", MILLIS),
    Field("QUEUED_OVERLOAD_TIME", MILLIS),
    Field("BYTES_SCANNED", WHOLE),
    Field("BYTES_WRITTEN", WHOLE),
    Field("ROWS_INSERTED", WHOLE),
    Field("ROWS_UPDATED", WHOLE),
    # From SESSIONS and QUERY_ATTRIBUTION_HISTORY, where the export joins them.
    Field("CLIENT_APPLICATION_ID", TEXT, ("CLIENT_APPLICATION", "APPLICATION")),
    Field("CREDITS_ATTRIBUTED_COMPUTE", REAL),
    Field("CREDITS_USED_QUERY_ACCELERATION", REAL),
    # From ACCESS_HISTORY.
    Field("DIRECT_OBJECTS_ACCESSED", _OBJECTS),
    Field("BASE_OBJECTS_ACCESSED", _OBJECTS),
    Field("OBJECTS_MODIFIED", _OBJECTS),
    Field("PARENT_QUERY_ID", TEXT),
    Field("QUERY_START_TIME", TIME),
)
EXPORTS: Final = (
    Export("QUERY_HISTORY", ("QUERY_ID", "QUERY_TEXT", "START_TIME")),
    Export("ACCESS_HISTORY", ("QUERY_ID", "DIRECT_OBJECTS_ACCESSED", "OBJECTS_MODIFIED")),
)

_UNDER_WAY: Final = ("RUNNING", "QUEUED", "BLOCKED", "RESUMING_WAREHOUSE", "QUEUED_REPARING_WAREHOUSE")
_CANCELLED: Final = 604
_LONGEST: Final = 100_000
"""Characters of a text that QUERY_HISTORY keeps at most."""
_REDACTED: Final = "<redacted>"
_ALONE: Final = "ACCESS_HISTORY names the tables of a query of which QUERY_HISTORY has nothing in these files"


def read(spark: SparkSession, paths: Sequence[str], namespace: str | None) -> Rows:
    """See `sources.Source`. The namespace, `snowflake://organisation-account`, must be given. Credits are null unless the export joins
    QUERY_ATTRIBUTION_HISTORY."""
    space = named(namespace, "Snowflake", "snowflake://myorg-myaccount")
    raw = files.read(spark, paths, files.Wanted(NAME, FIELDS, EXPORTS)).rows
    of_access = (
        (F.col("DIRECT_OBJECTS_ACCESSED").isNotNull() | F.col("OBJECTS_MODIFIED").isNotNull())
        & (F.col("QUERY_TEXT").isNull() & F.col("EXECUTION_STATUS").isNull() & F.col("START_TIME").isNull())
        & F.col("QUERY_ID").isNotNull()
    )
    alone = _access(raw.where(of_access))
    told = _access_columns()
    seen = {"reads": told["reads"], "writes": told["writes"], "seen": F.lit(True)}
    history = raw.where(~of_access).withColumns(seen)
    return _rows(history.join(alone, "QUERY_ID", "full"), space)


def _access_columns() -> dict[str, Column]:
    """Reads are what the text names and the tables below it: base objects lie behind views whose definition the log may not have."""
    nothing = F.array().cast("array<string>")
    direct, beneath = _tables("DIRECT_OBJECTS_ACCESSED"), _tables("BASE_OBJECTS_ACCESSED")
    either = names(F.concat(F.coalesce(direct, nothing), F.coalesce(beneath, nothing)))
    return {"reads": F.when(F.coalesce(direct, beneath).isNotNull(), either), "writes": _tables("OBJECTS_MODIFIED")}


def _tables(column: str) -> Column:
    """The names of tables, views and streams; stages, functions and the like are no datasets. An object of no known kind counts."""
    kept = F.filter(
        F.col(column),
        lambda item: F.coalesce(F.lower(item["objectDomain"]), F.lit("table")).rlike("table|view|stream"),
    )
    return names(F.transform(kept, lambda item: F.replace(item["objectName"], F.lit('"'), F.lit(""))))


def _access(rows: DataFrame) -> DataFrame:
    """One row a query, though a later export repeats it: the greatest, so that the order of files does not matter."""
    told = _access_columns()
    whole = F.struct(
        told["reads"].alias("reads"),
        told["writes"].alias("writes"),
        F.col("PARENT_QUERY_ID").alias("parent"),
        F.col("QUERY_START_TIME").alias("started_at"),
        F.col("USER_NAME").alias("user"),
        F.col("file").alias("file"),
    )
    return rows.groupBy("QUERY_ID").agg(F.max(whole).alias("access"))


def _rows(frame: DataFrame, namespace: str) -> Rows:
    status = F.upper(text(F.col("EXECUTION_STATUS")))
    code = F.col("ERROR_CODE").try_cast("bigint")
    failed = F.when(code == _CANCELLED, "cancelled").otherwise("failed")
    statement = F.when(F.lower(F.trim("QUERY_TEXT")) != _REDACTED, F.col("QUERY_TEXT"))
    columns = {
        "query_id": F.col("QUERY_ID"),
        "started_at": F.coalesce(F.col("START_TIME"), F.col("access.started_at")),
        "ended_at": F.col("END_TIME"),
        "statement": statement,
        "database": F.col("DATABASE_NAME"),
        "schema": F.col("SCHEMA_NAME"),
        "session_id": F.col("SESSION_ID"),
        "parent_query_id": F.coalesce(F.col("PARENT_QUERY_ID"), F.col("access.parent")),
        "user": F.coalesce(F.col("USER_NAME"), F.col("access.user")),
        "role": F.col("ROLE_NAME"),
        "application": F.col("CLIENT_APPLICATION_ID"),
        "warehouse": F.col("WAREHOUSE_NAME"),
        "tags": labelled(query_tag=text(F.col("QUERY_TAG"))),
        "state": F.when(status.startswith("FAIL") | (status == "INCIDENT") | (code > 0), failed).otherwise("succeeded"),
        "error": text(F.col("ERROR_MESSAGE")),
        "statement_kind": F.col("QUERY_TYPE"),
        "duration_ms": F.coalesce(F.col("TOTAL_ELAPSED_TIME"), milliseconds(F.col("START_TIME"), F.col("END_TIME"))),
        "queued_ms": total(
            F.col("QUEUED_PROVISIONING_TIME"), F.col("QUEUED_REPAIR_TIME"), F.col("QUEUED_OVERLOAD_TIME")
        ),
        "rows_written": total(F.col("ROWS_INSERTED"), F.col("ROWS_UPDATED")),
        "bytes_read": F.col("BYTES_SCANNED"),
        "bytes_written": F.col("BYTES_WRITTEN"),
        "credits": total(F.col("CREDITS_ATTRIBUTED_COMPUTE"), F.col("CREDITS_USED_QUERY_ACCELERATION")),
        "told_reads": F.coalesce(F.col("reads"), F.col("access.reads")),
        "told_writes": F.coalesce(F.col("writes"), F.col("access.writes")),
    }
    alone = F.col("seen").isNull()
    cases = (
        Case(alone & F.col("access.started_at").isNull(), NO_HISTORY, f"{_ALONE}: export QUERY_START_TIME too"),
        Case(F.col("unread") & F.col("QUERY_ID").isNull(), BAD_ROW, "the record is not of its file's format"),
        Case(status.isin(*_UNDER_WAY), UNFINISHED, "it was still running; a later export has its end"),
    )
    known = frame.withColumns(
        {
            "file": F.coalesce("file", "access.file"),
            "record": F.coalesce("record", F.to_json(F.struct("QUERY_ID", "access.reads", "access.writes"))),
        }
    )
    cut = F.length(statement) >= _LONGEST
    return landed(known, NAME, NAME, namespace, columns, cases, cut=cut, flaws=[Case(alone, NO_HISTORY, _ALONE)])
