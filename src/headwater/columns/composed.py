"""Compose the lineage of a script from end to end: tables that exist only inside it are removed.

`create temp table x as … from a; insert into b select … from x` becomes a into b. A table belongs to the script if it is
temporary, or created and dropped again. Several writes to one target stay several flows, in order.
"""

from collections.abc import Iterable, Sequence

import msgspec

from headwater.columns import kinds
from headwater.columns.result import Flow, Input, Output, Statement, TableName

_REPLACES = frozenset({"CREATE", "OVERWRITE", "CLONE"})
_MADE = frozenset({"CREATE", "CLONE", "LIKE"})


class _Inside:
    """A table of the script: its columns' inputs, the columns that decide about its rows, the tables it was read from."""

    def __init__(self) -> None:
        self.columns: dict[str, list[Input]] = {}
        self.rows: list[Input] = []
        self.reads: dict[TableName, None] = {}


class Composition:
    """Statements in the order they ran: what is read from a table of theirs (`inside`) is read from what that table was filled with."""

    def __init__(self, inside: Iterable[TableName] = ()) -> None:
        self.inside = set(inside)
        self.filled: dict[TableName, _Inside] = {}

    def add(self, statement: Statement) -> tuple[Flow, ...]:
        """The flows of a statement without the tables inside; those into such a table are folded too, and kept for the statements after it."""
        found: list[Flow] = []
        for change in statement.changes:
            if change.action == "RENAME" and change.other is not None and change.table in self.filled:
                self.filled[change.other] = self.filled.pop(change.table)
        for flow in statement.flows:
            folded = _folded(flow, self.filled)
            found.append(folded)
            if flow.target is None or flow.target not in self.inside:
                continue
            if flow.action in _REPLACES or flow.target not in self.filled:
                self.filled[flow.target] = _Inside()
            into = self.filled[flow.target]
            for output in folded.columns:
                into.columns[output.name.lower()] = _merged(
                    [*into.columns.get(output.name.lower(), ()), *output.inputs]
                )
            into.rows = _merged([*into.rows, *folded.rows])
            into.reads.update(dict.fromkeys(folded.reads))
        return tuple(found)

    def behind(self, table: TableName) -> tuple[TableName, ...]:
        """The tables that one inside was filled from."""
        filled = self.filled.get(table)
        return tuple(filled.reads) if filled is not None else ()

    def follow(self, statement: Statement) -> Statement:
        """A statement of a session, as `add` sees it; tables that it creates for the session are inside from then on."""
        self.inside |= _own_tables([statement])
        moved = {
            change.other for change in statement.changes if change.action == "RENAME" and change.table in self.inside
        }
        self.inside.update(table for table in moved if table is not None)
        filling = {flow.target for flow in statement.flows}
        for change in statement.changes:
            if change.action in _MADE and change.table in self.inside and change.table not in filling:
                self.filled[change.table] = _Inside()
        reads: dict[TableName, None] = {}
        for table in statement.reads:
            reads.update(dict.fromkeys(self.behind(table) if table in self.inside else (table,)))
        for table in self.inside.intersection(statement.reads):
            self.filled.setdefault(table, _Inside())
        flows = self.add(statement)
        return msgspec.structs.replace(statement, flows=flows, reads=tuple(reads))


def composed(statements: Sequence[Statement]) -> tuple[Flow, ...]:
    """The flows of a script between tables that outlive it, and of its queries."""
    script = Composition(_own_tables(statements))
    flows = (flow for statement in statements for flow in script.add(statement))
    return tuple(flow for flow in flows if flow.target is None or flow.target not in script.inside)


def _own_tables(statements: Iterable[Statement]) -> set[TableName]:
    made: set[TableName] = set()
    own: set[TableName] = set()
    for statement in statements:
        for change in statement.changes:
            if change.action in _MADE:
                made.add(change.table)
                if change.temporary or change.table[-1].startswith("#"):
                    own.add(change.table)
            elif change.action == "DROP" and change.table in made:
                own.add(change.table)
            elif change.action == "RENAME" and change.other is not None and change.table in own:
                own.add(change.other)
    return own


def _folded(flow: Flow, known: dict[TableName, _Inside]) -> Flow:
    if not any(table in known for table in flow.reads):
        return flow
    columns = tuple(Output(output.name, tuple(_through(output.inputs, known))) for output in flow.columns)
    rows = _through(flow.rows, known)
    reads: dict[TableName, None] = {}
    for table in flow.reads:
        if table in known:
            rows = _merged([*rows, *known[table].rows])
            reads.update(known[table].reads)
        else:
            reads[table] = None
    return Flow(flow.target, flow.action, columns, tuple(rows), tuple(reads))


def _through(inputs: Iterable[Input], known: dict[TableName, _Inside]) -> list[Input]:
    found: list[Input] = []
    for one in inputs:
        inner = known.get(one.table)
        if inner is None:
            found.append(one)
            continue
        if one.field == "*":
            below = [each for listed in inner.columns.values() for each in listed]
        elif one.field.lower() in inner.columns:
            below = inner.columns[one.field.lower()]
        else:
            below = inner.columns.get("*", [])
            if len(below) == 1 and below[0].field == "*":  # nothing but that table can have it
                below = [Input(below[0].table, one.field, below[0].kinds, below[0].path)]
        found += [Input(each.table, each.field, _stepped(each.kinds, one.kinds), each.path) for each in below]
    return _merged(found)


def _stepped(inner: int, outer: int) -> int:
    """The kinds of a path whose first part has kinds `inner` and whose second has `outer`."""
    result = 0
    for masked in (0, kinds.MASKING_USE):
        bits = (outer >> kinds.MASKED if masked else outer) & ((1 << kinds.MASKED) - 1)
        for bit, use in _USES:
            if bits & bit:
                result |= kinds.step(inner, use | masked)
    return result


_USES = (
    (kinds.IDENTITY, kinds.AS_IS),
    (kinds.TRANSFORMATION, kinds.TRANSFORMED),
    (kinds.AGGREGATION, kinds.AGGREGATED),
    *((bit, bit) for bit in (kinds.JOIN, kinds.FILTER, kinds.GROUP_BY, kinds.SORT, kinds.WINDOW, kinds.CONDITIONAL)),
)


def _merged(inputs: Iterable[Input]) -> list[Input]:
    by_column: dict[tuple[TableName, str, str], int] = {}
    for one in inputs:
        key = (one.table, one.field, one.path)
        by_column[key] = by_column.get(key, 0) | one.kinds
    return sorted(Input(table, field, bits, path) for (table, field, path), bits in by_column.items())
