"""Declared names and what they are given: DECLARE, cursors, SET, LET, assignments."""

from headwater.columns.script import routine
from headwater.columns.script.cursor import QUERY, STRINGS
from headwater.columns.script.dynamic import Values

SECTIONS = ("oracle", "postgres", "snowflake", "")
"""Dialects whose DECLARE opens a list of declarations that BEGIN ends."""
PARTS = ("MEMBER", "STATIC", "CONSTRUCTOR", "MAP", "ORDER", "OVERRIDING", "FINAL", "BEFORE", "AFTER", "INSTEAD")


class Declarations(Values):
    """Reads declarations and assignments."""

    def inside(self) -> bool:
        return self.body or bool(self.frames)

    def quiet(self, at: int) -> int:
        """Nothing flows here but, perhaps, a query in parentheses. Outside a block it is still a statement of the script."""
        limit = self.end(at)
        if self.inside():
            self.queries(at, limit)
        else:
            self.statement(at, limit)
        return limit

    def declare(self, at: int) -> int:
        if self.family in SECTIONS and (self.family != "postgres" or self.body):
            self.push("DECLARE", declaring=True, names=True)
            return at + 1
        limit = self.end(at)
        here = at + 1
        if self.words[here + 1] == "HANDLER":
            stop = self.find(here + 2, limit, "FOR")
            return self.handler(stop + 1, limit)
        if self.words[here] == "OR" and self.words[here + 1] == "REPLACE":
            here += 2
        here += self.words[here] in ("VARIABLE", "VAR")
        return self.declaration(here)

    def handler(self, at: int, limit: int) -> int:
        """The conditions of DECLARE … HANDLER FOR; the statement after them is read as any other."""
        while at < limit:
            if self.words[at] == "SQLSTATE":
                at += 2 + (self.words[at + 1] == "VALUE")
            elif self.words[at] == "NOT":
                at += 2
            else:
                at += 1
            if self.words[at] != ",":
                break
            at += 1
        return at

    def declaration(self, at: int) -> int:
        """One item: variable, cursor, type, or a routine inside a routine."""
        word, limit = self.words[at], self.end(at)
        if word in ("PROCEDURE", "FUNCTION") or (
            self.family == "oracle" and word in PARTS and self.frames[-1].kind == "PACKAGE"
        ):
            return routine.inner(self, at)
        if word in ("PRAGMA", "TYPE", "SUBTYPE"):
            return limit
        if word == "CURSOR":
            name = self.variable(at + 1)[0]
            self.scope.names.add(name)
            self.cursor(at + 2, limit, name)
            return limit
        names, here = [], at
        while here < limit:
            name, here = self.variable(here)
            names.append(name)
            if self.words[here] != ",":
                break
            here += 1
        self.scope.names.update(filter(None, names))
        near = min(limit, here + 6)
        if (cursor := self.find(here, near, "CURSOR")) < near:
            self.cursor(cursor + 1, limit, names[0])
            return limit
        value = self.find(here, limit, ":=", "DEFAULT", "=")
        if value >= limit:
            self.unset.update(names)
        self.expression(value + 1, limit, names)
        return limit

    def cursor(self, at: int, limit: int, name: str) -> None:
        """The query of a cursor, or the text of one."""
        if self.words[at] == "(":
            last = self.closing(at, limit)
            self.scope.names.update(routine.parameters(self, at + 1, last))
        low = self.find(at, limit, "FOR", "IS") + 1
        if low < limit and self.words[low] in (*QUERY, "("):
            self.opened(low, limit, name)
        elif low < limit and self.tokens[low].token_type in STRINGS:
            self.dynamic(low, limit)

    def opened(self, low: int, high: int, name: str) -> None:
        """The query that a cursor runs."""
        before = len(self.out)
        self.statement(low, high, "query")
        if len(self.out) > before:
            self.cursors[name.lstrip("@")] = self.out[before][0]

    def set_(self, at: int) -> int:
        limit = self.end(at)
        here = at + 1 + (self.words[at + 1] in ("VARIABLE", "VAR"))
        stop = self.find(here, limit, "=", ":=")
        names: list[str] = []
        if self.words[here] == "(":
            spot = here + 1
            while spot < stop and self.words[spot] != ")":
                if self.words[spot] != ",":
                    names.append(self.variable(spot)[0])
                spot = self.variable(spot)[1] if self.words[spot] in ("@", ":") else spot + 1
        elif stop < limit:
            names.append(self.path(here, stop))
        if not self.inside() and self.family in ("snowflake", ""):  # `$x` and getvariable('x'), and never a bare name
            names = [f"${name}" for name in names]
        if not self.inside():
            self.unknown(at, limit, names, "")
        before = len(self.out)
        variable = self.inside() or here > at + 1 or self.words[here] in ("@", "(") or any(map(self.scope.knows, names))
        if stop >= limit or not names or self.words[here] == "@" == self.words[here + 1]:
            return self.quiet(at)
        if variable or "(" in self.words[stop:limit]:
            self.scope.names.update(name.partition(".")[0] for name in names)
            self.expression(stop + 1, limit, names)
        if len(self.out) == before and (not variable or (self.words[here] == "(" and not self.inside())):
            self.statement(at, limit)
        return limit

    def let(self, at: int) -> int:
        limit = self.end(at)
        name, here = self.variable(at + 1)
        self.scope.names.add(name)
        if self.words[here] == "CURSOR":
            self.cursor(here + 1, limit, name)
            return limit
        value = self.find(here, limit, ":=", "DEFAULT", "=")
        self.expression(value + 1, limit, (name,))
        return limit

    def assignment(self, at: int, sign: int, limit: int) -> int:
        name = self.path(at, sign)
        self.unset.discard(name)
        self.expression(sign + 1, limit, (name,))
        return limit

    def path(self, at: int, high: int) -> str:
        """A variable with its fields."""
        name, here = self.variable(at)
        while here + 1 < high and self.words[here] == ".":
            name += "." + self.tokens[here + 1].text.lower()
            here += 2
        return name
