"""The meaning of one line of PostgreSQL's log for a statement, without the lines around it.

    statement: …                       begins    (log_statement, simple protocol)
    execute NAME: …                    begins    (log_statement, extended protocol)
    duration: 1.2 ms                   ends      (log_duration, log_min_duration_statement after a line that began)
    duration: 1.2 ms  statement: …     whole     (log_min_duration_statement, nothing logged before)
    duration: 1.2 ms  execute NAME: …  whole
    duration: 1.2 ms  plan: …          plan      (auto_explain, as text or as JSON)
    ERROR: … with the statement        error

Every other line says nothing of an execution: connections, checkpoints, the parse and bind steps, further rows fetched from a portal. Messages are
known by their English words, which `postgres_words` puts in place of others.
"""

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from headwater.pipeline.query_log.sources.fields import moment, text

BEGINS: Final = "begins"
ENDS: Final = "ends"
WHOLE: Final = "whole"
PLAN: Final = "plan"
ERROR: Final = "error"

# Abbreviations of zones that PostgreSQL writes and Java either does not know or takes for another.
_ZONES: Final = {
    "CEST": "+02:00",
    "EEST": "+03:00",
    "WEST": "+01:00",
    "BST": "+01:00",
    "MSK": "+03:00",
    "EDT": "-04:00",
    "CDT": "-05:00",
    "MDT": "-06:00",
    "PDT": "-07:00",
    "AKST": "-09:00",
    "AKDT": "-08:00",
    "AST": "-04:00",
    "ADT": "-03:00",
    "AEST": "+10:00",
    "AEDT": "+11:00",
    "NZST": "+12:00",
    "NZDT": "+13:00",
}
_DURATION: Final = r"^duration: ([0-9]+(?:\.[0-9]+)?) ms"
_EXECUTES: Final = r"^execute (?!fetch from )[^:\n]*: "
# The plan begins with the first line that has a cost; since PostgreSQL 16 the parameters may stand before it.
_PLAN_TEXT: Final = r"(?s)^plan:\s*Query Text: (.*?)\n(?=Query Parameters: |[^\n]*  \(cost=)"
# A function whose body is no text (BEGIN ATOMIC, as PostgreSQL's own) has none to log. If its plan reads no table, it is not worth a row; if it does,
# the row says that something was read that has no name.
_PLAN_OF_NOTHING: Final = r'(?s)^plan:\s*(?:Query Text: *\n|\{\s*"Query Text": "",)'
_SCANS: Final = r'(?:Scan (?:using \S+ )?on |ModifyTable|"Relation Name")'
_PREPARED: Final = r'(?is)^prepare:\s*prepare\s+(?:"[^"]*"|[^\s(]+)\s*(?:\([^)]*\))?\s*as\s+'
_IDLE: Final = ("IDLE", "IDLE IN TRANSACTION", "PARSE", "BIND", "EXECUTE", "DESCRIBE", "FETCH")
_SETS_PATH: Final = r"(?is)^\s*(?:/\*.*?\*/\s*)?set\s+(?:session\s+)?search_path\s*(?:=|to\s)\s*([^;]*?)\s*;?\s*$"
_CALLS_PATH: Final = r"(?is)set_config\(\s*'search_path'\s*,\s*'([^']*)'\s*,\s*false"
_RESETS_PATH: Final = r"(?is)^\s*(?:/\*.*?\*/\s*)?(?:reset\s+(?:search_path|all)|discard\s+all)\s*;?\s*$"
_LONGEST_SET: Final = 4_000


def at() -> Column:
    """Return the time at which the line was written. The zone is that of `log_timezone`, by name, abbreviation or offset."""
    zones = "map(" + ", ".join(f"'{name}', '{offset}'" for name, offset in _ZONES.items()) + ")"
    zone = "regexp_extract(trim(log_time), ' ([A-Z]{3,4})$', 1)"
    offset = f"try_element_at({zones}, {zone})"
    exact = f"concat(regexp_replace(trim(log_time), ' [A-Z]{{3,4}}$', ''), {offset})"
    return F.coalesce(moment(exact), moment("log_time"))


def duration_us() -> Column:
    """Microseconds, from a line with a duration."""
    told = F.nullif(F.regexp_extract("message", _DURATION, 1), F.lit("")).try_cast("decimal(30,3)")
    return F.when(F.col("message").startswith("duration: "), (told * 1_000).try_cast("bigint"))


def body() -> Column:
    """The message without the duration before it."""
    return F.when(F.col("duration_us").isNull(), F.col("message")).otherwise(
        F.ltrim(F.expr("substr(message, instr(message, ' ms') + 3)"))
    )


def kind() -> Column:
    """Return the kind of the line, of those above; null for every other."""
    timed = F.col("duration_us").isNotNull()
    severe = F.col("error_severity").isin("ERROR", "FATAL", "PANIC")
    speaks = F.col("body").startswith("statement: ") | F.col("body").rlike(_EXECUTES)
    return (
        F.when(severe & text(F.col("query")).isNotNull(), ERROR)
        .when(severe, None)
        .when(timed & (F.col("body") == ""), ENDS)
        .when(timed & F.col("body").rlike(_PLAN_OF_NOTHING) & ~F.col("body").rlike(_SCANS), None)
        .when(timed & F.col("body").startswith("plan:"), PLAN)
        .when(timed & speaks, WHOLE)
        .when(speaks, BEGINS)
    )


def statement() -> Column:
    """The statement's text. The statement that EXECUTE runs is in the detail, as it was prepared; parameters stay `$1`, their values are not kept."""
    planned = F.when(
        F.col("body").rlike(r"^plan:\s*\{"),
        F.from_json(F.expr("substr(body, 6)"), "struct<`Query Text`:string>")["Query Text"],
    ).otherwise(F.regexp_extract("body", _PLAN_TEXT, 1))
    after = F.expr("substr(body, instr(body, ': ') + 2)")
    prepared = F.when(F.col("detail").rlike(_PREPARED), F.regexp_replace("detail", _PREPARED, ""))
    return text(
        F.when(F.col("kind") == ERROR, F.col("query"))
        .when(F.col("kind") == PLAN, planned)
        .when(F.col("kind").isin(BEGINS, WHOLE), F.coalesce(prepared, after))
    )


def statement_mark() -> Column:
    """A digest that is equal for lines of one statement: its text as the client sent it, shortened."""
    after = F.expr("substr(body, instr(body, ': ') + 2)")
    said = F.when(F.col("kind").isin(BEGINS, WHOLE), after).otherwise(F.col("statement"))
    return F.when(F.col("kind") != ENDS, F.xxhash64(F.rtrim(F.trim(said), F.lit("; \n\t\r"))))


def tag() -> Column:
    """The command tag, where it is one of the statement: when a statement begins, the session still shows what it did before."""
    said = F.upper(text(F.col("command_tag")))
    return F.when(~said.isin(*_IDLE), said)


def search_path() -> Column:
    """Return the search path that the statement sets for the session; empty where it resets it; null where it does neither."""
    short = F.length("statement") < _LONGEST_SET
    said = F.when(F.col("statement").rlike(_SETS_PATH), F.regexp_extract("statement", _SETS_PATH, 1)).when(
        F.col("statement").rlike(_CALLS_PATH), F.regexp_extract("statement", _CALLS_PATH, 1)
    )

    def name(item: Column) -> Column:
        bare = F.trim(item)
        quoted = bare.rlike("""^(".*"|'.*')$""")
        inner = F.regexp_replace(bare, """^["']|["']$""", "")
        return F.when(inner == "$user", F.col("user_name")).when(quoted, inner).otherwise(F.lower(bare))

    parts = F.filter(F.transform(F.split(said, ","), name), lambda item: item.isNotNull() & (item != ""))
    empty = F.array().cast("array<string>")
    sets = F.when(F.lower(F.trim(said)) == "default", empty).otherwise(parts)
    return F.when(
        short & F.col("kind").isin(BEGINS, WHOLE),
        F.when(said.isNotNull(), sets).when(F.col("statement").rlike(_RESETS_PATH), empty),
    )
