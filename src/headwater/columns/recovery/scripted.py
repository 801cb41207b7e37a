"""Scripts in Hive queries, `MAP a, b USING 'x' AS c, d`, as the form that the parser reads: `SELECT TRANSFORM(a, b) USING 'x' AS (c, d)`."""

import re
from typing import Any

from sqlglot.tokenizer_core import TokenType

from headwater.columns.recovery.phrase import Phrase, inserted_token

_SIGN = re.compile(r"\busing\s+['\"]")
PARSERS = frozenset({"hive", "spark", "spark2", "databricks"})
_STARTS = frozenset({"TRANSFORM", "MAP", "REDUCE"})
_ENDS = frozenset(
    "FROM WHERE CLUSTER DISTRIBUTE SORT ORDER LIMIT UNION INSERT GROUP HAVING LATERAL WINDOW ) ; WHEN".split()
) | {"CLUSTER BY", "DISTRIBUTE BY", "SORT BY", "ORDER BY", "GROUP BY"}
_FORMATS = frozenset({"ROW", "RECORDREADER", "RECORDWRITER"})


def may_hold(text: str) -> bool:
    """Return whether a statement's text has the sign of a script. Most have none, so this is quick."""
    lowered = text.lower()
    return "using" in lowered and _SIGN.search(lowered) is not None


def has_script(phrase: Phrase) -> bool:
    return any(word == "USING" and phrase.text(place + 1) is not None for place, word in enumerate(phrase.words))


def rewritten(phrase: Phrase) -> list[Any]:
    """The statement's tokens with every script in the parser's form."""
    replaced: dict[int, tuple[int, list[Any]]] = {}
    for place, word in enumerate(phrase.words):
        if word == "USING" and phrase.text(place + 1) is not None:
            found = _script(phrase, place)
            if found is not None:
                start, end, tokens = found
                replaced[start] = (end, tokens)
    result: list[Any] = []
    place = 0
    while place < phrase.size:
        if place in replaced:
            place, tokens = replaced[place]
            result += tokens
        else:
            result.append(phrase.tokens[place])
            place += 1
    return result


def _script(phrase: Phrase, using: int) -> tuple[int, int, list[Any]] | None:
    depth = phrase.depths[using]
    start = using - 1
    while start >= 0 and not (phrase.depths[start] == depth and phrase.words[start] in _STARTS):
        if phrase.depths[start] < depth:
            return None
        start -= 1
    if start < 0:
        return None
    first = start + 1
    if phrase.word(first) == "(" and phrase.word(start) == "TRANSFORM":
        values = phrase.tokens[first + 1 : phrase.closing(first)]
    else:
        stop = next(
            (at for at in range(first, using) if phrase.depths[at] == depth and phrase.words[at] in _FORMATS), using
        )
        values = phrase.tokens[first:stop]
    end = using + 2
    names: list[Any] = []
    if phrase.word(end) == "AS":
        end += 1
        if phrase.word(end) == "(":
            names, end = phrase.tokens[end + 1 : phrase.closing(end)], phrase.closing(end) + 1
        else:
            stop = _until(phrase, end, depth, _ENDS | _FORMATS)
            names, end = phrase.tokens[end:stop], stop
    end = _until(phrase, end, depth, _ENDS)
    like = phrase.tokens[start]

    def word(kind: TokenType, text: str) -> Any:
        return inserted_token(kind, text, like)

    tokens = [] if phrase.word(start - 1) == "SELECT" else [word(TokenType.SELECT, "SELECT")]
    tokens += [word(TokenType.VAR, "TRANSFORM"), word(TokenType.L_PAREN, "("), *values, word(TokenType.R_PAREN, ")")]
    tokens += [word(TokenType.USING, "USING"), phrase.tokens[using + 1]]
    if names:
        tokens += [word(TokenType.ALIAS, "AS"), word(TokenType.L_PAREN, "("), *names, word(TokenType.R_PAREN, ")")]
    return start, end, tokens


def _until(phrase: Phrase, place: int, depth: int, ends: frozenset[str]) -> int:
    while place < phrase.size and not (
        phrase.depths[place] < depth or (phrase.depths[place] == depth and phrase.words[place] in ends)
    ):
        place += 1
    return place
