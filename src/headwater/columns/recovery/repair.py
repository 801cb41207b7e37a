"""A statement without the piece that does not parse: an expression in a SELECT list, a query in brackets, a branch of a set operation.

The replacement names the tables of the piece and has any column, without inputs: it adds no wrong lineage.
"""

from typing import Any

import msgspec
from sqlglot.tokenizer_core import TokenType

from headwater.columns.recovery.phrase import Phrase, inserted_token
from headwater.columns.recovery.sighting import common_names, sighted

_SET_OPERATORS = frozenset({"UNION", "EXCEPT", "INTERSECT", "MINUS"})
_TABLE_WORDS = frozenset({"FROM", "JOIN", "INTO", "SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "USING", "TABLE"})
_ENDS_LIST = frozenset(
    {"FROM", "WHERE", "INTO", "UNION", "EXCEPT", "INTERSECT", "MINUS", "LIMIT", "GROUP BY", "ORDER BY", "HAVING"}
)

_CHANGES_COLUMNS = frozenset(
    {"PIVOT", "UNPIVOT", "MODEL", "MATCH_RECOGNIZE", "UNION", "EXCEPT", "INTERSECT", "MINUS", "|>", "LATERAL"}
)


class Repaired(msgspec.Struct):
    """Tokens to try, and what they leave out, from one place of the tokens before to another."""

    tokens: list[Any]
    start: int
    end: int
    what: str


def repaired(phrase: Phrase, line: int, column: int, leftover: bool) -> Repaired | None:
    """The statement without the piece around the token at this line and column. `leftover`: what stands before it parsed."""
    place = next((at for at, one in enumerate(phrase.tokens) if one.line == line and one.col == column), -1)
    if place < 0:
        return None
    if leftover and phrase.depths[place] == 0 and phrase.word(0) in {"SELECT", "WITH", "CREATE", "INSERT", "FROM"}:
        before = phrase.words[:place]
        if (
            not _CHANGES_COLUMNS & set(phrase.words[place - 1 :])
            and not _TABLE_WORDS & set(phrase.words[place:])
            and {"SELECT", "FROM", "VALUES"} & set(before)
        ):
            return Repaired(phrase.tokens[:place], place, phrase.size, "what follows the query")
    return _expression(phrase, place) or _piece(phrase, place)


def _expression(phrase: Phrase, place: int) -> Repaired | None:
    """The entry of a SELECT list that holds the place."""
    depth = phrase.depths[place]
    comma = -1
    for at in range(place, -1, -1):
        if phrase.depths[at] < depth:
            depth, comma = phrase.depths[at], -1
        if phrase.depths[at] != depth or at == place:
            continue
        word = phrase.words[at]
        if word == "," and comma < 0:
            comma = at
        elif word == "SELECT":
            break
        elif word in _ENDS_LIST or word in {"ON", "VALUES", "SET"}:
            return None
    else:
        return None
    start = comma + 1 if comma >= 0 else at + 1
    if comma < 0 and phrase.word(start) in {"DISTINCT", "ALL"}:
        start += 1
    end = start
    while end < phrase.size and not (
        phrase.depths[end] < depth
        or (phrase.depths[end] == depth and (phrase.words[end] in _ENDS_LIST or phrase.words[end] == ","))
    ):
        end += 1
    if end <= start:
        return None
    like = phrase.tokens[start]
    tables = _tables(phrase, start, end)
    value = [inserted_token(TokenType.NULL, "NULL", like)]
    if tables:
        value = [inserted_token(TokenType.EXISTS, "EXISTS", like), inserted_token(TokenType.L_PAREN, "(", like)]
        value += [
            inserted_token(TokenType.SELECT, "SELECT", like),
            inserted_token(TokenType.NUMBER, "1", like),
            *tables,
        ]
        value.append(inserted_token(TokenType.R_PAREN, ")", like))
    alias = phrase.tokens[end - 2 : end] if end - start > 2 and phrase.words[end - 2] == "AS" else []
    return Repaired(phrase.tokens[:start] + value + alias + phrase.tokens[end:], start, end, "an expression")


def _piece(phrase: Phrase, place: int) -> Repaired | None:
    """The innermost query in brackets around the place, or the branch of a set operation."""
    opened: list[int] = []
    for at in range(place):
        if phrase.words[at] == "(":
            opened.append(at)
        elif phrase.words[at] == ")" and opened:
            opened.pop()
    for group in reversed(opened):
        if phrase.starts_query(group + 1):
            low, high = _branch(phrase, place, group + 1, phrase.closing(group))
            return _replaced(phrase, low, high)
    low, high = _branch(phrase, place, 0, phrase.size)
    return _replaced(phrase, low, high) if (low, high) != (0, phrase.size) and phrase.word(low) == "SELECT" else None


def _branch(phrase: Phrase, place: int, low: int, high: int) -> tuple[int, int]:
    """The branch of a set operation between two places; all of it when there is but one."""
    depth = phrase.depths[low]
    for at in range(low, high):
        if phrase.depths[at] == depth and phrase.words[at] in _SET_OPERATORS:
            if at >= place:
                return low, at
            low = at + 1
            while phrase.word(low) in {"ALL", "DISTINCT"}:
                low += 1
    return low, high


def _replaced(phrase: Phrase, low: int, high: int) -> Repaired:
    like = phrase.tokens[low]
    tables = _tables(phrase, low, high)
    inside = [inserted_token(TokenType.EXISTS, "EXISTS", like), inserted_token(TokenType.L_PAREN, "(", like),
              inserted_token(TokenType.SELECT, "SELECT", like), inserted_token(TokenType.NUMBER, "1", like), *tables,
              inserted_token(TokenType.R_PAREN, ")", like)] if tables else []  # fmt: skip
    instead = [
        inserted_token(TokenType.SELECT, "SELECT", like),
        inserted_token(TokenType.STAR, "*", like),
        inserted_token(TokenType.FROM, "FROM", like),
        inserted_token(TokenType.VAR, "unread", like),
        inserted_token(TokenType.L_PAREN, "(", like),
        *inside,
        inserted_token(TokenType.R_PAREN, ")", like),
    ]
    return Repaired(phrase.tokens[:low] + instead + phrase.tokens[high:], low, high, "a query")


def _tables(phrase: Phrase, low: int, high: int) -> list[Any]:
    """FROM with the tables named between two places; common table expressions of the statement are named too."""
    own = common_names(Phrase(phrase.tokens[low:high], phrase.context))
    found = sighted(phrase, low, high, own)
    names = [*found.reads, *found.writes]
    result: list[Any] = []
    for name in names:
        like = phrase.tokens[low]
        result.append(
            inserted_token(TokenType.COMMA, ",", like) if result else inserted_token(TokenType.FROM, "FROM", like)
        )
        for at, part in enumerate(name):
            if at:
                result.append(inserted_token(TokenType.DOT, ".", like))
            result.append(inserted_token(TokenType.IDENTIFIER, part, like))
    return result
