"""A text to its statements: split, parse, lower, resolve. The one door of the engine; it never raises on any text.

One bad statement never spoils the others. What is parsed once need not be again: `resolve` reads a statement's form with newer schemas.
"""

import logging
from typing import Any

import msgspec
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import TokenType

from headwater.columns import form, recovery
from headwater.columns.catalog import Catalog
from headwater.columns.dialect import Rules, rules
from headwater.columns.flows import Outcome, outcome
from headwater.columns.result import Level, Statement
from headwater.columns.session import Session

# The parser says on its logger what it could not read; here that is a warning of the statement.
logging.getLogger("sqlglot").addFilter(lambda _record: False)


def analyse(
    text: str, dialect: str = "", catalog: Catalog | None = None, session: Session | None = None
) -> list[Statement]:
    """Every statement of `text`, in order. `session` moves on with them.

    Raises ValueError for an unknown dialect; nothing else, whatever the text.
    """
    rule = rules(dialect)
    catalog = catalog or Catalog(dialect=dialect)
    session = session or Session()
    parser = Dialect.get_or_raise(rule.parser or None)
    found: list[Statement] = []
    problem = ""
    try:
        tokens = parser.tokenize(text)
    except (TokenError, RecursionError):
        tokens, problem = recovery.beginning(text, parser)
    chunk: list[Any] = []
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            if chunk:
                found.append(_statement(len(found), text, chunk, parser, rule, catalog, session))
            chunk = []
        else:
            chunk.append(token)
    if chunk and not problem:
        found.append(_statement(len(found), text, chunk, parser, rule, catalog, session))
    elif problem:  # A quote or comment that never ends takes the rest of the text with it.
        lowered, level = recovery.words_only(text, chunk, rule, problem)
        start, line = (chunk[0].start, chunk[0].line) if chunk else (0, 1)
        told = outcome(lowered, catalog, session)
        found.append(_put_together(told, lowered, index=len(found), start=start, end=len(text), line=line, level=level))
    return found


def _statement(
    index: int, text: str, tokens: list[Any], parser: Any, rule: Rules, catalog: Catalog, session: Session
) -> Statement:
    lowered, level = _lowered(text, tokens, parser, rule)
    told = outcome(lowered, catalog, session)
    return _put_together(
        told, lowered, index=index, start=tokens[0].start, end=tokens[-1].end + 1, line=tokens[0].line, level=level
    )


def _lowered(text: str, tokens: list[Any], parser: Any, rule: Rules) -> tuple[form.Lowered, Level]:
    return recovery.read(text, tokens, parser, rule)


def _put_together(
    told: Outcome, lowered: form.Lowered, *, index: int, start: int, end: int, line: int, level: Level
) -> Statement:
    worst = told.level if told.level != Level.FULL else level
    return Statement(
        index=index,
        start=start,
        end=end,
        line=line,
        kind=lowered.kind,
        level=worst,
        reads=tuple(told.reads),
        writes=tuple(told.writes),
        flows=tuple(told.flows),
        changes=tuple(told.changes),
        unresolved=tuple(told.unresolved),
        warnings=tuple(told.warnings),
        form=lowered,
    )


def resolve(statement: Statement, catalog: Catalog, session: Session | None = None) -> Statement:
    """The statement with what `catalog` knows now; nothing is parsed. Its level stays what parsing made it."""
    if not isinstance(statement.form, form.Lowered) or statement.form.form is None:
        return statement
    told = outcome(statement.form, catalog, session or Session())
    return msgspec.structs.replace(
        statement,
        reads=tuple(told.reads),
        writes=tuple(told.writes),
        flows=tuple(told.flows),
        changes=tuple(told.changes),
        unresolved=tuple(told.unresolved),
        warnings=tuple(told.warnings),
    )
