"""The fields to look for in a file, and their conversion to values: text, times, numbers, nested values.

Every conversion is one that gives null where the value cannot be read: Spark's own casts would end the whole batch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  (its usual name)
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

TEXT: Final = StringType()
TIME: Final = TimestampType()
WHOLE: Final = LongType()
REAL: Final = DoubleType()
TRUTH: Final = BooleanType()
MILLIS: Final = DecimalType(25, 6)

PAIRS: Final = "array<struct<key:string,value:string>>"
OBJECT: Final = "map<string,string>"


@dataclass(frozen=True, slots=True)
class Field:
    """A column by the name the product gives it, in any letter case. `type` of nested values has text at its leaves."""

    name: str
    type: DataType
    aliases: tuple[str, ...] = ()

    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)

    def spellings(self) -> tuple[str, ...]:
        """The name as JSON may have it: keys there are compared letter by letter."""
        seen: dict[str, None] = {}
        for name in self.names():
            for spelt in (name, name.lower(), name.upper()):
                seen.setdefault(spelt)
        return tuple(seen)


@dataclass(frozen=True, slots=True)
class Export:
    """One export that is understood. `needs`: a file without these columns is not it."""

    name: str
    needs: tuple[str, ...]


def nested(ddl: str) -> DataType:
    """A type of texts from its text, such as `array<struct<key:string,value:string>>`: Spark's own reader of such needs a session."""
    made, rest = _type(ddl)
    if rest:
        raise ValueError(f"{rest!r} is left over in {ddl!r}")
    return made


def _type(ddl: str) -> tuple[DataType, str]:
    """The type the text begins with, and the text behind it."""
    word, rest = ddl, ""
    for at, letter in enumerate(ddl):
        if letter in "<>,":
            word, rest = ddl[:at], ddl[at:]
            break
    if word == "string":
        return StringType(), rest
    inside = rest[1:]
    if word == "array":
        element, inside = _type(inside)
        return ArrayType(element), inside[1:]
    if word == "map":
        key, inside = _type(inside)
        held, inside = _type(inside[1:])
        return MapType(key, held), inside[1:]
    if word != "struct":
        raise ValueError(f"{word!r} is no type of texts")
    kept = StructType()
    while True:
        name, inside = inside.split(":", 1)
        part, inside = _type(inside)
        kept = kept.add(name, part)
        end, inside = inside[0], inside[1:]
        if end == ">":
            return kept, inside


def settled(frame: DataFrame) -> DataFrame:
    """The same rows and columns, worked out once.

    Spark moves a filter below the columns it speaks of and works them out anew there, for each time the filter names them. With JSON to be parsed
    below, and conditions upon conditions above, a plan grows without bound and parses every record many times. Nothing moves past a generator.
    """
    names = ", ".join(f"`{name}`" for name in frame.columns)
    return frame.select(F.expr(f"inline(array(struct({names})))"))


def text(column: Column) -> Column:
    """Trimmed text; null when nothing is left."""
    return F.nullif(F.trim(column), F.lit(""))


def value(column: Column, actual: DataType, wanted: DataType) -> Column:  # noqa: PLR0911  (one line for each kind of value)
    """The column as the wanted type, from any type in the file; null where it cannot be read. Times are read by `time`."""
    if isinstance(wanted, StringType):
        return _as_text(column, actual)
    if isinstance(actual, StringType) and isinstance(wanted, StructType | ArrayType | MapType):
        return F.from_json(column, wanted)
    if isinstance(wanted, StructType) and isinstance(actual, StructType):
        return _struct(column, actual, wanted)
    if isinstance(wanted, ArrayType) and isinstance(actual, ArrayType):
        return F.transform(column, lambda item: value(item, actual.elementType, wanted.elementType))
    if isinstance(wanted, MapType):
        return _as_map(column, actual, wanted)
    if isinstance(wanted, LongType):
        exact = column.try_cast("decimal(38,9)").try_cast("bigint")
        return F.coalesce(column.try_cast("bigint"), exact, column.try_cast("double").try_cast("bigint"))
    if isinstance(wanted, DoubleType | BooleanType | DecimalType):
        return column.try_cast(wanted)
    return F.lit(None).cast(wanted)


def _as_text(column: Column, actual: DataType) -> Column:
    if isinstance(actual, StringType):
        return F.make_valid_utf8(column)
    if isinstance(actual, BinaryType):
        return F.make_valid_utf8(column.cast("string"))
    if isinstance(actual, StructType | ArrayType | MapType):
        return F.to_json(column)
    return column.cast("string")


def time(column: str, actual: DataType) -> Column:
    """A column, by its name or an expression in SQL, as a time; null where it cannot be read."""
    if isinstance(actual, TimestampType | TimestampNTZType | DateType):
        return F.expr(f"cast({column} as timestamp)")
    if isinstance(actual, IntegralType | DecimalType | DoubleType | FloatType):
        return F.expr(_since_epoch(column))
    return moment(column)


def _as_map(column: Column, actual: DataType, wanted: MapType) -> Column:
    if isinstance(actual, MapType):
        return column.cast(wanted)
    if isinstance(actual, StructType):
        return F.from_json(F.to_json(column), wanted)
    if isinstance(actual, ArrayType) and isinstance(actual.elementType, StructType):
        return pairs(value(column, actual, nested(PAIRS)))
    return F.lit(None).cast(wanted)


def _struct(column: Column, actual: StructType, wanted: StructType) -> Column:
    there = {field.name.lower(): field for field in actual.fields}
    parts = []
    for field in wanted.fields:
        found = there.get(field.name.lower())
        part = F.lit(None).cast(field.dataType)
        if found is not None:
            part = value(column.getField(found.name), found.dataType, field.dataType)
        parts.append(part.alias(field.name))
    return F.when(column.isNotNull(), F.struct(*parts))


def pairs(column: Column) -> Column:
    """An array of (key, value) as a map: the first of a key counts, and one without key does not."""
    return unique(column, lambda pair: pair["key"], lambda pair: pair["value"])


def unique(column: Column, key: Callable[[Column], Column], said: Callable[[Column], Column]) -> Column:
    """An array as a map. Doubled and absent keys, which would end the batch, are left out; null when nothing remains."""
    keys = F.transform(column, key)
    kept = F.filter(
        column,
        lambda item, at: key(item).isNotNull() & (F.array_position(keys, key(item)) == at + 1),
    )
    made = F.map_from_arrays(F.transform(kept, key), F.transform(kept, said))
    return F.when(F.size(made) > 0, made)


def labelled(**told: Column) -> Column:
    """A map of those that are not null; null when none is."""
    entries = F.array(*(F.struct(F.lit(name).alias("key"), column.alias("value")) for name, column in told.items()))
    made = F.map_from_entries(F.filter(entries, lambda entry: entry["value"].isNotNull()))
    return F.when(F.size(made) > 0, made)


# A time without a date would be today's, and a bare number a year: both are no times of a log.
_DATED: Final = r"^\d{4}-\d\d?-\d\d?"
_COUNTED: Final = r"^[0-9]{9,}(\.[0-9]*)?$|^[0-9]\.[0-9]+[eE]\+?[0-9]+$"


def moment(column: str) -> Column:
    """A time from text: `2026-01-31T23:59:59.123456Z`, with a blank for the T, with `+01`, `-0800`, ` UTC`, ` Europe/Berlin` or nothing (UTC),

    or what passed since 1970 in seconds, milliseconds, microseconds or nanoseconds (told apart by size), also as `1.7672256E9`. Else null.
    `column` is a name, or an expression in SQL: whole conditions are built far sooner from text than call by call.
    """
    said = f"trim({column})"
    return F.expr(
        f"case when {said} rlike r'{_DATED}' then try_cast({said} as timestamp) when {said} rlike r'{_COUNTED}' then {_since_epoch(said)} end"
    )


def _since_epoch(column: str) -> str:
    """SQL for a time from a count of seconds, milliseconds, microseconds or nanoseconds; which, its size says (1973 to 5138 in each)."""
    count = f"try_cast({column} as decimal(38,9))"
    sizes = ((f"{count} < 1e11BD", "* 1000000"), (f"{count} < 1e14BD", "* 1000"), (f"{count} < 1e17BD", "* 1"))
    cases = " ".join(f"when {size} then {count} {factor}" for size, factor in sizes)
    return f"timestamp_micros(try_cast(case {cases} else {count} / 1000 end as bigint))"


def milliseconds(start: Column, end: Column) -> Column:
    """Return the milliseconds between two times; null when one is absent or they are the wrong way round."""
    passed = F.unix_micros(end) - F.unix_micros(start)
    return F.when(passed >= 0, from_micros(passed))


def from_micros(count: Column) -> Column:
    """Microseconds as milliseconds, without rounding."""
    return (count.try_cast("decimal(18,0)") * F.lit(Decimal("0.001"))).try_cast(MILLIS)


def total(*columns: Column) -> Column:
    """The sum of those that are known; null when none is."""
    known = [F.coalesce(column, F.lit(0)) for column in columns]
    whole = known[0]
    for further in known[1:]:
        whole = whole + further
    return F.when(F.coalesce(*columns).isNotNull(), whole)


def dotted(*parts: Column) -> Column:
    """A name of the parts that are there; null when the last is absent."""
    return F.when(parts[-1].isNotNull(), F.concat_ws(".", *parts))


def names(column: Column) -> Column:
    """An array of names without nulls, in order and each once; null stays null."""
    return F.sort_array(F.array_distinct(F.filter(column, lambda name: name.isNotNull() & (name != ""))))
