"""The queries whose result may depend on the order in which a table gives its rows."""

from collections.abc import Sequence

from headwater.columns.shape.words import Word

_FREE = frozenset(
    "sum count min max avg coalesce nullif ifnull nvl greatest least round floor ceil abs lower upper trim length substring substr replace "
    "concat cast date_trunc extract to_char to_date to_timestamp date split_part left right rank dense_rank percent_rank cume_dist bool_and "
    "bool_or every stddev variance in exists values over filter using any all as on and or not when then else case by where select from join "
    "union except intersect having distinct interval numeric decimal varchar char timestamp time with is like between".split()
)
"""Words before a parenthesis that take rows in any order; a window with ROWS does not."""
_TAKING = frozenset({"LIMIT", "FETCH", "TOP", "OFFSET", "ROWS", "DISTINCT_ON", "QUALIFY", "TABLE_SAMPLE"})
_NAMES = frozenset({"limit", "fetch", "top", "offset", "rows", "rownum", "sample", "tablesample", "ctid"})


def depends_on_order(words: Sequence[Word]) -> bool:
    """Return whether a text may return something else of rows in another order. It errs to yes: of LIMIT, and of each function that is not known."""
    for (kind, text), following in zip(words, [*words[1:], ("", "")], strict=True):
        if kind in _TAKING or text.lower() in _NAMES:
            return True
        if following[0] == "L_PAREN" and text[-1:].isalnum() and text.lower() not in _FREE:
            return True
        if kind == "DISTINCT" and following[0] == "ON":
            return True
    return False
