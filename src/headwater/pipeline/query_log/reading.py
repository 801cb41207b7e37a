"""One text read at one place: what it reads and writes, which column feeds which; and a limit to how long that may take. Knows no Spark."""

import contextlib
import re
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from headwater.columns import Catalog, Level, Session, Statement, analyse, composed
from headwater.columns.cache import Cache
from headwater.columns.composed import Composition
from headwater.columns.openlineage import Facets, facets, names
from headwater.columns.result import level_of
from headwater.pipeline.query_log.schema_moves import PART, SCHEMA
from headwater.pipeline.query_log.standins import called, settled

if TYPE_CHECKING:
    from headwater.columns.result import TableName
    from headwater.model.names import DatasetName

SECONDS: Final = 10.0
"""The time limit for reading one text."""
SLICES: Final = 32
_SLICE: Final = 16
WARNING_AT_MOST: Final = 500
_WARNINGS: Final = 20
_ORDER: Final = (Level.FULL, Level.PARTIAL, Level.TABLES, Level.NOTHING)
_MADE: Final = frozenset({"CREATE", "CLONE", "LIKE"})


def slices(texts: int) -> int:
    """Tasks that reading so many texts is spread over: few may take long, so by number and not by size."""
    return 1 if texts <= _SLICE else max(2, min(SLICES, texts // _SLICE))


class Late(BaseException):
    """A text took too long. No `except Exception` on the way may take it for something else."""


@contextlib.contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raises Late in the block after so many seconds, and again each second until it is left.

    RuntimeError outside of the main thread, where no signal comes. A Python worker of Spark runs what it is given in its main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("a deadline needs the main thread")

    def late(_number: int, _frame: FrameType | None) -> None:
        raise Late

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Understood(NamedTuple):
    """The meaning of a text at a place. Datasets as (namespace, name), in the order they are met.

    `outputs` is JSON: of each dataset written that something is known of, `namespace`, `name` and `facets`.
    `names`: see `touched_names`. `through`: datasets that are read through temporary tables only, with the names of those.
    """

    level: str
    kind: str
    reads: tuple[tuple[str, str], ...] = ()
    writes: tuple[tuple[str, str], ...] = ()
    outputs: str = "[]"
    unresolved: int = 0
    warnings: tuple[str, ...] = ()
    temporary: bool = False
    names: tuple[str, ...] = ()
    through: tuple[tuple[str, str, tuple[str, ...]], ...] = ()


class Step(NamedTuple):
    """A text that ran earlier in the session, and the place where its names were looked up."""

    text: str
    database: str
    schema: str
    search_path: tuple[str, ...]


def understood(
    text: str,
    dialect: str,
    namespace: str = "",
    session: Session | None = None,
    catalog: Catalog | None = None,
    cache: Cache | None = None,
    before: Sequence[Step] = (),
    missing: Sequence[str] = (),
) -> Understood:
    """A text with all of its statements taken together.

    Tables that live only inside of it, or of its session, are folded away; if it writes nothing else, it is temporary. Names are those of assets, see
    `standins`. `before`: the texts of its session that filled the temporary tables it reads, in their order: what it reads from those it reads from
    what they were filled from. `missing`: names of temporary tables of which the log does not show the making. Raises what the engine raises.
    """
    read = cache.analyse if cache is not None else analyse
    session = session or Session()
    home = _home(session)
    composition = Composition()
    doubts = [_MISSING.format(name) for name in missing]
    earlier: list[Statement] = []
    here = session.database, session.schema, session.search_path
    for step in before:
        session.database, session.schema, session.search_path = step[1:]
        for one in read(step.text, dialect, catalog, session):
            earlier.append(_followed(one, composition, missing))
            if one.level != Level.FULL:
                doubts += [_DOUBTED.format(".".join(table)) for table in one.writes if table in composition.inside]
    session.database, session.schema, session.search_path = here
    said = read(text, dialect, catalog, session)
    if not said:
        return Understood(Level.NOTHING.value, "UNKNOWN")
    through: dict[TableName, tuple[str, ...]] = {}
    named = called([*earlier, *said], home)
    if before or missing:
        direct = {table for one in said for table in one.reads}
        through = {table: tuple(tables) for table, tables in _through(direct, composition).items()}
        said = [_followed(one, composition, missing) for one in said]
        if doubts:
            said = [
                msgspec.structs.replace(one, warnings=(*one.warnings, *doubts), level=_lowered(one)) for one in said
            ]
    found = [settled(one, dialect, named) for one in said]
    own = _own(found, dialect) | {named.get(table, table) for table in composition.inside}
    written = list(dict.fromkeys(table for one in found for table in one.writes))
    lasting = [table for table in written if table not in own]
    temporary = bool(written) and not lasting
    whole = found[0] if len(found) == 1 else _together(found, own, written if temporary else lasting)
    told = facets(whole, dialect, namespace, through=through)
    return Understood(
        _level([*found, whole]),
        _kind(found),
        tuple((one.namespace, one.name) for one in told.inputs),
        tuple(
            dict.fromkeys(
                (one.namespace, one.name) for one in (names(table, dialect, namespace) for table in whole.writes)
            )
        ),
        _encoded(told, _object_changes(found, own, dialect, namespace)),
        sum(len(one.unresolved) for one in found),
        tuple(dict.fromkeys(words[:WARNING_AT_MOST] for one in (*found, whole) for words in one.warnings))[:_WARNINGS],
        temporary,
        touched_names(said, found, session),
        tuple(
            (one.namespace, one.name, tables)
            for one, tables in ((names(table, dialect, namespace), tables) for table, tables in through.items())
        ),
    )


_MISSING: Final = "the log does not show the making of the temporary table {}: what it was filled from is missing"
_DOUBTED: Final = "the temporary table {} was filled by a statement that was understood in part"
MADE, LASTS, DROPPED, WRITTEN, READ, OF_SESSION, RENAMED = "+", "*", "-", ">", "<", "?", "~"


def touched_names(said: Sequence[Statement], found: Sequence[Statement], session: Session) -> tuple[str, ...]:
    """The last parts of the names of all tables that a text touches, in order, each behind a sign of what happens to it: it is made for the
    session (`MADE`) or to last, dropped, written, read; its name alone says that it is of the session; `~a b` renames it.

    `found`: the statements `said` with the names of assets.
    """
    names: dict[str, None] = {}
    made: set[str] = set()

    def note(sign: str, table: "TableName") -> None:
        names[sign + table[-1].lower()] = None

    for one, settled_one in zip(said, found, strict=True):
        passing = {change.table[-1] for change in settled_one.changes if change.temporary}
        creates = {change.table for change in one.changes if change.action in _MADE}
        for table in one.reads:
            own = table[-1].startswith("#") or table in session.temporary
            note(OF_SESSION if own and table[-1] not in made else READ, table)
        for table in one.writes:
            if table not in creates:
                note(WRITTEN, table)
        for change in one.changes:
            if change.action in _MADE:
                temporary = change.table[-1] in passing
                note(MADE if temporary else LASTS, change.table)
                made.add(change.table[-1])
            elif change.action == "DROP":
                note(DROPPED, change.table)
            elif change.action == "RENAME" and change.other is not None:
                names[f"{RENAMED}{change.table[-1].lower()}\n{change.other[-1].lower()}"] = None
    return tuple(names)


def _followed(statement: Statement, composition: Composition, missing: Sequence[str]) -> Statement:
    """The statement as one of its session. Those `missing` are temporary tables, filled from what is not known."""
    if missing:
        touched = (*statement.reads, *statement.writes)
        composition.inside.update(table for table in touched if table[-1].lower() in missing)
    return composition.follow(statement)


def _through(direct: set["TableName"], composition: Composition) -> "Mapping[TableName, Sequence[str]]":
    """The tables that are read through temporary tables only, with the names of those."""
    found: dict[TableName, list[str]] = {}
    for table in sorted(direct & composition.inside):
        for base in composition.behind(table):
            if base not in direct:
                found.setdefault(base, []).append(table[-1])
    return found


def _lowered(statement: Statement) -> Level:
    return Level.PARTIAL if statement.level == Level.FULL else statement.level


def _home(session: Session) -> "TableName":
    """Return the place where an unqualified name is looked up; empty if no schema is known."""
    schema = session.search_path[0] if session.search_path else session.schema
    return tuple(part for part in (session.database, schema) if part) if schema else ()


def _own(found: Sequence[Statement], dialect: str) -> set["TableName"]:
    """Tables that do not outlive the session, or the text."""
    made: set[TableName] = set()
    own: set[TableName] = set()
    signs = ("#", "@") if dialect == "tsql" else ("#",)  # elsewhere `@x` is a stage, which stays
    for one in found:
        own.update(table for table in one.writes if table[-1].startswith(signs))
        for change in one.changes:
            if change.action in _MADE:
                made.add(change.table)
                if change.temporary:
                    own.add(change.table)
            elif change.action == "DROP" and change.table in made:
                own.add(change.table)
    return own


def _together(found: Sequence[Statement], own: set["TableName"], writes: Sequence["TableName"]) -> Statement:
    """A script as one statement."""
    doubts: dict[str, None] = {}
    flows = composed(found, doubts)
    reads = [table for flow in flows for table in flow.reads]
    reads += [table for one in found if not one.flows for table in one.reads]
    changes = [change for one in found for change in one.changes if change.table not in own]
    warnings = (*found[0].warnings, *doubts)
    return msgspec.structs.replace(
        found[0],
        warnings=warnings,
        level=level_of(found[0].level, warnings, found[0].unresolved),
        reads=tuple(dict.fromkeys(table for table in reads if table not in own)),
        writes=tuple(writes),
        flows=tuple(flow for flow in flows if flow.target is None or flow.target in writes),
        changes=tuple(changes),
    )


def _level(found: Sequence[Statement]) -> str:
    """The level of all, where they have one; of some that were understood and some that were not, partial."""
    levels = {one.level for one in found}
    if len(levels) == 1:
        return levels.pop().value
    some = any(one.level in {Level.FULL, Level.PARTIAL} for one in found if one.reads or one.writes)
    return (Level.PARTIAL if some else max(levels, key=_ORDER.index)).value


def _kind(found: Sequence[Statement]) -> str:
    writing = [one.kind for one in found if one.writes]
    reading = [one.kind for one in found if one.reads]
    return [*writing, *reading, found[0].kind][0]


def _encoded(told: Facets, changes: "Mapping[DatasetName, list[dict[str, Any]]]") -> str:
    """JSON of the outputs with their facets, and of the objects that a statement changes, with these changes."""
    outputs: list[dict[str, Any]] = [
        {"namespace": output.namespace, "name": output.name, "facets": bodies}
        | ({"changes": changes[output]} if output in changes else {})
        for output, bodies in told.outputs.items()
        if bodies or output in changes
    ]
    more = [one for one in changes if one not in told.outputs]
    outputs += [{"namespace": one.namespace, "name": one.name, "facets": {}, "changes": changes[one]} for one in more]
    return msgspec.json.encode(outputs).decode()


_CONDITIONAL: Final = re.compile(r"\bif\s+(?:not\s+)?exists\b", re.IGNORECASE)
_ACTIONS: Final = dict.fromkeys(_MADE, "created") | {"DROP": "dropped", "UNDROP": "undropped"}
_EDITED: Final = {"ADD": "added", "DROP": "dropped_column", "RENAME": "renamed_column", "RETYPE": "retyped"}
_OF_SCHEMAS: Final = {"RENAME": "renamed", "SWAP": "swapped", "DROP": "dropped", "UNDROP": "undropped"}


def _object_changes(
    found: Sequence[Statement], own: set["TableName"], dialect: str, namespace: str
) -> "Mapping[DatasetName, list[dict[str, Any]]]":
    """The changes of each object, and of schemas under their names, but for tables of the session. TRUNCATE changes rows, not the object. The body
    of a routine that is made does not run."""
    made: dict[DatasetName, list[dict[str, Any]]] = {}
    step = 0

    def name(table: "TableName") -> "DatasetName":
        return names(table, dialect, namespace)

    def note(table: "TableName", action: str, **more: str) -> None:
        made.setdefault(name(table), []).append({"step": step, "action": action, **more, **may})

    for one in found:
        if one.within:
            continue
        may: dict[str, Any] = {"conditional": True} if _CONDITIONAL.search(one.text) else {}
        may |= {"branch": True} if one.conditional else {}
        for change in one.changes:
            if change.table in own or change.table == change.other:
                continue
            step += 1
            if change.action in _ACTIONS:
                note(change.table, _ACTIONS[change.action])
            elif change.action == "RENAME" and change.other:
                note(change.table, "renamed_to", other=name(change.other).name)
                note(change.other, "renamed_from", other=name(change.table).name)
            elif change.action == "PART" and change.other:
                note(change.table, PART, other=name(change.other).name)
            elif change.action == "SWAP" and change.other:
                note(change.table, "swapped", other=name(change.other).name)
                note(change.other, "swapped", other=name(change.table).name)
            elif change.action == "ALTER":
                for edit in change.edits:
                    to = {"to": edit.to} if edit.to else {}
                    note(change.table, _EDITED.get(edit.action, "altered"), column=edit.column, **to)
                    step += 1
                if not change.edits:
                    note(change.table, "altered")
        for moved in one.schema_changes:
            step += 1
            other = {"other": name(moved.other).name} if moved.other else {}
            note(moved.schema, SCHEMA + _OF_SCHEMAS[moved.action], **other)
    return made
