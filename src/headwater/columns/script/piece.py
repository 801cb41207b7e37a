"""The pieces of a text: one `Piece` for each thing the engine should look at, without its meaning."""

import msgspec
from sqlglot.tokenizer_core import Token

RUN_TIME = "dynamic SQL built at run time"


class Piece(msgspec.Struct, eq=False):
    """One thing to analyse. `start`, `end`, `line`: where it stands in the text that was given, end exclusive.

    `role`: `statement`; `query`, which stood inside control flow; `value`, an expression of variables that a variable is set to;
    `dynamic`, SQL held in a string, whose own pieces follow it unless `reason` says why it could not be read; `procedure`, a routine
    whose body's pieces follow, with `name` and `kind`; `call`, a routine called by `name`; `unreadable`, with a `reason`.
    `tokens` refer to `text`: parse them with it. It is the text given, or the decoded SQL of a string.
    `within`: the routine around it, joined by dots. `variables`: lower-cased names, T-SQL's and MySQL's with their `@`.
    `unknown`, the moment from which variables hold what cannot be followed, and why (`reason`); without a reason what they held is gone.
    `conditional`: it stands in a branch, a loop, a handler or a block with one, or behind a RETURN: it may have run never, or more than once.
    `assigns`: the variables that take its result ("" for a column that none takes); `fetched`: those that take it row by row, from a cursor.
    """

    role: str
    start: int
    end: int
    line: int
    text: str
    tokens: list[Token] = []
    within: str = ""
    name: str = ""
    kind: str = ""
    reason: str = ""
    variables: frozenset[str] = frozenset()
    assigns: tuple[str, ...] = ()
    fetched: list[tuple[str, ...]] = []
    conditional: bool = False


class Scope:
    """Names declared in one block. They count for all of it: the set is closed once, when every piece has been cut."""

    __slots__ = ("_all", "names", "parent")

    def __init__(self, parent: "Scope | None" = None) -> None:
        self.names: set[str] = set()
        self.parent = parent
        self._all: frozenset[str] | None = None

    def knows(self, name: str) -> bool:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return True
            scope = scope.parent
        return False

    def close(self) -> frozenset[str]:
        if self._all is None:
            above = self.parent.close() if self.parent else frozenset()
            self._all = above | self.names if self.names else above
        return self._all


class Frame(msgspec.Struct, eq=False):
    """An open block. `declaring`: its declarations are being read; `within`: the routine it belongs to; `first`: the number of pieces before it;
    `guarded`: its errors are caught, so a part of it may not have run."""

    kind: str
    scope: Scope
    within: str
    declaring: bool = False
    first: int = 0
    guarded: bool = False
