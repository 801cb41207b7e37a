"""The fields inside a type that a catalog writes: `struct<a:int,b:array<struct<c:int>>>`, `STRUCT<a INT64>`, `ROW(a integer)`."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from headwater.columns.dialect import fold, rules

Inner = Sequence[tuple[str, Any]]
"""The fields inside a column in order, each with those inside it."""
_STRUCTS = frozenset({"struct", "row", "record", "tuple", "object", "nested"})
_LISTS = frozenset({"array", "list"})
_TOKEN = re.compile(r'"[^"]*"|`[^`]*`|[<>(),:]|[^\s<>(),:"`]+')
_OPEN, _CLOSE = frozenset("<("), frozenset(">)")
_DEEPEST = 100


def nested_fields(text: str, dialect: str) -> Inner:
    """The fields of a struct type, or of the structs in an array; none, if it has none or is not understood."""
    if not _NESTED.search(text):
        return ()
    try:
        return _Reader(_TOKEN.findall(text), dialect).type(0)
    except (IndexError, _TooDeep):
        return ()


_NESTED = re.compile(r"\b(?:struct|row|record|tuple|object|nested)\b\s*[<(]", re.IGNORECASE)


class _TooDeep(Exception):
    pass


class _Reader:
    def __init__(self, tokens: list[str], dialect: str) -> None:
        self.tokens, self.at, self.rule = tokens, 0, rules(dialect)

    def type(self, depth: int) -> Inner:
        if depth > _DEEPEST:
            raise _TooDeep
        word = self._next().lower()
        found: list[tuple[str, Any]] = []
        if self._peek() in _OPEN:
            self.at += 1
            inner = [*self._listed(word in _STRUCTS, depth)]
            if word in _STRUCTS:
                found = inner
            elif word in _LISTS and len(inner) == 1:
                found = list(inner[0][1])
        while self._peek() not in {",", "", *_CLOSE}:  # NOT NULL, a comment, `[]` of an array.
            if self._next() in _OPEN:
                [*self._listed(False, depth)]
        return found

    def _listed(self, named: bool, depth: int) -> Iterator[tuple[str, Any]]:
        """The entries up to the closing bracket."""
        while self._peek() not in _CLOSE:
            name = ""
            if named:
                name = self._next()
                if self._peek() == ":":
                    self.at += 1
                name = (
                    fold(name.strip('"`'), name[0] in '"`', self.rule)
                    if not self.rule.insensitive
                    else name.strip('"`').lower()
                )
            yield name, self.type(depth + 1)
            if self._peek() == ",":
                self.at += 1
        self.at += 1

    def _peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def _next(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]
