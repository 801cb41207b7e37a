"""Rows of a source to landed rows: with their day, the key of their text and its comments, and no text that could stop what comes after.

A statement over the limit, or one that is no text, costs its execution nothing: the row stays and is counted, and what was wrong with its statement
is in quarantine. A row that says it started later than a day from now is not believed: one such time would be the newest of the log, and all that
is measured back from there would look stale.
"""

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import BooleanType, StringType, StructField, StructType

from headwater.pipeline.query_log.schema import LANDED
from headwater.pipeline.query_log.sources.rows import (
    BAD_ROW,
    FLAW,
    NO_HISTORY,
    NO_IDENTITY,
    NO_TIME,
    OTHER_LANGUAGE,
    PROBLEM,
    SKIPPED,
    STANDS_IN,
    UNFINISHED,
    Rows,
    select_bad,
)
from headwater.pipeline.query_log.text_key import keys
from headwater.pipeline.query_log.touches import moment
from headwater.pipeline.query_log.who import MARKS
from headwater.pipeline.query_log.who.comments import find_comments as comments_of

if TYPE_CHECKING:
    import pyarrow as pa

LONGEST: Final = 1 << 20
"""Bytes of a statement's text."""
TOO_LARGE: Final = "too_large"
UNREADABLE_TEXT: Final = "unreadable_text"
FUTURE: Final = "future"
CODES: Final = (
    SKIPPED,
    BAD_ROW,
    NO_IDENTITY,
    NO_TIME,
    UNFINISHED,
    NO_HISTORY,
    OTHER_LANGUAGE,
    FUTURE,
    TOO_LARGE,
    UNREADABLE_TEXT,
)
"""Every reason for which a record is no execution, or one without its text or its history."""
AHEAD: Final = dt.timedelta(days=1)
"""The furthest that a clock may be ahead: a time without its zone is hours off, and no more."""
_SAMPLE: Final = 2_000
_WANTED: Final = "wanted"
_TOLD: Final = StructType(
    [
        StructField("text_key", StringType()),
        StructField("comments", StringType()),
        StructField("first", BooleanType(), False),
    ]
)


@dataclass(frozen=True, slots=True)
class Landed:
    """`together`: the columns of LANDED; `problem` (code, reason, sample, digest) of a row that cannot be used, as its source found; `flaw`, the same
    of one that is used without what was wrong with it."""

    together: DataFrame

    @property
    def rows(self) -> DataFrame:
        """One row an execution, with exactly the columns of LANDED."""
        return LANDED.ordered(self.together.where(_WANTED))

    @property
    def bad(self) -> DataFrame:
        """Return the rows that could not be used, or not whole, with the columns of QUARANTINE; `at` is the time of the run."""
        return select_bad(self.together)


def land(rows: Rows, longest: int = LONGEST, now: dt.datetime | None = None, within: Column | None = None) -> Landed:
    """`rows.together` has the columns of LANDED_ROWS, `problem` and `flaw`. A text of more than `longest` bytes becomes null; bytes that are no UTF-8
    and characters of code 0 become U+FFFD. A statement of blanks has no key. A start more than AHEAD after `now` (by default the time of the run)
    is a problem. `within`: of the rows without a problem those that are wanted.

    Where a task met the text's key before, `statement` is null too: what there is to know of a key any of its texts says."""
    text = F.col("statement")
    spoiled = ~F.is_valid_utf8(text) | text.contains("\0")
    repaired = F.replace(F.make_valid_utf8(text), F.lit("\0"), F.lit("\ufffd"))
    large = F.octet_length(text) > longest
    length = F.octet_length(text).cast("string")
    flaw = F.when(
        large, _flaw(TOO_LARGE, F.concat(F.lit("its text has "), length, F.lit(f" bytes, over {longest}")), repaired)
    ).when(
        spoiled,
        _flaw(UNREADABLE_TEXT, F.lit("its text has bytes that are no UTF-8, or characters of code 0"), repaired),
    )
    bounded = F.when(large, F.lit(None).cast("string")).when(spoiled, repaired).otherwise(text)
    known = rows.together.withColumn(PROBLEM, F.coalesce(PROBLEM, F.when(*_from_the_future(repaired, now))))
    found = (
        known.withColumn(FLAW, F.coalesce(flaw, FLAW))
        .withColumn("statement", bounded)
        .withColumn("day", F.to_date("started_at"))
    )
    wanted = F.col(PROBLEM).isNull()
    if within is not None:
        wanted &= within
        found = found.where(F.col(PROBLEM).isNotNull() | F.col(FLAW).isNotNull() | within)
    return Landed(_read(found.withColumn(_WANTED, wanted)))


def _read(rows: DataFrame) -> DataFrame:
    """Add the columns read from the texts: `text_key`, `comments`; and `statement` only where a task meets its key for the first time."""
    import pyarrow as pa

    def extract_texts(batches: Iterator[tuple[pa.Array, pa.Array, pa.Array]]) -> Iterator[pa.Array]:
        yield from _text_columns(batches)

    told = F.arrow_udf(extract_texts, _TOLD)(F.col("statement"), F.col("dialect"), F.col(_WANTED))
    # The text of a query is the greatest that any row has of it: one that stands for a text gives way to the text.
    stands_in = reduce(Column.__or__, (F.col("statement").startswith(begin) for begin in STANDS_IN))
    key = F.col("_told.text_key")
    text_key = F.when(stands_in, F.concat(F.lit("-"), key)).otherwise(key)
    named = {"text_key": text_key, "comments": F.col("_told.comments")}
    first = F.when(F.col("_told.first"), F.col("statement"))
    return rows.withColumn("_told", told).withColumns({**named, "statement": first}).drop("_told")


def _text_columns(batches: "Iterable[tuple[pa.Array, pa.Array, pa.Array]]") -> "Iterator[pa.Array]":
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    met: set[str] = set()
    for texts, dialects, wanted in batches:
        given = pc.if_else(wanted, texts, None)
        text_keys = keys(given, dialects)
        found = text_keys.dictionary_encode()
        first = np.zeros(len(text_keys), dtype=bool)
        rows = np.flatnonzero(text_keys.is_valid().to_numpy(zero_copy_only=False))
        _, places = np.unique(found.indices.drop_null().to_numpy(), return_index=True)
        for key, row in zip(found.dictionary.to_pylist(), rows[places].tolist(), strict=True):
            first[row] = key not in met
            met.add(key)
        yield pa.StructArray.from_arrays([text_keys, comments_of(given, MARKS), pa.array(first)], names=_TOLD.names)


def _flaw(code: str, reason: Column, repaired: Column) -> Column:
    return F.struct(
        F.lit(code).alias("code"),
        reason.alias("reason"),
        F.substring(repaired, 1, _SAMPLE).alias("sample"),
        F.sha2(F.col("statement"), 256).alias("digest"),
    )


def _from_the_future(repaired: Column, now: dt.datetime | None) -> tuple[Column, Column]:
    """Return whether a row started after any possible start, and the problem to report if so."""
    started = F.col("started_at")
    latest = F.current_timestamp() + F.lit(AHEAD) if now is None else moment(now + AHEAD)
    told = started.cast("string")
    return started > latest, F.struct(
        F.lit(FUTURE).alias("code"),
        F.concat(F.lit("it says that it started at "), told, F.lit(" UTC, which is more than a day ahead")).alias(
            "reason"
        ),
        F.substring(repaired, 1, _SAMPLE).alias("sample"),
        F.sha2(F.concat_ws("\0", "source", "namespace", "query_id", told), 256).alias("digest"),
    )
