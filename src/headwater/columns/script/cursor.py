"""The splitter's place in a text's tokens, the blocks open around it, and the cutting of a piece. Control flow is `procedure`'s matter."""

import bisect
from collections.abc import Callable, Sequence

from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import Token, TokenType

from headwater.columns.script.piece import Frame, Piece, Scope
from headwater.columns.script.scan import readable, shifted
from headwater.columns.script.terminal import ends, server

QUOTED = {
    TokenType.STRING,
    TokenType.IDENTIFIER,
    TokenType.NATIONAL_STRING,
    TokenType.RAW_STRING,
    TokenType.NATIONAL_RAW_STRING,
    TokenType.HEREDOC_STRING,
    TokenType.UNICODE_STRING,
    TokenType.BYTE_STRING,
}
STRINGS = QUOTED - {TokenType.IDENTIFIER, TokenType.BYTE_STRING}
QUERY = ("SELECT", "WITH")
LOADS = (
    "INSERT",
    "MERGE",
    "REPLACE",
    "IGNORE",
    "ALL",
    "FIRST",
    "OVERWRITE",
    "LOW_PRIORITY",
    "DELAYED",
    "HIGH_PRIORITY",
    "THEN",
    "ELSE",
)
CHANGES = ("SELECT", "WITH", "(", "INSERT", "UPDATE", "DELETE", "MERGE", "FROM")
AFTER = (
    "SET",
    "VALUES",
    "VALUE",
    "SELECT",
    "WITH",
    "USING",
    "WHERE",
    "RETURNING",
    "RETURN",
    "DEFAULT",
    "OVERRIDING",
    "FROM",
    "ON",
)
"""Words that follow the table of a change, and are no alias of it."""
INTO = ("INTO", "BULK COLLECT INTO")
DEEP = 100
"""Blocks inside one another that still get names of their own."""

Place = Callable[[int], int]


class Cursor:
    def __init__(
        self,
        text: str,
        dialect: Dialect,
        family: str,
        out: list[tuple[Piece, Scope]],
        *,
        scope: Scope | None = None,
        within: str = "",
        place: Place | None = None,
        line: int = 1,
        body: bool = False,
        level: int = 0,
        conditional: bool = False,
    ) -> None:
        """`place`: from a character of `text` to one of the text given first. `body`: this is the inside of a routine. `conditional`: all of it."""
        self.text, self.dialect, self.family, self.out = text, dialect, family, out
        self.place, self.line, self.body, self.level = place, line, body, level
        self.scope, self.within = scope or Scope(), within
        self.outer = (self.scope, self.within)
        self.frames: list[Frame] = []
        self.folded: dict[str, str | None] = {}
        self.prepared: set[str] = set()
        self.cursors: dict[str, Piece] = {}
        self.unset: set[str] = set()
        self.conditional = conditional
        self.load([])

    def load(self, tokens: list[Token]) -> None:
        if self.family == "oracle" and self.level:
            tokens = placeholders(tokens)
        self.tokens = tokens
        self.words = ["" if t.token_type in QUOTED else t.text.upper() for t in tokens]
        self.words += ["", "", "", ""]
        self.size = len(tokens)
        self.semis = [at for at, t in enumerate(tokens) if t.token_type is TokenType.SEMICOLON]

    def read(self, text: str, offset: int = 0, lines: int = 0) -> None:
        """Tokens of `text`, which stands at `offset` of this cursor's."""
        tokens, broken = readable(server(text, self.family), self.dialect)
        for end in reversed(ends(text, self.family)):
            place = bisect.bisect_left(tokens, end, key=_start_of)
            last = tokens[place - 1] if place else None
            if last is not None:
                tokens.insert(
                    place, Token(TokenType.SEMICOLON, ";", last.line, last.col, max(last.end, end - 1), last.end)
                )
        for start, end, line, why in broken:
            spot = self.spot(offset + start, offset + end)
            self.add(
                Piece(
                    "unreadable", *spot, line + lines + self.line - 1, self.text, reason=f"line {line + lines}: {why}"
                )
            )
        self.load(shifted(tokens, offset, lines) if offset or lines else tokens)

    def run(self) -> None:
        raise NotImplementedError

    def may_not_run(self) -> bool:
        """Return whether what stands here may run never, or more than once."""
        return self.conditional or self.branching() or any(frame.guarded for frame in self.frames[-DEEP:])

    def branching(self) -> bool:
        """Return whether this is inside of a branch or a loop."""
        return any(frame.kind in ("IF", "LOOP", "CASE") for frame in self.frames[-DEEP:])

    # The open blocks

    def push(self, kind: str, within: str = "", *, declaring: bool = False, names: bool = False) -> Frame:
        if names and len(self.frames) < DEEP:
            self.scope = Scope(self.scope)
        self.within = ".".join(filter(None, (self.within, within)))
        self.frames.append(Frame(kind, self.scope, self.within, declaring, len(self.out)))
        return self.frames[-1]

    def pop(self) -> None:
        self.frames.pop()
        self.scope, self.within = (self.frames[-1].scope, self.frames[-1].within) if self.frames else self.outer

    # The end of a stretch

    def end(self, at: int) -> int:
        """The `;` at or after, or the end."""
        found = bisect.bisect_left(self.semis, at)
        return self.semis[found] if found < len(self.semis) else self.size

    def closing(self, at: int, limit: int) -> int:
        """The parenthesis that closes the one at `at`, or `limit`."""
        depth = 0
        for here in range(at, limit):
            word = self.words[here]
            if word == "(":
                depth += 1
            elif word == ")":
                depth -= 1
                if depth == 0:
                    return here
        return limit

    def find(self, at: int, limit: int, *wanted: str) -> int:
        """The first of these words outside parentheses and CASE, or `limit`."""
        depth = cases = 0
        for here in range(at, limit):
            word = self.words[here]
            if word == "(":
                depth += 1
            elif word == ")":
                depth -= 1
            elif depth <= 0:
                if word in wanted and not cases:
                    return here
                if word == "CASE":
                    cases += 1
                elif word == "END" and cases:
                    cases -= 1
        return limit

    def dotted(self, at: int, limit: int) -> tuple[str, int]:
        """A name of several parts, as written without quotes, and what follows it."""
        parts: list[str] = []
        while at < limit and (self.words[at][:1].isalpha() or self.words[at][:1] in ("", "_", "#")):
            name = self.tokens[at].text
            if name == "#" and at + 1 < limit:
                at += 1
                name += self.tokens[at].text
            parts.append(name)
            at += 1
            if at < limit and self.words[at] == ".":
                at += 1
                while at < limit and self.words[at] == ".":
                    at += 1
                continue
            break
        return ".".join(parts), at

    def variable(self, at: int) -> tuple[str, int]:
        """A variable's name with its `@`, and what follows it."""
        word = self.words[at]
        if word == "@" and self.words[at + 1] != "@":
            return "@" + self.tokens[at + 1].text.lower() if at + 1 < self.size else "@", at + 2
        if word == ":":
            return (self.tokens[at + 1].text.lower() if at + 1 < self.size else ""), at + 2
        return (self.tokens[at].text.lower() if at < self.size else ""), at + 1

    # Cutting

    def spot(self, start: int, end: int) -> tuple[int, int]:
        if self.place is None:
            return start, end
        first = self.place(start)
        return first, max(first, self.place(max(end - 1, start)) + 1)

    def add(self, piece: Piece) -> None:
        piece.within = piece.within or self.within
        self.out.append((piece, self.scope))

    def piece(
        self, role: str, low: int, high: int, tokens: list[Token] | None = None, assigns: Sequence[str] = ()
    ) -> Piece | None:
        high = min(high, self.size)
        if low >= high:
            return None
        first, last = self.tokens[low], self.tokens[high - 1]
        line = first.line - self.text.count("\n", first.start, first.end + 1) + self.line - 1
        made = Piece(role, *self.spot(first.start, last.end + 1), line, self.text)
        made.tokens = self.tokens[low:high] if tokens is None else tokens
        made.assigns = tuple(assigns)
        made.conditional = self.may_not_run()
        self.add(made)
        return made

    def unknown(self, low: int, high: int, names: Sequence[str], reason: str) -> None:
        """From here on the variables hold what cannot be followed."""
        made = self.piece("unknown", low, high, [], names) if names else None
        if made is not None:
            made.reason = reason

    def statement(self, low: int, high: int, role: str = "statement", assigns: Sequence[str] = ()) -> None:
        """A statement or query as it stands, without the variables it is selected into."""
        tokens = self.tokens[low:high]
        if not tokens:
            return
        if self.words[low] in CHANGES and (cuts := self.targets(low, high)):
            tokens, names = [], []
            at = low
            for start, end, name in cuts:
                tokens += self.tokens[at:start]
                names.append(name)
                at = end
            tokens += self.tokens[at:high]
            assigns = (*assigns, *filter(None, names))
            if self.words[low] not in QUERY and self.words[low] not in ("(", "FROM"):
                self.piece(role, low, high, tokens, assigns)
                self.returning(low, cuts[0][0], names)
                return
        elif (
            role == "statement"
            and self.words[low] == "REPLACE"
            and tokens[0].token_type in self.dialect.tokenizer_class.COMMANDS
        ):
            first = tokens[0]
            tokens = [Token(TokenType.INSERT, first.text, first.line, first.col, first.start, first.end), *tokens[1:]]
        elif role == "statement" and tokens[0].token_type in self.dialect.tokenizer_class.COMMANDS and len(tokens) > 1:
            tail = self.text[tokens[1].start : tokens[-1].end + 1]
            tokens = [
                tokens[0],
                Token(TokenType.STRING, tail, tokens[1].line, tokens[1].col, tokens[1].start, tokens[-1].end),
            ]
        if self.family == "oracle" and self.frames:
            tokens = self.elements(tokens)
        if self.family == "mysql" and ":=" in self.words[low:high]:
            self.setting(role, low, high, tokens, assigns)
        else:
            self.piece(role, low, high, tokens, assigns)

    def setting(self, role: str, low: int, high: int, tokens: list[Token], assigns: Sequence[str]) -> None:
        """MySQL's `select @x := a`: an output that a variable takes, too. Deeper inside it changes from row to row."""
        words = self.words
        first = self.find(low, high, "SELECT") + 1
        last = self.find(first, high, "FROM", "INTO", "UNION", "LIMIT")
        names: list[str] = []
        here, starred = first + (words[first] in ("DISTINCT", "ALL")), False
        taken: set[int] = set()
        while here < last:
            stop = self.find(here, last, ",")
            sets = words[here] == "@" and words[here + 2] == ":="
            names.append(self.variable(here)[0] if sets else "")
            taken |= {here + 2} if sets else set()
            starred = starred or words[stop - 1] == "*"
            here = stop + 1
        deeper = {
            self.variable(at - 2)[0] for at in range(low, high) if words[at] == ":=" and (starred or at not in taken)
        }
        self.scope.names |= {*filter(None, names), *deeper}
        if words[low] not in QUERY:
            deeper.update(filter(None, names))
        self.piece(role, low, high, tokens, assigns or (() if starred else names))
        self.unknown(low, high, sorted(deeper), "it changes from row to row")

    def returning(self, low: int, high: int, names: Sequence[str]) -> None:
        """Variables take what a change RETURNING it says: columns of the table that is changed."""
        start = self.find(low, high, "RETURNING", "RETURN")
        at = low + 1
        while self.words[at] in ("INTO", "FROM", "ONLY", "TABLE", "IGNORE"):
            at += 1
        table, stop = self.dotted(at, start)
        if self.words[stop] == "AS" or (table and self.words[stop].isidentifier() and self.words[stop] not in AFTER):
            stop += 1 + (self.words[stop] == "AS")
        first = self.tokens[low]
        select, from_ = (
            Token(kind, kind.name, first.line, first.col, first.start, first.start)
            for kind in (TokenType.SELECT, TokenType.FROM)
        )
        self.piece("value", low, high, [select, *self.tokens[start + 1 : high], from_, *self.tokens[at:stop]], names)

    def elements(self, tokens: list[Token]) -> list[Token]:
        """PL/SQL's `list(i)` as the list, in whose place the query stands that filled it."""
        kept: list[Token] = []
        depth = 0
        for token in tokens:
            opens, closes = token.token_type is TokenType.L_PAREN, token.token_type is TokenType.R_PAREN
            if depth:
                depth += opens - closes
            elif opens and kept and self.scope.knows(kept[-1].text.lower()):
                depth = 1
            else:
                kept.append(token)
        return kept

    def targets(self, low: int, high: int) -> list[tuple[int, int, str]]:
        """Stretches that take the result into variables."""
        depth, head, returning = 0, self.words[low], False
        words = self.words
        for here in range(low, high):
            word = words[here]
            if word == "(":
                depth += 1
            elif word == ")":
                depth -= 1
            elif depth == 0 and word in ("RETURNING", "RETURN"):
                returning = True
            elif (
                depth == 0
                and word in INTO
                and (head in ("SELECT", "WITH", "(") or returning)
                and words[here - 1] not in LOADS
            ):
                return self.into(here, high, bulk=word != "INTO")
        return []

    def into(self, at: int, high: int, *, bulk: bool) -> list[tuple[int, int, str]]:
        here = at + 1
        if self.words[here] == "STRICT":
            here += 1
        always = bulk or self.family == "oracle" or (self.family == "postgres" and self.body)
        if self.family == "mysql":
            always = self.words[here] not in ("OUTFILE", "DUMPFILE")
        if self.words[here] in ("TABLE", "TEMP", "TEMPORARY", "UNLOGGED"):
            return []
        found: list[tuple[int, int, str]] = []
        while here < high:
            bound = self.words[here] == ":"
            name, after = self.variable(here)
            if not (always or bound or self.scope.knows(name)):
                return []
            while after < high and self.words[after] in (".", "[", "(", ":"):
                if self.words[after] == "(":
                    if self.family != "oracle":
                        break
                    after = self.closing(after, high) + 1
                else:
                    if self.words[after] == "." and after + 1 < high:
                        name += "." + self.tokens[after + 1].text.lower()
                    after += 2 if self.words[after] in (".", ":") else 3
            if name.startswith("@"):
                self.scope.names.add(name)
            found.append((at, min(after, high), name))
            at = here = min(after, high)
            if here < high and self.words[here] == ",":
                here += 1
                continue
            break
        return found


def _start_of(token: Token) -> int:
    return token.start


def placeholders(tokens: list[Token]) -> list[Token]:
    """`:1` as the parser takes it."""
    kept: list[Token] = []
    for token in tokens:
        last = kept[-1] if kept else None
        if (
            token.token_type is TokenType.NUMBER
            and last is not None
            and last.token_type is TokenType.COLON
            and last.end + 1 == token.start
        ):
            kept[-1] = Token(TokenType.PLACEHOLDER, "?", last.line, last.col, last.start, token.end)
        else:
            kept.append(token)
    return kept
