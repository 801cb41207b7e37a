"""The words of a text, without comments and layout: two texts of the same words mean the same, and one that differs in its SELECT list alone
differs in these columns alone. Doubt is a difference.
"""

import itertools
from collections.abc import Iterator
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
    """A query in three: what stands before its items, the items, and what stands after them. `named`: the items that GROUP BY and ORDER BY mean by
    their numbers, each by its place."""

    before: tuple[Word, ...]
    items: tuple[tuple[Word, ...], ...]
    after: tuple[Word, ...]
    named: tuple[tuple[int, tuple[Word, ...]], ...]


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
    numbers = set(_ordinals(after))
    if any(number > len(items) for number in numbers) or (
        numbers and any(item[-1:] == (("STAR", "*"),) for item in items)
    ):
        return None
    return SelectList(given[:start], items, after, tuple((number, items[number - 1]) for number in sorted(numbers)))


def _ordinals(after: tuple[Word, ...]) -> Iterator[int]:
    """The numbers of items in the GROUP BY and the ORDER BY that are the query's own."""
    depth, inside = 0, False
    for place, (kind, text) in enumerate(after):
        depth += (kind == "L_PAREN") - (kind == "R_PAREN")
        if depth == 0 and kind in {"GROUP_BY", "ORDER_BY"}:
            inside = True
        elif depth == 0 and inside and kind in {"HAVING", "LIMIT", "QUALIFY", "WINDOW", "FETCH", "OFFSET"}:
            inside = False
        elif (
            depth == 0
            and inside
            and kind == "NUMBER"
            and after[place - 1][0] in {"GROUP_BY", "ORDER_BY", "COMMA"}
            and text.isdigit()
        ):
            yield int(text)


def groups_by_key(given: tuple[Word, ...]) -> bool:
    """Return whether a query may select a column that its GROUP BY does not list, which is right where that has a key of its table."""
    kinds = [kind for kind, _ in given]
    if "GROUP_BY" not in kinds:
        return False
    listed = select_list(given)
    if listed is None:
        return True
    grouped = {text for _, text in listed.after[[kind for kind, _ in listed.after].index("GROUP_BY") :]}
    by_place = {item for _, item in listed.named}
    plain = [
        item
        for item in listed.items
        if item not in by_place and all(kind in {"VAR", "DOT", "IDENTIFIER"} for kind, _ in item)
    ]
    return any(item[-1][1] not in grouped for item in plain) or any(
        item[-1:] == (("STAR", "*"),) for item in listed.items
    )


def cast_types(item: tuple[Word, ...]) -> tuple[str, ...]:
    """Return the types that an item casts to, in order."""
    found = []
    for place, (kind, _) in enumerate(item):
        opened = kind == "ALIAS" and any(text in {"cast", "try_cast", "safe_cast"} for _, text in item[:place])
        inside = sum((one == "L_PAREN") - (one == "R_PAREN") for one, _ in item[:place])
        if (kind == "DCOLON" or (opened and inside > 0)) and place + 1 < len(item):
            found.append(item[place + 1][1])
    return tuple(found)
