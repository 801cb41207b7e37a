"""The files of seeds: their columns, with the types that dbt gives them, and their rows. Source of the rules: dbt's documentation of seeds, agate."""

import csv
import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

_MOST_ROWS: Final = 100_000
_NULLS: Final = frozenset({"", "null"})
_TYPES: Final = (
    ("boolean", re.compile(r"true|false", re.IGNORECASE)),
    ("integer", re.compile(r"[-+]?\d+")),
    ("numeric", re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)),
    ("date", re.compile(r"\d{4}-\d{1,2}-\d{1,2}")),
    ("timestamp", re.compile(r"\d{4}-\d{1,2}-\d{1,2}[ T]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[-+]\d{2}:?\d{2})?")),
)


def given_types(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the types that a seed's configuration gives its columns."""
    given = config.get("column_types")
    return {str(name): str(kind) for name, kind in given.items()} if isinstance(given, dict) else {}


def read_types(path: Path, given: Mapping[str, str], delimiter: str = ",") -> tuple[str, ...]:
    """Return the types of a seed's columns, in their order: as `given` by its configuration, else by its first 100,000 rows.

    None where the file cannot be read. A column without a value is an integer, as dbt has it.
    """
    names, columns = _columns_of(path, delimiter)
    lower = {name.lower(): kind for name, kind in given.items()}
    return tuple(
        lower.get(name.lower()) or _type_of(columns[place] if place < len(columns) else ())
        for place, name in enumerate(names)
    )


def _type_of(values: Iterable[str]) -> str:
    given = [one.strip() for one in values if one.strip().lower() not in _NULLS]
    if not given:
        return "integer"
    return next((kind for kind, form in _TYPES if all(form.fullmatch(one) for one in given)), "text")


def digests_of_columns(path: Path, delimiter: str = ",") -> tuple[str, ...]:
    """Return the digest of each column's values, in the order of the rows; none for a file that cannot be read, or of more than 100,000 rows."""
    names, columns = _columns_of(path, delimiter)
    if len(names) != len(columns) or len(columns[0] if columns else ()) == _MOST_ROWS:
        return ()
    return tuple(hashlib.blake2b(repr(one).encode(), digest_size=16).hexdigest() for one in columns)


def digest_of_sorted_rows(path: Path, delimiter: str = ",") -> str:
    """Return the digest of a seed's rows without their order; "" for a file that cannot be read, or of more than 100,000 rows."""
    names, columns = _columns_of(path, delimiter)
    if len(names) != len(columns) or len(columns[0] if columns else ()) == _MOST_ROWS:
        return ""
    return hashlib.blake2b(repr(sorted(zip(*columns, strict=True))).encode(), digest_size=16).hexdigest()


def _columns_of(path: Path, delimiter: str) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the header of a seed, and the values of each column in its first 100,000 rows; none if the file cannot be read."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file, delimiter=delimiter)
            names = next(rows, [])
            return names, list(zip(*(row for _, row in zip(range(_MOST_ROWS), rows, strict=False)), strict=False))
    except (OSError, UnicodeDecodeError, csv.Error):
        return [], []


def digest_of(seed: Path) -> str:
    """Return the digest of a seed's rows; "" if the file cannot be read."""
    try:
        with seed.open("rb") as file:
            return hashlib.file_digest(file, "blake2b").hexdigest()[:32]
    except OSError:
        return ""
