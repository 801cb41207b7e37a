"""PostgreSQL's log as text, and as others wrap it: stderr logs, Cloud SQL's LogEntry, CloudNativePG's records. Turned into the columns of csvlog.

A line of text begins with `log_line_prefix`, which every server sets as it likes. Found in it wherever they stand: the time, the process
(`[123]`), the number of the session's line (`[4-1]`), the database and user (`db=shop,user=ann`, `ann@shop`), the application (`app=psql`).
So PostgreSQL's own prefix, those of Debian, RDS and Cloud SQL are read.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from headwater.pipeline.query_log.sources.fields import TEXT, Export, Field, nested

BEGINS_RECORD: Final = r"\n(?=\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)"
"""The break before a line that begins a record; further lines of a message begin with a tab."""
_WRAPPED: Final = (
    "log_time", "user_name", "database_name", "session_id", "session_line_num", "command_tag", "error_severity", "sql_state_code", "message",
    "detail", "context", "query", "application_name", "query_id",
)  # fmt: skip
FIELDS: Final = (
    Field("record_", nested(f"struct<{','.join(f'{name}:string' for name in _WRAPPED)}>"), ("record",)),
    Field("text", TEXT, ("textPayload",)),
    # CloudNativePG's log begins with lines of its own programs.
    Field("logger", TEXT),
)
EXPORTS: Final = (Export("CloudNativePG's log", ("record_",)), Export("Cloud SQL's LogEntry", ("text",)))

_SEVERITIES: Final = "LOG|ERROR|FATAL|PANIC|WARNING|NOTICE|INFO|DEBUG[1-5]?|STATEMENT|DETAIL|HINT|CONTEXT|QUERY"
_LINE: Final = rf"(?s)^(.{{0,500}}?)\b({_SEVERITIES}):\s+(.*)$"
_TIME: Final = r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(?: (?:[A-Z]{3,5}|[A-Z][a-z]+/\w+|[+-]\d\d(?::?\d\d)?))?)"
_PLACES: Final = 1_000
_AFTER_ERROR: Final = 4
"""Lines of one error: DETAIL, HINT, CONTEXT, then STATEMENT."""


def as_csvlog(raw: DataFrame) -> DataFrame:
    """The rows with csvlog's columns filled from wrapped records and lines of text; others stay as they are."""
    wrapped = {
        name: F.coalesce(F.col(name), F.col(f"record_.{name}").try_cast(raw.schema[name].dataType)) for name in _WRAPPED
    }
    prefix = F.regexp_extract("text", _LINE, 1)

    def found(pattern: str) -> Column:
        return F.nullif(F.regexp_extract(prefix, pattern, 1), F.lit(""))

    is_text = F.col("text").isNotNull()
    said_at = F.coalesce(found(_TIME), F.col("log_time"))
    told = F.coalesce(found(r"\[(\d+)-\d+\]").try_cast("bigint"), F.col("session_line_num"), F.lit(0))
    # A process's number comes again, in the next file or after many others: the time before the line's number keeps lines apart.
    began = F.coalesce(F.nullif(F.regexp_extract(said_at, r"^(\S+ \S+)", 1), F.lit("")), said_at)
    line = F.unix_micros(began.try_cast("timestamp")) * _PLACES + F.pmod(told, F.lit(_PLACES))
    message = F.regexp_replace(F.regexp_extract("text", _LINE, 3), r"\n\t", "\n")
    parts = {
        "log_time": said_at,
        "session_id": F.concat(F.lit("pid "), F.coalesce(found(r"\[(\d+)\]"), F.lit("0"))),
        "session_line_num": line,
        "database_name": F.coalesce(found(r"db=([^,\s]+)"), found(r"[^\s:@]+@([^\s:,]+)")),
        "user_name": F.coalesce(found(r"user=([^,\s]+)"), found(r"([^\s:@]+)@[^\s:,]+")),
        "application_name": found(r"app=([^,\s]+)"),
        "error_severity": F.nullif(F.regexp_extract("text", _LINE, 2), F.lit("")),
        "message": F.nullif(message, F.lit("")),
    }
    filled = raw.withColumns({name: F.when(is_text, part).otherwise(F.col(name)) for name, part in parts.items()})
    filled = filled.withColumns({name: F.when(~is_text, wrapped[name]).otherwise(F.col(name)) for name in _WRAPPED})
    return _with_statements(filled)


def _with_statements(lines: DataFrame) -> DataFrame:
    """Put the text of a failed statement, which a line of its own has, into its error's row."""
    session = Window.partitionBy("session_id", "file").orderBy("session_line_num")
    is_error = F.col("text").isNotNull() & F.col("error_severity").isin("ERROR", "FATAL", "PANIC")
    statement = F.when(F.col("error_severity") == "STATEMENT", F.col("message"))
    behind = [F.lead(statement, far).over(session) for far in range(1, _AFTER_ERROR + 1)]
    return lines.withColumn("query", F.when(is_error, F.coalesce(*behind)).otherwise(F.col("query")))
