"""Text to tokens, also where the tokenizer gives up. It cuts nothing into statements.

The tokenizer swallows what follows some words (EXECUTE, CALL, GO) into one string; control flow needs them as they are.
"""

import bisect
import itertools
from collections.abc import Iterator

from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

Broken = tuple[int, int, int, str]
"""Characters from, to, line and why."""

CLOSERS = {"'": "'", '"': '"', "`": "`", "--": "\n", "/*": "*/", "$$": "$$"}


def whole(text: str, dialect: Dialect) -> list[Token]:
    """Every word a token of its own. Raises TokenError."""
    tokenizer = dialect.tokenizer()
    tokenizer._core.commands = set()
    tokens: list[Token] = tokenizer.tokenize(text)
    return tokens


def shifted(tokens: list[Token], offset: int, lines: int) -> list[Token]:
    """The same tokens, moved to where their text stands in a longer one."""
    for token in tokens:
        token.start += offset
        token.end += offset
        token.line += lines
    return tokens


def readable(text: str, dialect: Dialect) -> tuple[list[Token], list[Broken]]:
    """All tokens that can be had, and the parts that gave none. Never raises."""
    try:
        return whole(text, dialect), []
    except (TokenError, RecursionError):
        pass
    tokens: list[Token] = []
    broken: list[Broken] = []
    breaks = [at for at, char in enumerate(text) if char == "\n"]
    for start, end in _parts(text):
        _some(text, start, end, breaks, dialect, tokens, broken, True)
    return tokens, broken


def _some(
    text: str,
    start: int,
    end: int,
    breaks: list[int],
    dialect: Dialect,
    tokens: list[Token],
    broken: list[Broken],
    again: bool,
) -> None:
    part = text[start:end]
    lines = bisect.bisect_left(breaks, start)
    try:
        tokens += shifted(whole(part, dialect), start, lines)
    except (TokenError, RecursionError) as error:
        cuts = [at + 1 for at, char in enumerate(part) if char == ";"]
        if again and cuts and cuts != [len(part)]:
            edges = [0, *cuts, len(part)]
            for low, high in itertools.pairwise(edges):
                _some(text, start + low, start + high, breaks, dialect, tokens, broken, False)
            return
        lead = len(part) - len(part.lstrip())
        if part.strip(" \t\r\n;"):
            cause = str(error.__cause__ or "the text ends too early")
            line = bisect.bisect_left(breaks, start + lead) + 1
            broken.append((start + lead, start + len(part.rstrip(" \t\r\n;")), line, cause))
        if part.endswith(";"):
            tokens.append(Token(TokenType.SEMICOLON, ";", lines + 1 + part.count("\n"), 1, end - 1, end - 1))


def _parts(text: str) -> Iterator[tuple[int, int]]:
    """Cuts after each `;` outside quotes and comments; a quote that never closes stands for itself."""
    at = begin = 0
    size = len(text)
    endless: set[str] = set()
    while at < size:
        char = text[at]
        if char == ";":
            yield begin, at + 1
            begin = at = at + 1
            continue
        opener = char if char in "'\"`" else text[at : at + 2]
        closer = CLOSERS.get(opener)
        if closer is None or closer in endless:
            at += 1
            continue
        found = text.find(closer, at + len(opener))
        if found < 0:
            endless.add(closer)
            at += 1
        else:
            at = found + len(closer)
    if begin < size:
        yield begin, size
