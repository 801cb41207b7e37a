"""The fingerprint of a DataFrame's rows, regardless of order and partitions, computed by the executors in one pass.

    rows_fingerprint(spark.read.parquet("readings"))        # xxh3-128-rows:…

It sums two 64-bit hashes of each row, which Spark's generated code computes; no row crosses the network. For the reasons and limits see
docs/explanation/fingerprints.md. Uses only the DataFrame API, so it also works on Spark Connect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headwater.client.fingerprint.parts import part
from headwater.client.fingerprint.result import ROWS, Fingerprint
from headwater.errors import InvalidQuestion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

# Two lanes of 64 bits. The seeds are fixed: another seed changes every fingerprint.
_SEEDS = (0x4865616477617465, 0x726F772D68617368)
# A lane is summed in three parts: sums of fewer than 2^41 rows do not overflow, which ANSI mode refuses.
_PARTS = (0, 22, 44)
_PART = (1 << 22) - 1
_FLAGS = 62  # in one long
_FORM = 1


def rows_fingerprint(df: DataFrame, columns: Sequence[str] | None = None) -> Fingerprint:
    """Return the fingerprint of all rows, or of some of their columns (top-level names, in this order). Runs one Spark job.

    `members` is the count of rows; `bytes` is None. Names, types and the order of columns are part of it; nullability is not. Raises
    InvalidQuestion for a stream, an unknown column, or a type whose values have no order of bytes to hash (VARIANT).
    """
    from pyspark.sql import functions as F  # noqa: N812

    if df.isStreaming:
        raise InvalidQuestion("a stream has no last row; fingerprint the DataFrame that foreachBatch passes")
    chosen = _chosen(df, columns)
    fields, hashes = chosen.schema.fields, row_hashes(chosen)
    # The highest part has the rest of the 64 bits.
    sums = [
        F.sum(F.shiftrightunsigned(f"h{lane}", shift).bitwiseAND(_PART)).alias(f"s{lane}_{shift}")
        for lane in range(len(_SEEDS))
        for shift in _PARTS
    ]
    row = hashes.agg(F.count(F.lit(1)).alias("n"), *sums).collect()[0]
    lanes = [
        sum((row[f"s{lane}_{shift}"] or 0) << shift for shift in _PARTS) % (1 << 64) for lane in range(len(_SEEDS))
    ]
    state = part("xxhash").xxh3_128()
    state.update(f"headwater rows {_FORM}\n{row['n']} {lanes[0]:016x} {lanes[1]:016x}\n".encode())
    for field in fields:
        name, kind = field.name.encode("utf-8", "surrogatepass"), field.dataType.simpleString().encode()
        state.update(b"%d %d " % (len(name), len(kind)) + name + kind)
    return Fingerprint(ROWS + state.hexdigest(), None, None, "rows", members=row["n"])


def row_hashes(df: DataFrame) -> DataFrame:
    """Return two columns, `h0` and `h1`: 64 bits each per row, from its values and their positions. Lazy; runs no job."""
    from pyspark.sql import functions as F  # noqa: N812

    # Names may repeat and contain dots; positions do not.
    numbered = df.toDF(*(f"c{position}" for position in range(len(df.columns))))
    values = [(F.col(f"c{position}"), field.dataType) for position, field in enumerate(df.schema.fields)]
    return numbered.select(*(_hash(values, seed).alias(f"h{lane}") for lane, seed in enumerate(_SEEDS)))


def _chosen(df: DataFrame, columns: Sequence[str] | None) -> DataFrame:
    if columns is None:
        return df
    if isinstance(columns, str):
        raise InvalidQuestion("columns must be a list of names")
    unknown = [name for name in columns if name not in df.columns]
    if unknown:
        raise InvalidQuestion(f"there is no column {', '.join(unknown)}", candidates=df.columns)
    return df.select(*(f"`{name.replace('`', '``')}`" for name in columns))


def _hash(columns: list[tuple[Column, Any]], seed: int) -> Column:
    """Return 64 bits of all these values; never null. Values that Spark's hash skips (nulls, ends of arrays) enter as flags and lengths."""
    from pyspark.sql import functions as F  # noqa: N812

    values: list[Column] = []
    nulls: list[Column] = []
    for column, kind in columns:
        _say(column, kind, seed, values, nulls)
    masks = []
    for first in range(0, len(nulls), _FLAGS):
        mask = F.lit(0).cast("bigint")
        for bit, null in enumerate(nulls[first : first + _FLAGS]):
            mask = mask.bitwiseOR(F.shiftleft(null.cast("bigint"), bit))
        masks.append(mask)
    return F.xxhash64(F.lit(seed).cast("bigint"), *values, *masks)


def _is_collated(kind: Any) -> bool:
    """Return whether strings of a type may be equal though they are spelt otherwise. Before Spark 4 there was no such type."""
    is_binary = getattr(kind, "isUTF8BinaryCollation", None)
    return is_binary is not None and not is_binary()


def _say(column: Column, kind: Any, seed: int, values: list[Column], nulls: list[Column]) -> None:
    """Add the hash inputs of one value: the value if it is not null, and a flag if it may be null."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql import types as T  # noqa: N812

    nulls.append(column.isNull())
    if isinstance(kind, T.NullType):
        return
    if isinstance(kind, T.StructType):
        for field in kind.fields:
            _say(column.getField(field.name), field.dataType, seed, values, nulls)
    elif isinstance(kind, T.ArrayType):
        values.append(F.array_size(column))
        values.append(F.transform(column, lambda item: _hash([(item, kind.elementType)], seed)))
    elif isinstance(kind, T.MapType):
        # A map has no order: the hashes of its entries are combined.
        entries = F.transform(
            F.map_entries(column),
            lambda entry: _hash(
                [(entry.getField("key"), kind.keyType), (entry.getField("value"), kind.valueType)], seed
            ),
        )
        values.append(F.array_size(entries))
        values.append(F.array_sort(entries))
    elif isinstance(kind, T.StringType) and _is_collated(kind):
        values.append(column.cast("binary"))  # as spelled, not as compared
    elif type(kind).__name__ in {"VariantType", "GeometryType", "GeographyType"}:
        raise InvalidQuestion(
            f"values of type {kind.simpleString()} cannot be fingerprinted: cast the column or leave it out"
        )
    else:
        values.append(column)
