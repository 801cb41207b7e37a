"""Where the splitter stands in a text's tokens, what is open around it, and how a piece is cut out. Control flow is `procedure`'s matter."""

import bisect
from collections.abc import Callable, Sequence

from sqlglot.dialects.dialect import Dialect
from sqlglot.tokens import Token, TokenType

from headwater.columns import literal
from headwater.columns.piece import RUN_TIME, Frame, Piece, Scope
from headwater.columns.scan import readable, shifted
from headwater.columns.terminal import server

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
SETS = ("UNION", "EXCEPT", "INTERSECT", "MINUS")
LOADS = ("INSERT", "MERGE", "REPLACE", "IGNORE", "ALL", "FIRST", "OVERWRITE", "LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "THEN", "ELSE")
CHANGES = ("SELECT", "WITH", "(", "INSERT", "UPDATE", "DELETE", "MERGE", "FROM")
INTO = ("INTO", "BULK COLLECT INTO")
DEEP = 100
"""Blocks inside one another that still get names of their own."""
NESTED = 8
"""Strings of SQL inside strings of SQL."""

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
    ) -> None:
        """`place`: from a character of `text` to one of the text given first. `body`: this is the inside of a routine."""
        self.text, self.dialect, self.family, self.out = text, dialect, family, out
        self.place, self.line, self.body, self.level = place, line, body, level
        self.scope, self.within = scope or Scope(), within
        self.outer = (self.scope, self.within)
        self.frames: list[Frame] = []
        self.folded: dict[str, str | None] = {}
        self.prepared: dict[str, tuple[int, int]] = {}
        self.load([])

    def load(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.words = ["" if t.token_type in QUOTED else t.text.upper() for t in tokens]
        self.words += ["", "", "", ""]
        self.size = len(tokens)
        self.semis = [at for at, t in enumerate(tokens) if t.token_type is TokenType.SEMICOLON]

    def read(self, text: str, offset: int = 0, lines: int = 0) -> None:
        """Tokens of `text`, which stands at `offset` of this cursor's."""
        tokens, broken = readable(server(text, self.family), self.dialect)
        for start, end, line, why in broken:
            spot = self.spot(offset + start, offset + end)
            self.add(Piece("unreadable", *spot, line + lines + self.line - 1, self.text, reason=f"line {line + lines}: {why}"))
        self.load(shifted(tokens, offset, lines) if offset or lines else tokens)

    def run(self) -> None:
        raise NotImplementedError

    # What is open

    def push(self, kind: str, within: str = "", *, declaring: bool = False, names: bool = False) -> Frame:
        if names and len(self.frames) < DEEP:
            self.scope = Scope(self.scope)
        self.within = ".".join(filter(None, (self.within, within)))
        self.frames.append(Frame(kind, self.scope, self.within, declaring))
        return self.frames[-1]

    def pop(self) -> None:
        self.frames.pop()
        self.scope, self.within = (self.frames[-1].scope, self.frames[-1].within) if self.frames else self.outer

    # Where a stretch ends

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

    def piece(self, role: str, low: int, high: int, tokens: list[Token] | None = None, assigns: Sequence[str] = ()) -> Piece | None:
        high = min(high, self.size)
        if low >= high:
            return None
        first, last = self.tokens[low], self.tokens[high - 1]
        line = first.line - first.text.count("\n") + self.line - 1
        made = Piece(role, *self.spot(first.start, last.end + 1), line, self.text)
        made.tokens = self.tokens[low:high] if tokens is None else tokens
        made.assigns = tuple(assigns)
        self.add(made)
        return made

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
        elif role == "statement" and tokens[0].token_type in self.dialect.tokenizer_class.COMMANDS and len(tokens) > 1:
            tail = self.text[tokens[1].start : tokens[-1].end + 1]
            tokens = [tokens[0], Token(TokenType.STRING, tail, tokens[1].line, tokens[1].col, tokens[1].start, tokens[-1].end)]
        self.piece(role, low, high, tokens, assigns)

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
            elif depth == 0 and word in INTO and (head in ("SELECT", "WITH", "(") or returning) and words[here - 1] not in LOADS:
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
                    after += 2 if self.words[after] in (".", ":") else 3
            found.append((at, min(after, high), name))
            at = here = min(after, high)
            if here < high and self.words[here] == ",":
                here += 1
                continue
            break
        return found

    # Expressions

    def queries(self, low: int, high: int, assigns: Sequence[str] = ()) -> bool:
        """Cuts the outermost queries in parentheses out of an expression."""
        here, found = low, False
        open_at: list[int] = []
        while here < high:
            word = self.words[here]
            if word == "(":
                open_at.append(here)
                if self.words[here + 1] in QUERY and here + 1 < high:
                    last = self.closing(here, high)
                    start = here + 1
                    if last + 1 < high and self.words[last + 1] in SETS and len(open_at) > 1:
                        start = open_at[-2] + 1
                        last = self.closing(open_at[-2], high)
                    self.statement(start, last, "query", assigns)
                    found, here = True, last
                    open_at.pop()
            elif word == ")" and open_at:
                open_at.pop()
            here += 1
        return found

    def expression(self, low: int, high: int, assigns: Sequence[str] = ()) -> None:
        """The value of an assignment, a default, a RETURN."""
        if low >= high:
            return
        word = self.words[low]
        if word in QUERY:
            self.statement(low, high, "query", assigns)
        elif word in ("EXECUTE", "EXEC") or (word == "(" and self.words[low + 1] == "EXECUTE"):
            self.execute(low + (word == "("), high - (word == "("), assigns)
        elif self.family == "postgres" and self.body and self.find(low, high, "FROM") < high:
            self.select(low, high, assigns)
        else:
            self.queries(low, high, assigns)
            self.remember(low, high, assigns)

    def select(self, low: int, high: int, assigns: Sequence[str] = ()) -> None:
        """An expression with a FROM of its own, which PL/pgSQL runs as a query."""
        first = self.tokens[low]
        word = Token(TokenType.SELECT, "SELECT", first.line, first.col, first.start, first.start)
        tokens = [word, *self.tokens[low:high]]
        if cuts := self.targets(low - 1, high) if self.words[low - 1] == "SELECT" else []:
            tokens = [word, *self.tokens[low : cuts[0][0]], *self.tokens[cuts[-1][1] : high]]
        self.piece("query", low, high, tokens, assigns)

    def remember(self, low: int, high: int, names: Sequence[str], *, append: bool = False) -> None:
        """The text a variable holds, as long as it is one text only."""
        for name in names:
            value = literal.fold(self.tokens, self.words, low, high, self.folded)
            if name in self.folded and self.folded[name] != "" and self.branching():
                value = None
            elif append:
                before = self.folded.get(name)
                value = None if before is None or value is None else before + value
            self.folded[name] = value

    def branching(self) -> bool:
        """Whether what is said here may not happen, or more than once."""
        return any(frame.kind in ("IF", "LOOP", "CASE") for frame in self.frames[-DEEP:])

    # Strings of SQL

    def execute(self, at: int, high: int, assigns: Sequence[str] = ()) -> None:
        """EXECUTE [IMMEDIATE] text [INTO …] [USING …]."""
        low = at + 1
        if self.words[low] == "IMMEDIATE":
            low += 1
        stop = self.find(low, high, "INTO", "BULK COLLECT INTO", "USING")
        into = self.find(low, high, *INTO)
        if into < high:
            names, here = [], into + 1 + (self.words[into + 1] == "STRICT")
            while here < high:
                name, here = self.variable(here)
                names.append(name)
                if here >= high or self.words[here] != ",":
                    break
                here += 1
            assigns = (*assigns, *names)
        self.dynamic(low, stop, assigns)

    def dynamic(self, low: int, high: int, assigns: Sequence[str] = ()) -> None:
        """SQL in a string, or what should be one."""
        while low < high and self.words[low] == "(" and self.closing(low, high) == high - 1:
            low, high = low + 1, high - 1
        if low >= high:
            return
        token = self.tokens[low]
        if high - low == 1 and token.token_type in STRINGS:
            made = self.piece("dynamic", low, high, [], assigns)
            if made is not None:
                self.nest(made, token, body=False)
            return
        decoded = literal.fold(self.tokens, self.words, low, high, self.folded)
        made = self.piece("dynamic", low, high, [], assigns)
        if made is None:
            return
        if not decoded:
            made.reason = RUN_TIME
            return
        made.text = decoded
        start = made.start
        self.inner(made, decoded, lambda at: start, made.line, body=False)

    def nest(self, made: Piece, token: Token, *, body: bool, value: bool = False) -> None:
        """The pieces of a string of SQL, in their place when it is written without escapes."""
        raw = self.text[token.start : token.end + 1]
        decoded = literal.decoded(token)
        lead = literal.lead(raw, decoded)
        if lead is None:
            there = literal.places(raw, decoded)
            start, outer = token.start, self.place
            last = len(there) - 1

            def place(at: int) -> int:
                inner = start + there[min(max(at, 0), last)]
                return outer(inner) if outer else inner

            self.inner(made, decoded, place, made.line, body=body, value=value)
        else:
            lines = token.line - 1 - raw.count("\n") + raw.count("\n", 0, lead)
            self.inner(made, decoded, self.place, self.line, body=body, value=value, offset=token.start + lead, lines=lines)

    def inner(
        self,
        made: Piece,
        text: str,
        place: Place | None,
        line: int,
        *,
        body: bool,
        value: bool = False,
        offset: int | None = None,
        lines: int = 0,
    ) -> None:
        """`value`: the text is an expression, not statements. `offset`: it stands there, as it is, in this cursor's text."""
        if self.level >= NESTED:
            made.reason = "SQL in strings nested too deep"
            return
        whole = text if offset is None else self.text
        walk = type(self)(
            whole,
            self.dialect,
            self.family,
            self.out,
            scope=self.scope,
            within=self.within,
            place=place,
            line=line,
            body=body,
            level=self.level + 1,
        )
        walk.read(text, offset or 0, lines)
        if made.role == "dynamic":
            made.text = text
        if value:
            walk.expression(0, walk.end(0))
        else:
            walk.run()
