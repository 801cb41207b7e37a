"""Databricks: the system table system.query.history, of SQL warehouses and serverless compute, and system.access.table_lineage beside it.

The lineage names the tables and paths that Unity Catalog saw a statement read and write. Its rows are in files of their own among the same paths.
Those without a statement (of notebooks and jobs on clusters), and those whose statement is not in the history, are executions of which the tables,
the user and the time are known.
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
from headwater.pipeline.query_log.sources.rows import BAD_ROW, NO_HISTORY, UNFINISHED, Case, Rows, landed, named

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
    Field("event_id", TEXT, ("record_id",)),
    Field("event_time", TIME),
    Field("created_by", TEXT),
    Field("entity_type", TEXT),
    Field("entity_id", TEXT),
    Field("entity_run_id", TEXT),
)
EXPORTS: Final = (
    Export("system.query.history", ("statement_id", "statement_text", "start_time")),
    Export("system.access.table_lineage", ("statement_id", "source_table_full_name", "target_table_full_name")),
)
_LINEAGE: Final = ("source_table_full_name", "source_path", "target_table_full_name", "target_path")

_UNDER_WAY: Final = ("QUEUED", "STARTED", "COMPILING", "COMPILED", "RUNNING")
_REDACTED: Final = "<redacted>"
_EVENT: Final = "struct<at:timestamp,user:string,job:string,file:string>"
_ALONE: Final = "table_lineage names the tables of a statement of which query.history has nothing in these files"


def read(spark: SparkSession, paths: Sequence[str], namespace: str | None) -> Rows:
    """See `sources.Source`. The namespace, `databricks://host`, must be given: the table knows the workspace's number alone.

    The origin of the statement (`query_source`) becomes tags named as there: `job_id`, `job_run_id`, `dashboard_id`, `notebook_id`, …
    """
    space = named(namespace, "Databricks", "databricks://dbc-a1b2c3d4-e5f6.cloud.databricks.com")
    raw, plain, there = files.read(spark, paths, files.Wanted(NAME, FIELDS, EXPORTS))
    is_lineage = F.coalesce(*_LINEAGE).isNotNull() & F.coalesce("statement_text", "execution_status").isNull()
    if there and there.isdisjoint(_LINEAGE):  # Parquet, whose footers say so
        frame = raw.withColumns(
            {
                **dict.fromkeys(("reads", "writes"), F.lit(None).cast("array<string>")),
                "event": F.lit(None).cast(_EVENT),
                "seen": F.lit(True),
            }
        )
    else:
        history = raw.where(~is_lineage).withColumn("seen", F.lit(True))
        frame, plain = history.join(_lineage(raw.where(is_lineage)), "statement_id", "full"), False
    status = F.upper(text(F.col("execution_status")))
    columns = {
        "query_id": F.col("statement_id"),
        "started_at": F.coalesce(F.col("start_time"), F.col("event.at")),
        "ended_at": F.col("end_time"),
        "statement": F.when(
            F.lower(F.trim("statement_text")) != _REDACTED, F.nullif(F.col("statement_text"), F.lit(""))
        ),
        "session_id": F.col("session_id"),
        "job_id": F.coalesce(F.col("query_source.job_info.job_id"), F.col("event.job")),
        "user": F.coalesce(F.col("executed_as"), F.col("executed_by"), F.col("event.user")),
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
    alone = F.col("seen").isNull()
    cases = (
        Case(alone & F.col("event.at").isNull(), NO_HISTORY, f"{_ALONE}: export event_time too"),
        Case(F.col("unread") & F.col("statement_id").isNull(), BAD_ROW, "the record is not of its file's format"),
        Case(status.isin(*_UNDER_WAY), UNFINISHED, "it was still running; a later export has its end"),
    )
    known = frame.withColumns(
        {
            "file": F.coalesce("file", "event.file"),
            "record": F.coalesce("record", F.to_json(F.struct("statement_id", "reads", "writes"))),
        }
    )
    flaws = [Case(alone, NO_HISTORY, _ALONE)]
    return landed(known, NAME, NAME, space, columns, cases, plain=plain, flaws=flaws)


def _lineage(rows: DataFrame) -> DataFrame:
    """One row a statement: the tables, and paths without a table, that it read and wrote. Without a statement, an event is one; without either, what
    one run of a notebook, a job or a pipeline did at a time."""
    ends = {
        told: F.sort_array(F.collect_set(F.coalesce(text(F.col(f"{end}_table_full_name")), text(F.col(f"{end}_path")))))
        for told, end in (("reads", "source"), ("writes", "target"))
    }
    of_run = F.sha2(F.concat_ws("\0", "entity_type", "entity_id", "entity_run_id", "created_by", "event_time"), 256)
    identity = F.coalesce(text(F.col("statement_id")), text(F.col("event_id")), F.substring(of_run, 1, 32))
    event = F.struct(
        F.col("event_time").alias("at"),
        F.col("created_by").alias("user"),
        F.when(F.upper("entity_type") == "JOB", F.col("entity_id")).alias("job"),
        F.col("file").alias("file"),
    )
    made = (column.alias(name) for name, column in ends.items())
    return rows.groupBy(identity.alias("statement_id")).agg(*made, F.min(event).cast(_EVENT).alias("event"))


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
