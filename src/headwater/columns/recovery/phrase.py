"""A statement's tokens to read by hand: words, names, brackets. Statements that the parser cannot read are read with this; nothing here recurses."""

from typing import Any

from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from headwater.columns import form
from headwater.columns.lowering.context import Context

_OPEN = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
_CONSTRAINTS = frozenset("CONSTRAINT PRIMARY UNIQUE FOREIGN CHECK LIKE EXCLUDE".split())
_INDEXES = frozenset("INDEX KEY PERIOD FULLTEXT SPATIAL PROJECTION WATERMARK".split())
_ANGLES = {"<": 1, ">": -1, ">>": -2}
_TEXTS = frozenset(
    {
        TokenType.STRING,
        TokenType.RAW_STRING,
        TokenType.HEREDOC_STRING,
        TokenType.NATIONAL_STRING,
        TokenType.UNICODE_STRING,
        TokenType.BYTE_STRING,
    }
)
_NOT_WORDS = _TEXTS | {TokenType.IDENTIFIER, TokenType.NUMBER}
_QUERY_STARTS = frozenset(
    {"SELECT", "WITH", "FROM", "VALUES", "SEL", "TABLE", "PIVOT", "UNPIVOT", "PIVOT_WIDER", "PIVOT_LONGER"}
)


def words_of(tokens: list[Any]) -> list[str]:
    """Each token's word in capitals; empty for strings, numbers and quoted names."""
    return ["" if token.token_type in _NOT_WORDS else token.text.upper() for token in tokens]


def depths_of(words: list[str]) -> list[int]:
    """Return the number of open brackets before each token; an opening bracket does not count itself, a closing one counts as closed."""
    depths, depth = [], 0
    for word in words:
        step = _OPEN.get(word, 0)
        if step < 0:
            depth += step
        depths.append(depth)
        if step > 0:
            depth += step
    return depths


def wordwise(dialect: Dialect) -> Any:
    """A tokenizer for which no word is a command that swallows the rest."""
    tokenizer: Any = dialect.tokenizer()
    for one in (tokenizer, getattr(tokenizer, "_hive_tokenizer", None), getattr(tokenizer, "_trino_tokenizer", None)):
        if one is not None:
            one._core.commands = set()
    return tokenizer


def whole(text: str, tokens: list[Any], dialect: Dialect) -> list[Any]:
    """The tokens without the tokenizer's habit of making one string of all that follows a word it takes for a command."""
    if tokens and tokens[0].token_type is TokenType.HIVE_TOKEN_STREAM:  # Athena's note of which grammar it chose
        tokens = tokens[1:]
    if not tokens or len(tokens) > 2 or tokens[0].token_type not in dialect.tokenizer_class.COMMANDS:
        return tokens
    start = tokens[0].start
    try:
        found = wordwise(dialect).tokenize(text[start : tokens[-1].end + 1])
    except (TokenError, RecursionError):
        return tokens
    if found and found[0].token_type is TokenType.HIVE_TOKEN_STREAM:
        found = found[1:]
    line, column = tokens[0].line, tokens[0].col - len(tokens[0].text)
    for token in found:
        if token.line == 1:
            token.col += column
        token.line += line - 1
        token.start += start
        token.end += start
    return list(found)


class Phrase:
    """Tokens with their words and depths; places are indexes of tokens."""

    def __init__(self, tokens: list[Any], context: Context) -> None:
        self.tokens = tokens
        self.context = context
        self.words = words_of(tokens)
        self.depths = depths_of(self.words)
        self.size = len(tokens)

    def word(self, place: int) -> str:
        return self.words[place] if 0 <= place < self.size else ""

    def after(self, place: int, *expected: str) -> int:
        """The place after these words when they stand at `place`, else -1. `A|B`: either; `A?`: it may be missing."""
        for one in expected:
            optional = one.endswith("?")
            if self.word(place) in one.rstrip("?").split("|") and self.word(place):
                place += 1
            elif not optional:
                return -1
        return place

    def find(self, *wanted: str, start: int = 0, end: int | None = None, depth: int | None = 0) -> int:
        """The first place of one of the words outside brackets (any depth with None), -1 if there is none."""
        for place in range(start, self.size if end is None else end):
            if self.words[place] in wanted and (depth is None or self.depths[place] == depth):
                return place
        return -1

    def closing(self, place: int) -> int:
        """The place of the bracket that closes the one at `place`; the end when nothing does."""
        depth = self.depths[place]
        for at in range(place + 1, self.size):
            if self.depths[at] == depth and self.words[at] in {")", "]", "}"}:
                return at
        return self.size

    def skipped(self, place: int) -> int:
        """The place after the bracketed group at `place`, or `place` when there is none."""
        return self.closing(place) + 1 if self.word(place) == "(" else place

    def text(self, place: int) -> str | None:
        """The string at `place`."""
        if 0 <= place < self.size and self.tokens[place].token_type in _TEXTS:
            return str(self.tokens[place].text)
        return None

    def first_text(self, start: int = 0, end: int | None = None) -> str | None:
        for place in range(start, self.size if end is None else min(end, self.size)):
            if (found := self.text(place)) is not None:
                return found
        return None

    def starts_query(self, place: int) -> bool:
        while self.word(place) == "(":
            place += 1
        return self.word(place) in _QUERY_STARTS

    def is_name(self, place: int) -> bool:
        if not 0 <= place < self.size:
            return False
        token = self.tokens[place]
        if token.token_type is TokenType.IDENTIFIER:
            return True
        word = self.words[place]
        return bool(word) and (word[0].isalpha() or word[0] in "_@#$") and " " not in word

    def is_quoted(self, place: int) -> bool:
        return bool(self.tokens[place].token_type is TokenType.IDENTIFIER)

    def declares_column(self, place: int) -> bool:
        """Return whether an entry of a CREATE's list begins with a column, and not with a constraint or an index."""
        word, parser = self.word(place), self.context.rule.parser
        if not self.is_name(place) or word in _CONSTRAINTS:
            return False
        if word not in _INDEXES or parser in {"hive", "spark", "spark2", "databricks", "athena"}:
            return True
        opened = place + 1 if self.word(place + 1) == "(" else place + 2
        number = opened + 1 < self.size and self.tokens[opened + 1].token_type is TokenType.NUMBER
        return (
            bool(self.word(place + 1))
            and (self.word(opened) != "(" or number)
            and self.word(place + 1) not in {"FOR", "KEY", "INDEX"}
        )

    def entries(self, place: int, end: int) -> list[tuple[int, int]]:
        """The entries of a list between two places, as (first, behind the last): commas in brackets and in `<…>` separate none."""
        found: list[tuple[int, int]] = []
        end = min(end, self.size)
        if place >= end:
            return found
        depth, angle, start = self.depths[place], 0, place
        for at in range(place, end):
            word = self.words[at]
            if word in _ANGLES:
                angle = max(0, angle + _ANGLES[word])
            elif word == "," and self.depths[at] == depth and not angle:
                found.append((start, at))
                start = at + 1
        if start < end:
            found.append((start, end))
        return found

    def names(self, place: int) -> tuple[list[form.Parts], int]:
        """The names at `place`, with commas between, and the place after them."""
        found: list[form.Parts] = []
        while True:
            name, place = self.name(place)
            if name:
                found.append(name)
            if not name or self.word(place) != ",":
                return found, place
            place += 1

    def name(self, place: int) -> tuple[form.Parts, int]:
        """The name at `place` and the place after it; () and the same place when none stands there."""
        parts: list[str] = []
        at = place
        mark = ""
        while at < self.size and self.words[at] == "#":
            mark += "#"
            at += 1
        rule = self.context.rule
        while at < self.size:
            if self.words[at] == "." and parts and rule.parser == "tsql":
                parts.append("dbo")
                at += 1
                continue
            if not self.is_name(at):
                break
            token = self.tokens[at]
            text, quoted = token.text, token.token_type is TokenType.IDENTIFIER
            at += 1
            while rule.parser == "bigquery" and self.word(at) == "-" and self._touches(at) and at + 1 < self.size:
                text += "-" + self.tokens[at + 1].text
                at += 2
            pieces = text.split(".") if quoted and rule.parser == "bigquery" else [text]
            parts += [mark + (one if rule.tables_sensitive else self.context.fold(one, quoted)) for one in pieces]
            mark = ""
            if self.word(at) != ".":
                break
            at += 1
        return (tuple(parts), at) if parts else ((), place)

    def _touches(self, place: int) -> bool:
        """Return whether no space stands around this token."""
        before, token = self.tokens[place - 1], self.tokens[place]
        return before.end + 1 == token.start and (
            place + 1 < self.size and token.end + 1 == self.tokens[place + 1].start
        )

    def stage(self, place: int) -> tuple[str, int]:
        """Snowflake's `@stage/path` at `place`, or ""."""
        if self.word(place) != "@":
            return "", place
        at = place + 1
        while at < self.size and self.tokens[at].start == self.tokens[at - 1].end + 1:
            at += 1
        return "".join(token.text for token in self.tokens[place:at]), at

    def place_or_path(self, place: int) -> tuple[form.Parts, bool, int]:
        """A table's name, a path in quotes or a stage: its parts, whether it is a path, and the place after."""
        text = self.text(place)
        if text is not None:
            return (text,), True, place + 1
        stage, at = self.stage(place)
        if stage:
            return (stage,), True, at
        parts, at = self.name(place)
        return parts, False, at


def inserted_token(kind: TokenType, text: str, like: Any) -> Any:
    """A token that the text does not have, at the place of one that it has."""
    return Token(kind, text, like.line, like.col, like.start, like.end)
