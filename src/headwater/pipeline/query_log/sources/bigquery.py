"""BigQuery: INFORMATION_SCHEMA.JOBS (and JOBS_BY_USER, _FOLDER, _ORGANIZATION), or the audit log (see `bigquery_audit`). Both may be in one input.

A script is one job, and each of its statements another, whose parent it is. The amounts of the script are the sums of its statements', so they are
left null at the script: a sum over all rows is right.
"""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from headwater.pipeline.expressions import once_a_jvm
from headwater.pipeline.query_log.sources import files
from headwater.pipeline.query_log.sources.bigquery_audit import ANONYMOUS, AUDIT_FIELDS, LOGGED, STORED, ended, opened
from headwater.pipeline.query_log.sources.fields import (
    MILLIS,
    PAIRS,
    TEXT,
    TIME,
    TRUTH,
    WHOLE,
    Export,
    Field,
    dotted,
    milliseconds,
    moment,
    names,
    nested,
    pairs,
    settled,
    text,
    total,
)
from headwater.pipeline.query_log.sources.rows import BAD_ROW, SKIPPED, UNFINISHED, Case, Rows, landed

NAME: Final = "bigquery"
_TABLE: Final = "struct<project_id:string,dataset_id:string,table_id:string>"

FIELDS: Final = (
    Field("job_id", TEXT),
    Field("project_id", TEXT),
    Field("creation_time", TIME),
    Field("start_time", TIME),
    Field("end_time", TIME),
    Field("user_email", TEXT),
    Field("principal_subject", TEXT),
    Field("query", TEXT),
    Field("state", TEXT),
    Field("job_type", TEXT),
    Field("statement_type", TEXT),
    Field("cache_hit", TRUTH),
    Field("destination_table", nested(_TABLE)),
    Field("referenced_tables", nested(f"array<{_TABLE}>")),
    Field("labels", nested(PAIRS)),
    Field("error_result", nested("struct<reason:string,message:string>")),
    Field("parent_job_id", TEXT),
    Field("session_info", nested("struct<session_id:string>")),
    Field("reservation_id", TEXT),
    Field("total_bytes_processed", WHOLE),
    Field("total_bytes_billed", WHOLE),
    Field("total_slot_ms", MILLIS),
    Field("dml_statistics", nested("struct<inserted_row_count:string,updated_row_count:string>")),
    *AUDIT_FIELDS,
)
EXPORTS: Final = (
    Export("INFORMATION_SCHEMA.JOBS", ("job_id", "creation_time")),
    Export("Cloud Logging's audit log", (LOGGED.name,)),
    Export("the audit log in a table", (STORED.name,)),
)
NAMESPACE: Final = "bigquery"


def read(spark: SparkSession, paths: Sequence[str], namespace: str | None) -> Rows:
    """See `sources.Source`. The namespace is `bigquery`. Jobs that are no queries (LOAD, COPY, EXTRACT) have no text; BigQuery names their
    tables."""
    found = files.read(spark, paths, files.Wanted(NAME, FIELDS, EXPORTS))
    raw, plain = opened(found.rows), found.plain and found.names.isdisjoint({LOGGED.name, STORED.name})
    entry = F.col(LOGGED.name).isNotNull() | F.col(STORED.name).isNotNull()
    said = raw.select(*_job(), _audit(), entry.alias("entry"), "file", "record", "unread")
    frame = said if plain else settled(said)
    return landed(frame, NAME, NAME, namespace or NAMESPACE, _columns(), _cases(), plain=plain)


@once_a_jvm
def _audit() -> Column:
    return ended().alias("audit")


@once_a_jvm
def _job() -> list[Column]:
    """A row of INFORMATION_SCHEMA.JOBS, by the names of the common schema."""
    destination, dml = F.col("destination_table"), F.col("dml_statistics")
    reads = F.transform(
        F.col("referenced_tables"), lambda table: dotted(table["project_id"], table["dataset_id"], table["table_id"])
    )
    told = {
        "query_id": F.col("job_id"),
        "database": F.col("project_id"),
        "statement": F.col("query"),
        "statement_kind": F.coalesce(text(F.col("statement_type")), F.col("job_type")),
        "created_at": F.col("creation_time"),
        "started_at": F.col("start_time"),
        "ended_at": F.col("end_time"),
        "user": F.coalesce(text(F.col("user_email")), text(F.col("principal_subject"))),
        "session_id": F.col("session_info.session_id"),
        "parent_query_id": text(F.col("parent_job_id")),
        "warehouse": text(F.col("reservation_id")),
        "tags": pairs(F.col("labels")),
        "rows_written": total(
            dml["inserted_row_count"].try_cast("bigint"), dml["updated_row_count"].try_cast("bigint")
        ),
        "bytes_read": F.col("total_bytes_processed"),
        "bytes_billed": F.col("total_bytes_billed"),
        "slot_ms": F.col("total_slot_ms"),
        "cache_hit": F.col("cache_hit"),
        "told_reads": names(reads),
        "destination": dotted(destination["project_id"], destination["dataset_id"], destination["table_id"]),
        "job_state": F.upper(text(F.col("state"))),
        "error_code": text(F.col("error_result.reason")),
        "error": F.coalesce(text(F.col("error_result.message")), text(F.col("error_result.reason"))),
    }
    return [column.alias(name) for name, column in told.items()]


@once_a_jvm
def _columns() -> dict[str, Column]:
    def either(name: str, kind: str | None = None) -> Column:
        logged = F.col(f"audit.{name}")
        return F.coalesce(F.col(name), logged if kind is None else logged.try_cast(kind))

    def when(name: str) -> Column:
        return F.coalesce(F.col(name), moment(f"audit.{name}"))

    kind, code, error, reads, destination = (
        either(name) for name in ("statement_kind", "error_code", "error", "told_reads", "destination")
    )
    began, ends = F.coalesce(when("started_at"), when("created_at")), when("ended_at")
    script = F.upper(F.coalesce(kind, F.lit(""))) == "SCRIPT"
    kept = F.when(destination.isNotNull() & ~destination.rlike(ANONYMOUS), F.array(destination))
    return {
        **{
            name: either(name)
            for name in ("query_id", "statement", "database", "user", "parent_query_id", "warehouse", "tags")
        },
        "schema": F.col("audit.schema"),
        "application": F.col("audit.application"),
        "session_id": F.col("session_id"),
        "job_id": either("query_id"),
        "started_at": began,
        "ended_at": ends,
        "statement_kind": kind,
        "state": F.when(code == "stopped", "cancelled")
        .when(code.isNotNull() | error.isNotNull(), "failed")
        .otherwise("succeeded"),
        "error": error,
        "duration_ms": milliseconds(began, ends),
        "queued_ms": milliseconds(when("created_at"), when("started_at")),
        "rows_written": F.col("rows_written"),
        "bytes_written": F.col("audit.bytes_written").try_cast("bigint"),
        **{name: F.when(~script, either(name, "bigint")) for name in ("bytes_read", "bytes_billed")},
        "slot_ms": F.when(~script, either("slot_ms", "decimal(25,6)")),
        "cache_hit": either("cache_hit", "boolean"),
        "told_reads": F.filter(reads, lambda name: ~name.rlike(ANONYMOUS)),
        "told_writes": F.coalesce(kept, F.when(reads.isNotNull(), F.array().cast("array<string>"))),
    }


@once_a_jvm
def _cases() -> tuple[Case, ...]:
    return (
        Case(
            F.col("entry") & F.col("audit").isNull(),
            SKIPPED,
            "the entry is not about the end of a job, nor about rows that no job touched",
        ),
        Case(F.col("unread") & F.col("query_id").isNull(), BAD_ROW, "the record is not of its file's format"),
        Case(
            F.col("job_state").isin("PENDING", "RUNNING"),
            UNFINISHED,
            "it was still running; a later export has its end",
        ),
    )
