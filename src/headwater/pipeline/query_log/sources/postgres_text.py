"""PostgreSQL's log as text, and as others wrap it: stderr logs, Cloud SQL's LogEntry, CloudNativePG's records. Turned into the columns of csvlog.

A line of text begins with `log_line_prefix`, which every server sets as it likes. Found in it wherever they stand: the time (also `%n`), the session
(`%c`) or process (`[123]`, `pid=123`), the number of the session's line (`[4-1]`), the database and user (`db=shop,user=ann`, `ann@shop`), the
application (`app=psql`). So PostgreSQL's own prefix, those of Debian, RDS, Azure, Heroku and Cloud SQL are read. A line without a time, and one that
syslog wrote and perhaps cut, cannot be used, and say so. Where the prefix has no process, the lines of one session are not known to belong together:
then each is a session of its own.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from headwater.pipeline.query_log.sources.fields import TEXT, Export, Field, nested

_SEVERITIES: Final = (
    "LOG|ERROR|FATAL|PANIC|WARNING|NOTICE|INFO|DEBUG[1-5]?|STATEMENT|DETAIL|HINT|CONTEXT|QUERY|LOCATION"
)
BEGINS_RECORD: Final = (
    rf"\n(?=\d{{4}}-\d\d-\d\d[ T]\d\d:\d\d:\d\d|(?!\t)[^\n]{{0,300}}?(?<![A-Za-z])(?:{_SEVERITIES}):  )"
)
"""The break before a line that begins a record: with a time, or a severity and two blanks. Further lines of a message begin with a tab, if no
collector trimmed them."""
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

_LINE: Final = rf"(?s)^(.{{0,500}}?)(?<![A-Za-z])({_SEVERITIES}):\s+(.*)$"
_TIME: Final = r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(?: (?:[A-Z]{3,5}|[A-Z][a-z]+/\w+|[+-]\d\d(?::?\d\d)?))?)"
_COLLECTED: Final = r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?)"
_EPOCH: Final = r"(?<![\d.])(\d{10}\.\d{3})(?![\d.])"
_SYSLOG: Final = r"\S\[\d+\]: \[\d+-\d+\]"
_SESSION: Final = r"(?<![0-9a-f.])([0-9a-f]{8}\.[0-9a-f]{1,8})(?![0-9a-f.])"
_USER: Final = r"""(?<![A-Za-z])(?:user|username|usr|u)\s*=\s*"?([^,\s"\[\]();]+)"""
_DATABASE: Final = r"""(?<![A-Za-z])(?:db|database|dbname|d)\s*=\s*"?([^,\s"\[\]();]+)"""
UNTIMED: Final = "the line has no time: log_line_prefix has none that is known. Set log_line_prefix = '%m [%p] %q%u@%d ', or use csvlog or jsonlog"
CUT_BY_SYSLOG: Final = (
    "the line is from syslog, which cuts long statements: set log_destination to stderr, csvlog or jsonlog"
)
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
    # The time of the line is the latest: a prefix may have that of the session's beginning too.
    times = F.array_max(F.regexp_extract_all(prefix, F.lit(_TIME), F.lit(1)))
    said_at = F.when(~prefix.rlike(_SYSLOG), F.coalesce(times, found(_EPOCH), found(_COLLECTED), F.col("log_time")))
    told = F.coalesce(found(r"\[(\d+)-\d+\]").try_cast("bigint"), F.col("session_line_num"), F.lit(0))
    # A process's number comes again, in the next file or after many others: the time before the line's number keeps lines apart.
    began = F.coalesce(F.nullif(F.regexp_extract(said_at, r"^(\S+ \S+)", 1), F.lit("")), said_at)
    micros = F.coalesce(
        F.unix_micros(began.try_cast("timestamp")), (began.try_cast("decimal(20,6)") * 1_000_000).try_cast("bigint")
    )
    line = micros * _PLACES + F.pmod(told, F.lit(_PLACES))
    process = F.coalesce(found(r"\[(\d+)\]"), found(r"(?<![A-Za-z])pid\s*=\s*(\d+)"))
    message = F.regexp_replace(F.regexp_extract("text", _LINE, 3), r"\n\t", "\n")
    parts = {
        "log_time": said_at,
        "session_id": F.coalesce(found(_SESSION), F.concat(F.lit("pid "), process)),
        "session_line_num": line,
        "database_name": F.coalesce(found(_DATABASE), found(r"[^\s:@\[\]]+@([^\s:,\[\]]+)")),
        "user_name": F.coalesce(found(_USER), found(r"([^\s:@\[\]]+)@[^\s:,\[\]]+")),
        "application_name": found(r"app=([^,\s]+)"),
        "error_severity": F.nullif(F.regexp_extract("text", _LINE, 2), F.lit("")),
        "message": F.nullif(message, F.lit("")),
    }
    filled = raw.withColumns({name: F.when(is_text, part).otherwise(F.col(name)) for name, part in parts.items()})
    filled = filled.withColumns({name: F.when(~is_text, wrapped[name]).otherwise(F.col(name)) for name in _WRAPPED})
    known = F.coalesce("session_id", F.concat(F.lit("line "), F.col("session_line_num")))
    apart = {
        "session_id": F.when(is_text, known).otherwise(F.col("session_id")),
        "unread": F.col("unread") | (is_text & F.col("error_severity").isNull()),
    }
    return _with_statements(filled).withColumns(apart)


def why_untimed() -> Column:
    """Say why a line of text has no time."""
    return F.when(F.regexp_extract("text", _LINE, 1).rlike(_SYSLOG), CUT_BY_SYSLOG).otherwise(UNTIMED)


def _with_statements(lines: DataFrame) -> DataFrame:
    """Put the text of a failed statement, which a line of its own has, into its error's row."""
    session = Window.partitionBy("session_id", "file").orderBy("session_line_num")
    is_error = F.col("text").isNotNull() & F.col("error_severity").isin("ERROR", "FATAL", "PANIC")
    statement = F.when(F.col("error_severity") == "STATEMENT", F.col("message"))
    behind = [F.lead(statement, far).over(session) for far in range(1, _AFTER_ERROR + 1)]
    return lines.withColumn("query", F.when(is_error, F.coalesce(*behind)).otherwise(F.col("query")))
