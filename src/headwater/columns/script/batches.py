"""T-SQL: batches between GO, blocks without END IF, variables that a SELECT assigns, EXEC."""

from collections.abc import Callable
from typing import ClassVar

from sqlglot.tokenizer_core import Token, TokenType

from headwater.columns.script import routine
from headwater.columns.script.boundary import VERBS, alone, boundary, fresh, unparsed
from headwater.columns.script.piece import Piece
from headwater.columns.script.procedure import Walk

CONTROL = ("BREAK", "CONTINUE", "GOTO", "OPEN", "FETCH", "CLOSE", "DEALLOCATE")
"""Words that only steer the statements around them."""


class Batch(Walk):
    """Reads one text of T-SQL."""

    HANDLERS: ClassVar[dict[str, "Callable[[Walk, int], int]"]] = {}
    maybe = False
    """The next statement may not happen."""

    def load(self, tokens: list[Token]) -> None:
        super().load(tokens)
        self.stops = [at for at, word in enumerate(self.words) if word == "GO" and alone(self, at)]
        self.ends: tuple[int, int] = (-1, -1)

    def end(self, at: int) -> int:
        if self.ends[0] != at:
            self.ends = (at, boundary(self, at))
        return self.ends[1]

    def find(self, at: int, limit: int, *wanted: str) -> int:
        return super().find(at, min(limit, self.size), *wanted)

    def branching(self) -> bool:
        return self.maybe or super().branching()

    def step(self, at: int) -> int:
        maybe, word = self.maybe, self.words[at]
        after = super().step(at)
        if maybe and word not in ("IF", "WHILE", "ELSE"):
            self.maybe = False
        return after

    def label(self, at: int) -> int:
        return at + 2 if self.words[at + 1] == ":" and self.words[at] and fresh(self, at) else at

    # Blocks

    def go(self, at: int) -> int:
        if not alone(self, at):
            return self.ordinary(at)
        while self.frames:
            self.pop()
        self.outer = (type(self.scope)(), self.outer[1])
        self.scope = self.outer[0]
        self.folded = {}
        self.conditional = False
        return at + 1 + (at + 1 < self.size and self.tokens[at + 1].token_type is TokenType.NUMBER)

    def begin(self, at: int) -> int:
        after = self.words[at + 1]
        if after in ("TRAN", "TRANSACTION", "DISTRIBUTED", "DIALOG", "CONVERSATION"):
            return self.quiet(at)
        self.push("IF" if self.branching() or after == "CATCH" else "BEGIN").guarded = after == "TRY"
        if after == "ATOMIC":
            return at + 2 if self.words[at + 2] != "WITH" else self.closing(at + 3, self.size) + 1
        return at + 1 + (after in ("TRY", "CATCH"))

    def close(self, at: int) -> int:
        if self.frames and self.frames[-1].kind in ("BEGIN", "IF"):
            self.pop()
        after = at + 1 + (self.words[at + 1] in ("TRY", "CATCH", "CONVERSATION"))
        if after + 1 < self.size and self.words[after] == "AS" and self.words[after + 1] == "":
            after += 2
        return after

    def branch(self, at: int) -> int:
        limit = self.end(at)
        self.queries(at + 1, limit)
        self.maybe = True
        return limit

    def otherwise(self, at: int) -> int:
        self.maybe = True
        return at + 1

    def create(self, at: int) -> int:
        kind, here = routine.head(self, at)
        if kind not in ("PROCEDURE", "PROC", "FUNCTION", "TRIGGER"):
            return self.ordinary(at)
        name, after = routine.name_at(self, here)
        stop = (
            next((at for at in self.stops if at > after), self.size) if len(self.stops) < 50 else self.next_stop(after)
        )
        body = self.body_at(after, stop)
        if not name or body >= stop:
            return self.ordinary(at)
        while self.frames:
            self.pop()
        made = routine.opened(self, at, kind, name, after)
        self.frames[-1].kind = "BATCH FUNCTION" if kind == "FUNCTION" else "BATCH"
        for spot in range(after, body):
            first = spot == after or self.words[spot - 1] in ("(", ",", "RETURNS")
            if first and self.words[spot] == "@":
                self.scope.names.add(self.variable(spot)[0])
        if made is not None and self.words[body] == "EXTERNAL":
            made.reason = "the body is in an assembly, not SQL"
            return self.end(body)
        return body

    def next_stop(self, at: int) -> int:
        here = at
        while here < self.size and not (self.words[here] == "GO" and alone(self, here)):
            here += 1
        return here

    def body_at(self, at: int, stop: int) -> int:
        """After the AS of the header, which is not the AS of a parameter or of EXECUTE AS."""
        depth = 0
        for here in range(at, stop):
            word = self.words[here]
            depth += (word == "(") - (word == ")")
            if depth > 0:
                continue
            if word == "AS" and self.words[here - 2] != "@" and self.words[here - 1] not in ("EXECUTE", "EXEC"):
                return here + 1
            if word in ("RETURN", "BEGIN"):
                return here
        return stop

    # Statements

    def declare(self, at: int) -> int:
        limit, here = self.end(at), at + 1
        if self.words[here] != "@":
            name = self.tokens[here].text.lower() if here < limit else ""
            self.scope.names.add(name)
            low = self.find(here, limit, "FOR") + 1
            if low < limit:
                self.opened(low, self.find(low, limit, "FOR"), name)
            return limit
        table = False
        while here < limit:
            name, after = self.variable(here)
            self.scope.names.add(name)
            stop = self.find(after, limit, ",")
            kind = after + (self.words[after] == "AS")
            table = table or self.words[kind] == "TABLE"
            value = self.find(after, stop, "=")
            if value < stop:
                self.expression(value + 1, stop, (name,))
            here = stop + 1
        if table:
            self.statement(at, limit)
        return limit

    def silent(self, at: int) -> int:
        limit = self.end(at)
        if not self.queries(at, limit) and not self.inside() and self.words[at] not in CONTROL:
            self.statement(at, limit)
        return limit

    def set_(self, at: int) -> int:
        limit, here = self.end(at), at + 1
        if self.words[here] != "@":
            return limit
        name, after = self.variable(here)
        self.scope.names.add(name)
        if self.words[after] == ".":
            self.queries(after, limit)
            return limit
        sign = self.find(after, limit, "=", "+=")
        low = sign + 1
        if self.words[low] == "CURSOR":
            low = self.find(low, limit, "FOR") + 1
            self.opened(low, self.find(low, limit, "FOR"), name)
            return limit
        self.value(low, limit, (name,))
        self.remember(low, limit, (name,), append=self.words[sign] == "+=" or self.words[sign - 1] == "+")
        return limit

    def other(self, at: int) -> int:
        """The first statement of a batch may call a procedure without EXEC."""
        name, _ = self.dotted(at, self.size)
        first = at == 0 or self.words[at - 1] == "GO"
        if first and (name.lower().startswith(("sp_", "xp_")) or "." in name):
            return self.called(at, at, self.end(at))
        return self.ordinary(at)

    def ordinary(self, at: int) -> int:
        limit = self.end(at)
        if self.words[at] == "INSERT":
            exec_at = min(self.find(at, limit, "EXEC"), self.find(at, limit, "EXECUTE"))
            if exec_at < limit:
                return self.inserted(at, exec_at, limit)
        if self.words[at] in ("SELECT", "WITH") and (names := self.taken(at, limit)) is not None:
            return self.chosen(at, limit, names)
        if self.words[at] in ("CREATE", "WITH", *VERBS):
            cuts, tokens = unparsed(self, at, limit), self.compound(at, limit)
            if cuts or tokens:
                gone = {id(token) for low, high in cuts for token in self.tokens[low:high]}
                self.piece(
                    "statement",
                    at,
                    limit,
                    [token for token in tokens or self.tokens[at:limit] if id(token) not in gone],
                )
                return limit
        self.statement(at, limit)
        return limit

    def compound(self, at: int, limit: int) -> list[Token]:
        """`SET a += b` as `SET a = a + b`; nothing when there is none of it."""
        words, depth, name = self.words, 0, at
        made: list[Token] = []
        done = at
        for here in range(at, limit - 1):
            word = words[here]
            depth += (word == "(") - (word == ")")
            if depth == 0 and word in ("SET", ","):
                name = here + 1
            elif (
                depth == 0 and words[here + 1] == "=" and word in ("+", "-", "*", "/", "%") and name < here <= name + 7
            ):
                made += [*self.tokens[done:here], self.tokens[here + 1], *self.tokens[name:here], self.tokens[here]]
                done = here + 2
        return [*made, *self.tokens[done:limit]] if made else []

    def taken(self, at: int, limit: int) -> dict[int, str] | None:
        """Return the variable of each `@x =` in the list of a SELECT, by its place."""
        low = at if self.words[at] == "SELECT" else self.find(at, limit, "SELECT")
        found: dict[int, str] = {}
        depth = 0
        for here in range(low, limit):
            word = self.words[here]
            depth += (word == "(") - (word == ")")
            if depth:
                continue
            if word == "FROM":
                break
            head = self.words[here - 1] in ("SELECT", ",", "DISTINCT", "ALL", ")") or self.words[here - 2] == "TOP"
            if word == "@" and head:
                sign = here + 2 + (self.words[here + 2] in ("+", "-", "*", "/"))
                if self.words[sign] in ("=", "+=") and sign < limit:
                    found[here] = self.variable(here)[0]
        return found or None

    def chosen(self, at: int, limit: int, names: dict[int, str]) -> int:
        taken = tuple(names.values())
        self.scope.names.update(taken)
        if not any(word in ("FROM", "SELECT") for word in self.words[at + 1 : limit]):
            for spot, name in names.items():
                sign = spot + 2 + (self.words[spot + 2] != "=")
                self.remember(sign + 1, self.find(sign, limit, ","), (name,), append=self.words[spot + 2] != "=")
            return limit
        tokens: list[Token] = []
        here = at
        while here < limit:
            if here in names:
                here += 3 + (self.words[here + 2] in ("+", "-", "*", "/"))
                continue
            tokens.append(self.tokens[here])
            here += 1
        for name in taken:
            self.folded[name] = None
        self.piece("query", at, limit, tokens, taken)
        return limit

    def inserted(self, at: int, exec_at: int, limit: int) -> int:
        """INSERT … EXEC: the target is written, by rows only the procedure knows."""
        spot = self.tokens[exec_at]
        rows = [
            Token(TokenType.DEFAULT, "DEFAULT", spot.line, spot.col, spot.start, spot.end),
            Token(TokenType.VALUES, "VALUES", spot.line, spot.col, spot.start, spot.end),
        ]
        gone = {id(token) for low, high in unparsed(self, at, exec_at) for token in self.tokens[low:high]}
        kept = [token for token in self.tokens[at:exec_at] if id(token) not in gone]
        made = self.piece("statement", at, limit, [*kept, *rows])
        if made is not None:
            made.reason = "the rows come from a procedure"
        self.run_to(exec_at, limit)
        return limit

    def run_text(self, at: int) -> int:
        limit = self.end(at)
        self.run_to(at, limit)
        return limit

    def run_to(self, at: int, limit: int) -> None:
        """EXEC of a text, of sp_executesql, of a procedure."""
        low = at + 1
        if self.words[low] == "(":
            self.dynamic(low + 1, self.closing(low, limit))
            return
        if self.words[low] == "AS":
            return
        if self.words[low] == "@" and self.words[low + 2] == "=":
            low += 3
        if self.words[low] == "@":
            made = self.piece("dynamic", at, limit, [])
            if made is not None:
                made.reason = "the name of the procedure is a variable"
            return
        name, after = self.dotted(low, limit)
        if name.lower().rpartition(".")[2] == "sp_executesql":
            stop = self.find(after, limit, ",")
            if self.words[after] == "@" and self.words[after + 2] == "=":
                after += 3
            before = len(self.out)
            self.dynamic(after, stop)
            self.returned(name, stop, limit, [piece for piece, _ in self.out[before:]])
            return
        self.called(at, low, limit)
        self.returned(name, after, limit, [])

    def returned(self, name: str, at: int, limit: int, inside: list[Piece]) -> None:
        """Variables that are passed to be filled: `@p = @x OUTPUT`. `inside`: the pieces of a text that is run, which may give `@p` its value."""
        for here in range(at, limit):
            if self.words[here] not in ("OUTPUT", "OUT") or self.words[here - 2] != "@":
                continue
            own = self.variable(here - 2)[0]
            inner = self.variable(here - 5)[0] if self.words[here - 3] == "=" else ""
            filling = [piece for piece in inside if inner and inner in piece.assigns]
            for piece in filling:
                piece.fetched.append(tuple(own if one == inner else "" for one in piece.assigns))
            if not filling:
                self.unknown(here - 2, here + 1, (own,), f"the procedure {name} gives it its value")


HANDLERS = {
    **{word: Walk.HANDLERS[word] for word in ("RETURN", "COMMIT", "ROLLBACK")},
    "GO": Batch.go,
    "BEGIN": Batch.begin,
    "END": Batch.close,
    "IF": Batch.branch,
    "WHILE": Batch.branch,
    "ELSE": Batch.otherwise,
    "CREATE": Batch.create,
    "ALTER": Batch.create,
    "DECLARE": Batch.declare,
    "SET": Batch.set_,
    "EXEC": Batch.run_text,
    "EXECUTE": Batch.run_text,
    "FETCH": Batch.fetch,
    **dict.fromkeys(
        ("PRINT", "BREAK", "CONTINUE", "OPEN", "CLOSE", "DEALLOCATE", "RAISERROR", "THROW"),
        Batch.silent,
    ),
    "GOTO": Batch.jump,
    **dict.fromkeys(("WAITFOR", "SAVE", "CHECKPOINT", "RECONFIGURE", "REVERT"), Batch.silent),
}
Batch.HANDLERS = HANDLERS  # type: ignore[assignment]
