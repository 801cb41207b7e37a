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
from headwater.pipeline.query_log.sources.postgres_words import (
    PARTS,
    SEVERITIES,
    detail,
    message,
    severity,
    sql_state,
    without_state,
)

BEGINS_RECORD: Final = (
    rf"\n(?=\d{{4}}-\d\d-\d\d[ T]\d\d:\d\d:\d\d|(?!\t)[^\n]{{0,300}}?(?<!\p{{L}})(?:{SEVERITIES})[ \u00a0]?:  )"
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

_LINE: Final = rf"(?s)^(.{{0,500}}?)(?<!\p{{L}})(?:({SEVERITIES})[ \u00a0]?:\s+|\p{{L}}+[ \u00a0]?:  )(.*)$"
_TIME: Final = r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(?: (?:[A-Z]{3,5}|[A-Z][a-z]+/\w+|[+-]\d\d(?::?\d\d)?))?)"
_COLLECTED: Final = r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?)"
_EPOCH: Final = r"(?<![\d.])(\d{10}\.\d{3})(?![\d.])"
_SYSLOG: Final = r"\S\[\d+\]: \[\d+-\d+\]"
_SESSION: Final = r"(?<![0-9a-f.])([0-9a-f]{8}\.[0-9a-f]{1,8})(?![0-9a-f.])"
_NAME: Final = r"""([^,\s"'\[\]<>|();]+)"""
_USER: Final = rf"""(?<![A-Za-z])(?:user|username|usr|u)\s*=\s*"?{_NAME}"""
_DATABASE: Final = rf"""(?<![A-Za-z])(?:db|database|dbname|d)\s*=\s*"?{_NAME}"""
_AT: Final = r"""([^\s:@,"'\[\]<>|();]+)@([^\s:@,"'\[\]<>|();/]+)"""
_APPLICATION: Final = r"(?<![A-Za-z])app(?:lication)?\s*=\s*([^,|<>\[\]]+?)\s*(?:,|[|<>\[\]]|$)"
# With log_connections; of a session whose prefix names neither.
_CONNECTED: Final = (
    r"^(?:replication )?connection authorized: user=(\S+)(?: database=(\S+))?(?: application_name=(.*?))?"
    r"(?: SSL enabled \(.*| GSS \(.*)?$"
)
UNTIMED: Final = "the line has no time: log_line_prefix has none that is known. Set log_line_prefix = '%m [%p] %q%u@%d ', or use csvlog or jsonlog"
CUT_BY_SYSLOG: Final = (
    "the line is from syslog, which cuts long statements: set log_destination to stderr, csvlog or jsonlog"
)
_PLACES: Final = 1_000_000


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
    # A process's number comes again, in the next file or after many others: the time before the line's number keeps lines apart.
    told = F.coalesce(found(r"\[(\d+)-\d+\]").try_cast("bigint"), F.col("session_line_num"), F.lit(0))
    began = F.coalesce(F.nullif(F.regexp_extract(said_at, r"^(\S+ \S+)", 1), F.lit("")), said_at)
    micros = F.coalesce(
        F.unix_micros(began.try_cast("timestamp")), (began.try_cast("decimal(20,6)") * 1_000_000).try_cast("bigint")
    )
    line = F.floor(micros / 1_000).cast("bigint") * _PLACES + F.pmod(told, F.lit(_PLACES))
    process = F.coalesce(found(r"\[(\d+)\]"), found(r"(?<![A-Za-z])pid\s*=\s*(\d+)"))
    whole = F.regexp_replace(F.regexp_extract("text", _LINE, 3), r"\n\t", "\n")
    parts = {
        "log_time": said_at,
        "session_id": F.coalesce(found(_SESSION), F.concat(F.lit("pid "), process)),
        "session_line_num": line,
        "database_name": F.coalesce(found(_DATABASE), F.nullif(F.regexp_extract(prefix, _AT, 2), F.lit(""))),
        "user_name": F.coalesce(found(_USER), found(_AT)),
        "application_name": found(_APPLICATION),
        "error_severity": F.nullif(severity(F.regexp_extract("text", _LINE, 2)), F.lit("")),
        "sql_state_code": sql_state(whole),
        "message": F.nullif(without_state(whole), F.lit("")),
    }
    filled = raw.withColumns({name: F.when(is_text, part).otherwise(F.col(name)) for name, part in parts.items()})
    filled = filled.withColumns({name: F.when(~is_text, wrapped[name]).otherwise(F.col(name)) for name in _WRAPPED})
    known = F.coalesce("session_id", F.concat(F.lit("line "), F.col("session_line_num")))
    apart = {
        "session_id": F.when(is_text, known).otherwise(F.col("session_id")),
        "unread": F.col("unread") | (is_text & F.col("error_severity").isNull()),
    }
    return _with_parts(filled).withColumns(apart)


def in_english(rows: DataFrame) -> DataFrame:
    """The rows with the words by which messages are known in English."""
    return rows.withColumns(
        {
            "error_severity": severity(F.col("error_severity")),
            "message": message(F.col("message")),
            "detail": detail(F.col("detail")),
        }
    )


def why_untimed() -> Column:
    """Say why a line of text has no time."""
    return F.when(F.regexp_extract("text", _LINE, 1).rlike(_SYSLOG), CUT_BY_SYSLOG).otherwise(UNTIMED)


def _with_parts(lines: DataFrame) -> DataFrame:
    """Put the lines of one message, its STATEMENT and DETAIL, into the row of its first line; and into each line of a session the user and the
    database of its connection, where the prefix has none."""
    session = Window.partitionBy("session_id", "file").orderBy("session_line_num")
    is_text, is_part = F.col("text").isNotNull(), F.col("error_severity").isin(*PARTS)
    first = F.sum(F.when(is_part, 0).otherwise(1)).over(session)
    one = Window.partitionBy("session_id", "file", "first_line")
    numbered = lines.withColumn("first_line", first)

    def part(name: str, column: str) -> Column:
        found = F.min(F.when(F.col("error_severity") == name, F.col("message"))).over(one)
        return F.when(is_text & ~is_part, found).otherwise(F.col(column))

    def of_connection(group: int, column: str) -> Column:
        named = F.nullif(F.regexp_extract("message", _CONNECTED, group), F.lit(""))
        return F.when(is_text, F.coalesce(F.col(column), F.last(named, ignorenulls=True).over(session))).otherwise(
            F.col(column)
        )

    return numbered.withColumns(
        {
            "query": part("STATEMENT", "query"),
            "detail": part("DETAIL", "detail"),
            "context": part("CONTEXT", "context"),
            "user_name": of_connection(1, "user_name"),
            "database_name": of_connection(2, "database_name"),
            "application_name": of_connection(3, "application_name"),
        }
    ).drop("first_line")
