"""Databricks: the system table system.query.history, of SQL warehouses and serverless compute, and system.access.table_lineage beside it.

The lineage names the tables and paths that Unity Catalog saw a statement read and write. Its rows are in files of their own among the same paths.
Those without a statement (of notebooks and jobs on clusters) have no history, and are left out.
"""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from headwater.pipeline.query_log.sources import files
from headwater.pipeline.query_log.sources.fields import (
    MILLIS,
    TEXT,
    TIME,
    TRUTH,
    WHOLE,
    Export,
    Field,
    labelled,
    milliseconds,
    nested,
    text,
    total,
)
from headwater.pipeline.query_log.sources.rows import BAD_ROW, UNFINISHED, Case, Rows, landed, named

NAME: Final = "databricks"
_SOURCE: Final = nested(
    "struct<job_info:struct<job_id:string,job_run_id:string,job_task_run_id:string>,legacy_dashboard_id:string,dashboard_id:string,alert_id:string,"
    "notebook_id:string,sql_query_id:string,genie_space_id:string,pipeline_info:struct<pipeline_id:string,update_id:string>>"
)

FIELDS: Final = (
    Field("statement_id", TEXT),
    Field("workspace_id", TEXT),
    Field("executed_by", TEXT),
    Field("executed_as", TEXT),
    Field("session_id", TEXT),
    Field("execution_status", TEXT),
    Field("compute", nested("struct<type:string,cluster_id:string,warehouse_id:string>")),
    Field("statement_text", TEXT),
    Field("statement_type", TEXT),
    Field("error_message", TEXT),
    Field("client_application", TEXT),
    Field("client_driver", TEXT),
    Field("total_duration_ms", MILLIS),
    Field("waiting_for_compute_duration_ms", MILLIS),
    Field("waiting_at_capacity_duration_ms", MILLIS),
    Field("total_task_duration_ms", MILLIS),
    Field("start_time", TIME),
    Field("end_time", TIME),
    Field("read_rows", WHOLE),
    Field("read_bytes", WHOLE),
    Field("written_rows", WHOLE),
    Field("written_bytes", WHOLE),
    Field("from_result_cache", TRUTH),
    Field("query_source", _SOURCE),
    Field("query_tags", nested("map<string,string>")),
    # From system.access.table_lineage.
    Field("source_table_full_name", TEXT),
    Field("source_path", TEXT),
    Field("target_table_full_name", TEXT),
    Field("target_path", TEXT),
)
EXPORTS: Final = (
    Export("system.query.history", ("statement_id", "statement_text", "start_time")),
    Export("system.access.table_lineage", ("statement_id", "source_table_full_name", "target_table_full_name")),
)
_LINEAGE: Final = ("source_table_full_name", "source_path", "target_table_full_name", "target_path")

_UNDER_WAY: Final = ("QUEUED", "STARTED", "COMPILING", "COMPILED", "RUNNING")
_REDACTED: Final = "<redacted>"


def read(spark: SparkSession, paths: Sequence[str], namespace: str | None) -> Rows:
    """See `sources.Source`. The namespace, `databricks://host`, must be given: the table knows the workspace's number alone.

    The origin of the statement (`query_source`) becomes tags named as there: `job_id`, `job_run_id`, `dashboard_id`, `notebook_id`, …
    """
    space = named(namespace, "Databricks", "databricks://dbc-a1b2c3d4-e5f6.cloud.databricks.com")
    raw, plain, there = files.read(spark, paths, files.Wanted(NAME, FIELDS, EXPORTS))
    is_lineage = F.coalesce(*_LINEAGE).isNotNull() & F.coalesce("statement_text", "execution_status").isNull()
    if there and there.isdisjoint(_LINEAGE):  # Parquet, whose footers say so
        frame = raw.withColumns(dict.fromkeys(("reads", "writes"), F.lit(None).cast("array<string>")))
    else:
        frame, plain = raw.where(~is_lineage).join(_lineage(raw.where(is_lineage)), "statement_id", "left"), False
    status = F.upper(text(F.col("execution_status")))
    columns = {
        "query_id": F.col("statement_id"),
        "started_at": F.col("start_time"),
        "ended_at": F.col("end_time"),
        "statement": F.when(
            F.lower(F.trim("statement_text")) != _REDACTED, F.nullif(F.col("statement_text"), F.lit(""))
        ),
        "session_id": F.col("session_id"),
        "job_id": F.col("query_source.job_info.job_id"),
        "user": F.coalesce(F.col("executed_as"), F.col("executed_by")),
        "application": F.coalesce(text(F.col("client_application")), text(F.col("client_driver"))),
        "warehouse": F.coalesce(F.col("compute.warehouse_id"), F.col("compute.cluster_id"), F.col("compute.type")),
        "tags": _tags(),
        "state": F.when(status.isin("CANCELED", "CANCELLED"), "cancelled")
        .when(status == "FAILED", "failed")
        .otherwise("succeeded"),
        "error": text(F.col("error_message")),
        "statement_kind": F.col("statement_type"),
        "duration_ms": F.coalesce(F.col("total_duration_ms"), milliseconds(F.col("start_time"), F.col("end_time"))),
        "queued_ms": total(F.col("waiting_for_compute_duration_ms"), F.col("waiting_at_capacity_duration_ms")),
        "rows_read": F.col("read_rows"),
        "rows_written": F.col("written_rows"),
        "bytes_read": F.col("read_bytes"),
        "bytes_written": F.col("written_bytes"),
        "cpu_ms": F.col("total_task_duration_ms"),
        "cache_hit": F.col("from_result_cache"),
        "told_reads": F.col("reads"),
        "told_writes": F.col("writes"),
    }
    cases = (
        Case(F.col("unread") & F.col("statement_id").isNull(), BAD_ROW, "the record is not of its file's format"),
        Case(status.isin(*_UNDER_WAY), UNFINISHED, "it was still running; a later export has its end"),
    )
    return landed(frame, NAME, NAME, space, columns, cases, plain=plain)


def _lineage(rows: DataFrame) -> DataFrame:
    """One row a statement: the tables, and paths without a table, that it read and wrote."""
    ends = {
        told: F.sort_array(F.collect_set(F.coalesce(text(F.col(f"{end}_table_full_name")), text(F.col(f"{end}_path")))))
        for told, end in (("reads", "source"), ("writes", "target"))
    }
    known = rows.where(F.col("statement_id").isNotNull()).groupBy("statement_id")
    return known.agg(*(column.alias(name) for name, column in ends.items()))


def _tags() -> Column:
    """The query's own tags, and where it was started; a tag of the query wins over a name of ours."""
    source = F.col("query_source")
    told = labelled(
        job_id=source["job_info"]["job_id"],
        job_run_id=source["job_info"]["job_run_id"],
        job_task_run_id=source["job_info"]["job_task_run_id"],
        dashboard_id=source["dashboard_id"],
        legacy_dashboard_id=source["legacy_dashboard_id"],
        alert_id=source["alert_id"],
        notebook_id=source["notebook_id"],
        sql_query_id=source["sql_query_id"],
        genie_space_id=source["genie_space_id"],
        pipeline_id=source["pipeline_info"]["pipeline_id"],
        pipeline_update_id=source["pipeline_info"]["update_id"],
    )
    own = F.when(F.size("query_tags") > 0, F.col("query_tags"))
    others = F.map_filter(told, lambda key, _: ~F.coalesce(F.map_contains_key(own, key), F.lit(False)))
    return F.when(own.isNull(), told).when(told.isNull(), own).otherwise(F.map_concat(own, others))
