"""CREATE PROCEDURE, FUNCTION, TRIGGER, PACKAGE, TASK, EVENT, MACRO: their name, their parameters, and where their body begins.

A body in another language than SQL is named as such and left alone.
"""

from collections.abc import Iterator

from sqlglot.tokenizer_core import TokenType

from headwater.columns.script.cursor import QUERY, STRINGS
from headwater.columns.script.dynamic import Values
from headwater.columns.script.piece import Piece

KINDS = {"PROCEDURE", "PROC", "FUNCTION", "TRIGGER", "PACKAGE", "TASK", "EVENT", "MACRO"}
MODIFIERS = {
    "OR", "REPLACE", "ALTER", "EDITIONABLE", "NONEDITIONABLE", "TEMP", "TEMPORARY", "SECURE", "AGGREGATE", "PRIVATE", "PUBLIC",
    "CONSTRAINT", "EXTERNAL", "MEMORY", "MEMOIZABLE", "WINDOW", "EVENT_", "FORCE", "INSTEAD",
}  # fmt: skip
MODES = {"IN", "OUT", "INOUT", "VARIADIC", "CONSTANT"}
BODIES = (
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "MERGE",
    "WITH",
    "REPLACE",
    "CALL",
    "IF",
    "WHILE",
    "CASE",
    "REPEAT",
    "LOOP",
    "SET",
    "SIGNAL",
)
NOT_SAID = "the table whose trigger this is is not said here"
LANGUAGES = ("sql", "plpgsql", "plsql", "spl")


def head(c: Values, at: int) -> tuple[str, int]:
    """The kind of routine that is created here and where its name begins; no kind when it is something else."""
    here = at + (c.words[at] in ("CREATE", "ALTER", "REPLACE"))
    for _ in range(14):
        word = c.words[here]
        if word in KINDS:
            body = word == "PACKAGE" and c.words[here + 1] == "BODY"
            return word, here + 1 + body
        if word == "TYPE" and c.words[here + 1] == "BODY":
            return "PACKAGE", here + 2
        if word == "DEFINER":
            while here + 1 < c.size and c.words[here + 1] not in KINDS and here < at + 12:
                here += 1
        elif word not in MODIFIERS and not (word == "TABLE" and c.words[here + 1] == "FUNCTION"):
            break
        here += 1
    return "", at


def parameters(c: Values, low: int, high: int, *, bare: bool = False) -> Iterator[str]:
    """Names in a parameter list; a parameter of one word is a type without a name, unless they are `bare`."""
    depth, here = 0, low
    fresh = True
    while here < high:
        word = c.words[here]
        if word in ("(", "<", "["):
            depth += 1
        elif word in (")", ">", "]"):
            depth -= 1
        elif word == "," and depth <= 0:
            fresh = True
        elif fresh and (word not in MODES or c.words[here + 1] in (",", ")")):
            name, after = c.variable(here)
            if bare or (after < high and c.words[after] != ","):
                yield name
            fresh = False
        here += 1


def name_at(c: Values, at: int) -> tuple[str, int]:
    if c.words[at] == "IF":
        at += 3
    return c.dotted(at, c.size)


def opened(c: Values, at: int, kind: str, name: str, after: int) -> Piece | None:
    """Lists the routine, opens it, and takes its parameters."""
    high = min(max(c.end(at), at + 1), c.size)
    made = c.piece("procedure", at, min(max(after, at + 1), high), [])
    if made is not None:
        made.name, made.kind = name, f"CREATE {'PROCEDURE' if kind == 'PROC' else kind}"
    c.push("PACKAGE" if kind == "PACKAGE" else "ROUTINE", name, names=True)
    if c.words[after] == "(":
        c.scope.names.update(parameters(c, after + 1, c.closing(after, c.size), bare=kind == "MACRO"))
    if kind == "TRIGGER" and c.family != "tsql":
        fired(c, after)
    return made


def fired(c: Values, at: int) -> None:
    """The rows that fire a trigger, under the names that its body has for them."""
    limit = c.end(at)
    names = ["new", "old"]
    for here in range(c.find(at, limit, "REFERENCING") + 1, limit - 1):
        if c.words[here] not in ("NEW", "OLD") or c.words[here - 1] == ":":
            if c.words[here] in ("FOR", "BEGIN", "WHEN"):
                break
            continue
        alias = here + 1
        alias += c.words[alias] in ("ROW", "TABLE")
        names.append(c.tokens[alias + (c.words[alias] == "AS")].text.lower())
    c.scope.names.update(names)
    low = c.find(at, limit, "ON") + 1
    table, high = c.dotted(low, limit)
    if not table or c.words[low] in ("DATABASE", "SCHEMA", "NESTED"):
        c.unknown(at, limit, names, NOT_SAID)
    elif c.find(high, limit, "EXECUTE") >= limit:  # A function has names of its own.
        c.rows_of(low, high, [(name,) for name in names])


def routine(c: Values, at: int) -> int:
    """Opens the routine created here; what comes back is where its body begins. 0: no routine is created here."""
    kind, here = head(c, at)
    if not kind or c.words[at] == "ALTER" or (c.words[at] == "REPLACE" and c.words[at + 1] not in KINDS):
        return 0
    name, after = name_at(c, here)
    if not name:
        return 0
    made = opened(c, at, kind, name, after)
    if c.family == "oracle":
        return section(c, after, kind, made)
    return body(c, after, kind, made)


def inner(c: Values, at: int) -> int:
    """A routine declared inside a package, a type or another routine."""
    limit, here, kind = c.end(at), at, "TRIGGER"
    for step in range(4):
        if c.words[at + step] in ("PROCEDURE", "FUNCTION"):
            kind, here = c.words[at + step], at + step + 1
            break
    stop = c.find(here, limit, "IS", "AS")
    if stop >= limit:
        return limit
    if kind == "TRIGGER":
        c.push("ROUTINE", names=True, declaring=True)
        return stop + 1
    name, after = c.dotted(here, limit)
    return section(c, after, kind, opened(c, at, kind, name, after))


def section(c: Values, after: int, kind: str, made: Piece | None) -> int:
    """PL/SQL: IS or AS, declarations, BEGIN."""
    limit = c.end(after)
    frame = c.frames[-1]
    if kind == "TRIGGER":
        stop = c.find(after, limit, "DECLARE", "BEGIN", "CALL", "COMPOUND")
        if stop >= limit:
            c.pop()
            return limit
        if c.words[stop] == "COMPOUND":
            frame.kind, frame.declaring = "PACKAGE", True
            return stop + 2
        return stop
    stop = c.find(after, limit, "IS", "AS")
    if c.words[stop - 1 : stop + 2] == ["SELF", "AS", "RESULT"]:
        stop = c.find(stop + 1, limit, "IS", "AS")
    if stop >= limit or c.words[stop + 1] in ("LANGUAGE", "EXTERNAL", "MLE"):
        if made is not None and stop < limit:
            made.reason = f"the body is {c.words[stop + 2] or 'foreign'}, not SQL"
        c.pop()
        return limit
    frame.declaring = True
    return stop + 1


def body(c: Values, after: int, kind: str, made: Piece | None) -> int:
    """The other dialects: a block, one statement, an expression, or a string that holds any of these."""
    limit = c.end(after)
    here = after
    if kind == "TRIGGER":
        each = c.find(after, limit, "EACH")
        if each < limit:
            here = each + 2
    elif kind == "EVENT":
        here = c.find(after, limit, "DO") + 1
    plain = kind == "EVENT" or (c.family in ("mysql", "teradata", "") and (kind != "TRIGGER" or here > after))
    while here < limit:
        word, then = c.words[here], c.words[here + 1]
        if word == "(":
            here = c.closing(here, limit)
        elif word in ("AS", "IS") and here + 1 < limit and c.tokens[here + 1].token_type in STRINGS:
            text(c, here + 1, after, limit, kind, made)
            c.pop()
            return limit
        elif word == "AS" and kind == "MACRO" and then == "(":
            c.frames[-1].kind = "MACRO"
            return here + 2
        elif word in ("AS", "RETURN") and kind != "TRIGGER" and c.words[here - 1] != "EXECUTE":
            if then in ("BEGIN", "DECLARE", *BODIES) and then not in QUERY and word == "AS":
                return here + 1
            if kind == "TASK" or (then in QUERY and kind != "FUNCTION"):
                return here + 1
            c.expression(here + 1 + (kind == "MACRO" and then == "TABLE"), limit)
            c.pop()
            return limit
        elif word in ("BEGIN", "DECLARE") or (plain and word in BODIES):
            return here
        elif word == "EXECUTE" and kind == "TRIGGER":
            break
        here += 1
    c.pop()
    return limit


def text(c: Values, at: int, low: int, limit: int, kind: str, made: Piece | None) -> None:
    """A body in a string: its language decides how it is read."""
    language = ""
    for here in range(low, limit - 1):
        if c.words[here] == "LANGUAGE":
            language = c.tokens[here + 1].text.lower()
    token = c.tokens[at]
    made = made or Piece("procedure", token.start, token.end + 1, token.line, c.text)
    if (language and language not in LANGUAGES) or (not language and c.family in ("spark", "bigquery")):
        made.reason = f"the body is {language or 'a class'}, not SQL"
        return
    if not language:
        language = "plpgsql" if c.family == "postgres" and "BEGIN" in token.text.upper() else "sql"
    if any(word == "TRIGGER" for word in c.words[low:at]):
        c.scope.names.update(("new", "old"))
        c.unknown(at, at + 1, ("new", "old"), NOT_SAID)
    before = len(c.out)
    value = kind == "FUNCTION" and c.family not in ("postgres", "mysql")
    c.nest(made, token, body=language != "sql" or (c.family == "snowflake" and not value), value=value)
    if language == "sql" and kind == "FUNCTION":
        for piece, _ in c.out[before:]:
            if piece.role == "statement" and piece.tokens[0].token_type in (TokenType.SELECT, TokenType.WITH):
                piece.role = "query"
