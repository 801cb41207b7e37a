"""Convert the host's values to plain JSON values and facets at the time of the call.

A step's event has the values of that time, and loses only a value that cannot be written. Refuses values that are too large,
cannot be written, or are circular, with ValueError, TypeError or RecursionError, which the caller reports.
"""

import os
from collections.abc import Mapping
from typing import Any

import msgspec

from headwater.client import event

_CORE = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs"
LARGEST = 1 << 20  # bytes of JSON; a server takes bodies of 64 MB, and refuses whole events


def plain(value: object) -> Any:
    """Convert a value to JSON's: dataclasses, structs and mappings to objects, dates to text, numpy's numbers and arrays to numbers and
    lists, anything else to its `str()`. NaN becomes null.
    """
    encoded = msgspec.json.encode(value, enc_hook=_other)
    if len(encoded) > LARGEST:
        raise ValueError(f"{len(encoded)} bytes of JSON, more than {LARGEST}")
    return msgspec.json.decode(encoded)


def text(value: object) -> str:
    """Return a text that every encoder and PostgreSQL accept: without lone surrogates (as in file names) and null characters."""
    said = os.fsdecode(value) if isinstance(value, bytes | os.PathLike) else str(value)
    return said.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")


def word(value: object) -> str:
    """Return a name without surrounding blanks; empty for None."""
    return text(value).strip() if value is not None else ""


def namespace() -> str:
    """Return the namespace of jobs without one and without a parent."""
    return word(os.environ.get("HEADWATER_NAMESPACE")) or word(os.environ.get("OPENLINEAGE_NAMESPACE")) or "default"


def _other(value: object) -> object:
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {value}"
    for name in ("isoformat", "tolist"):  # dates that are not datetimes; numpy's and Arrow's numbers and arrays
        if callable(method := getattr(value, name, None)):
            return method()
    return text(value)


def facet(body: Mapping[str, Any], of: str) -> dict[str, Any]:
    """Return a facet of a `Run`, `Job` or `Dataset`, with `_producer` and `_schemaURL` if it lacks them. Raises TypeError unless it is a mapping."""
    made = plain(body)
    if not isinstance(made, dict):
        raise TypeError(f"a facet must be a mapping, not {type(body).__name__}")
    return {"_producer": event.PRODUCER, "_schemaURL": f"{_CORE}/{of}Facet", **made}


def dataset_facets(given: Mapping[str, Mapping[str, Any]] | None) -> dict[str, Any]:
    return {text(name): facet(body, "Dataset") for name, body in (given or {}).items()}
