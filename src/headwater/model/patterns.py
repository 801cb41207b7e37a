"""Patterns of names, as rules, policies and selections write them."""

import re
from typing import Final

import msgspec

MOST_STARS: Final = 5
"""Each more makes a long name slower to match."""
_SPECIAL: Final = re.compile(r"([.\\+^$()\[\]{}|])")


class Pattern(msgspec.Struct, frozen=True):
    """A pattern of names: `*` is any text, `?` any character. It matches `namespace:name`, or its end from a `.`, a `/` or a `:` on."""

    text: str

    @property
    def regex(self) -> str:
        """The same as a regular expression that Python and PostgreSQL read alike."""
        inner = _SPECIAL.sub(r"\\\1", self.text).replace("*", ".*").replace("?", ".")
        return f"(^|[./:]){inner}$"

    def matches(self, name: str) -> bool:
        return re.search(self.regex, name) is not None
