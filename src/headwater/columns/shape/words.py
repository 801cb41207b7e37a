"""The words of a text, without comments and layout: two texts of the same words mean the same, and one that differs in its SELECT list alone
differs in these columns alone. Doubt is a difference.
"""

import itertools
from typing import NamedTuple

from sqlglot.errors import SqlglotError

from headwater.columns.dialect import rules
from headwater.columns.script.engine import engine

Word = tuple[str, str]
"""The kind of a token, and its text: as written if its case may mean something, else in lower case."""
_AS_WRITTEN = frozenset({"STRING", "IDENTIFIER", "NATIONAL_STRING", "RAW_STRING", "HEREDOC_STRING", "BYTE_STRING", "UNICODE_STRING"})  # fmt: skip
_RUN_COMMENTS = ("/*!", "/*+", "--+")
"""Comments that a product obeys."""
_SETS = frozenset({"UNION", "INTERSECT", "EXCEPT"})


class SelectList(NamedTuple):
    """A query in three: what stands before its items, the items, and what stands after them."""

    before: tuple[Word, ...]
    items: tuple[tuple[Word, ...], ...]
    after: tuple[Word, ...]


def words(text: str, dialect: str) -> tuple[Word, ...]:
    """Return the words of a text; the text as one word if it cannot be cut, or if a comment in it may be obeyed."""
    rule = rules(dialect)
    whole = (("TEXT", text),)
    if any(mark in text for mark in _RUN_COMMENTS):
        return whole
    try:
        tokens = engine(rule.parser).tokenize(text)
    except SqlglotError:
        return whole
    found = []
    for token in tokens:
        kind = token.token_type.name
        keeps = kind in _AS_WRITTEN or kind.endswith("STRING") or (kind == "VAR" and rule.tables_sensitive)
        found.append((kind, token.text if keeps else token.text.lower()))
    while found and found[-1][0] == "SEMICOLON":
        found.pop()
    return tuple(found)


def select_list(given: tuple[Word, ...]) -> SelectList | None:
    """Return the parts of a text that is one SELECT, perhaps with common tables; None for another, and where an item may decide about rows."""
    depth, start, end, cuts = 0, -1, len(given), []
    for place, (kind, text) in enumerate(given):
        depth += (kind in {"L_PAREN", "L_BRACKET", "L_BRACE"}) - (kind in {"R_PAREN", "R_BRACKET", "R_BRACE"})
        if depth:
            continue
        if kind in _SETS or kind == "SEMICOLON" or (kind == "SELECT" and start >= 0):
            return None
        if kind == "SELECT":
            start = place + 1
        elif start >= 0 and kind == "FROM" and end == len(given):
            end = place
        elif start >= 0 and end == len(given) and kind == "COMMA":
            cuts.append(place)
        elif text in {"distinct", "top", "all"} and start >= 0:
            return None
    if start < 0:
        return None
    after = given[end:]
    bounds = [start - 1, *cuts, end]
    items = tuple(given[left + 1 : right] for left, right in itertools.pairwise(bounds))
    ordinal = any(
        kind == "NUMBER" and after[place - 1][0] in {"GROUP_BY", "COMMA"} for place, (kind, _) in enumerate(after)
    )
    return None if ordinal and any(kind == "GROUP_BY" for kind, _ in after) else SelectList(given[:start], items, after)


def cast_types(item: tuple[Word, ...]) -> tuple[str, ...]:
    """Return the types that an item casts to, in order."""
    found = []
    for place, (kind, _) in enumerate(item):
        opened = kind == "ALIAS" and any(text in {"cast", "try_cast", "safe_cast"} for _, text in item[:place])
        inside = sum((one == "L_PAREN") - (one == "R_PAREN") for one, _ in item[:place])
        if (kind == "DCOLON" or (opened and inside > 0)) and place + 1 < len(item):
            found.append(item[place + 1][1])
    return tuple(found)
