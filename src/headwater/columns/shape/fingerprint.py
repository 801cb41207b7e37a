"""The shape of a statement: what is left of its text without literals, parameters, comments, blanks and letter case.

Two statements of one shape differ in values only, so what is known of one holds for the other; `columns.key` says when that is true of lineage.
There are two ways to the same shape. The plain one cuts the text at its literals with one pattern and takes the rest apart with `bytes.translate`;
it gives up when it meets what it does not understand. The careful one looks at every token. It parses nothing, raises nothing on any text,
and takes time in proportion to the text's length.

A shape is two byte strings: the text without its blanks, and its words. Together they say which tokens there are, in which order.

In the shape stay: names, quoted ones as they are written; ordinals of GROUP BY, ORDER BY and DISTINCT ON; a string right after AS or DO, which is
a name or a body of code. A list of literals after IN is as one literal; rows of literals after VALUES are as one row, NULL, TRUE, FALSE and DEFAULT
counting as literals. In queries of PostgreSQL NULL, TRUE, FALSE and the sign of a number are literals everywhere (`constants`).
"""

import re
from hashlib import blake2b
from typing import NamedTuple

from headwater.columns.shape.constants import mask_constants
from headwater.columns.shape.lexis import Lexis, lexis


class Shape(NamedTuple):
    fingerprint: str
    normalised: str


_BLANKS = bytes((9, 10, 11, 12, 13, 28, 29, 30, 31, 32))
_EVERY = bytes(range(256))
_LOWER = _EVERY.lower()
_LOWER_WORDS = bytes(
    char if char == 95 or char >= 128 or bytes((char,)).isalnum() else 32 for char in range(256)
).lower()

_LIST = re.compile(rb"in\((?:[-+]?\?,?)++\)")
_TUPLES = re.compile(rb"in\((\((?:[-+]?\?,?)++\))(?:,?\((?:[-+]?\?,?)++\))*+\)")
READABLE_LIST = re.compile(r"\b(in\s?)\((?:\s?[-+]?\s?\?\s?,?)++\s?\)", re.IGNORECASE)
_ITEM = r"\s?(?:[-+]?\s?\?|(?:null|true|false|default)\b|(?:date|time|timestamp)\s?\?)\s?"
_ROW = re.compile(rf"\s?,?\s?\({_ITEM}(?:,{_ITEM})*+\)", re.IGNORECASE)
_VALUES = re.compile(r"\bvalues(?=\s?\()", re.IGNORECASE)

_DOUBTFUL = re.compile(r"\?(?<=[\w.:&]\?)")
"""A literal after a character that may be part of it, or that may make it none."""
_KEPT = re.compile(rb"\?(?:(?<=as\?)|(?<=do\?))")
_MAY_BE_KEPT = re.compile(r"\?(?<=[sSoO]\s\?)")
_AS_OR_DO = frozenset({"as", "As", "aS", "AS", "do", "Do", "dO", "DO"})
_WHOLE_WORD = re.compile(r"\b\w\w\Z")
_NAME = re.compile(r'"x([0-9a-f]*)"')
_NESTED = rb"\([^()]*+\)"
for _ in range(9):
    _NESTED = rb"\((?:[^()]++|" + _NESTED + rb")*+\)"
_REGION = re.compile(
    rb"by(?:[^()?u]++|u(?!nionallselect)|\?(?<![,y]\?)|\([^()?]*+\)|(?<![,(])(?<!rollup)(?<!cube)(?<!sets)(?<!by)(?<!on)"
    + _NESTED
    + rb")*+([?(])?"
)
"""The text from BY to the end of its parenthesis; group 1 if a literal is found there after a comma, or a parenthesis that may hold an
ordinal."""
_SPENT_AT_MOST = 50_000
_BEFORE_ORDINAL = frozenset({"by", ",", "("})
_EDGES = re.compile(r"/\*|\*/")
_CLAUSE = re.compile(
    r"\b(?:having|order|limit|union|intersect|except|minus|qualify|window|rows|range|groups|where|select|from|offset|fetch|for|into|set)\b",
    re.IGNORECASE,
)
"""The words that end a list of GROUP BY or ORDER BY."""
_ORDINAL = re.compile(r"[0-9]++(?![\w.])")
_SIMPLE_LIST = re.compile(r"[bB](?<![\w:@$%#][bB])[yY]\b(?:[^()?'\"`\[/#-]|-(?!-)|/(?![*/]))*+")
_SIMPLE_ORDINAL = re.compile(r"((?:^..|,)\s*+)([0-9]++(?![\w.]))", re.DOTALL)
_FENCE = "\x01"
"""Before an ordinal it keeps it from being a literal."""
_BEFORE_LIST = frozenset({"by", ",", "(", "rollup", "cube", "sets", "on"})


def fingerprint(text: str, dialect: str) -> str:
    """16 hex digits: equal for texts of one shape."""
    known = lexis(dialect)
    _, code, words = _plain(text, known, True) or _carefully(text, known, True)
    return _digest(code, words)


def normalised(text: str, dialect: str) -> str:
    """The shape as text: literals and parameters as `?`, blanks as one, letter case as written. It has the fingerprint of `text`."""
    known = lexis(dialect)
    return _readable(_with_constants(careful(text, known, True)[0], known))


def shape(text: str, dialect: str) -> Shape:
    """Both, for the price of `normalised`."""
    masked, code, words = _carefully(text, lexis(dialect), True)
    return Shape(_digest(code, words), _readable(masked))


def _digest(code: bytes, words: list[bytes]) -> str:
    return blake2b(code + b"\0" + b" ".join(words), digest_size=8).hexdigest()


def sides(masked: str) -> tuple[bytes, list[bytes]]:
    """The text without blanks, and its words, in lower case."""
    if not masked.isascii():
        masked = " ".join(masked.replace("\ufeff", " ").split()).lower()
    data = masked.encode("utf-8", "surrogatepass")
    code = _LIST.sub(b"in(?)", data.translate(_LOWER, _BLANKS).strip(b";"))
    if b"((" in code:
        code = _TUPLES.sub(_collapse_tuple, code)
    return code, data.translate(_LOWER_WORDS).split()


def _collapse_tuple(found: re.Match[bytes]) -> bytes:
    return b"in(" + found[1].translate(None, b"+-") + b")"


def _hidden(name: str) -> str:
    """A quoted name (or what else must stay as it is written) as a name without blanks, case or digits of its own."""
    return f'"x{name.encode("utf-8", "surrogatepass").hex()}"'


def split(text: str, known: Lexis) -> list[str] | None:
    """The text in pieces, every second one a literal, a quoted name or a comment; None where that cannot be trusted. See `doubtful`."""
    if known.odd is not None and known.odd.search(text):
        return None
    if known.rules.triple and ("'''" in text or '"""' in text):
        return None
    return known.split.split(text)


def seen(pieces: list[str], signs: dict[str, str]) -> str:
    """The masked text of pieces."""
    if len(pieces) == 1:
        return pieces[0]
    shown = pieces.copy()
    shown[1::2] = [signs.get(piece[0]) or _hidden(piece) for piece in pieces[1::2]]
    return "".join(shown)


def doubtful(masked: str) -> bool:
    """Return whether the pieces a masked text was made of may be wrong."""
    return _DOUBTFUL.search(masked) is not None or ("/" in masked and "/*" in masked)


def _plain(text: str, known: Lexis, parameters: bool, fenced: bool = False) -> tuple[str, bytes, list[bytes]] | None:
    """The masked text and its sides by one pattern, or None where that cannot be trusted."""
    pieces = split(text, known)
    if pieces is None or (fenced and any(_FENCE in name for name in pieces[1::2] if name[0] not in known.seen)):
        return None
    masked = seen(pieces, known.seen)
    if doubtful(masked):
        return None
    if _MAY_BE_KEPT.search(masked) is not None:
        kept = _masked_text(pieces, known, fenced)
        if kept is None:
            return None
        masked = kept
    if fenced:
        masked = masked.replace(_FENCE, "")
    if parameters:
        for sign in known.signs:
            if sign in masked:
                masked = known.parameter.sub("?", masked)
                break
        masked = _with_constants(masked, known)
    code, words = sides(masked)
    if _KEPT.search(code) or b"values(" in code:
        return None
    if has_ordinals(code):
        return None if fenced or _FENCE in text else _plain(_SIMPLE_LIST.sub(_fenced, text), known, parameters, True)
    return masked, code, words


def _masked_text(pieces: list[str], known: Lexis, fenced: bool) -> str | None:
    """The masked text of pieces, strings right after AS or DO as names; None if a fence stands in one."""
    strings, signs = known.rules.strings, known.seen
    shown = pieces.copy()
    shown[1::2] = [signs.get(piece[0]) or _hidden(piece) for piece in pieces[1::2]]
    for at in range(1, len(pieces), 2):
        before = pieces[at - 1].rstrip()
        if before[-2:] in _AS_OR_DO and pieces[at][0] in strings and _WHOLE_WORD.search(before[-3:]):
            if fenced and _FENCE in pieces[at]:
                return None
            shown[at] = _hidden(pieces[at])
    return "".join(shown)


def _fenced(found: re.Match[str]) -> str:
    """A list after BY that has no parenthesis, its ordinals fenced."""
    listed = found[0]
    end = clause.start() if (clause := _CLAUSE.search(listed)) else len(listed)
    return _SIMPLE_ORDINAL.sub(rf"\1{_FENCE}\2", listed[:end]) + listed[end:]


def has_ordinals(code: bytes) -> bool:
    """Return whether a literal may stand where an ordinal does. It may be true of a literal that is no ordinal."""
    position = spent = 0
    while (region := _REGION.search(code, position)) is not None:
        if region[1] or spent > _SPENT_AT_MOST:
            return True
        position = region.start() + 2
        spent += region.end() - position
    return b"distincton" in code


def _carefully(text: str, known: Lexis, parameters: bool) -> tuple[str, bytes, list[bytes]]:
    masked = careful(text, known, parameters)[0]
    if parameters:
        masked = _with_constants(masked, known)
    return masked, *sides(collapse_rows(masked))


def _with_constants(masked: str, known: Lexis) -> str:
    return mask_constants(masked) if known.rules.constants else masked


def careful(text: str, known: Lexis, parameters: bool) -> tuple[str, list[str]]:
    """The masked text, blanks collapsed, by a look at every token; and the literals, one for each `?` in it."""
    out: list[str] = []
    literals: list[str] = []
    before = ""
    listing = [False]  # for each open parenthesis: is what stands in it a list of GROUP BY, ORDER BY or DISTINCT ON
    position = 0
    while position >= 0:
        for token in known.scan.finditer(text, position):
            kind = token.lastgroup or ""
            if kind == "words":
                before = token.group()
                out.append(before)
                if listing[-1] and _CLAUSE.search(before):
                    listing[-1] = False
                continue
            if kind == "space" or kind == "comment":  # noqa: PLR1714 (twice as fast)
                out.append(" ")
                continue
            if kind == "open":
                out.append(" ")
                position = _after_comment(text, token.end(kind))
                break
            now = piece = token[kind]
            if kind == "word":
                now = piece.lower()
                if now == "by" or (now == "on" and before.rstrip().lower().endswith("distinct")):
                    listing[-1] = True
            elif kind == "name" or (kind == "text" and before in ("as", "do")):
                now, piece = "", _hidden(piece)
            elif kind in ("text", "number") or (kind == "parameter" and parameters):
                if not (
                    kind == "number"
                    and listing[-1]
                    and before in _BEFORE_ORDINAL
                    and _ORDINAL.match(text, token.start())
                ):
                    literals.append(piece)
                    now = piece = "?"
            elif piece == "(":
                listing.append(listing[-1] and before in _BEFORE_LIST)
            elif piece == ")":
                if len(listing) > 1:
                    listing.pop()
            elif piece == "?":
                literals.append(piece)
            out.append(piece if token.end(kind) == token.end() else piece + " ")
            before = now
        else:
            position = -1
    return " ".join("".join(out).split()), literals


def _after_comment(text: str, position: int) -> int:
    """Return the place behind a comment that may hold others; `position` is inside of it."""
    depth = 1
    for edge in _EDGES.finditer(text, position):
        depth += 1 if edge.group() == "/*" else -1
        if not depth:
            return edge.end()
    return len(text)


def collapse_rows(masked: str) -> str:
    """Rows of literals after VALUES as one, as long as they have the width of the first."""
    pieces: list[str] = []
    done = 0
    for values in _VALUES.finditer(masked):
        if (row := _ROW.match(masked, values.end())) is None:
            continue
        width = row.group().lstrip(" ,").count(",")
        end = row.end()
        while (row := _ROW.match(masked, end)) is not None and row.group().lstrip(" ,").count(",") == width:
            end = row.end()
        pieces += masked[done : values.end()], f" ({', '.join('?' * (width + 1))})"
        done = end
    return "".join((*pieces, masked[done:]))


def _readable(masked: str) -> str:
    text = " ".join(collapse_rows(masked).replace("\ufeff", " ").split())
    return _NAME.sub(_unmasked_name, READABLE_LIST.sub(r"\1(?)", text).strip(" ;"))


def _unmasked_name(name: re.Match[str]) -> str:
    return bytes.fromhex(name[1]).decode("utf-8", "surrogatepass")
