"""Tables that a function names in the text of the SQL it puts together and runs by EXECUTE. Pure.

The text is not parsed: it is put together as the function runs. A string of it names a table if the string is the name, or has it after FROM, JOIN,
INTO, UPDATE or TABLE.
"""

import re
from collections.abc import Iterator

_BODY = re.compile(r"\bAS (\$\w+\$)(?P<body>.*)\1", re.DOTALL)
_TOKEN = re.compile(
    r"--[^\n]*|/\*.*?\*/|'(?P<quoted>(?:[^']|'')*)'|\$(?P<tag>\w*)\$(?P<text>.*?)\$(?P=tag)\$|(?P<word>\w+)", re.DOTALL
)
_NAME = r'(?:"[^"]+"|[^\W\d][\w$]*)'
_WHOLE = re.compile(rf"\s*(?P<name>{_NAME}(?:\.{_NAME})?)\s*")
_NAMED = re.compile(
    rf"\b(?:from|join|into|update|table)\s+(?:only\s+|if\s+exists\s+)?(?P<name>{_NAME}(?:\.{_NAME})?)", re.IGNORECASE
)


def dynamic_names(definition: str) -> set[tuple[str, ...]]:
    """Return the names, with their schemas where the text has them, that the strings of a function name; none if it runs no EXECUTE.

    `definition`: the CREATE statement as PostgreSQL shows it (`pg_get_functiondef`).
    """
    match = _BODY.search(definition)
    tokens = list(_TOKEN.finditer(match["body"])) if match else []
    if not any((one["word"] or "").lower() == "execute" for one in tokens):
        return set()
    texts = [one["quoted"].replace("''", "'") if one["quoted"] is not None else one["text"] or "" for one in tokens]
    return {name for text in texts for name in _names_in(text)}


def _names_in(text: str) -> Iterator[tuple[str, ...]]:
    whole = _WHOLE.fullmatch(text)
    for match in [whole] if whole else _NAMED.finditer(text):
        parts = re.findall(_NAME, match["name"])
        yield tuple(one[1:-1] if one.startswith('"') else one.lower() for one in parts)
