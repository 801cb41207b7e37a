"""A text to its statements: split, parse, lower, resolve. The one door of the engine; it never raises on any text.

One bad statement never spoils the others. A statement is parsed once: `resolve` reads a statement's form with newer schemas.
"""

import contextlib
import gc
import logging
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from headwater.columns import form
from headwater.columns.catalog import Catalog
from headwater.columns.dialect import Rules, rules
from headwater.columns.recovery import ladder
from headwater.columns.resolving.flows import Outcome, outcome
from headwater.columns.result import Flow, Level, Statement, level_of
from headwater.columns.script.engine import engine
from headwater.columns.script.pieces import Piece, pieces
from headwater.columns.script.template import Refusal, plain
from headwater.columns.session import Session

_TEMPLATE_MARK = re.compile(r"\{[{%#]|\$\{")
_VALUES = frozenset({"var", "expression"})
"""Holes of a template that stand for values, not for tables."""
_BUILT_IN = re.compile(
    r"(?:sys\.|master\.+|dbo\.)?(?:dbms_|utl_|ctx_|owa_|htp\.|htf\.|xp_|raise_application_error|sp_(?:"
    r"(?:add|update|drop)extendedproperty|configure|(?:add|drop)rolemember|addrole|addlogin|adduser|grantdbaccess|addmessage|addtype|"
    r"bindefault|bindrule|dboption|tableoption|settriggerorder|fulltext_\w+|serveroption|recompile|help\w*|spaceused|who2?|lock|"
    r"getapplock|releaseapplock|refreshview|refreshsqlmodule|set_session_context)$)",
    re.IGNORECASE,
)
"""Routines that come with a product, and touch no rows of a user's. Not all of `sp_`: people call their own so."""
_HIVE_IN_ATHENA = re.compile(
    r"\b(?:external|alter|msck|tblproperties|serde|partitioned|describe|show)\b", re.IGNORECASE
)
"""Statements of Athena that Hive's grammar reads: there backticks quote names and double quotes texts. Elsewhere both quote names."""
_READ = frozenset({"statement", "query"})
# The parser says on its logger what it could not read; here that is a warning of the statement.
logging.getLogger("sqlglot").addFilter(lambda _record: False)


class _Holes(msgspec.Struct, frozen=True):
    """The meaning of a template's names (see `form.Lowered`), by name in lower case. `values` are variables."""

    values: frozenset[str] = frozenset()
    holes: dict[str, str] = {}
    stands: dict[str, str] = {}


_LASTING = frozenset({"mysql", "singlestore", "doris", "starrocks"})
"""Dialects whose `@x` lasts as long as the session."""


def analyse(
    text: str, dialect: str = "", catalog: Catalog | None = None, session: Session | None = None
) -> list[Statement]:
    """Every statement of `text`, in order. `session` moves on with them.

    Raises ValueError for an unknown dialect, and nothing else for any text.
    """
    rule = rules(dialect)
    catalog = catalog or Catalog(dialect=dialect)
    session = session or Session()
    refusals: tuple[Refusal, ...] = ()
    holes = _Holes()
    if text[:1] == "\ufeff":  # A byte order mark.
        text = " " + text[1:]
    if "{" in text and _TEMPLATE_MARK.search(text):
        templated = plain(text)
        text, refusals = templated.text, templated.refusals
        if templated.whole:
            return [_macro(text, templated.whole)]
        holes = _Holes(
            frozenset(name.lower() for name, (kind, _) in templated.names.items() if kind in _VALUES),
            templated.holes,
            templated.stands,
        )
    if rule.parser == "athena" and "`" in text and not _HIVE_IN_ATHENA.search(text):
        text = text.replace("`", '"')
    parser = engine(rule.parser)
    found: list[Statement] = []
    values = dict(session.values)
    for piece in _pieces(text, rule, parser):
        if piece.role in _READ:
            with _no_collection():
                found.append(_statement(len(found), piece, parser, rule, catalog, session, values, holes))
        elif piece.role == "unknown":
            for name in piece.assigns:
                if piece.reason:
                    _lose(values, name, piece.reason)
                else:
                    values.pop(name, None)
        elif piece.role == "value":
            _statement(len(found), piece, parser, rule, catalog, session, values, holes)
        elif piece.role == "unreadable":
            found.append(_cut_off(len(found), piece, text, parser, rule, catalog, session, holes))
        elif piece.role != "dynamic" or piece.reason:
            found.append(_unparsed_statement(len(found), piece, text, rule))
    if values:
        lasting = ("$", "@") if rule.parser in _LASTING else ("$",)
        session.values = {name: told for name, told in values.items() if name.startswith(lasting)}
    elif session.values:
        session.values = {}
    if refusals:
        _put_refusals(found, refusals, text)
    return found


def _macro(text: str, name: str) -> Statement:
    """A text that is one call of a macro."""
    start = len(text) - len(text.lstrip())
    return Statement(
        index=0,
        start=start,
        end=len(text.rstrip()),
        line=1 + text.count("\n", 0, start),
        kind="TEMPLATE",
        level=Level.NOTHING,
        name=name,
        warnings=(f"the model is the macro {name}: what it says is known only when it runs",),
    )


def _cut_off(
    index: int,
    piece: Piece,
    text: str,
    parser: Any,
    rule: Rules,
    catalog: Catalog,
    session: Session,
    holes: _Holes,
) -> Statement:
    """A piece with a quote or comment that never ends: the tables its words name up to there."""
    tokens, problem = ladder.beginning(text[piece.start : piece.end], parser)
    lowered = ladder.words_only(text[piece.start : piece.end], tokens, rule, piece.reason or problem)
    _put_holes(lowered, tokens, holes)
    return _put_together(outcome(lowered, catalog, session), lowered, piece, index)


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """The cycle collector waits until a statement is done: a parser's tree is all alive until then, and looking it through again and again
    is a tenth of the time."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _pieces(text: str, rule: Rules, parser: Any) -> list[Piece]:
    """The pieces of the text; where the splitter sees none, all of it is one."""
    found = pieces(text, rule.parser)
    if not found and text.strip():
        tokens, _ = ladder.beginning(text, parser)
        if any(token.text != ";" for token in tokens):
            found = [Piece("statement", tokens[0].start, tokens[-1].end + 1, tokens[0].line, text, tokens)]
    for place, piece in enumerate(found):
        if piece.role == "call" and piece.name.lower().endswith("sp_rename"):  # A call that says what it does.
            tokens = [one for one in parser.tokenize(text) if piece.start <= one.start < piece.end]
            found[place] = Piece("statement", piece.start, piece.end, piece.line, text, tokens, piece.within)
    return found


def _unparsed_statement(index: int, piece: Piece, text: str, rule: Rules) -> Statement:
    """A piece that is not parsed: a routine, a call, what cannot be read."""
    kind = {"procedure": piece.kind, "call": "CALL", "dynamic": "EXECUTE"}.get(piece.role, "UNKNOWN")
    reason, level = piece.reason, Level.NOTHING if piece.reason else Level.FULL
    if piece.role == "call" and not _BUILT_IN.match(piece.name):
        reason, level = reason or "what the routine does is not said here", Level.PARTIAL
    return Statement(
        index=index,
        start=piece.start,
        end=piece.end,
        line=piece.line,
        kind=kind,
        level=level,
        within=piece.within,
        name=piece.name,
        conditional=piece.conditional,
        warnings=(reason,) if reason else (),
        text=text[piece.start : piece.end],
        dialect=rule.parser,
    )


def _put_refusals(found: list[Statement], refusals: tuple[Refusal, ...], text: str) -> None:
    """Warn, at the statement it stands in, of each part of a template that SQL cannot express."""
    for refusal in refusals:
        words = f"line {refusal.line}: {refusal.what} is left out: {refusal.why}"
        for place in range(len(found) - 1, -1, -1):
            one = found[place]
            if one.line <= refusal.line or place == 0:
                warnings = (*one.warnings, words)
                if isinstance(one.form, form.Lowered):  # `resolve` says it again.
                    one.form.warnings = [*one.form.warnings, words]
                level = level_of(one.level, warnings, ())
                found[place] = msgspec.structs.replace(one, warnings=warnings, level=level)
                break
        else:
            found.append(
                Statement(
                    index=0, start=0, end=len(text), line=1, kind="UNKNOWN", level=Level.NOTHING, warnings=(words,)
                )
            )


def _statement(
    index: int,
    piece: Piece,
    parser: Any,
    rule: Rules,
    catalog: Catalog,
    session: Session,
    values: dict[str, form.VariableColumns],
    holes: _Holes,
) -> Statement:
    lowered = ladder.read(piece.text, piece.tokens, parser, rule)
    if piece.variables:
        lowered.variables = sorted(piece.variables)
    if values:
        lowered.values = {name: values[name] for name in (*lowered.variables, *session.values) if name in values}
    _put_holes(lowered, piece.tokens, holes)
    if piece.reason:
        lowered.warnings = [*lowered.warnings, piece.reason]
    try:
        told = outcome(lowered, catalog, session)
    except Exception as error:  # noqa: BLE001 - one statement never spoils the others; it says what happened
        told = Outcome(warnings=[*lowered.warnings, _defect(error)], level=Level.NOTHING)
    taken = ((piece.assigns,) if piece.assigns else ()) + tuple(piece.fetched)
    if told.flows and told.flows[-1].target is not None and piece.role == "statement" and not piece.fetched:
        taken = ()  # What a change returns is a value of its own.
    for names in taken:
        if told.flows:
            _assign(values, names, told.flows[-1])
        if told.level is not Level.FULL:
            for name in filter(None, names):
                _lose(values, name, "the query that gives it its value is not understood in full")
    return _put_together(told, lowered, piece, index)


def _assign(values: dict[str, form.VariableColumns], names: tuple[str, ...], flow: Flow) -> None:
    """Add a query's outputs to what the variables may already hold: which branch runs is not known."""
    rows = [(one.table, one.field, one.kinds, one.path) for one in flow.rows]
    columns = [
        (output.name, [(one.table, one.field, one.kinds, one.path) for one in output.inputs] + rows)
        for output in flow.columns
    ]
    for place, name in enumerate(names):
        if not name:
            continue
        given = columns if len(names) == 1 else columns[place : place + 1]
        values[name] = _both(values.get(name, []), given)


def _lose(values: dict[str, form.VariableColumns], name: str, reason: str) -> None:
    """Add to what a variable may hold what is not known, in each of its columns."""
    unknown: form.VariableColumns = [(column, [((), reason, 0, "")]) for column, _ in values.get(name, [])]
    values[name] = _both(values.get(name, []), [*unknown, ("*", [((), reason, 0, "")])])


def _both(some: form.VariableColumns, others: form.VariableColumns) -> form.VariableColumns:
    merged = {name: list(inputs) for name, inputs in some}
    for name, inputs in others:
        known = merged.setdefault(name, [])
        known += [one for one in inputs if one not in known]
    return list(merged.items())


def _put_holes(lowered: form.Lowered, tokens: list[Any], holes: _Holes) -> None:
    """Set the meaning of the template's names that occur in a statement."""
    if not (holes.values or holes.holes or holes.stands):
        return
    words = sorted({token.text.lower() for token in tokens})
    lowered.variables = sorted({*lowered.variables, *(word for word in words if word in holes.values)})
    lowered.holes = {word: holes.holes[word] for word in words if word in holes.holes}
    lowered.stands = {word: holes.stands[word] for word in words if word in holes.stands}


def _defect(error: Exception) -> str:
    return f"a defect of the engine, please report it with the statement: {type(error).__name__}: {error}"


def _put_together(told: Outcome, lowered: form.Lowered, piece: Piece, index: int) -> Statement:
    tokens = piece.tokens
    written = piece.text[tokens[0].start : tokens[-1].end + 1] if tokens else piece.text[piece.start : piece.end]
    return _with(
        Statement(
            index=index,
            start=piece.start,
            end=piece.end,
            line=piece.line,
            kind=lowered.kind,
            level=told.level,
            within=piece.within,
            conditional=piece.conditional,
            text=written,
            dialect=lowered.dialect,
            form=lowered,
        ),
        told,
    )


def _with(statement: Statement, told: Outcome) -> Statement:
    return msgspec.structs.replace(
        statement,
        level=told.level,
        reads=tuple(told.reads),
        writes=tuple(told.writes),
        flows=tuple(told.flows),
        changes=tuple(told.changes),
        schema_changes=tuple(told.schema_changes),
        unresolved=tuple(told.unresolved),
        partitions=tuple(told.partitions),
        warnings=tuple(told.warnings),
    )


def resolve(statement: Statement, catalog: Catalog, session: Session | None = None) -> Statement:
    """The statement with what `catalog` knows now; nothing is parsed. `session` moves on by it, as it did at first."""
    if not isinstance(statement.form, form.Lowered) or statement.form.form is None:
        return statement
    collects = gc.isenabled()
    gc.disable()  # As in `_no_collection`.
    try:
        return _with(statement, outcome(statement.form, catalog, session or Session()))
    finally:
        if collects:
            gc.enable()
