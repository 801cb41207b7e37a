"""Uses of a column that ask for one type of it: an argument of a function, a difference of dates, an index. By the words of a text alone; doubt is a
use.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from headwater.columns.shape.words import Word

_ANY_TYPE: Final = frozenset(
    "count sum min max avg coalesce nullif greatest least abs round floor ceil ceiling mod cast try_cast safe_cast row_number rank dense_rank "
    "lag lead first_value last_value concat concat_ws array_agg string_agg in values and or not on where having when then else case select by over "
    "partition as exists from join using between any all some distinct filter is like "
    "lateral rollup cube grouping set sets".split()
)
"""Functions that take every width of a number or a text, and words that are no function."""
_SIGNS: Final = frozenset({"PLUS", "DASH"})
_INDEXES: Final = frozenset({"L_BRACKET", "ARROW", "DARROW"})


def _is_number(words: Sequence[Word]) -> bool:
    """Return whether the last operand is a call whose result is a number."""
    depth = 0
    for place in range(len(words) - 1, -1, -1):
        depth += (words[place][0] == "R_PAREN") - (words[place][0] == "L_PAREN")
        if depth == 0:
            return place > 0 and words[place - 1][1].lower() in {
                "extract",
                "date_part",
                "count",
                "length",
                "avg",
                "year",
                "month",
                "day",
            }
    return False


def _is_list_of_columns(words: Sequence[Word], place: int) -> bool:
    """Return whether a parenthesis opens the columns of a table or of an alias: `into t (…)`, `(…) v(…)`, `as v(…)`, `with t(…)`."""
    start = place - 1
    while start >= 2 and words[start - 1][0] == "DOT":
        start -= 2
    before = words[start - 1] if start >= 1 else ("", "")
    return before[0] in {"R_PAREN", "ALIAS", "INTO"} or before[1] in {"as", "into", "with", "recursive"}


def uses_by_type(words: Sequence[Word], column: str) -> Iterator[str]:
    """Yield the places of a text that may ask for one type of a column: `make_date(…)`, `… - day`."""
    calls: list[str] = []
    for place, (kind, text) in enumerate(words):
        if kind == "L_PAREN":
            calls.append(words[place - 1][1].lower() if place and not _is_list_of_columns(words, place) else "")
        elif kind == "R_PAREN" and calls:
            calls.pop()
        # A column may be called as a keyword is: number, date.
        if text.lower() != column.lower() or kind.endswith("STRING") or kind == "NUMBER":
            continue
        start = place
        while start >= 2 and words[start - 1][0] == "DOT":
            start -= 2
        if start > 1 and words[start - 1][0] in _SIGNS and _is_number(words[: start - 1]):
            continue
        before, after = (
            [one[0] for one in words[max(0, start - 2) : start]],
            [one[0] for one in words[place + 1 : place + 3]],
        )
        signed = (before[-1:] and before[-1] in _SIGNS and before[0] != "NUMBER") or (
            after[:1] and after[0] in _SIGNS and after[-1] != "NUMBER"
        )
        if signed or (before and before[-1] in _INDEXES):
            yield f"{text} in a sum or an index"
        elif calls and calls[-1].isidentifier() and calls[-1] not in _ANY_TYPE:
            yield f"{calls[-1]}(… {text} …)"
