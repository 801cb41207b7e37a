"""A script cut into what can be analysed: its statements, the queries in its control flow, the SQL in its strings.

Works on tokens and never parses. It never raises: what cannot be read is a piece that says so. Time grows with the length of the text.
"""

import bisect
import itertools
import re

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from headwater.columns.script.batches import Batch
from headwater.columns.script.boundary import STARTERS
from headwater.columns.script.engine import engine as for_dialect
from headwater.columns.script.piece import Piece, Scope
from headwater.columns.script.procedure import Walk
from headwater.columns.script.terminal import continued

__all__ = ["Piece", "pieces"]

FAMILIES = {
    "tsql": "tsql",
    "fabric": "tsql",
    "oracle": "oracle",
    "postgres": "postgres",
    "redshift": "postgres",
    "materialize": "postgres",
    "risingwave": "postgres",
    "snowflake": "snowflake",
    "bigquery": "bigquery",
    "mysql": "mysql",
    "singlestore": "mysql",
    "doris": "mysql",
    "starrocks": "mysql",
    "hive": "spark",
    "spark": "spark",
    "spark2": "spark",
    "databricks": "spark",
    "teradata": "teradata",
}
PLAIN = {
    TokenType.SELECT,
    TokenType.WITH,
    TokenType.INSERT,
    TokenType.UPDATE,
    TokenType.DELETE,
    TokenType.MERGE,
    TokenType.DROP,
    TokenType.L_PAREN,
    TokenType.FROM,
    TokenType.VALUES,
    TokenType.TRUNCATE,
    TokenType.USE,
    TokenType.COPY,
    TokenType.CACHE,
    TokenType.UNCACHE,
    TokenType.GRANT,
    TokenType.COMMENT,
    TokenType.DESCRIBE,
    TokenType.ALTER,
    TokenType.LOAD,
}
"""First tokens after which a statement runs to its `;`, with any content."""
HELD = {
    TokenType.TABLE,
    TokenType.VIEW,
    TokenType.SCHEMA,
    TokenType.DATABASE,
    TokenType.INDEX,
    TokenType.TEMPORARY,
    TokenType.UNIQUE,
    TokenType.SEQUENCE,
    TokenType.STAGE,
}
"""Kinds of objects that are created without a body of statements."""


BREAK = re.compile(r"\r\n|\r|\n")
TROUBLE = sorted(STARTERS - {"SELECT", "WITH", "END"} | {"GO"})
"""Words that a single T-SQL query does not hold."""
WORDS = {word: re.compile(rf"\b{word}\b") for word in TROUBLE}
INSIDE = re.compile(r"(?:\(|\b(?:UNION|ALL|EXCEPT|INTERSECT))\s*SELECT\b")


def pieces(text: str, dialect: str) -> list[Piece]:
    """Return the pieces to analyse, in the order of the text. An unknown dialect is read as plain SQL."""
    engine = for_dialect(dialect)
    family = FAMILIES.get(type(engine).__name__.lower(), "")
    if single(text) if family == "tsql" else not _special(text, family):
        try:
            tokens = engine.tokenize(text)
        except (TokenError, RecursionError):
            pass
        else:
            plain = _plain(text, tokens)
            if plain is not None:
                return plain
    out: list[tuple[Piece, Scope]] = []
    walk = (Batch if family == "tsql" else Walk)(text, engine, family, out)
    walk.read(text)
    walk.run()
    for piece, scope in out:
        piece.variables = scope.close()
    found = [piece for piece, _ in out]
    _lines(text, found)
    if any(a.start > b.start for a, b in itertools.pairwise(found)):
        found.sort(key=_start)
    return found


def _lines(text: str, found: list[Piece]) -> None:
    """Lines of what was decoded, whose own line breaks may have been written as escapes."""
    breaks: list[int] | None = None
    for piece in found:
        if piece.text is not text:
            if breaks is None:
                breaks = [match.start() for match in BREAK.finditer(text)]
            piece.line = bisect.bisect_left(breaks, piece.start) + 1


def _start(piece: Piece) -> int:
    return piece.start


def single(text: str) -> bool:
    """Return whether a text of T-SQL is surely one query: nothing in it can begin another statement."""
    upper = text.upper()
    if (
        "@" in upper
        or "\n:" in upper
        or "XMLNAMESPACES" in upper
        or ";" in upper.rstrip()[:-1]
        or not upper.lstrip().startswith(("SELECT", "WITH"))
    ):
        return False
    if any(word in upper and WORDS[word].search(upper) for word in TROUBLE):
        return False
    count = upper.count("SELECT")
    return count == 1 or count <= len(INSIDE.findall(upper)) + 1


def _special(text: str, family: str) -> bool:
    """Lines for a terminal that hold no `;` would be taken for a part of the statement before; MySQL's queries set variables anywhere."""
    if family == "mysql":
        return "@" in text
    if family == "oracle":
        return "\n/" in text or continued(text)
    return family == "postgres" and ("\n\\" in text or "\\g" in text or "@extschema" in text)


def _plain(text: str, tokens: list[Token]) -> list[Piece] | None:
    """The pieces of a script without control flow, or None when there may be some."""
    if not tokens:
        return []
    last = text.rfind(";")
    first = text.find(";")
    if first < 0 or (first == last and tokens[-1].token_type is TokenType.SEMICOLON):
        bounds = [-1, len(tokens) - (tokens[-1].token_type is TokenType.SEMICOLON)]
    else:
        bounds = [-1, *(at for at, token in enumerate(tokens) if token.token_type is TokenType.SEMICOLON), len(tokens)]
    found: list[Piece] = []
    for before, high in itertools.pairwise(bounds):
        low = before + 1
        if low == high:
            continue
        head = tokens[low].token_type
        if head not in PLAIN and not (head is TokenType.CREATE and _held(tokens, low, high)):
            return None
        start, end = tokens[low].start, tokens[high - 1].end + 1
        found.append(Piece("statement", start, end, tokens[low].line, text, tokens[low:high]))
    return found


def _held(tokens: list[Token], low: int, high: int) -> bool:
    """CREATE of a table, a view and the like, and not of a table function."""
    for at in range(low + 1, min(high, low + 6)):
        if tokens[at].token_type in HELD:
            if tokens[at].token_type is TokenType.TEMPORARY:
                continue
            return at + 1 >= high or tokens[at + 1].token_type is not TokenType.FUNCTION
    return False
