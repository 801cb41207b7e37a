"""Find the kind of an SQL statement by its first words: SELECT, INSERT, MERGE, CREATE TABLE, …

A light scan for labels: it skips comments, strings and everything in brackets, knows no dialect and never fails. `headwater.columns` parses
the statement.
"""

import re

# The number of characters scanned; this bounds the time.
_LONGEST = 100_000
_TOKEN = re.compile(
    r"(?P<skip>--[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*'?|\"(?:[^\"]|\"\")*\"?|`[^`]*`?|\$(?P<tag>\w*)\$.*?(?:\$(?P=tag)\$|\Z))"
    r"|(?P<word>[A-Za-z_][\w$]*)|(?P<open>\()|(?P<close>\))|(?P<end>;)",
    re.DOTALL,
)
_WRITES = frozenset(
    {"INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE", "COPY", "TRUNCATE", "UPSERT", "UNLOAD", "EXPORT"}
)
_DEFINES = frozenset({"CREATE", "ALTER", "DROP"})
_OTHERS = frozenset({
    "SELECT", "FROM", "VALUES", "CALL", "EXEC", "EXECUTE", "SET", "USE", "SHOW", "DESCRIBE", "EXPLAIN", "GRANT", "REVOKE", "REFRESH", "ANALYZE",
    "OPTIMIZE", "VACUUM", "CACHE", "LOAD", "DECLARE", "BEGIN", "COMMIT", "ROLLBACK",
})  # fmt: skip
_KINDS = frozenset({
    "TABLE", "VIEW", "SCHEMA", "DATABASE", "FUNCTION", "PROCEDURE", "INDEX", "STREAM", "TASK", "STAGE", "MODEL", "SEQUENCE", "TRIGGER", "ROLE",
    "USER", "WAREHOUSE", "CATALOG", "TYPE",
})  # fmt: skip
# Statements that only prepare others: the label of a script skips them.
_PREPARES = frozenset({"SET", "USE", "DECLARE", "BEGIN", "COMMIT", "ROLLBACK", "EXPLAIN"})


def statement_kind(sql: str) -> str | None:
    """The kind of the first statement that writes or defines something, else of the first that does anything; None if no keyword is found.

    `WITH … INSERT` is INSERT; `CREATE OR REPLACE TEMPORARY VIEW` is CREATE VIEW; `FROM t INSERT` (Hive) is INSERT.
    """
    kinds = [kind for kind in map(_kind, _statements(sql[:_LONGEST])) if kind]
    for kind in kinds:
        if kind in _WRITES or kind.partition(" ")[0] in _DEFINES:
            return kind
    return next((kind for kind in kinds if kind not in _PREPARES), kinds[0] if kinds else None)


def _statements(sql: str) -> list[list[str]]:
    """The words of each statement outside brackets. If a whole statement is in brackets, the words inside them."""
    found: list[list[str]] = [[]]
    depth = 0
    for token in _TOKEN.finditer(sql):
        if token["open"]:
            depth += 1 if found[-1] else 0
        elif token["close"]:
            depth = max(0, depth - 1)
        elif token["end"]:
            depth = 0
            found.append([])
        elif token["word"] and depth == 0:
            found[-1].append(token["word"].upper())
    return found


def _kind(words: list[str]) -> str | None:
    if not words:
        return None
    first = words[0]
    if first in {"WITH", "FROM"}:
        later = [word for word in words[1:] if word in _WRITES or word == "SELECT"]
        written = [word for word in later if word in _WRITES]
        # `WITH … SELECT` may call a function named REPLACE: in a real write, the keyword precedes SELECT.
        return written[0] if written and (first == "FROM" or later[0] in _WRITES) else "SELECT"
    if first in _DEFINES:
        return next((f"{first} {word}" for word in words[1:8] if word in _KINDS), first)
    if first == "VALUES":
        return "SELECT"
    return first if first in _WRITES or first in _OTHERS else None
