"""What a host gives, turned into plain JSON values and facets, at the moment it is said.

A step's event has the values of that time, and a value that cannot be written costs itself, not the whole event. Refuses values that
are too large, cannot be written, or go in a circle: with ValueError, TypeError or RecursionError, for the caller to say.
"""

import os
from collections.abc import Mapping
from typing import Any

import msgspec

from headwater.client import event

_CORE = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs"
LARGEST = 1 << 20  # bytes of JSON; a server takes bodies of 64 MB, and an event that is refused is refused whole


def plain(value: object) -> Any:
    """The value as JSON has it: dataclasses, structs and mappings are objects, dates are text, numpy's numbers and arrays are numbers and
    lists, anything else is its `str()`. NaN is null.
    """
    encoded = msgspec.json.encode(value, enc_hook=_other)
    if len(encoded) > LARGEST:
        raise ValueError(f"{len(encoded)} bytes of JSON, more than {LARGEST}")
    return msgspec.json.decode(encoded)


def text(value: object) -> str:
    """A text that every encoder and PostgreSQL take: no lone surrogates (as names of files may have), no null characters."""
    said = os.fsdecode(value) if isinstance(value, bytes | os.PathLike) else str(value)
    return said.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")


def word(value: object) -> str:
    """A name without what stands around it; empty for None."""
    return text(value).strip() if value is not None else ""


def namespace() -> str:
    """The namespace of jobs without one and without a parent."""
    return word(os.environ.get("HEADWATER_NAMESPACE")) or word(os.environ.get("OPENLINEAGE_NAMESPACE")) or "default"


def _other(value: object) -> object:
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {value}"
    for name in ("isoformat", "tolist"):  # dates that are no datetime; numpy's and Arrow's numbers and arrays
        if callable(method := getattr(value, name, None)):
            return method()
    return text(value)


def facet(body: Mapping[str, Any], of: str) -> dict[str, Any]:
    """A facet of a `Run`, `Job` or `Dataset`, with `_producer` and `_schemaURL` where it has none. Raises TypeError for what is no mapping."""
    made = plain(body)
    if not isinstance(made, dict):
        raise TypeError(f"a facet is a mapping, not {type(body).__name__}")
    return {"_producer": event.PRODUCER, "_schemaURL": f"{_CORE}/{of}Facet", **made}


def dataset_facets(given: Mapping[str, Mapping[str, Any]] | None) -> dict[str, Any]:
    return {text(name): facet(body, "Dataset") for name, body in (given or {}).items()}
