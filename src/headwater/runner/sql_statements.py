"""Split a SQL file into statements, each with its first line.

Follows Spark's lexical rules: quotes with backslash escapes, backticks, `--` comments, nested bracketed comments. Finds only the
semicolons: does not parse, and does not know scripting blocks (BEGIN … END).
"""

import re

import msgspec

# One token: a semicolon, or what may hide one. An unclosed quote runs to the end, as in Spark.
_TOKEN = re.compile(
    r"""
      '(?:[^'\\]|\\.|'')*(?:'|\Z)
    | "(?:[^"\\]|\\.|"")*(?:"|\Z)
    | `(?:[^`]|``)*(?:`|\Z)
    | --[^\n]*
    | /\*
    | ;
    """,
    re.VERBOSE | re.DOTALL,
)
_BRACKET = re.compile(r"/\*|\*/")


class Statement(msgspec.Struct, frozen=True):
    """One statement without its semicolon; `line`: of its first word, from 1."""

    text: str
    line: int


def split(sql: str) -> list[Statement]:
    """Return the statements of `sql` in order, without those of only comments or blanks."""
    found: list[Statement] = []
    at = 0
    has_words = False
    first = -1

    def close(end: int) -> None:
        nonlocal has_words, first
        if has_words:
            line = sql.count("\n", 0, first) + 1
            found.append(Statement(sql[first:end].strip(), line))
        has_words, first = False, -1

    while at < len(sql):
        match = _TOKEN.search(sql, at)
        upto = match.start() if match else len(sql)
        if not has_words and sql[at:upto].strip():
            first = at + len(sql[at:upto]) - len(sql[at:upto].lstrip())
            has_words = True
        if match is None:
            break
        found_here = match[0]
        at = match.end()
        if found_here == ";":
            close(match.start())
        elif found_here == "/*":
            at = _end_of_comment(sql, at)
        elif not found_here.startswith("--") and not has_words:
            first, has_words = match.start(), True
    close(len(sql))
    return found


def _end_of_comment(sql: str, at: int) -> int:
    depth = 1
    while depth and (match := _BRACKET.search(sql, at)):
        depth += 1 if match[0] == "/*" else -1
        at = match.end()
    return len(sql) if depth else at
