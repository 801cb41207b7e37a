"""The result of a reader: executions in the common schema, and unusable rows with the reason.

Both come from one DataFrame, `together`, so a caller that keeps both reads the input once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  (its usual name)
from pyspark.sql.types import ArrayType, DecimalType, StructField

from headwater.errors import InvalidQuestion
from headwater.pipeline.query_log.schema import LANDED_ROWS, QUARANTINE
from headwater.pipeline.query_log.sources.fields import settled

SAMPLE: Final = 2_000
PROBLEM: Final = "problem"
FLAW: Final = "flaw"
CUT_OFF: Final = " <cut off by the warehouse>"
"""Put behind a statement of which a warehouse kept only the beginning: it cannot be parsed, so the statement is not taken for a whole one."""
STANDS_IN: Final = ("READS ", "WRITES ")
"""A text of the names of tables begins with one of these: see `_statement`."""
_PROBLEM_TYPE: Final = "struct<code:string,reason:string,sample:string,digest:string>"

BAD_ROW: Final = "bad_row"
NO_TIME: Final = "no_time"
NO_IDENTITY: Final = "no_identity"
UNFINISHED: Final = "unfinished"
NO_HISTORY: Final = "no_history"
OTHER_LANGUAGE: Final = "other_language"
SKIPPED: Final = "skipped"
"""A record that is of its format and tells of no execution: it is counted, and not kept."""


@dataclass(frozen=True, slots=True)
class Case:
    """A row of which `when` holds cannot be used. `reason` is text or an expression."""

    when: Column
    code: str
    reason: str | Column


@dataclass(frozen=True, slots=True)
class Rows:
    """`together`: the columns of LANDED_ROWS; `problem` (code, reason, sample, digest), which is null for a row that can be used; `flaw`, the same of
    one that is used though its log says less of it than of others."""

    together: DataFrame

    @property
    def rows(self) -> DataFrame:
        """One row an execution, with exactly the columns of LANDED_ROWS."""
        return self.together.where(F.col(PROBLEM).isNull()).drop(PROBLEM, FLAW)

    @property
    def bad(self) -> DataFrame:
        """Return the rows that could not be used, or not whole, with the columns of QUARANTINE; `at` is the time of the run."""
        return select_bad(self.together)

    def and_(self, other: "Rows") -> "Rows":
        return Rows(self.together.unionByName(other.together))


def select_bad(together: DataFrame) -> DataFrame:
    """Return the rows with a problem or a flaw, but for SKIPPED, with the columns of QUARANTINE; `at` is the time of the run."""
    found = together.withColumn("_wrong", F.coalesce(PROBLEM, FLAW)).where(F.col("_wrong.code") != SKIPPED)
    told = {
        "source": F.col("source"),
        "file": F.col("file"),
        **{name: F.col(f"_wrong.{name}") for name in ("code", "reason", "sample", "digest")},
        "at": F.current_timestamp(),
    }
    return found.select(
        *(told[field.name].cast(field.dataType.simpleString()).alias(field.name) for field in QUARANTINE.schema)
    )


def named(namespace: str | None, source: str, example: str) -> str:
    """The namespace, where the log cannot say it. InvalidQuestion when it was not given."""
    if not namespace:
        raise InvalidQuestion(
            f"a query log of {source} does not say which server it is of: give the namespace, such as {example}",
            parameter="namespace",
        )
    return namespace


def landed(
    frame: DataFrame,
    source: str,
    dialect: str,
    namespace: Column | str,
    columns: Mapping[str, Column],
    cases: Sequence[Case] = (),
    *,
    plain: bool = False,
    cut: Column | None = None,
    flaws: Sequence[Case] = (),
) -> Rows:
    """`frame` (which has `file` and `record`) in the common schema; a column that is not given is null.

    The first of `cases` that holds decides, after them an absent identity and an absent time. `source`, `dialect` and `namespace` are the same for
    all rows. `plain`: the frame's columns are cheap, and may be worked out wherever they are looked at. `cut`: the warehouse kept only the beginning
    of the statement. `flaws`: rows that are used, and counted.
    """
    every = [
        *cases,
        Case(columns["query_id"].isNull() | (columns["query_id"] == ""), NO_IDENTITY, "it has no query id"),
        Case(columns["started_at"].isNull(), NO_TIME, "it has no time of start, or one that cannot be read"),
    ]
    space = F.lit(namespace) if isinstance(namespace, str) else namespace
    columns = {**columns, "statement": _statement(columns, dialect, cut)}
    given = {**columns, "source": F.lit(source), "dialect": F.lit(dialect), "namespace": space, "file": F.col("file")}
    unknown = set(given) - set(LANDED_ROWS.fieldNames())
    if unknown:
        raise TypeError(f"no columns of the common schema: {sorted(unknown)}")
    told = [_typed(given.get(field.name), field).alias(field.name) for field in LANDED_ROWS.fields]
    made = frame.select(*told, problem(every).alias(PROBLEM), problem(flaws).alias(FLAW))
    return Rows(made if plain else settled(made))


def _statement(columns: Mapping[str, Column], dialect: str, cut: Column | None) -> Column:
    """The text of a statement. One whose text the log does not have, and whose tables the source names, gets a text of these names: such texts are
    of one shape if their tables are the same, and no reader of a table is lost. It cannot be parsed, so that the source's names stand."""
    said = columns.get("statement", F.lit(None).cast("string"))
    if cut is not None:
        said = F.when(cut, F.concat(said, F.lit(CUT_OFF))).otherwise(said)
    quote = "`" if dialect in {"bigquery", "databricks"} else '"'
    parts = [
        F.when(
            F.size(columns[name]) > 0,
            F.concat(F.lit(f"{verb}{quote}"), F.array_join(columns[name], f"{quote}, {quote}"), F.lit(quote)),
        )
        for name, verb in zip(("told_reads", "told_writes"), STANDS_IN, strict=True)
        if name in columns
    ]
    return F.coalesce(said, F.nullif(F.concat_ws(" ", *parts), F.lit(""))) if parts else said


def _typed(column: Column | None, field: StructField) -> Column:
    if column is None:
        return F.expr(f"cast(null as {field.dataType.simpleString()})")
    if isinstance(field.dataType, ArrayType):
        return F.array_compact(column)
    if isinstance(field.dataType, DecimalType):
        return column.try_cast(field.dataType)
    return column.cast(field.dataType.simpleString())


def problem(cases: Sequence[Case]) -> Column:
    """The struct that says what is wrong with a row of `record`; null when nothing is. Costs nothing for a row that is right."""
    record = F.coalesce(F.col("record"), F.lit(""))
    found: Column | None = None
    for case in cases:
        reason = F.lit(case.reason) if isinstance(case.reason, str) else case.reason
        what = F.struct(
            F.lit(case.code).alias("code"),
            reason.alias("reason"),
            F.substring(record, 1, SAMPLE).alias("sample"),
            F.sha2(F.concat_ws("\n", F.col("file"), record), 256).alias("digest"),
        )
        found = F.when(case.when, what) if found is None else found.when(case.when, what)
    return (F.lit(None) if found is None else found).cast(_PROBLEM_TYPE)
