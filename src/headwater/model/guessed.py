"""The part of a dataset's schema that its reader guessed. A schema never replaces one that was guessed less.

CSV, JSON and text carry no schema: a read of them has the columns that the program asked for. Which program read last is chance.
"""

import re
from collections.abc import Mapping

import msgspec

NOTHING, COLUMNS, NAMES = 0, 1, 2
_CARRY_NONE = frozenset({"csv", "json", "text", "xml", "binaryfile"})
_MADE_UP = re.compile(r"_c\d+")


class _Storage(msgspec.Struct, rename="camel"):
    file_format: str | None = None


class _Field(msgspec.Struct):
    name: str


class _Schema(msgspec.Struct):
    fields: list[_Field] | None = None


def schema_guess(facets: Mapping[str, bytes | msgspec.Raw]) -> int:
    """Return how much the reader of a dataset guessed of the schema that it reports with these facets: NOTHING, COLUMNS, or their NAMES too.

    NOTHING if the format carries a schema, or a catalog lists the columns (a symlink). Spark makes up `_c0`, `_c1` without a header, and
    `value` for a line of text.
    """
    if "schema" not in facets or "storage" not in facets or "symlinks" in facets:
        return NOTHING
    try:
        kind = (msgspec.json.decode(bytes(facets["storage"]), type=_Storage).file_format or "").lower()
        if kind not in _CARRY_NONE:
            return NOTHING
        fields = msgspec.json.decode(bytes(facets["schema"]), type=_Schema).fields or []
    except ValueError:
        return NOTHING
    made_up = bool(fields) and all(_MADE_UP.fullmatch(field.name) for field in fields)
    return NAMES if made_up or kind in {"text", "binaryfile"} else COLUMNS
