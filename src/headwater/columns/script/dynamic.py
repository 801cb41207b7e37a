"""Expressions that hold queries, and strings that hold SQL. SQL that is assembled at run time is marked as such."""

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from headwater.columns.script import literal
from headwater.columns.script.cursor import INTO, QUERY, STRINGS, Cursor, Place
from headwater.columns.script.piece import RUN_TIME, Piece

SETS = ("UNION", "EXCEPT", "INTERSECT", "MINUS")
NESTED = 8
"""Strings of SQL inside strings of SQL."""


class Values(Cursor):
    """Cuts queries and statements out of values."""

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
            self.value(low, high, assigns)
            self.remember(low, high, assigns)

    def rows_of(self, low: int, high: int, taken: list[tuple[str, ...]]) -> None:
        """Records that hold rows of the table whose name stands there."""
        first = self.tokens[low]
        words = ((TokenType.SELECT, "SELECT"), (TokenType.STAR, "*"), (TokenType.FROM, "FROM"))
        lead = [Token(kind, word, first.line, first.col, first.start, first.start) for kind, word in words]
        made = self.piece("value", low, high, [*lead, *self.tokens[low:high]])
        if made is not None:
            made.fetched += taken

    def value(self, low: int, high: int, assigns: Sequence[str] = ()) -> None:
        """The queries of a value, or the variables that it is made of."""
        if self.queries(low, high, assigns) or not assigns:
            return
        if any(self.scope.knows(self.variable(at)[0]) for at in range(low, high) if self.words[at]):
            first = self.tokens[low]
            word = Token(TokenType.SELECT, "SELECT", first.line, first.col, first.start, first.start)
            self.piece("value", low, high, [word, *self.tokens[low:high]], assigns)

    # Cursors

    def rows(self, name: str) -> list[Piece]:
        """The queries whose rows a cursor or a set of results has."""
        opened = self.cursors.get(name.lstrip("@"))
        if opened is not None:
            return [opened]
        return [piece for piece, _ in self.out if piece.assigns == (name,)]

    def fetch(self, at: int) -> int:
        """FETCH … cursor INTO variables."""
        limit = self.end(at)
        into = self.find(at, limit, *INTO)
        if into >= limit:
            return limit
        stop = self.find(at, into, "LIMIT")
        name = self.tokens[min(stop, into) - 1].text.lower()
        names, here = [], into + 1
        while here < limit:
            taken, here = self.variable(here)
            while here + 1 < limit and self.words[here] == ".":
                taken, here = f"{taken}.{self.tokens[here + 1].text.lower()}", here + 2
            names.append(taken)
            if self.words[here] != ",":
                break
            here += 1
        opened = self.rows(name)
        for piece in opened:
            piece.fetched.append(tuple(names))
        if not opened:
            self.unknown(at, limit, names, f"the query of the cursor {name} is not here")
        return limit

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
        made = self.piece("dynamic", low, high, [], assigns)
        if made is None:
            return
        before = len(self.out)
        if high - low == 1 and token.token_type in STRINGS:
            self.nest(made, token, body=False)
            self.give(before, low, high, assigns)
            return
        decoded = literal.fold(self.tokens, self.words, low, high, self.folded)
        if not decoded:
            made.reason = RUN_TIME
            self.unknown(low, high, assigns, RUN_TIME)
            return
        made.text = decoded
        start = made.start
        self.inner(made, decoded, lambda at: start, made.line, body=False)
        self.give(before, low, high, assigns)

    def give(self, before: int, low: int, high: int, assigns: Sequence[str]) -> None:
        """Variables take the result of the query that a string holds."""
        if not assigns:
            return
        for piece, _ in reversed(self.out[before:]):
            if piece.role in ("statement", "query"):
                piece.fetched.append(tuple(assigns))
                return
        self.unknown(low, high, assigns, RUN_TIME)

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
            self.inner(
                made, decoded, self.place, self.line, body=body, value=value, offset=token.start + lead, lines=lines
            )

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
            conditional=self.may_not_run(),
        )
        walk.read(text, offset or 0, lines)
        if made.role == "dynamic":
            made.text = text
        if value:
            walk.expression(0, walk.end(0))
        else:
            walk.run()
