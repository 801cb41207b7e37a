"""The datasets that a limited reader may see: those in some namespaces, and those with some tags. Pure."""

from collections.abc import Iterable

import msgspec

from headwater.errors import InvalidQuestion
from headwater.model.tags import key_of

_LONGEST = 1_000


class ReaderLimits(msgspec.Struct, frozen=True):
    """`namespaces`: patterns of SQL's LIKE. `tags`: keys of tags, or `key:value` in lower case. A dataset is visible if one of either fits."""

    namespaces: tuple[str, ...]
    tags: tuple[str, ...]


def parse_limits(texts: Iterable[str]) -> ReaderLimits:
    """Read `namespace:PATTERN` (`*` stands for any text), `tag:NAME` and `tag:NAME:VALUE`. Raises InvalidQuestion."""
    namespaces, tags = [], []
    for text in texts:
        kind, _, rest = text.strip().partition(":")
        if kind not in {"namespace", "tag"} or not rest.strip() or len(text) > _LONGEST or "\0" in text:
            raise InvalidQuestion(
                f"{text[:200]!r} limits no reader; write namespace:PATTERN, tag:NAME or tag:NAME:VALUE",
                limit=text[:200],
            )
        if kind == "tag":
            tags.append(key_of(rest).lower())
        else:
            namespaces.append(_like(rest.strip()))
    return ReaderLimits(tuple(namespaces), tuple(tags))


def _like(pattern: str) -> str:
    for sign in ("\\", "%", "_"):
        pattern = pattern.replace(sign, "\\" + sign)
    return pattern.replace("*", "%")
