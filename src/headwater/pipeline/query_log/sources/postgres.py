"""PostgreSQL: the server's log as csvlog, jsonlog or text (`postgres_text`), by log_statement, log_duration, log_min_duration_statement,
auto_explain, or several of them, in the languages of `postgres_words`.

Several lines of a session may report one execution: its beginning, its plan, its end or its error. They are put together in the order of the
session's lines; `postgres_lines` knows what one line says. A statement inside a function that auto_explain logged is an execution of its own,
whose parent is the statement that called the function. The server gives executions no name, so the query id is the session's and the number of the
line: `SESSION/LINE`.

A line that ends a statement and lies in a file of another input than its beginning is not found: then the execution has no duration.
"""

import re
from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812  (its usual name)
from pyspark.sql.window import WindowSpec

from headwater.pipeline.query_log.sources import files, postgres_text
from headwater.pipeline.query_log.sources import postgres_lines as lines
from headwater.pipeline.query_log.sources.fields import TEXT, WHOLE, Export, Field, from_micros, labelled, text
from headwater.pipeline.query_log.sources.postgres_words import QUERY_CANCELED, unknown_language
from headwater.pipeline.query_log.sources.rows import (
    BAD_ROW,
    NO_IDENTITY,
    NO_TIME,
    OTHER_LANGUAGE,
    SKIPPED,
    UNFINISHED,
    Case,
    Rows,
    landed,
    named,
)

NAME: Final = "postgres"

# The names of csvlog, and those of jsonlog where they differ.
FIELDS: Final = (
    Field("log_time", TEXT, ("timestamp",)),
    Field("user_name", TEXT, ("user",)),
    Field("database_name", TEXT, ("dbname",)),
    Field("session_id", TEXT),
    Field("session_line_num", WHOLE, ("line_num",)),
    Field("command_tag", TEXT, ("ps",)),
    Field("error_severity", TEXT),
    Field("sql_state_code", TEXT, ("state_code",)),
    Field("message", TEXT),
    Field("detail", TEXT),
    Field("context", TEXT),
    Field("query", TEXT, ("statement",)),
    Field("application_name", TEXT),
    Field("query_id", TEXT),
)
EXPORTS: Final = (
    Export("csvlog or jsonlog", ("log_time", "session_id", "session_line_num", "error_severity")),
    *postgres_text.EXPORTS,
)
# csvlog has no header. Since PostgreSQL 14 there are all of these; earlier versions end before.
HEADLESS: Final = tuple(
    "log_time user_name database_name process_id connection_from session_id session_line_num command_tag session_start_time virtual_transaction_id "
    "transaction_id error_severity sql_state_code message detail hint internal_query internal_query_pos context query query_pos location "
    "application_name backend_type leader_pid query_id".split()
)

_COMMENTS: Final = r"(?is)^(?:\s|--[^\n]*\n|/\*.*?\*/)*"
_BEGINS_TRANSACTION: Final = rf"{_COMMENTS}(?:begin|start\s+transaction)\b"
_ROLLS_BACK: Final = rf"{_COMMENTS}(?:rollback|abort)\b(?!\s+(?:work\s+|transaction\s+)?to\b|\s+prepared\b)"
_SAVEPOINT: Final = (
    rf"{_COMMENTS}(savepoint|release|(?:rollback|abort)(?:\s+(?:work|transaction))?\s+to)"
    r'(?:\s+savepoint)?\s+("(?:[^"]|"")+"|[\w$]+)'
)
_ENDS_TRANSACTION: Final = rf"(?:{_ROLLS_BACK})|{_COMMENTS}(?:commit|end)\b(?!\s+prepared\b)"
_ROLLS_BACK_AT_LAST: Final = r"(?is);\s*(?:rollback|abort)(?:\s+(?:work|transaction))?\s*;?\s*$"
_CHANGING: Final = "create|alter|drop|insert|update|delete|merge|truncate|copy|refresh|comment|do"
_SELECT_INTO: Final = r"select\b[^']*?\binto\s+(?:(?:temp|temporary|unlogged|table)\s+)*[\w\"]"
_CHANGES_DATA: Final = rf"{_COMMENTS}(?:(?:{_CHANGING})\b|{_SELECT_INTO}|with\b.*\b(?:insert|update|delete|merge)\b)"
_UNDONE: Final = "its transaction was rolled back"
_FOREIGN: Final = "its words are of a language that is not read: set lc_messages = 'C'"


def read(spark: SparkSession, paths: Sequence[str], namespace: str | None) -> Rows:
    """See `sources.Source`. The namespace, `postgres://host:5432`, must be given. This log has no rows and bytes, and no failed statements'
    durations."""
    space = named(namespace, "PostgreSQL", "postgres://db.example:5432")
    wanted = files.Wanted(NAME, (*FIELDS, *postgres_text.FIELDS), EXPORTS, HEADLESS, postgres_text.BEGINS_RECORD)
    raw = files.read(spark, paths, wanted).rows
    texts = postgres_text.in_english(raw if _is_csvlog(paths) else postgres_text.as_csvlog(raw))
    said = texts.withColumn("at", lines.at()).withColumn("duration_us", lines.duration_us())
    said = said.withColumn("body", lines.body()).withColumn("kind", lines.kind())
    # A line with fewer columns than the newest version writes is marked, and is right all the same.
    is_cut = F.col("unread") & F.col("text").isNotNull() & F.col("error_severity").isNotNull()
    sound = ~is_cut & F.col("session_id").isNotNull() & F.col("session_line_num").isNotNull() & F.col("at").isNotNull()
    broken = F.col("unread") & (~sound | F.col("text").isNotNull()) & F.col("kind").isNull()
    bad = said.where(F.col("kind").isNull() | ~sound)
    kept = said.where(F.col("kind").isNotNull() & sound)
    nothing = {
        "query_id": F.lit(None).cast("string"),
        "started_at": F.lit(None).cast("timestamp"),
        "state": F.lit("failed"),
    }
    cases = (
        Case(is_cut, UNFINISHED, "the file ends within the line; the next export has the whole of it"),
        Case(F.col("kind").isNull() & _is_foreign(), OTHER_LANGUAGE, _FOREIGN),
        Case(F.col("kind").isNull() & ~broken, SKIPPED, "the line tells of no execution of its own"),
        Case(broken, BAD_ROW, "the record is not of its file's format"),
        Case(F.col("at").isNull() & F.col("text").isNotNull(), NO_TIME, postgres_text.why_untimed()),
        Case(
            F.col("at").isNull(),
            NO_TIME,
            F.concat(F.lit("its time cannot be read: "), F.coalesce("log_time", F.lit("nothing"))),
        ),
        Case(F.lit(True), NO_IDENTITY, "it has no session id and line number"),
    )
    return _rows(_with_transactions(_standing(_executions(kept))), space).and_(
        landed(bad, NAME, NAME, space, nothing, cases)
    )


def _is_csvlog(paths: Sequence[str]) -> bool:
    """Return whether every path is a CSV file, which has the columns as they are."""
    return all(re.search(r"\.csv(\.\w+)?$", path) for path in paths)


def _is_foreign() -> Column:
    """Return whether the words of the line are of no language that is known: a duration, or a line of text with another severity."""
    severed = F.col("text").isNotNull() & F.col("error_severity").isNull() & text(F.col("message")).isNotNull()
    return severed | unknown_language(F.col("message"))


def _executions(said: DataFrame) -> DataFrame:
    """The lines that speak of executions, each once, with what stands around it in its session."""
    told = said.withColumn("statement", lines.statement()).withColumn("tag", lines.tag())
    told = told.withColumn("spoken", lines.statement_mark()).withColumn("path_set", lines.search_path())
    told = told.withColumn("simple", F.col("body").startswith("statement: ")).drop(
        "body", "detail", "command_tag", "query"
    )
    line, kind = F.col("session_line_num"), F.col("kind")
    session = Window.partitionBy("session_id").orderBy(line, F.col("at"), F.col("file"))
    # A line that is in two files is one line.
    told = told.withColumn("doubled", F.lag(line).over(session) == line).where(~_true(F.col("doubled")))
    before = session.rowsBetween(Window.unboundedPreceding, -1)
    # "The next" is the last in the other direction: a frame that only grows is read once.
    backwards = Window.partitionBy("session_id").orderBy(line.desc(), F.col("at").desc())
    after = backwards.rowsBetween(Window.unboundedPreceding, -1)
    top = F.col("context").isNull() | (F.trim("context") == "")
    head, closes = kind.isin(lines.BEGINS, lines.WHOLE), kind.isin(lines.ENDS, lines.ERROR)
    short = F.struct(line.alias("line"), "kind", "at", "duration_us", "spoken", "simple", "tag")
    close = F.struct(line.alias("line"), "kind", "at", "duration_us", "spoken", "tag", "sql_state_code", "message")

    def seen(holds: Column, what: Column, frame: WindowSpec) -> Column:
        return F.last(F.when(holds, what), ignorenulls=True).over(frame)

    return told.withColumns(
        {
            "top": top,
            "last_head": seen(head, short, before),
            "last_close": seen(closes, line, before),
            "last_plan": seen((kind == lines.PLAN) & top, short, before),
            "search_path": F.last("path_set", ignorenulls=True).over(before),
        }
    ).withColumns(
        {
            "next_head": seen(head, short, after),
            "next_close": seen(head | closes, close, after),
            "next_begin": seen(kind == lines.BEGINS, line, after),
            "next_whole": seen(kind == lines.WHOLE, short, after),
            "next_plan": seen((kind == lines.PLAN) & top, short, after),
        }
    )


def _standing(placed: DataFrame) -> DataFrame:
    """The lines that stand for an execution, with `own_end` (the line that ends it), `own_plan` and `parent`.

    A statement's plan is logged when its portal closes: in the simple protocol before the line with the duration, in the extended protocol after it.
    """
    kind, spoken, top = F.col("kind"), F.col("spoken"), F.col("top")
    last, before, coming = F.col("last_head"), F.col("last_plan"), F.col("next_head")
    whole, plan, close = F.col("next_whole"), F.col("next_plan"), F.col("next_close")
    begins = kind == lines.BEGINS
    # A statement that began, and of which no end, error or plan was seen before this line.
    planned = _true((before["line"] > last["line"]) & (before["spoken"] == last["spoken"]))
    is_open = _true((last["kind"] == lines.BEGINS) & (F.coalesce("last_close", F.lit(-1)) < last["line"])) & ~planned
    plan_of_last = (
        ((last["kind"] == lines.BEGINS) | ~last["simple"])
        & (last["spoken"] == spoken)
        & (F.coalesce(before["line"], F.lit(-1)) < last["line"])
    )
    plan_of_coming = (
        (coming["kind"] == lines.WHOLE)
        & coming["simple"]
        & (coming["spoken"] == spoken)
        & (F.coalesce(plan["line"], coming["line"] + 1) > coming["line"])
    )
    stands = (
        F.when(kind == lines.ENDS, F.lit(False))
        .when(kind == lines.ERROR, ~(is_open & _true(last["spoken"] == spoken)))
        .when((kind == lines.PLAN) & top, ~_true(plan_of_last) & ~_true(plan_of_coming))
        .otherwise(F.lit(True))
    )
    # A whole record comes at the end of its execution, after those inside it, with no beginning in between; or only the plan exists.
    whole_ahead = _true(whole["line"] < F.coalesce("next_begin", whole["line"] + 1))
    plan_ahead = _true(plan["line"] < F.coalesce("next_begin", plan["line"] + 1))
    plan_first = plan_ahead & ~_true(whole_ahead & (plan["line"] > whole["line"]))
    plan_of_whole = whole_ahead & _true(whole["simple"] & (plan["spoken"] == whole["spoken"]))
    enclosing = (
        F.when(is_open, last["line"]).when(plan_first & ~plan_of_whole, plan["line"]).when(whole_ahead, whole["line"])
    )
    ended = (close["kind"] == lines.ENDS) | ((close["kind"] == lines.ERROR) & (close["spoken"] == spoken))
    own_plan = (plan["spoken"] == spoken) & (plan["line"] < F.coalesce(coming["line"], plan["line"] + 1))
    return (
        placed.withColumn("own_end", F.when(begins & ended, close))
        .withColumn("own_plan", F.when(begins & own_plan, plan))
        .withColumn("parent", F.when((kind == lines.PLAN) & ~top, enclosing))
        .where(stands)
    )


def _with_transactions(standing: DataFrame) -> DataFrame:
    """Add `undone`: the line's statement changed something in a transaction that was rolled back, or that an error ended, or behind a savepoint
    to which it went back.

    Only where the log has both ends of the transaction.
    """
    text_ = F.col("statement")
    session = Window.partitionBy("session_id").orderBy("session_line_num", "at")
    before = session.rowsBetween(Window.unboundedPreceding, -1)
    after = Window.partitionBy("session_id").orderBy(F.col("session_line_num").desc(), F.col("at").desc())
    after = after.rowsBetween(Window.unboundedPreceding, -1)
    top = F.col("parent").isNull()
    begins, ends = top & text_.rlike(_BEGINS_TRANSACTION), top & text_.rlike(_ENDS_TRANSACTION)
    failed = (F.col("kind") == lines.ERROR) | _true(F.col("own_end.kind") == lines.ERROR)
    counted = _with_savepoints(standing, top & ~failed).withColumns(
        {
            "error": F.max(F.when(failed, F.col("session_line_num"))).over(session),
            "back": F.max(F.when(F.col("savepoint").isNotNull(), F.col("session_line_num"))).over(session),
            "undone_to": F.min("savepoint").over(after),
        }
    )
    bound = F.struct(
        begins.alias("begins"),
        text_.rlike(_ROLLS_BACK).alias("rolls_back"),
        "error",
        "back",
        F.col("session_line_num").alias("line"),
    )
    is_bound = _true(begins | ends)
    first = F.last(F.when(is_bound, bound), ignorenulls=True).over(before)
    last = F.last(F.when(is_bound, bound), ignorenulls=True).over(after)
    # An error ends a transaction, unless it goes back to a savepoint afterwards.
    broken = _true((last["error"] > first["line"]) & (last["error"] > F.coalesce(last["back"], F.lit(-1))))
    undone = _true(first["begins"] & ~last["begins"] & (last["rolls_back"] | broken))
    undone = undone | _true(F.col("undone_to") < F.col("session_line_num"))
    alone = text_.rlike(_BEGINS_TRANSACTION) & text_.rlike(_ROLLS_BACK_AT_LAST)
    return counted.withColumn("undone", _true((undone & text_.rlike(_CHANGES_DATA)) | alone)).drop(
        "error", "back", "savepoint", "undone_to"
    )


def _with_savepoints(standing: DataFrame, does: Column) -> DataFrame:
    """Add `savepoint`: the line of the savepoint to which the line goes back. Of several of one name it is the last that is not released."""
    word = F.lower(F.regexp_extract("statement", _SAVEPOINT, 1))
    name = F.regexp_extract("statement", _SAVEPOINT, 2)
    of = ("session_id", F.when(name.startswith('"'), F.trim(name, F.lit('"'))).otherwise(F.lower(name)))
    sets, releases = does & (word == "savepoint"), does & (word == "release")
    session = Window.partitionBy(*of).orderBy("session_line_num", "at")
    open_ = F.sum(F.when(sets, 1).when(releases, -1).otherwise(0)).over(session)
    own = Window.partitionBy(*of, "open_savepoints").orderBy("session_line_num", "at")
    last = F.last(F.when(sets, F.col("session_line_num")), ignorenulls=True).over(own)
    back = _true(does & word.endswith("to"))
    return (
        standing.withColumn("open_savepoints", open_)
        .withColumn("savepoint", F.when(back, last))
        .drop("open_savepoints")
    )


def _true(condition: Column) -> Column:
    return F.coalesce(condition, F.lit(False))


def _rows(frame: DataFrame, namespace: str) -> Rows:
    kind, end = F.col("kind"), F.col("own_end")
    taken = F.coalesce(F.col("duration_us"), end["duration_us"], F.col("own_plan.duration_us"))
    failing = F.when(kind == lines.ERROR, F.col("sql_state_code")).when(
        end["kind"] == lines.ERROR, end["sql_state_code"]
    )
    failed = (kind == lines.ERROR) | _true(end["kind"] == lines.ERROR)
    told_at_end = kind.isin(lines.WHOLE, lines.PLAN)
    started = F.when(told_at_end, F.timestamp_micros(F.unix_micros("at") - F.col("duration_us"))).otherwise(F.col("at"))
    columns = {
        "query_id": _id(F.col("session_line_num")),
        "started_at": started,
        "ended_at": F.when(kind == lines.BEGINS, F.coalesce(end["at"], F.col("own_plan.at"))).otherwise(F.col("at")),
        "statement": F.col("statement"),
        "database": text(F.col("database_name")),
        "search_path": F.when(F.size("search_path") > 0, F.col("search_path")),
        "session_id": F.col("session_id"),
        "parent_query_id": F.when(F.col("parent").isNotNull(), _id(F.col("parent"))),
        "user": text(F.col("user_name")),
        "application": text(F.col("application_name")),
        "tags": labelled(postgres_query_id=F.nullif(text(F.col("query_id")), F.lit("0"))),
        "state": F.when(_true(failing == QUERY_CANCELED), "cancelled")
        .when(failed | F.col("undone"), "failed")
        .otherwise("succeeded"),
        "error": F.when(kind == lines.ERROR, F.col("message"))
        .when(end["kind"] == lines.ERROR, end["message"])
        .when(F.col("undone"), _UNDONE),
        # A statement inside a function has the tag of the statement around it.
        "statement_kind": F.when(
            F.col("parent").isNull(),
            F.coalesce(F.when(kind == lines.BEGINS, F.coalesce(end["tag"], F.col("own_plan.tag"))), F.col("tag")),
        ),
        "duration_ms": from_micros(taken),
    }
    return landed(frame, NAME, NAME, namespace, columns)


def _id(line: Column) -> Column:
    return F.concat_ws("/", F.col("session_id"), line.cast("string"))
