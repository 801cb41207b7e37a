"""Temporary views that a statement of SQL makes: their names, and the files or other source of `CREATE TEMPORARY VIEW … USING`."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from headwater.capture.spark.connect.sources import GLOBAL

_STRING = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_QUOTED = r"`(?:[^`]|``)*`"
_TOKEN = re.compile(rf"\s+|--[^\n]*|/\*.*?\*/|({_STRING}|{_QUOTED}|\w+|.)", re.DOTALL)
_GLOBAL = re.compile(r"\s*create\s+(?:or\s+replace\s+)?global\b", re.IGNORECASE)


def name_of_view(text: str, parts: Sequence[str]) -> str:
    """Return the name by which a temporary view that this statement makes is read: a global one by `global_temp.NAME`."""
    return ".".join([GLOBAL, parts[-1]] if _GLOBAL.match(text) else parts)


def source_of_view(text: str) -> Any:
    """Return the relation that `CREATE TEMPORARY VIEW NAME [(columns)] USING format [OPTIONS (…)]` names, as the message that reads it; None if the
    statement has no such clause.

    Options are `key value` or `key = value`; a key may have dots, and a value may be a text, a number, true or false.
    """
    tokens = list(_tokens(text))
    words = [one.lower() for one in tokens]
    using = words.index("using") if "using" in words else 0
    if "view" not in words[:using] or "as" in words[:using]:
        return None
    kind, after = _dotted(tokens, using + 1)
    if not kind:
        return None
    from pyspark.sql.connect.proto import relations_pb2

    made = relations_pb2.Relation()
    source = made.read.data_source
    source.format = kind
    if "(" in tokens[:using]:
        opened = tokens.index("(")
        source.schema = " ".join(tokens[opened + 1 : _closing(tokens, opened)])
    if words[after : after + 2] == ["options", "("]:
        for key, value in _options(tokens[after + 2 : _closing(tokens, after + 1)]):
            source.options[key] = value
    return made


def _tokens(text: str) -> Iterator[str]:
    return (found[1] for found in _TOKEN.finditer(text) if found[1])


def _closing(tokens: Sequence[str], opened: int) -> int:
    """Return the place of the bracket that closes the one at `opened`; the end if none does."""
    depth = 0
    for place in range(opened, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[place], 0)
        if depth == 0:
            return place
    return len(tokens)


def _dotted(tokens: Sequence[str], begin: int) -> tuple[str, int]:
    """Return a name with its dots, and the place behind it."""
    parts: list[str] = []
    place = begin
    while place < len(tokens):
        parts.append(_plain(tokens[place]))
        place += 1
        if tokens[place : place + 1] != ["."]:
            break
        place += 1
    return ".".join(parts), place


def _options(tokens: Sequence[str]) -> Iterator[tuple[str, str]]:
    place = 0
    while place < len(tokens):
        key, place = _dotted(tokens, place)
        if tokens[place : place + 1] == ["="]:
            place += 1
        value: list[str] = []
        while place < len(tokens) and tokens[place] != ",":
            value.append(_plain(tokens[place]))
            place += 1
        yield key, "".join(value)
        place += 1


def _plain(token: str) -> str:
    if token[0] in "'\"" and len(token) > 1:
        return re.sub(r"\\(.)", r"\1", token[1:-1])
    return token[1:-1].replace("``", "`") if token[0] == "`" and len(token) > 1 else token
