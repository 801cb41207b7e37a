"""One text read at one place: what it reads and writes, which column feeds which; and a limit to how long that may take. Knows no Spark."""

import contextlib
import signal
import threading
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from headwater.columns import Catalog, Level, Session, Statement, analyse, composed
from headwater.columns.cache import Cache
from headwater.columns.openlineage import Facets, facets, names
from headwater.pipeline.query_log.standins import called, settled

if TYPE_CHECKING:
    from headwater.columns.result import TableName

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
    """

    level: str
    kind: str
    reads: tuple[tuple[str, str], ...] = ()
    writes: tuple[tuple[str, str], ...] = ()
    outputs: str = "[]"
    unresolved: int = 0
    warnings: tuple[str, ...] = ()
    temporary: bool = False


def understood(
    text: str,
    dialect: str,
    namespace: str = "",
    session: Session | None = None,
    catalog: Catalog | None = None,
    cache: Cache | None = None,
) -> Understood:
    """A text with all of its statements taken together.

    Tables that live only inside of it, or of its session, are folded away; if it writes nothing else, it is temporary. Names are those of assets, see
    `standins`. Raises what the engine raises.
    """
    read = cache.analyse if cache is not None else analyse
    session = session or Session()
    home = _home(session)
    said = read(text, dialect, catalog, session)
    named = called(said, home)
    found = [settled(one, dialect, named) for one in said]
    if not found:
        return Understood(Level.NOTHING.value, "UNKNOWN")
    own = _own(found, dialect)
    written = list(dict.fromkeys(table for one in found for table in one.writes))
    lasting = [table for table in written if table not in own]
    temporary = bool(written) and not lasting
    whole = found[0] if len(found) == 1 else _together(found, own, written if temporary else lasting)
    told = facets(whole, dialect, namespace)
    return Understood(
        _level(found),
        _kind(found),
        tuple((one.namespace, one.name) for one in told.inputs),
        tuple(
            dict.fromkeys(
                (one.namespace, one.name) for one in (names(table, dialect, namespace) for table in whole.writes)
            )
        ),
        _encoded(told),
        sum(len(one.unresolved) for one in found),
        tuple(dict.fromkeys(words[:WARNING_AT_MOST] for one in found for words in one.warnings))[:_WARNINGS],
        temporary,
    )


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
    flows = composed(found)
    reads = [table for flow in flows for table in flow.reads]
    reads += [table for one in found if not one.flows for table in one.reads]
    changes = [change for one in found for change in one.changes if change.table not in own]
    return msgspec.structs.replace(
        found[0],
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


def _encoded(told: Facets) -> str:
    outputs = [
        {"namespace": output.namespace, "name": output.name, "facets": bodies}
        for output, bodies in told.outputs.items()
        if bodies
    ]
    return msgspec.json.encode(outputs).decode()
