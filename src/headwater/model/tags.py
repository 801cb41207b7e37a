"""Tag schemas: typed values, and whether a value fits. Pure.

A schema applies to the tags that people set. Tags from events are shown as received.
"""

import datetime as dt
import math
import re
from typing import Literal

import msgspec

from headwater.errors import InvalidChange

Value = str | int | float | bool | None
Place = Literal["dataset", "job", "column"]
_LONGEST = 200
TEAM = "team"
"""The tag that names the team of a dataset, a job or an entity."""
PRODUCT = "product"
"""The tag that names the data product of a dataset, a job or an entity."""
_VARIABLE = re.compile(r"[*+?]|\{\d*,\d*\}")


class TagSchema(msgspec.Struct, frozen=True, omit_defaults=False):
    """`type`: `none` (no value), `string`, `number`, `boolean`, `date` (ISO 8601), `enum` (one of `values`), `pattern` (a text that fully matches
    `pattern`)."""

    type: Literal["none", "string", "number", "boolean", "enum", "date", "pattern"] = "none"
    description: str | None = None
    values: tuple[str, ...] = ()
    pattern: str | None = None
    applies_to: tuple[Place, ...] = ("dataset", "job", "column")

    def __post_init__(self) -> None:
        if (self.type == "enum") != bool(self.values):
            raise InvalidChange("the type enum needs at least one value, and no other type may have values")
        if len({key_of(value) for value in self.values}) < len(self.values) or not all(v.strip() for v in self.values):
            raise InvalidChange("the values of an enum must differ in more than case, and none may be blank")
        if (self.type == "pattern") != (self.pattern is not None):
            raise InvalidChange("the type pattern needs a pattern, and no other type may have one")
        if not self.applies_to:
            raise InvalidChange("applies_to must name at least one of dataset, job, column")
        if self.pattern is not None:
            _check_pattern(self.pattern)


def key_of(name: str) -> str:
    """The key of a tag's name, equal for all spellings of the tag."""
    return name.strip().casefold()


def fitted(name: str, schema: TagSchema | None, value: Value, place: Place) -> Value:
    """The value in the schema's type and spelling: `"3"` becomes 3 for a number. Raises InvalidChange that says which values fit."""
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidChange(f"{value!r} cannot be stored; give a finite number", tag=name)
    if schema is None:
        return value
    if place not in schema.applies_to:
        raise InvalidChange(f"the tag {name!r} is for {', '.join(schema.applies_to)}, not for a {place}", tag=name)
    fitted_value = _fit(schema, value)
    if fitted_value is None and schema.type != "none":
        raise InvalidChange(
            f"{value!r} does not fit the tag {name!r}; give {_describe_values(schema)}", tag=name, value=value
        )
    if schema.type == "none" and value not in {None, "", True}:
        raise InvalidChange(f"the tag {name!r} takes no value; leave {value!r} out", tag=name, value=value)
    return fitted_value


def _fit(schema: TagSchema, value: Value) -> Value:  # noqa: PLR0911 - one case for each type
    """The value in the schema's type; None if it does not fit."""
    text = value.strip() if isinstance(value, str) else None
    match schema.type:
        case "string":
            return text or None
        case "number":
            return _number(value)
        case "boolean":
            return value if isinstance(value, bool) else {"true": True, "false": False}.get((text or "").lower())
        case "enum":
            return next((allowed for allowed in schema.values if text and key_of(allowed) == key_of(text)), None)
        case "date":
            try:
                return dt.date.fromisoformat(text).isoformat() if text else None
            except ValueError:
                return None
        case "pattern":
            assert schema.pattern is not None
            return text if text and len(text) <= _LONGEST and re.fullmatch(schema.pattern, text) else None
    return None


def _number(value: Value) -> Value:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        try:
            value = float(value) if set(value) & set(".eEnN") else int(value)
        except ValueError:
            return None
    return value if math.isfinite(value) else None


def _describe_values(schema: TagSchema) -> str:
    match schema.type:
        case "enum":
            return f"one of {', '.join(schema.values)}"
        case "date":
            return "a date like 2026-01-31"
        case "pattern":
            return f"a text of at most {_LONGEST} characters that matches {schema.pattern}"
        case "boolean":
            return "true or false"
    return f"a {schema.type}"


def _check_pattern(pattern: str) -> None:
    """Refuse patterns that may be slow on some text: repeated groups, references, and more than three repetitions of varying length."""
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise InvalidChange(f"{pattern[:200]!r} is not a regular expression: {error}") from error
    plain = re.sub(r"\[\^?\]?(?:\\.|[^\]\\])*\]", "_", re.sub(r"\\[^1-9]", "_", pattern))
    if (
        len(pattern) > _LONGEST
        or re.search(r"\)(?:[*+]|\{)", plain)
        or "\\" in plain
        or "(?" in plain.replace("(?:", "")
    ):
        raise InvalidChange(
            "a pattern must have at most 200 characters, and no repeated group, reference or lookaround"
        )
    if len(_VARIABLE.findall(plain)) > 3 + plain.count("(?:"):
        raise InvalidChange("a pattern must have at most three parts that vary in length")
