"""Redshift: SYS_QUERY_HISTORY, and SYS_QUERY_TEXT for statements longer than the 4,000 characters the history holds.

SYS_QUERY_DETAIL, where it is exported too, names the tables that the steps of a query scanned and filled.

SYS_QUERY_TEXT has a statement over several rows by `sequence`; line ends in it are written `\\n`. The pieces are put together here. Both views of
the same time have to be in one input: pieces without their history are quarantined, and without pieces a long statement is cut at 4,000 characters.
Steps without their history are a query of which the tables, the user and the time are known.
"""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from headwater.pipeline.query_log.sources import files
from headwater.pipeline.query_log.sources.fields import (
    TEXT,
    TIME,
    TRUTH,
    WHOLE,
    Export,
    Field,
    from_micros,
    labelled,
    milliseconds,
    text,
)
from headwater.pipeline.query_log.sources.rows import BAD_ROW, NO_HISTORY, UNFINISHED, Case, Rows, landed, named

NAME: Final = "redshift"

FIELDS: Final = (
    Field("query_id", TEXT),
    Field("user_id", TEXT),
    Field("query_label", TEXT),
    Field("transaction_id", TEXT),
    Field("session_id", TEXT),
    Field("database_name", TEXT),
    Field("query_type", TEXT),
    Field("status", TEXT),
    Field("result_cache_hit", TRUTH),
    Field("start_time", TIME),
    Field("end_time", TIME),
    Field("elapsed_time", WHOLE),
    Field("queue_time", WHOLE),
    Field("error_message", TEXT),
    Field("query_text", TEXT),
    Field("compute_type", TEXT),
    Field("service_class_name", TEXT),
    # From PG_USER, SYS_CONNECTION_LOG and SYS_QUERY_DETAIL, where the export joins them.
    Field("user_name", TEXT, ("usename",)),
    Field("application_name", TEXT),
    Field("input_bytes", WHOLE),
    Field("input_rows", WHOLE),
    # From SYS_QUERY_TEXT.
    Field("sequence", WHOLE),
    Field("text", TEXT),
    # From SYS_QUERY_DETAIL.
    Field("step_name", TEXT),
    Field("table_name", TEXT),
)
EXPORTS: Final = (
    Export("SYS_QUERY_HISTORY", ("query_id", "status", "start_time")),
    Export("SYS_QUERY_TEXT", ("query_id", "sequence", "text")),
    Export("SYS_QUERY_DETAIL", ("query_id", "step_name", "table_name")),
)

_LONGEST: Final = 3_997
"""Bytes of a text that is no shorter than what SYS_QUERY_HISTORY keeps, whose last character may have had no room."""
_FILLING: Final = ("insert", "delete", "merge")
_ALONE: Final = "SYS_QUERY_DETAIL names the tables of a query of which SYS_QUERY_HISTORY has nothing in these files"
_UNDER_WAY: Final = ("planning", "queued", "running", "returning", "queueing")


def read(spark: SparkSession, paths: Sequence[str], namespace: str | None) -> Rows:
    """See `sources.Source`. The namespace, `redshift://host:5439`, must be given. Without `user_name` the user is the number in `user_id`."""
    space = named(namespace, "Redshift", "redshift://cluster.abc123.eu-west-1.redshift.amazonaws.com:5439")
    raw = files.read(spark, paths, files.Wanted(NAME, FIELDS, EXPORTS)).rows
    of_text = F.col("sequence").isNotNull() & F.col("status").isNull()
    of_step = F.col("step_name").isNotNull() & F.col("status").isNull()
    readable = F.col("query_id").isNotNull()
    whole = _statements(raw.where(of_text & readable))
    history = raw.where(~(of_text | of_step) | ~readable).withColumn("seen", F.lit(True))
    tables = _tables(raw.where(of_step & readable))
    return _rows(history.join(whole, "query_id", "full").join(tables, "query_id", "full"), space)


def _tables(steps: DataFrame) -> DataFrame:
    """One row a query: the tables that it scanned, and those that it filled or emptied. A name without its schema is no table's own."""
    step, table = F.lower(F.trim("step_name")), text(F.col("table_name"))
    named = F.when(table.contains("."), table)
    naming = steps.where(named.isNotNull() & step.isin("scan", *_FILLING))
    return naming.groupBy("query_id").agg(
        F.sort_array(F.collect_set(F.when(step == "scan", named))).alias("scanned"),
        F.sort_array(F.collect_set(F.when(step.isin(*_FILLING), named))).alias("filled"),
        F.min("start_time").alias("began"),
        F.max(text(F.col("database_name"))).alias("step_database"),
        F.max(F.size(F.split(named, "[.]")) == 2).alias("is_short"),
        F.coalesce(F.max(text(F.col("user_name"))), F.max("user_id")).alias("step_user"),
        F.min("file").alias("step_file"),
    )


def _statements(pieces: DataFrame) -> DataFrame:
    """One row a statement: `pieced`, its text, and of one of its pieces where it came from."""
    piece = F.struct(F.col("sequence").alias("at"), F.coalesce(F.col("text"), F.lit("")).alias("piece"))
    grouped = pieces.groupBy("query_id").agg(
        F.sort_array(F.collect_set(piece)).alias("parts"), F.min("file").alias("text_file")
    )
    widths = F.transform(F.col("parts"), lambda part: F.octet_length(part["piece"]))
    width = F.array_max(widths)
    # Blanks at the end of a piece are lost in many an export, and two words would become one. A piece cut before a character of several bytes
    # is shorter by one to three bytes without having lost a blank.
    count = F.size("parts")

    def restored(part: Column, at: Column) -> Column:
        short = width - F.octet_length(part["piece"])
        cut = (short <= 3) & (F.octet_length(part["piece"]) != F.length(part["piece"]))
        return F.when((at + 1 == count) | cut, part["piece"]).otherwise(
            F.concat(part["piece"], F.repeat(F.lit(" "), short.cast("int")))
        )

    joined = F.array_join(F.transform(F.col("parts"), restored), "")
    return grouped.select("query_id", _unescaped(F.rtrim(joined)).alias("pieced"), "text_file")


def _in_database(name: Column) -> Column:
    """`database.schema.table`, where the step names the schema and the table."""
    database = F.coalesce(text(F.col("database_name")), F.col("step_database"))
    return F.when(F.size(F.split(name, "[.]")) == 2, F.concat_ws(".", database, name)).otherwise(name)


def _unescaped(statement: Column) -> Column:
    r"""`\n`, `\r` and `\t` written as two characters; a doubled backslash is one and escapes nothing."""
    kept = F.replace(statement, F.lit("\\\\"), F.lit("\x00"))
    for written, meant in (("\\r\\n", "\n"), ("\\n", "\n"), ("\\r", "\n"), ("\\t", "\t")):
        kept = F.replace(kept, F.lit(written), F.lit(meant))
    return F.when(statement.contains("\\"), F.replace(kept, F.lit("\x00"), F.lit("\\"))).otherwise(statement)


def _rows(frame: DataFrame, namespace: str) -> Rows:
    status = F.lower(text(F.col("status")))
    orphan = F.col("seen").isNull()
    by_steps = orphan & F.col("step_file").isNotNull()
    label = text(F.col("query_label"))
    columns = {
        "query_id": F.col("query_id"),
        "started_at": F.coalesce("start_time", "began"),
        "ended_at": F.col("end_time"),
        "statement": F.coalesce(F.nullif(F.col("pieced"), F.lit("")), _unescaped(F.rtrim("query_text"))),
        "database": F.coalesce(text(F.col("database_name")), F.col("step_database")),
        "session_id": F.col("session_id"),
        "user": F.coalesce(text(F.col("user_name")), F.col("user_id"), F.col("step_user")),
        "application": text(F.col("application_name")),
        "warehouse": F.coalesce(text(F.col("service_class_name")), text(F.col("compute_type"))),
        "tags": labelled(
            query_label=F.when(label != "default", label), transaction_id=F.nullif(F.col("transaction_id"), F.lit("0"))
        ),
        "state": F.when(status.startswith("cancel"), "cancelled")
        .when(status.isin("failed", "aborted"), "failed")
        .otherwise("succeeded"),
        "error": text(F.col("error_message")),
        "statement_kind": text(F.col("query_type")),
        "duration_ms": F.coalesce(
            from_micros(F.col("elapsed_time")), milliseconds(F.col("start_time"), F.col("end_time"))
        ),
        "queued_ms": from_micros(F.col("queue_time")),
        "rows_read": F.col("input_rows"),
        "bytes_read": F.col("input_bytes"),
        "cache_hit": F.col("result_cache_hit"),
        "told_reads": F.transform("scanned", lambda name: _in_database(name)),
        "told_writes": F.transform("filled", lambda name: _in_database(name)),
    }
    cases = (
        Case(
            by_steps & (F.col("began").isNull() | (F.col("is_short") & F.col("step_database").isNull())),
            NO_HISTORY,
            f"{_ALONE}: export its start_time, and the database_name where tables have none",
        ),
        Case(
            orphan & ~by_steps,
            NO_HISTORY,
            "pieces of a statement of which SYS_QUERY_HISTORY has nothing in these files: export both of the same time",
        ),
        Case(F.col("unread") & F.col("query_id").isNull(), BAD_ROW, "the record is not of its file's format"),
        Case(status.isin(*_UNDER_WAY), UNFINISHED, "it was still running; a later export has its end"),
    )
    known = frame.withColumns(
        {
            "file": F.coalesce("file", "text_file", "step_file"),
            "record": F.coalesce(
                F.col("record"), F.concat_ws(" ", F.lit("query_id"), F.col("query_id"), F.col("pieced"))
            ),
        }
    )
    cut = F.nullif(F.col("pieced"), F.lit("")).isNull() & (F.octet_length(F.rtrim("query_text")) >= _LONGEST)
    return landed(known, NAME, NAME, namespace, columns, cases, cut=cut, flaws=[Case(by_steps, NO_HISTORY, _ALONE)])
