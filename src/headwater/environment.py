"""Parts of settings: structs whose values are converted and checked, read from variables of the environment."""

import os
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_args, get_origin

import msgspec
from msgspec import Meta

PREFIX = "HEADWATER_"
NESTED = "__"
# Marks a setting that is never printed.
SECRET = {"secret": True}
# Words for yes and no, beside true, false, 1 and 0.
_BOOLEANS = {"yes": True, "on": True, "y": True, "t": True, "no": False, "off": False, "n": False, "f": False}

# The words for types in errors.
_TYPES = {"str": "text", "int": "a whole number", "float": "a number", "bool": "true or false"}

# The functions that check or rewrite settings after their types were checked, by name; they raise ValueError.
Checks = Mapping[str, Callable[[Any], Any]]
# A setting's path in upper case, and what is wrong with it.
Problem = tuple[str, str]
P = TypeVar("P", bound="Part")


class InvalidPart(ValueError):
    """Settings of one part that are out of range. The message names the settings, and never their values."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(f"{name}: {problem}" for name, problem in problems))
        self.problems = problems


class Part(msgspec.Struct, kw_only=True):
    """Settings that belong together. Text is converted to each setting's type. The constructor raises InvalidPart."""

    checks: ClassVar[Checks] = {}

    def __post_init__(self) -> None:
        problems: list[Problem] = []
        for field in list_settings(type(self)):
            try:
                value = _converted(getattr(self, field.name), field.type)
                setattr(self, field.name, self.checks[field.name](value) if field.name in self.checks else value)
            except InvalidPart as error:
                problems += nest(field.name, error)
            except ValueError as error:
                problems.append((field.name.upper(), str(error)))
        if problems:
            raise InvalidPart(problems)

    def __repr__(self) -> str:
        shown = [one.name for one in list_settings(type(self)) if not _is_secret(one.type)]
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


@cache
def list_settings(part: type[Part]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """Return the settings of a part; `is_part` says which of their types are parts."""
    return msgspec.structs.fields(part)


def is_part(kind: Any) -> bool:
    """Return whether a setting of this type is a part with settings of its own."""
    return isinstance(kind, type) and issubclass(kind, Part)


def nest(name: str, error: InvalidPart) -> list[Problem]:
    """Return the problems of a part as those of what it is a part of."""
    return [(f"{name.upper()}{NESTED}{path}", problem) for path, problem in error.problems]


def make_part(kind: type[P], read: dict[str, Any], given: Any) -> P:
    """Make a part of what was `read`, where names without a setting are ignored, and of what is `given` in its place: a dictionary, or the part
    itself. Raises InvalidPart.
    """
    if isinstance(given, kind):
        return given
    values = {field.name: read[field.name] for field in list_settings(kind) if field.name in read}
    return kind(**_merged(values, given))


def read_environment(parts: Collection[str]) -> tuple[dict[str, Any], list[Problem]]:
    """Return the variables of these parts, as nested dictionaries, and `home`; and the variables that give a part itself a value."""
    read: dict[str, Any] = {}
    problems: list[Problem] = []
    for variable, value in os.environ.items():
        if not variable.upper().startswith(PREFIX):
            continue
        *above, name = variable.upper().removeprefix(PREFIX).lower().split(NESTED)
        if not above and name in parts:
            problems.append((name.upper(), f"expected the name of a setting, as in {PREFIX}{name.upper()}{NESTED}NAME"))
        elif (above[0] in parts) if above else name == "home":
            place = read
            for step in above:
                inner = place.get(step)
                place[step] = place = inner if isinstance(inner, dict) else {}
            place.setdefault(name, value)
    return read, problems


def _merged(read: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return what was read, with what is given in its place."""
    both = {**read, **given}
    for name in read.keys() & given.keys():
        if isinstance(read[name], dict) and isinstance(given[name], dict):
            both[name] = _merged(read[name], given[name])
    return both


def _is_secret(kind: Any) -> bool:
    return any(isinstance(one, Meta) and one.extra == SECRET for one in getattr(kind, "__metadata__", ()))


def _converted(value: Any, kind: Any) -> Any:
    """Return the value as its type, from text too. Raises ValueError, without the value."""
    if is_part(kind):
        if not isinstance(value, dict | kind):
            raise ValueError(f"expected the name of a setting after {NESTED}")
        return make_part(kind, value, {}) if isinstance(value, dict) else value
    bare = kind.__origin__ if get_origin(kind) is Annotated else kind
    kinds = {one.__origin__ if get_origin(one) is Annotated else one for one in get_args(bare)} or {bare}
    choices = [one for part in (bare, *kinds) if get_origin(part) is Literal for one in get_args(part)]
    if choices and value is not None and value not in choices:
        raise ValueError(f"expected one of {', '.join(choices)}")
    if isinstance(value, str) and str not in kinds and not choices:
        value = value.strip()
        value = _BOOLEANS.get(value.lower(), value) if bare is bool else value
    try:
        return msgspec.convert(value, kind, strict=str in kinds)
    except msgspec.ValidationError as error:
        problem = str(error).replace(" | null", "")
        for name, words in _TYPES.items():
            problem = problem.replace(f"`{name}`", words)
        raise ValueError(problem.replace("Expected", "expected")) from None
