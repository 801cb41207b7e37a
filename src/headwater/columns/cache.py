"""Statements that were analysed before, and statements of a shape that was: what is known of them holds, so they are not parsed again.

A job says the same over and over, with other dates and numbers. A text that was met is known as it is; a text of a shape that was met
(`columns.key`) has the lineage of that shape, with its own place in its text. With other schemas, another session, or tables the session
made, the form is resolved again and not parsed. A statement that changes the session is resolved each time, so it changes it each time.
"""

import re
from collections import OrderedDict
from hashlib import blake2b
from typing import TypeVar

import msgspec

from headwater.columns import form
from headwater.columns.analysis import analyse, resolve
from headwater.columns.catalog import Catalog, Schema
from headwater.columns.dialect import rules
from headwater.columns.result import Level, Statement, TableName
from headwater.columns.script.pieces import FAMILIES
from headwater.columns.script.terminal import server
from headwater.columns.session import Conventions, Session
from headwater.columns.shape.key import Cut, Plan, cut, digest, key, plan
from headwater.columns.shape.lexis import Lexis, lexis

K = TypeVar("K")
V = TypeVar("V")

_HEAD = re.compile(r"(?:[ \t\r\n;]++|--[^\r\n]*+|/\*(?![!+])(?:[^*/]++|\*(?!/)|/(?!\*))*+\*/)*+")
_TAIL = " \t\r\n;\f\v\xa0\x1c\x1d\x1e\x1f\x85"
_BREAK = re.compile(r"\r\n|\r|\n")

_Where = tuple[bytes, str, str, tuple[str, ...], frozenset[str], bool, Conventions]
"""The context that a result depends on beside its text: the catalog's version and the session's defaults."""
_State = tuple[
    str, str, tuple[str, ...], frozenset[str], bool, Conventions,
    dict[TableName, Schema], frozenset[TableName], frozenset[TableName], frozenset[TableName], dict[str, tuple[str, ...]],
    dict[str, form.VariableColumns],
]  # fmt: skip


class _CachedShape:
    """A statement of a shape and the context it was resolved in; no context if the shape must be resolved each time."""

    __slots__ = ("statement", "where")

    def __init__(self, statement: Statement, where: _Where | None) -> None:
        self.statement = statement
        self.where = where


class Cache:
    """Keeps at most `size` texts and `size` shapes, those used last. For one thread. It pickles as an empty one."""

    def __init__(self, size: int = 4096) -> None:
        if size < 1:
            raise ValueError(f"a cache holds at least one statement, not {size}")
        self.size = size
        self.clear()

    def __reduce__(self) -> tuple[type["Cache"], tuple[int]]:
        return Cache, (self.size,)

    def clear(self) -> None:
        self._texts: OrderedDict[tuple[bytes, str], tuple[_Where, list[Statement]]] = OrderedDict()
        self._plans: OrderedDict[bytes, Plan] = OrderedDict()
        self._shapes: OrderedDict[bytes, _CachedShape] = OrderedDict()

    def analyse(
        self, text: str, dialect: str = "", catalog: Catalog | None = None, session: Session | None = None
    ) -> list[Statement]:
        """Return the statements that `analysis.analyse` returns, and change `session` as it does.

        Raises ValueError for an unknown dialect, and nothing else for any text.
        """
        parser = rules(dialect).parser
        catalog = catalog or Catalog(dialect=dialect)
        session = session or Session()
        where: _Where | None = None
        exact = (blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest(), parser)
        if not (session.tables or session.temporary or session.dropped or session.forgotten or session.values):
            where = (
                catalog.version, session.database, session.schema, session.search_path, session.variables, session.through_views, session.conventions,
            )  # fmt: skip
            known = self._texts.get(exact)
            if known is not None and known[0] == where:
                self._texts.move_to_end(exact)
                return list(known[1])
        found, unchanged = self._by_shape(text, dialect, parser, catalog, session, where)
        if where is not None and unchanged:
            _put(self._texts, exact, (where, list(found)), self.size)
        return found

    def _by_shape(
        self, text: str, dialect: str, parser: str, catalog: Catalog, session: Session, where: _Where | None
    ) -> tuple[list[Statement], bool]:
        """The statements, and whether the session is as it was."""
        head = _HEAD.match(text)
        start = head.end() if head else 0
        body = text[start:] if start else text
        known = lexis(parser)
        pieces = cut(body, known, parser) if not session.values and _steady(text, body, parser) else None
        shape = self._key(pieces, parser, body) if pieces is not None else None
        if pieces is None or shape is None:
            before = _state(session)
            found = analyse(text, dialect, catalog, session)
            return found, _state(session) == before
        place = start, start + _end(pieces, body, known), 1 + (len(_BREAK.findall(text, 0, start)) if start else 0)
        entry = self._shapes.get(shape)
        if entry is None:
            return self._first(text, dialect, catalog, session, where, shape, place)
        self._shapes.move_to_end(shape)
        pure = entry.where is not None and entry.where == where
        statement = entry.statement if pure else None
        if statement is None:
            before = _state(session)
            statement = resolve(entry.statement, catalog, session)
            pure = _state(session) == before
            if pure and where is not None:
                entry.statement, entry.where = statement, where
        return [_moved(statement, text, place)], pure

    def _first(
        self, text: str, dialect: str, catalog: Catalog, session: Session, where: _Where | None,
        shape: bytes, place: tuple[int, int, int],
    ) -> tuple[list[Statement], bool]:  # fmt: skip
        """Analyse a text of a new shape, and remember the shape if its statements can be made again from it."""
        before = _state(session)
        found = analyse(text, dialect, catalog, session)
        pure = _state(session) == before
        if len(found) == 1 and _plain(found[0], place):
            replayed = _session(before)
            if pure or (resolve(found[0], catalog, replayed) == found[0] and _state(replayed) == _state(session)):
                _put(self._shapes, shape, _CachedShape(found[0], where if pure else None), self.size)
        return found, pure

    def _key(self, pieces: Cut, parser: str, body: str) -> bytes | None:
        whole = digest(pieces.shape, parser)
        planned = self._plans.get(whole)
        if planned is None:
            planned = plan(pieces.shape, whole, parser)
            _put(self._plans, whole, planned, self.size)
        else:
            self._plans.move_to_end(whole)
        return key(planned, pieces.literals, body)


def _put(level: OrderedDict[K, V], name: K, value: V, size: int) -> None:
    level[name] = value
    level.move_to_end(name)
    if len(level) > size:
        level.popitem(last=False)


def _steady(text: str, body: str, parser: str) -> bool:
    """Return whether a text is SQL as it stands: no template, no lines for a terminal. Such things are not in a shape."""
    if (
        not body
        or not (body[0] == "(" or body[0].isalpha())
        or "{" in text
        or "${" in text
        or "$(" in text
        or "%(" in text
    ):
        return False
    family = FAMILIES.get(parser, "")
    return not family or family == "tsql" or server(text, family) == text


def _plain(statement: Statement, place: tuple[int, int, int]) -> bool:
    """Return whether a statement holds nothing that depends on its text beyond its form."""
    lowered = statement.form
    return (
        (statement.start, statement.end, statement.line) == place
        and isinstance(lowered, form.Lowered)
        and lowered.form is not None
        and lowered.reading == Level.FULL
        and not lowered.warnings
        and not (statement.within or statement.name)
    )


def _end(pieces: Cut, body: str, known: Lexis) -> int:
    """Return the place where the statement ends: before comments, blanks and `;`."""
    at = len(body)
    for place in range(len(pieces.pieces) - 1, -1, -1):
        piece = pieces.pieces[place]
        if not place % 2:
            kept = piece.rstrip(_TAIL)
            at -= len(piece) - len(kept)
            if kept:
                break
        elif known.seen.get(piece[0]) == " ":
            at -= len(piece)
        else:
            break
    return at


def _moved(statement: Statement, text: str, place: tuple[int, int, int]) -> Statement:
    """The statement at its place in this text."""
    start, end, line = place
    return msgspec.structs.replace(statement, start=start, end=end, line=line, text=text[start:end])


def _state(session: Session) -> _State:
    return (
        session.database,
        session.schema,
        session.search_path,
        session.variables,
        session.through_views,
        session.conventions,
        dict(session.tables),
        frozenset(session.temporary),
        frozenset(session.dropped),
        frozenset(session.forgotten),
        dict(session.types),
        dict(session.values),
    )


def _session(state: _State) -> Session:
    """A session as one was."""
    found = Session(*state[:6])
    found.tables, found.temporary = dict(state[6]), set(state[7])
    found.dropped, found.forgotten, found.types = set(state[8]), set(state[9]), dict(state[10])
    found.values = dict(state[11])
    return found
