"""The end of a T-SQL statement that no `;` ends: at a word that begins another, when the statement before cannot take it."""

from sqlglot.tokenizer_core import TokenType

from headwater.columns.script.cursor import QUERY, Cursor
from headwater.columns.script.dynamic import SETS

VERBS = ("INSERT", "UPDATE", "DELETE", "MERGE")
RIGHTS = ("GRANT", "DENY", "REVOKE")
OBJECTS = (
    "TABLE", "VIEW", "PROCEDURE", "PROC", "FUNCTION", "COLUMN", "CONSTRAINT", "INDEX", "TRIGGER", "SCHEMA", "TYPE", "SEQUENCE",
    "SYNONYM", "DATABASE", "USER", "ROLE", "STATISTICS", "POLICY", "RULE", "DEFAULT", "ASSEMBLY",
)  # fmt: skip
PARTS = ("COLUMN", "CONSTRAINT", "PERIOD", "PARTITION", "MEMBER", "INDEX", "COLUMNS", "FILE", "FILEGROUP", "VALUE")
ALWAYS = {
    "DECLARE", "PRINT", "RAISERROR", "RETURN", "BEGIN", "COMMIT", "GOTO", "BREAK", "CONTINUE", "WAITFOR", "WHILE", "ELSE", "END",
    "TRUNCATE", "CREATE", "OPEN", "CLOSE", "DEALLOCATE", "DBCC", "KILL", "USE", "BULK", "BACKUP", "RESTORE", "CHECKPOINT",
    "RECONFIGURE", "REVERT", " ".join(("UPDATE", "STATISTICS")), *RIGHTS,
}  # fmt: skip
STARTERS = ALWAYS | {
    "SELECT",
    *VERBS,
    "WITH",
    "SET",
    "EXEC",
    "EXECUTE",
    "IF",
    "FETCH",
    "ALTER",
    "DROP",
    "ROLLBACK",
    "SAVE",
    "THROW",
}


def fresh(c: Cursor, at: int) -> bool:
    """The first word of its line."""
    return at == 0 or c.tokens[at - 1].line < c.tokens[at].line


def alone(c: Cursor, at: int) -> bool:
    after = at + 1
    if after < c.size and c.tokens[after].token_type is TokenType.NUMBER:
        after += 1
    return fresh(c, at) and (after >= c.size or fresh(c, after) or c.words[after] == ";")


def boundary(c: Cursor, at: int) -> int:
    """Return the place where the statement that begins here ends."""
    words, size = c.words, c.size
    state = {"head": words[at], "had": ""}
    depth = cases = 0
    if words[at] == ";":
        return at
    for here in range(at + 1, size):
        word = words[here]
        if word == ";":
            return here
        if word == "(":
            if depth == 0 and state["head"] == "INSERT" and words[here + 1] in QUERY:
                state["had"] = "source"
            depth += 1
        elif word == ")":
            depth = max(depth - 1, 0)
        elif word == "GO" and alone(c, here):
            return here
        elif depth:
            continue
        elif word == "CASE":
            cases += 1
        elif word == "END" and cases:
            cases -= 1
        elif word == "VALUES" and state["head"] == "INSERT":
            state["had"] = "source"
        elif word in STARTERS:
            if not cases and starts(c, at, here, word, state):
                return here
        elif words[here + 1] == ":" and fresh(c, here) and word:
            return here
    return size


def starts(c: Cursor, at: int, here: int, word: str, state: dict[str, str]) -> bool:
    words = c.words
    before, after, head = words[here - 1], words[here + 1], state["head"]
    if before == ".":
        return False
    if head in RIGHTS and before in (*RIGHTS, ",", "FOR", "WITH"):
        return False
    if word == "SELECT":
        if before in SETS or (before == "ALL" and words[here - 2] in SETS):
            return False
        if before == "RETURN" and head == "RETURN":
            return not (c.frames and c.frames[0].kind == "BATCH FUNCTION")
        if (before == "AS" and head in ("CREATE", "ALTER")) or (before == "FOR" and head in ("DECLARE", "SET")):
            return False
        return unless(state, word, {"INSERT": "source", "WITH": "main"})
    if word in VERBS:
        if (
            before in ("THEN", "FOR", "AFTER", "OF", "BULK")
            or (before == "ON" and head in ("CREATE", "ALTER"))
            or (word == "UPDATE" and after == "(")
        ):
            return False
        if word == "MERGE" and after in ("JOIN", "UNION"):
            return False
        return unless(state, word, {"WITH": "main"})
    if word == "WITH":
        if (
            before in ("AS", "RETURN", "FOR")
            and head in ("CREATE", "ALTER", "RETURN", "DECLARE", "SET")
            and after != "("
        ):
            if cte(c, here):
                state["head"], state["had"] = "WITH", ""
            return False
        return cte(c, here)
    if word == "SET":
        if before in ("UPDATE", "DELETE"):
            return False
        return unless(state, word, {"UPDATE": "set", "ALTER": "set"})
    if word in ("EXEC", "EXECUTE"):
        return before != "WITH" and unless(state, word, {"INSERT": "source"})
    if word == "IF":
        return not (before in OBJECTS and after in ("EXISTS", "NOT"))
    if word == "FETCH":
        return before not in ("ROWS", "ROW")
    if word in ("ALTER", "DROP"):
        return not (before == "OR" or (head == "ALTER" and (after in PARTS or before == ",")))
    if word == "ROLLBACK":
        return before != "WITH"
    if word == "SAVE":
        return after.startswith("TRAN")
    if word == "THROW":
        return fresh(c, here)
    return True


def unless(state: dict[str, str], word: str, taken: dict[str, str]) -> bool:
    """A statement takes one such word as its own; the next begins another."""
    needs = taken.get(state["head"])
    if needs is None or state["had"] == needs:
        return True
    state["had"] = needs
    if needs == "main":
        state["head"], state["had"] = word, ""
    return False


def cte(c: Cursor, at: int) -> bool:
    words = c.words
    if words[at + 1] == "(" or at + 2 >= c.size:
        return False
    after = at + 2
    if words[after] == "(":
        after = c.closing(after, c.size) + 1
    return words[at + 1] == "XMLNAMESPACES" or (after + 1 < c.size and words[after] == "AS" and words[after + 1] == "(")


def unparsed(c: Cursor, at: int, limit: int) -> list[tuple[int, int]]:
    """Stretches that say nothing about columns and that the parser does not take where they stand."""
    words, found, depth, verb = c.words, [], 0, ""
    low = at
    if words[at] == "WITH" and words[at + 1] == "XMLNAMESPACES":
        low = c.closing(at + 2, limit) + 1
        found.append((at + 1, low + 1) if words[low] == "," else (at, low))
    for here in range(low, limit):
        word = words[here]
        if word == "(":
            depth += 1
        elif word == ")":
            depth -= 1
        elif word in ("CLUSTERED", "NONCLUSTERED"):
            if words[here - 1] in ("PRIMARY KEY", "UNIQUE") and words[here + 1] != "(":
                found.append((here, here + 1))
        elif depth == 0 and (word in VERBS or word in ("SELECT", "VALUES")):
            verb = word
        elif (
            depth == 0
            and words[here + 1] == "("
            and ((word == "WITH" and verb == "INSERT") or (word == "OPTION" and verb in VERBS))
        ):
            found.append((here, min(c.closing(here + 1, limit) + 1, limit)))
    return found
