"""Types of columns in the words of many products: their families, and which holds every value of another. Pure."""

from typing import Final

_CLASSES: Final = {
    **dict.fromkeys(("int", "integer", "bigint", "smallint", "tinyint", "int2", "int4", "int8", "int64", "long", "short", "serial"), "whole"),
    **dict.fromkeys(("numeric", "decimal", "number", "float", "float4", "float8", "float64", "double", "real", "bignumeric"), "real"),
    **dict.fromkeys(("text", "varchar", "char", "character", "string", "nvarchar", "bpchar", "clob", "name"), "text"),
    **dict.fromkeys(("date", "timestamp", "timestamptz", "datetime", "time", "timestamp_ntz", "timestamp_ltz", "timestamp_tz"), "time"),
}  # fmt: skip
_WIDER: Final = (
    ("tinyint", "smallint", "short", "int2", "int", "integer", "int4", "bigint", "int8", "int64", "long"),
    ("real", "float4", "float", "double", "float8", "float64"),
    ("char", "character", "bpchar", "varchar", "nvarchar", "text", "string"),
    ("date", "timestamp", "datetime"),
)  # fmt: skip
_NAMES: Final = {
    **dict.fromkeys(("short", "int2"), "smallint"),
    **dict.fromkeys(("integer", "int4"), "int"),
    **dict.fromkeys(("int8", "int64", "long"), "bigint"),
    **dict.fromkeys(("float8", "float64"), "double"),
    "float4": "real", "decimal": "numeric",
}  # fmt: skip
"""Other names of one type."""


def is_wider(old: str, new: str) -> bool:
    """Return whether every value of the old type is one of the new type, as it is."""
    before, after = (text.lower().split("(")[0].strip() for text in (old, new))
    before, after = (text.removesuffix(" varying").removesuffix(" precision") for text in (before, after))
    before, after = _NAMES.get(before, before), _NAMES.get(after, after)
    if before == after:
        sizes = [
            [int(part) for part in text.partition("(")[2].rstrip(") ").split(",") if part.strip().isdigit()]
            for text in (old, new)
        ]
        return not sizes[1] or (bool(sizes[0]) and all(a <= b for a, b in zip(*sizes, strict=False)))
    return any(
        before in ladder and after in ladder and ladder.index(before) <= ladder.index(after) for ladder in _WIDER
    )


def class_of(kind: str) -> str:
    """The family of a type: whole, real, text, time, or the type's own name."""
    name = kind.lower().split("(")[0].strip().removesuffix(" varying").removesuffix(" precision").split(" ")[0]
    return _CLASSES.get(name, name)
