"""Texts that were not met before, one of each key, to the shape each belongs to.

A shape is a fingerprint and, where values or the spelling of names decide about lineage, that lineage too: of two texts in one shape what is known of
one holds for the other. The text is read without its values (`text_key`), so a shape does not depend on which text came first.
"""

import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StringType, StructField, StructType

from headwater.columns.dialect import rules
from headwater.columns.shape.fingerprint import shape as shape_of
from headwater.columns.shape.key import cut, digest, key, plan
from headwater.columns.shape.lexis import lexis
from headwater.columns.shape.mattering import Matter
from headwater.pipeline.one_task import spread
from headwater.pipeline.query_log.reading import SECONDS, SLICES, Late, deadline, understood
from headwater.pipeline.query_log.schema import TEXTS
from headwater.pipeline.query_log.text_key import FIRST_WORD, canonicals, writes

if TYPE_CHECKING:
    import pyarrow as pa

FOUND: Final = StructType(
    [
        *TEXTS.schema.fields,
        StructField("normalised", StringType()),
        StructField("text", StringType()),
        StructField("kind", StringType()),
    ]
)
"""The columns that `identified` returns: TEXTS, and of each the shape's masked text and the text without its values."""

_SHOWN: Final = 2_000
_AFTER_WITH: Final = re.compile(r"\)\s*(select|insert|update|delete|merge)\b", re.IGNORECASE)
_CREATED: Final = re.compile(
    r"[\s(;]*(?:create|alter|drop)\s(?:[\w\s]{0,80}?\s)?(table|view|schema|database|function|procedure|index|stage|sequence)\b",
    re.IGNORECASE,
)
_BUILT: Final = frozenset({"CREATE", "ALTER", "DROP"})


def unmet(landed: DataFrame, texts: DataFrame) -> DataFrame:
    """One text of each key that `texts` (TEXTS) does not have: text_key, dialect, statement."""
    met = landed.where(F.col("text_key").isNotNull() & F.col("statement").isNotNull())
    new = met.select("text_key", "dialect", "statement").join(texts, ["text_key", "dialect"], "left_anti")
    return new.dropDuplicates(["text_key", "dialect"])


def identified(unmet: DataFrame, seconds: float = SECONDS, slices: int = SLICES) -> DataFrame:
    """FOUND of each text of `unmet`. `seconds`: how long one text may take."""

    def identify_batches(batches: Iterator["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        import pyarrow
        from pyspark.sql.pandas.types import to_arrow_schema

        made = to_arrow_schema(FOUND)
        for batch in batches:
            shown = canonicals(batch["statement"], batch["dialect"]).to_pylist()
            rows = [
                {"text_key": key, "dialect": dialect, **identity(text, dialect, seconds)}
                for key, dialect, text in zip(
                    batch["text_key"].to_pylist(), batch["dialect"].to_pylist(), shown, strict=True
                )
            ]
            yield pyarrow.RecordBatch.from_pylist(rows, schema=made)

    given = spread(unmet, slices, "text_key").select("text_key", "dialect", "statement")
    return given.mapInArrow(identify_batches, FOUND)


def identity(text: str, dialect: str, seconds: float = SECONDS) -> dict[str, str]:
    """`shape_id` (32 hex digits), `normalised`, `text` and `kind` of a text without its values.

    Raises nothing: a text that cannot be looked at, or not in time, is a shape of its own.
    """
    text = text.strip(" \t\r\n;")
    parser = _parser(dialect)
    try:
        with deadline(seconds):
            telling, normalised = _telling(text, parser)
    except (Late, Exception):  # noqa: BLE001 - the error is reported when the text is read
        telling, normalised = [parser, "\0", text], text[:_SHOWN]
    shape_id = blake2b("\0".join(telling).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return {"shape_id": shape_id, "normalised": normalised, "text": text, "kind": kind_of(text)}


def _telling(text: str, parser: str) -> tuple[list[str], str]:
    """Return the parts that identify the shape of a text, and its normalised text."""
    spelled = shape_of(text, parser)
    telling = [parser, spelled.fingerprint]
    rule = rules(parser)
    if rule.fold == "same" and (rule.tables_sensitive or not rule.insensitive):
        telling.append(spelled.normalised)
    if matters(text, parser):
        telling.append(_lineage(text, parser))
    return telling, spelled.normalised


def _parser(dialect: str) -> str:
    try:
        return rules(dialect).parser
    except ValueError:  # an unknown one: plain SQL reads most of it
        return ""


def matters(text: str, parser: str) -> bool:
    """Return whether texts of this fingerprint may differ in lineage. In a query values decide about names of columns only, which are
    not published."""
    known = lexis(parser)
    found = cut(text, known, parser)
    if found is None or (known.rules.at and "@" in text and parser == "tsql"):
        return True
    planned = plan(found.shape, digest(found.shape, parser), parser)
    if planned.how is Matter.ALL:
        return True
    return writes(text) and key(planned, found.literals, text) != planned.folded


def _lineage(text: str, parser: str) -> str:
    """A digest of what is read and written, with no schemas known."""
    found = understood(text, parser)
    told = repr((found.reads, found.writes, found.outputs, found.unresolved, found.temporary))
    return blake2b(told.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def kind_of(text: str) -> str:
    """Return the kind of a text, by its words: SELECT, INSERT, CREATE TABLE, …"""
    first = FIRST_WORD.match(text)
    word = first[1].upper() if first else "UNKNOWN"
    if word == "WITH":
        found: Iterable[str] = _AFTER_WITH.findall(text)
        return next((one.upper() for one in found), "SELECT")
    if word in _BUILT and (made := _CREATED.match(text)):
        return f"{word} {made[1].upper()}"
    return word
