"""Control flow of the dialects that end statements with `;`: blocks, branches, loops, declarations, assignments.

It follows structure only as far as it decides where a statement begins, what surrounds it and which names are variables.
"""

from collections.abc import Callable
from typing import ClassVar

from sqlglot.tokenizer_core import TokenType

from headwater.columns.script import routine
from headwater.columns.script.cursor import QUERY, STRINGS
from headwater.columns.script.declaration import Declarations
from headwater.columns.script.piece import Piece

OWNERS = ("ROUTINE", "DECLARE")
TRANSACTION = ("TRAN", "TRANSACTION", "WORK", "ISOLATION", "READ", "DEFERRED", "IMMEDIATE", "EXCLUSIVE", ";", "")
STARTS = (
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "MERGE",
    "CREATE",
    "DROP",
    "ALTER",
    "WITH",
    "DECLARE",
    "SET",
    "TRUNCATE",
    "USE",
    "GRANT",
)
LABELLED = ("LOOP", "WHILE", "BEGIN", "REPEAT", "FOR")
TAILS = {"IF": "IF", "CASE": "CASE", "LOOP": "LOOP", "WHILE": "LOOP", "REPEAT": "LOOP", "FOR": "LOOP"}


class Walk(Declarations):
    """Reads one text from its first token to its last."""

    HANDLERS: ClassVar[dict[str, "Callable[[Walk, int], int]"]] = {}

    def run(self) -> None:
        at = 0
        while at < self.size:
            if self.words[at] == ";":
                at += 1
                continue
            before = len(self.frames)
            at = max(at + 1, self.step(at))
            while (
                self.frames
                and len(self.frames) <= before
                and self.frames[-1].kind in OWNERS
                and not self.frames[-1].declaring
            ):
                self.pop()

    def step(self, at: int) -> int:
        """One statement, or the head of a block."""
        while at < self.size and (after := self.label(at)) > at:
            at = after
        word = self.words[at]
        if self.frames and self.frames[-1].declaring and word not in ("BEGIN", "END"):
            if self.frames[-1].kind != "DECLARE" or word not in STARTS:
                return self.declaration(at)
            self.pop()
        handler = self.HANDLERS.get(word)
        if handler is not None:
            return handler(self, at)
        return self.other(at)

    def label(self, at: int) -> int:
        """`<<name>>` or `name:` before a block."""
        words = self.words
        if words[at] == "<" and words[at + 1] == "<" and words[at + 3] == ">":
            return at + 5
        if words[at] == "<<" and words[at + 2] == ">>":
            return at + 3
        if words[at + 1] == ":" and words[at + 2] in LABELLED and words[at] not in ("", ";"):
            return at + 2
        return at

    # Blocks

    def begin(self, at: int) -> int:
        after = self.words[at + 1]
        if self.tokens[at].token_type is TokenType.IDENTIFIER:
            return self.ordinary(at)
        opens = after == ";" and bool(self.frames) and self.frames[-1].kind in OWNERS
        if self.words[at] == "BEGIN TRANSACTION" or (after in TRANSACTION and not opens):
            return self.quiet(at)
        if self.frames and self.frames[-1].declaring:
            self.frames[-1].declaring = False
            self.frames[-1].kind = "ROUTINE"
        self.push("BEGIN", names=True)
        if after == "ATOMIC":
            return at + 2
        if after == "NOT" and self.words[at + 2] == "ATOMIC":
            return at + 3
        return at + 1

    def close(self, at: int) -> int:
        """END, with what belongs to it and the name after it."""
        here = at + 1
        want = TAILS.get(self.words[here], "")
        if want:
            here += 1
        self.unwind((want,) if want else ("BEGIN", "CASE", "PACKAGE"))
        if self.words[here] in ("BEFORE", "AFTER", "INSTEAD"):
            return self.end(here)
        name, after = self.dotted(here, min(self.size, here + 8))
        return after if name and (after >= self.size or self.words[after] == ";") else here

    def unwind(self, wanted: tuple[str, ...]) -> None:
        """Closes the nearest such block of this routine, and what was left open inside it."""
        for depth, frame in enumerate(reversed(self.frames[-200:]), 1):
            if frame.kind in wanted:
                for _ in range(depth):
                    self.pop()
                return
            if frame.kind in OWNERS:
                break
        if self.frames and self.frames[-1].kind not in OWNERS and wanted[0] == "BEGIN":
            self.pop()

    def condition(self, at: int, *closers: str) -> int:
        """Cuts the queries out of what stands before THEN, DO or LOOP. 0: there is no such word."""
        limit = self.end(at)
        stop = self.find(at, limit, *closers)
        if stop >= limit:
            return 0
        self.expression(at, stop)
        return stop + 1

    def branch(self, at: int) -> int:
        after = self.condition(at + 1, "THEN")
        if not after:
            return self.ordinary(at)
        if self.words[at] == "IF":
            self.push("IF")
        return after

    def when(self, at: int) -> int:
        return self.condition(at + 1, "THEN") or at + 1

    def case(self, at: int) -> int:
        limit = self.end(at)
        stop = self.find(at + 1, limit, "WHEN")
        if stop >= limit or self.find(stop, limit, "THEN") >= limit:
            return self.ordinary(at)
        self.queries(at + 1, stop)
        self.push("CASE")
        return stop

    def skip(self, at: int) -> int:
        return at + 1

    def caught(self, at: int) -> int:
        """EXCEPTION: what stands before it in its block is undone, or cut off, where an error is caught."""
        if self.frames:
            frame = self.frames[-1]
            frame.guarded = True
            for piece, _ in self.out[frame.first :]:
                piece.conditional = True
        return at + 1

    def parenthesis(self, at: int) -> int:
        """The end of a MACRO."""
        if self.words[at] == ")" and self.frames and self.frames[-1].kind == "MACRO":
            self.pop()
            return at + 1
        return self.ordinary(at)

    def loop(self, at: int) -> int:
        self.push("LOOP")
        return at + 1

    def during(self, at: int) -> int:
        after = self.condition(at + 1, "DO", "LOOP")
        if not after:
            return self.ordinary(at)
        self.push("LOOP")
        return after

    def until(self, at: int) -> int:
        limit = self.end(at)
        stop = self.find(at + 1, limit, "END")
        self.expression(at + 1, stop)
        return stop

    def each(self, at: int) -> int:
        """FOR record IN query LOOP, FOR record AS cursor CURSOR FOR query DO, FOREACH."""
        limit = self.end(at)
        stop = self.find(at + 1, limit, "LOOP", "DO")
        if stop >= limit:
            return self.ordinary(at)
        source = self.find(at + 1, stop, "IN", "AS")
        outer = self.scope
        self.push("LOOP", names=True)
        names, here = [], at + 1
        while here < source:
            name, here = self.variable(here)
            names.append(name)
            here += self.words[here] == ","
        self.scope.names.update(filter(None, names))
        low = source + 1
        if self.words[low + 1] == "CURSOR":
            low = self.find(low, stop, "FOR") + 1
        inner, self.scope = self.scope, outer
        last = stop - 1
        if self.words[low] == "(" and self.words[low + 1] in QUERY and self.closing(low, stop) == last:
            self.statement(low + 1, last, "query", names)
        elif self.words[low] in STRINGS_OF_SQL:
            self.execute(low, stop, names)
        elif rows := self.rows(self.variable(low)[0]):
            for piece in rows:
                piece.fetched.append(tuple(names))
        else:
            before = len(self.out)
            self.expression(low, stop, names)
            cursor, after = self.dotted(low, stop)
            if len(self.out) == before and cursor and (after >= stop or self.words[after] == "("):
                self.unknown(low, stop, names, f"the query of the cursor {cursor} is not here")
        self.scope = inner
        return stop + 1

    def forall(self, at: int) -> int:
        limit = self.end(at)
        self.scope.names.add(self.tokens[at + 1].text.lower() if at + 1 < self.size else "")
        return self.find(at + 1, limit, "INSERT", "UPDATE", "DELETE", "MERGE", "EXECUTE")

    # Statements of control

    def result(self, at: int) -> int:
        limit, low = self.end(at), at + 1
        self.leave()
        if self.words[low] == "QUERY":
            low += 1
            if self.words[low] == "EXECUTE":
                self.execute(low, limit)
                return limit
        elif self.words[low] == "NEXT":
            low += 1
        self.expression(low, limit)
        return limit

    def leave(self) -> None:
        """RETURN or GOTO: what follows in the text may not run."""
        if not self.within:
            self.conditional = True

    def jump(self, at: int) -> int:
        self.leave()
        return self.silent(at)

    def perform(self, at: int) -> int:
        limit = self.end(at)
        if at + 1 < limit:
            self.select(at + 1, limit)
        return limit

    def silent(self, at: int) -> int:
        if self.words[at] == "GET" and self.words[at + 1] not in ("DIAGNOSTICS", "STACKED", "CURRENT"):
            return self.ordinary(at)
        limit = self.end(at)
        self.queries(at, limit)
        return limit

    def pragma(self, at: int) -> int:
        return self.end(at) if self.inside() else self.ordinary(at)

    def asserted(self, at: int) -> int:
        limit = self.end(at)
        self.queries(at, limit)
        return limit

    def call(self, at: int) -> int:
        return self.called(at, at + 1, self.end(at))

    def called(self, at: int, low: int, limit: int) -> int:
        name, after = self.dotted(low, limit)
        made = self.piece("call", at, limit, [])
        if made is not None:
            made.name = name
        self.queries(after, limit)
        self.filled(name, after, limit)
        return limit

    def filled(self, name: str, at: int, limit: int) -> None:
        """Variables without a value that a procedure is given as they are: it may give them one. So does CALL … INTO."""
        into = self.find(at, limit, "INTO")
        names = [self.variable(into + 1)[0]] if into < limit else []
        last = self.closing(at, limit) if self.words[at] == "(" else at
        here = at + 1
        while here < last:
            stop = self.find(here, last, ",")
            value = self.find(here, stop, "=>") + 1
            given, after = self.variable(value if value <= stop else here)
            if after >= stop and (given in self.unset or given[:1] == "@"):
                names.append(given)
            here = stop + 1
        self.scope.names.update(name for name in names if name[:1] == "@")
        self.unset.difference_update(names)
        self.unknown(at, limit, names, f"the procedure {name} gives it its value")

    def run_text(self, at: int) -> int:
        """EXECUTE IMMEDIATE, EXECUTE of a text, EXECUTE of a prepared statement."""
        limit = self.end(at)
        after = self.words[at + 1]
        if after == "IMMEDIATE":
            if self.words[at + 2] == "FROM":
                return self.reasoned(at, limit, "the SQL is in a file")
            self.execute(at, limit)
        elif self.family == "oracle" and not self.inside():
            return self.called(at, at + 1, limit)
        elif self.tokens[at + 1 : at + 2] and (self.body or self.tokens[at + 1].token_type in STRINGS):
            self.execute(at, limit)
        elif self.family == "teradata":
            return self.called(at, at + 1, limit)
        elif after == "TASK" or not (self.inside() or after in self.prepared):
            return self.ordinary(at)
        return limit

    def reasoned(self, at: int, limit: int, reason: str) -> int:
        made = self.piece("dynamic", at, limit, [])
        if made is not None:
            made.reason = reason
        return limit

    def prepare(self, at: int) -> int:
        limit = self.end(at)
        low = self.find(at + 1, limit, "FROM", "AS")
        if low >= limit:
            return self.quiet(at)
        self.prepared.add(self.words[at + 1])
        if self.words[low] == "AS" or self.words[low + 1] in (*QUERY, "INSERT", "UPDATE", "DELETE", "MERGE"):
            self.statement(low + 1, limit)
        else:
            self.dynamic(low + 1, limit)
        return limit

    def open(self, at: int) -> int:
        limit = self.end(at)
        low = self.find(at + 1, limit, "FOR") + 1
        if low < limit:
            if self.words[low] == "EXECUTE":
                self.execute(low, limit)
            elif self.words[low] in (*QUERY, "("):
                self.opened(low, limit, self.variable(at + 1)[0])
            else:
                self.dynamic(low, self.find(low, limit, "USING"))
        else:
            self.queries(at, limit)
        return limit

    def do(self, at: int) -> int:
        """DO $$ … $$."""
        limit = self.end(at)
        if self.family != "postgres":
            return self.quiet(at)
        for here in range(at + 1, limit):
            if self.tokens[here].token_type in STRINGS:
                carrier = Piece("procedure", 0, 0, 0, self.text)
                self.nest(carrier, self.tokens[here], body=True)
                break
        return limit

    def create(self, at: int) -> int:
        after = routine.routine(self, at)
        return after or self.ordinary(at)

    def ordinary(self, at: int) -> int:
        limit = self.end(at)
        self.statement(at, limit)
        return limit

    def other(self, at: int) -> int:
        """A word that opens nothing known: an assignment, a call of a procedure, or a statement the engine may know."""
        limit = self.end(at)
        words = self.words
        if self.inside() and limit > at + 1:
            sign = self.find(at, min(limit, at + 24), ":=")
            if sign < min(limit, at + 24):
                return self.assignment(at, sign, limit)
            name, after = self.dotted(at, limit)
            if words[after] == "=" and self.family == "postgres":
                return self.assignment(at, after, limit)
            if self.family in ("oracle", "") and name and (after == limit or words[after] == "("):
                return self.called(at, at, limit)
        elif self.inside() and self.family == "oracle" and words[at] != "NULL":
            return self.called(at, at, limit)
        return self.ordinary(at)


STRINGS_OF_SQL = ("EXECUTE",)
Walk.HANDLERS = {
    "BEGIN": Walk.begin,
    "BEGIN TRANSACTION": Walk.quiet,
    "END": Walk.close,
    "IF": Walk.branch,
    "ELSEIF": Walk.branch,
    "ELSIF": Walk.branch,
    "ELSE": Walk.skip,
    "EXCEPTION": Walk.caught,
    "THEN": Walk.skip,
    ")": Walk.parenthesis,
    "WHEN": Walk.when,
    "CASE": Walk.case,
    "LOOP": Walk.loop,
    "REPEAT": Walk.loop,
    "WHILE": Walk.during,
    "UNTIL": Walk.until,
    "FOR": Walk.each,
    "FOREACH": Walk.each,
    "FORALL": Walk.forall,
    "DECLARE": Walk.declare,
    "SET": Walk.set_,
    "LET": Walk.let,
    "RETURN": Walk.result,
    "PERFORM": Walk.perform,
    "CALL": Walk.call,
    "EXEC": Walk.run_text,
    "EXECUTE": Walk.run_text,
    "PREPARE": Walk.prepare,
    "OPEN": Walk.open,
    "FETCH": Walk.fetch,
    "DO": Walk.do,
    "ASSERT": Walk.asserted,
    "PRAGMA": Walk.pragma,
    "CREATE": Walk.create,
    "ALTER": Walk.create,
    "REPLACE": Walk.create,
    "PROCEDURE": Walk.create,
    "PACKAGE": Walk.create,
    **dict.fromkeys(("COMMIT", "ROLLBACK", "SAVEPOINT", "START", "RELEASE", "ABORT"), Walk.quiet),
    **dict.fromkeys(
        ("RAISE", "SIGNAL", "RESIGNAL", "EXIT", "CONTINUE", "ITERATE", "BREAK", "NULL", "PRINT"), Walk.silent
    ),
    **dict.fromkeys(("GOTO", "LEAVE"), Walk.jump),
    **dict.fromkeys(("CLOSE", "DEALLOCATE", "GET", "PIPE", "AWAIT", "CANCEL", "MOVE"), Walk.silent),
}
