"""The key of a cache: the part of a statement's text that its lineage depends on.

Texts with equal keys have equal lineage, given equal schemas and the same session. A key is the text with literals masked, blanks made one
and lists folded, with the literals that may matter (`columns.mattering`): a shape, and what fills its places. Letter case stays, for names are
shown as they are written. So do comments: an output without a name is called as the text has it.

The properties of a shape are its `Plan`, which costs more than all the rest and holds for every text of the shape.
"""

import re
from hashlib import blake2b
from typing import NamedTuple

from headwater.columns.script.pieces import FAMILIES, single
from headwater.columns.shape.fingerprint import (
    READABLE_LIST,
    careful,
    collapse_rows,
    doubtful,
    has_ordinals,
    seen,
    sides,
    split,
)
from headwater.columns.shape.lexis import Lexis, lexis
from headwater.columns.shape.mattering import ALL_WORDS, Matter, matter, mattering_literals, may_hold_path, places

_COMMENT = "\x03"
"""The mark that stands for a comment."""
_CONTROLS = ("\0", "\x01", "\x02", "\x03", "\ufeff")
"""Characters that the patterns use for themselves, and one that is no blank to the parser."""
_DIGITS = frozenset("0123456789")
_STRING, _FRACTION = "?'", "?."
"""The marks for literals other than whole numbers: the parser may take one where it does not take another."""
_KIND = re.compile(r"\?['.]")
_ALIKE = re.compile(
    r"(?:\bin\s?|\bvalues\s?|(?<=\))\s?,\s?)\((?:\s?(?:[-+]?\s?\?['.]?|(?:null|true|false|default)\b)\s?,?)++\)",
    re.IGNORECASE,
)
"""Lists where they are all the same."""
_LINED = frozenset({"tsql", "oracle", "teradata", "mysql"})
"""Families where the end of a line may be the end of a statement."""
_AFTER_WORD = re.compile(r"\b(?:as|do)\s?\?", re.IGNORECASE)
_BEYOND = 10**9
_NUMBERED = re.compile(r"\b1[0-9]{9}\b")


class Cut(NamedTuple):
    """A text in pieces (none if it took a look at every token), its shape, and its literals, one for each `?` in it."""

    pieces: list[str]
    shape: str
    literals: list[str]


class Plan(NamedTuple):
    """The properties of a shape: how much literals matter, which matter for where they stand, and its digest with lists folded and without.

    `spelled`: which may be part of the fingerprint (ordinals, and what stands after AS or DO); all of them are among `standing`.
    """

    how: Matter
    standing: tuple[int, ...]
    folded: bytes
    whole: bytes
    spelled: tuple[int, ...] = ()


def cache_key(text: str, dialect: str) -> bytes:
    """16 bytes. Texts with equal keys have equal lineage, given equal schemas and the same session."""
    known = lexis(dialect)
    found = cut(text, known, dialect)
    if found is None:
        masked, literals = careful(text, known, False)
        parts = masked.split("?")
        typed = "".join(part + _kind(one) for part, one in zip(parts, literals, strict=False)) + parts[-1]
        found = Cut([], "\0" + typed, literals)
    made = key(plan(found.shape, digest(found.shape, dialect), dialect), found.literals, text)
    return (
        blake2b(f"{dialect}\0\0{text}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if made is None
        else made
    )


def cut(text: str, known: Lexis, dialect: str) -> Cut | None:
    """The text cut at its literals, or None where that cannot be trusted."""
    pieces = split(text, known)
    if pieces is None or any(char in text for char in _CONTROLS):
        return None
    signs = known.seen
    if len(pieces) == 1:
        masked, literals = text, []
    else:
        literals = [piece for piece in pieces[1::2] if signs.get(piece[0]) == "?"]
        comments = len(pieces) // 2 > len(literals)
        signs = signs | dict.fromkeys(known.rules.strings, _STRING)
        masked = seen(pieces, {**signs, **_comments(signs, pieces)} if comments else signs)
        if not "".join([piece for piece in literals if piece[0] in _DIGITS] or "0").isdigit():
            parts = masked.replace(_STRING, "?").split("?")
            if len(parts) != len(literals) + 1:
                return None
            masked = "".join(part + _kind(one) for part, one in zip(parts, literals, strict=False)) + parts[-1]
    if doubtful(masked) or masked.count("?") != len(literals):
        return None
    family = FAMILIES.get(dialect, "")
    if family not in _LINED:
        masked = " ".join(masked.split()).rstrip("; ")
    elif family == "tsql":
        masked = f"{single(text)}\n{masked}"
    return Cut(pieces, masked, literals)


def _kind(literal: str) -> str:
    if literal[0] in _DIGITS:
        return "?" if literal.isdigit() else _FRACTION
    return _FRACTION if literal[0] == "." else "?" if literal == "?" else _STRING


def _comments(signs: dict[str, str], pieces: list[str]) -> dict[str, str]:
    """Comments as they are, out of the way."""
    text = "".join(piece for piece in pieces[1::2] if signs.get(piece[0]) == " ")
    shown = f" {_COMMENT}{blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}x "
    return {first: shown for first, sign in signs.items() if sign == " "}


def digest(shape: str, dialect: str) -> bytes:
    found = blake2b(shape.encode("utf-8", "surrogatepass"), digest_size=16)
    found.update(b"\0" + dialect.encode("utf-8", "surrogatepass"))
    return found.digest()


_SHOWN_COMMENT = re.compile(_COMMENT + "[0-9a-f]+x")


def plan(shape: str, whole: bytes, dialect: str, telling: frozenset[bytes] = ALL_WORDS) -> Plan:
    """The cache plan of a shape. `whole`: its digest. `telling`: as for `matter`."""
    masked = _SHOWN_COMMENT.sub(" ", shape.lstrip("\0")) if _COMMENT in shape else shape.lstrip("\0")
    masked = " ".join(_KIND.sub("?", masked).removeprefix("True\n").removeprefix("False\n").split())
    code, words = sides(masked)
    how = Matter.ALL if any(char in masked for char in _CONTROLS) else matter(masked, code, words, telling)
    if how is Matter.ALL:
        return Plan(how, (), whole, whole)
    marks = {at: place for place, at in enumerate(match.start() for match in re.finditer(r"\?", masked))}
    spelled = {marks[match.end() - 1] for match in _AFTER_WORD.finditer(masked)}
    if has_ordinals(code):
        spelled.update(_ordinals(masked))
    standing = spelled | (places(masked) if how is not Matter.NOTHING else set())
    readable = READABLE_LIST.sub(r"\1(?)", _ALIKE.sub(lambda found: _KIND.sub("?", found[0]), shape))
    folded = digest(collapse_rows(readable), f"{dialect}\0folded")
    return Plan(how, tuple(sorted(standing)), folded, whole, tuple(sorted(spelled)))


def _ordinals(masked: str) -> set[int]:
    """Return the literals, counted from 0, that would be ordinals if they were numbers."""
    parts = masked.split("?")
    numbered = "".join(f"{part} {_BEYOND + place} " for place, part in enumerate(parts[:-1])) + parts[-1]
    left, _ = careful(numbered, lexis(""), False)
    return {int(match.group()) - _BEYOND for match in _NUMBERED.finditer(left)}


def key(found: Plan, literals: list[str], text: str) -> bytes | None:
    """The key of a text of a planned shape; None if all of the text matters."""
    how, standing, folded, whole, _ = found
    if how is Matter.ALL:
        return None
    if how is Matter.STRINGS or (how is Matter.NAMES and may_hold_path(text)):
        filling = mattering_literals(set(standing), literals, how)
    elif standing:
        filling = [(place, literals[place]) for place in standing]
    else:
        return folded
    if not filling:
        return folded
    return blake2b(whole + repr(filling).encode("utf-8", "surrogatepass"), digest_size=16).digest()
