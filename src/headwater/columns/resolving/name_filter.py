"""Columns of a star that a pattern of names chooses: `* ILIKE 'a%'`, `COLUMNS('a')`."""

import re
from collections.abc import Callable

_WILD = {"like": {"%": ".*", "_": "."}, "ilike": {"%": ".*", "_": "."}, "glob": {"*": ".*", "?": "."}}


def name_filter(like: str) -> Callable[[str], bool]:
    """Return the test of a column's name for a pattern of `form.Star.like`; `!` in front of the kind makes its opposite.

    The kinds: `like:`, `ilike:`, `glob:`, `re:` (any part of a name, as in DuckDB and ClickHouse), `all:` (the whole name). A regular
    expression that Python does not read is taken as it is written.
    """
    kind, _, text = like.removeprefix("!").partition(":")
    if kind in _WILD:
        wild = _WILD[kind]
        text = f"^{''.join(wild.get(one) or re.escape(one) for one in text)}$"
    elif kind == "all":
        text = f"^(?:{text})$"
    try:
        search = re.compile(text, re.IGNORECASE if kind == "ilike" else 0).search
    except re.error:
        search = re.compile(re.escape(text)).search
    negated = like.startswith("!")
    return lambda name: (search(name) is None) == negated
