"""NULL, TRUE, FALSE and the minus sign of a number as literals, as PostgreSQL's `pg_stat_statements` takes them in queries.

PostgreSQL writes `b = $1` for `b = true`, `b = null` and `b = -1`: a log that has the texts, and one that has what PostgreSQL counts, then have one
shape. They stay where they are no constants to it: in `is null`, `is not true`, `is distinct from null`, and clauses of SQL/JSON (`null on error`).
An array of literals is as one of one literal, as PostgreSQL 18 counts it; the list of IN is so everywhere.
"""

import re
from typing import Final

_QUERY: Final = re.compile(r"\W*(?:select|with|insert|update|delete|merge|values|table)\b", re.IGNORECASE)
_MAY_BE: Final = re.compile(r"\b(?:null|true|false)\b|-\s*+\?|\barray\s*+\[", re.IGNORECASE)
_ARRAY: Final = re.compile(r"\b(array)\s*+\[\s*+\?(?:\s*+,\s*+\?)++\s*+\]", re.IGNORECASE)
_TOKEN: Final = re.compile(r"\w++|[^\w\s]")
_WORDS: Final = frozenset({"null", "true", "false"})
_JSON: Final = re.compile(r"\s*on\s+(?:null|empty|error)\b", re.IGNORECASE)
# After one of these words, or a sign that is no end of an operand, a minus is a number's.
_BEFORE_NUMBER: Final = frozenset(
    (
        "all and any between by case distinct else filter from having ilike in "
        "is like limit not offset on or returning select set then values when where"
    ).split()
)
_ENDS_OPERAND: Final = frozenset({")", "]", '"', "?"})


def mask_constants(masked: str) -> str:
    """Return a masked text with these constants as `?`; any text but a query as it is."""
    if _MAY_BE.search(masked) is None or _QUERY.match(masked) is None:
        return masked
    out: list[str] = []
    done = 0
    before = last = ""
    minus = 0
    for token in _TOKEN.finditer(masked):
        word = token.group().lower()
        if word in _WORDS and _is_constant(masked, token, word, before, last):
            out += masked[done : token.start()], "?"
            done = token.end()
            word = "?"
        elif word == "?" and last == "-" and _is_sign(before) and minus >= done:
            out.append(masked[done:minus])
            done = token.start()
        if word == "-":
            minus = token.start()
        before, last = last, word
    return _ARRAY.sub(r"\1[?]", "".join((*out, masked[done:])))


def _is_constant(masked: str, token: re.Match[str], word: str, before: str, last: str) -> bool:
    if last in {"is", ".", "absent", '"'} or (last, before) in {("not", "is"), ("from", "distinct")}:
        return False
    return not (word == "null" and last == "on") and _JSON.match(masked, token.end()) is None


def _is_sign(before: str) -> bool:
    """Return whether a minus after this token is a number's and no subtraction."""
    if before in _ENDS_OPERAND:
        return False
    return not before or not (before[0].isalnum() or before[0] == "_") or before in _BEFORE_NUMBER
