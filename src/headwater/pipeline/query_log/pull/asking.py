"""The parts of asking that the sources share: statements out of `queries/`, client libraries, variables of the environment, rows as
JSON."""

import datetime as dt
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from importlib import import_module, resources
from typing import Any, Final, NamedTuple

from headwater.errors import InvalidQuestion, NotInstalled

_COMMENT: Final = re.compile(r"\s*--.*$")
_ONLY_WITH: Final = re.compile(r"-- with (?P<name>[a-z-]+)$")

LONGEST: Final = dt.timedelta(days=7)
"""No product here lets a statement run longer. Their tables are kept in the order of the start, so a bound on it saves them reading everything."""


class Statement(NamedTuple):
    """SQL, and the values bound to its parameters, in the form the driver takes them."""

    text: str
    parameters: Mapping[str, Any] | Sequence[Any]


@cache
def query(name: str, besides: frozenset[str] = frozenset()) -> str:
    """The text of `queries/NAME.sql` without comments. A line that ends in `-- with X` is there when X is asked for."""
    text = resources.files(__package__).joinpath("queries", f"{name}.sql").read_text(encoding="utf-8")
    kept = []
    for line in text.splitlines():
        only = _ONLY_WITH.search(line)
        if only and only["name"] not in besides:
            continue
        if said := _COMMENT.sub("", line):
            kept.append(said)
    return "\n".join(kept)


def client(module: str, extra: str) -> Any:
    """A vendor's client library, or NotInstalled with the command that brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise NotInstalled(
            f"pulling a query log from {extra} needs {error.name or module}: pip install 'headwater[{extra}]'",
            extra=extra,
            missing=[error.name or module],
        ) from None


def needed(environ: Mapping[str, str], *names: str) -> list[str]:
    """The values of variables that must be set. InvalidQuestion names those that are not."""
    if missing := [name for name in names if not environ.get(name)]:
        raise InvalidQuestion(
            f"the environment does not say where to pull from: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set",
            missing=missing,
        )
    return [environ[name] for name in names]


def client_parameters(environ: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """Parameters of a client, of those variables that are set: `names` has the variable of each."""
    return {parameter: environ[name] for parameter, name in names.items() if environ.get(name)}


def unpacked(row: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The row with JSON texts in these columns, by their names in any letter case, as the values they are. A text that is no JSON stays text."""
    wanted = {name.lower() for name in names}
    return {key: _value(said) if key.lower() in wanted else said for key, said in row.items()}


def _value(said: Any) -> Any:
    if not isinstance(said, str):
        return said
    try:
        return json.loads(said)
    except ValueError:
        return said


def line(record: dict[str, Any]) -> bytes:
    """A record as a line of JSON, without absent values. Times are UTC: those with a zone are converted, those without are UTC already."""
    kept = {key: value for key, value in record.items() if value is not None}
    return (
        json.dumps(kept, default=_plain, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
    )


def _plain(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return utc(value)
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Iterable):
        return list(value)
    return str(value)


def utc(value: dt.datetime) -> str:
    """`2026-01-31T23:59:59.123456Z`."""
    plain = value if value.tzinfo is None else value.astimezone(dt.UTC).replace(tzinfo=None)
    return f"{plain.isoformat()}Z"
