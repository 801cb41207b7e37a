"""Compose the lineage of a script from end to end: tables that exist only inside it are removed.

`create temp table x as … from a; insert into b select … from x` becomes a into b. A table belongs to the script if it is
temporary, or created and dropped again. Several writes to one target stay several flows, in order.
"""

from collections.abc import Iterable, Sequence

import msgspec

from headwater.columns import kinds
from headwater.columns.result import Flow, Input, Output, Statement, TableName, level_of

_REPLACES = frozenset({"CREATE", "OVERWRITE", "CLONE"})
MADE = frozenset({"CREATE", "CLONE", "LIKE"})


class _Inside:
    """A table of the script: its columns' inputs, those of the fields inside them (`Output.fields`), the columns that decide about its rows,
    the tables it was read from."""

    def __init__(self) -> None:
        self.columns: dict[str, list[Input]] = {}
        self.fields: dict[str, dict[str, list[Input]]] = {}
        self.rows: list[Input] = []
        self.reads: dict[TableName, None] = {}


class Composition:
    """Statements in the order they ran: what is read from a table of theirs (`inside`) is read from what that table was filled with."""

    def __init__(self, inside: Iterable[TableName] = ()) -> None:
        self.inside = set(inside)
        self.filled: dict[TableName, _Inside] = {}
        self.doubts: dict[str, None] = {}
        """Fields that could not be followed into the tables inside, in words."""

    def add(self, statement: Statement) -> tuple[Flow, ...]:
        """The flows of a statement without the tables inside; those into such a table are folded too, and kept for the statements after it."""
        found: list[Flow] = []
        for change in statement.changes:
            if change.action == "RENAME" and change.other is not None and change.table in self.filled:
                self.filled[change.other] = self.filled.pop(change.table)
        for flow in statement.flows:
            folded = _folded(flow, self.filled, self.doubts)
            found.append(folded)
            if flow.target is None or flow.target not in self.inside:
                continue
            if flow.action in _REPLACES or flow.target not in self.filled:
                self.filled[flow.target] = _Inside()
            into = self.filled[flow.target]
            for output in folded.columns:
                key = output.name.lower()
                if key in into.columns or output.fields:
                    _unite(into, key, output)
                into.columns[key] = _merged([*into.columns.get(key, ()), *output.inputs])
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
            if change.action in MADE and change.table in self.inside and change.table not in filling:
                self.filled[change.table] = _Inside()
        reads: dict[TableName, None] = {}
        for table in statement.reads:
            reads.update(dict.fromkeys(self.behind(table) if table in self.inside else (table,)))
        for table in self.inside.intersection(statement.reads):
            self.filled.setdefault(table, _Inside())
        self.doubts.clear()
        flows = self.add(statement)
        warnings = tuple(dict.fromkeys([*statement.warnings, *self.doubts]))
        level = level_of(statement.level, warnings, statement.unresolved)
        return msgspec.structs.replace(statement, flows=flows, reads=tuple(reads), warnings=warnings, level=level)


def composed(statements: Sequence[Statement], doubts: dict[str, None] | None = None) -> tuple[Flow, ...]:
    """The flows of a script between tables that outlive it, and of its queries. `doubts` gets what was guessed on the way, in words."""
    script = Composition(_own_tables(statements))
    if doubts is not None:
        script.doubts = doubts
    flows = [flow for statement in statements for flow in script.add(statement)]
    return tuple(flow for flow in flows if flow.target is None or flow.target not in script.inside)


def _own_tables(statements: Iterable[Statement]) -> set[TableName]:
    made: set[TableName] = set()
    own: set[TableName] = set()
    for statement in statements:
        for change in statement.changes:
            if change.action in MADE:
                made.add(change.table)
                if change.temporary or change.table[-1].startswith("#"):
                    own.add(change.table)
            elif change.action == "DROP" and change.table in made:
                own.add(change.table)
            elif change.action == "RENAME" and change.other is not None and change.table in own:
                own.add(change.other)
    return own


def _unite(into: _Inside, key: str, output: Output) -> None:
    """Add the fields that one more flow gives a column: what one of the flows says of no field of its own, its whole value says."""
    before, known = into.columns.get(key), into.fields.get(key, {})
    made = {path: list(inputs) for path, inputs in output.fields}
    if before is not None:
        for some, others, whole in ((made, known, before), (known, made, list(output.inputs))):
            if not some and others:
                some["*"] = whole
        made = {
            path: _merged([*_at(made, path, list(output.inputs), {}), *_at(known, path, before, {})])
            for path in dict.fromkeys((*known, *made))
        }
    if made:
        into.fields[key] = made


def _folded(flow: Flow, known: dict[TableName, _Inside], doubts: dict[str, None]) -> Flow:
    if not any(table in known for table in flow.reads):
        return flow
    columns = tuple(
        Output(output.name, tuple(_through(output.inputs, known, doubts)), _folded_fields(output, known, doubts))
        for output in flow.columns
    )
    rows = _through(flow.rows, known, doubts)
    reads: dict[TableName, None] = {}
    for table in flow.reads:
        if table in known:
            rows = _merged([*rows, *known[table].rows])
            reads.update(known[table].reads)
        else:
            reads[table] = None
    return Flow(flow.target, flow.action, columns, tuple(rows), tuple(reads))


def _folded_fields(
    output: Output, known: dict[TableName, _Inside], doubts: dict[str, None]
) -> tuple[tuple[str, tuple[Input, ...]], ...]:
    """The fields of an output: those the statement makes, and those of a column of a table inside that passes as it is."""
    found = {path: _through(inputs, known, doubts) for path, inputs in output.fields if not path.endswith("*")}
    passing = [(path.removesuffix("*"), inputs) for path, inputs in output.fields if path.endswith("*")]
    direct = [one for one in output.inputs if one.kinds & _DIRECT]
    if not output.fields and len(direct) == 1 and direct[0].kinds & kinds.IDENTITY:
        passing.append(("", tuple(direct)))
    for path, inputs in passing:
        made: dict[str, list[Input]] = {}
        for one in inputs:
            inner = known.get(one.table)
            if inner is None:
                if path or output.fields:
                    made.setdefault("*", []).append(one)
                continue
            for name, below in inner.fields.get(one.field.lower(), {}).items():
                if not one.path or name.startswith(one.path + "."):
                    rest = name[len(one.path) + 1 :] if one.path else name
                    made.setdefault(rest, []).extend(_behind(below, one))
        for name, listed in made.items():
            found.setdefault(path + name, _merged(listed))
    return tuple((path, tuple(inputs)) for path, inputs in found.items())


def _through(inputs: Iterable[Input], known: dict[TableName, _Inside], doubts: dict[str, None]) -> list[Input]:
    found: list[Input] = []
    for one in inputs:
        inner = known.get(one.table)
        if inner is None:
            found.append(one)
            continue
        if one.paths:
            parts = [Input(one.table, one.field, bits, path) for path, bits in one.paths]
            found += _through(parts, known, doubts)
            continue
        if one.field == "*":
            below = [each for listed in inner.columns.values() for each in listed]
        elif one.field.lower() in inner.columns:
            below = inner.columns[one.field.lower()]
            if one.path:
                below = _at(inner.fields.get(one.field.lower(), {}), one.path, below, doubts)
        else:
            below = inner.columns.get("*", [])
            if len(below) == 1 and below[0].field == "*":  # nothing but that table can have it
                below = [Input(below[0].table, one.field, below[0].kinds, one.path)]
        found += _behind(below, one)
    return _merged(found)


def _behind(below: Iterable[Input], one: Input) -> list[Input]:
    """Return the sources of an input, with the kinds of both steps."""
    return [
        Input(each.table, each.field, _stepped(each.kinds, one.kinds), each.path,
              tuple((path, _stepped(bits, one.kinds)) for path, bits in each.paths))
        for each in below
    ]  # fmt: skip


def _at(fields: dict[str, list[Input]], path: str, whole: list[Input], doubts: dict[str, None]) -> list[Input]:
    """The inputs of the field at a path of a column: of itself, or the field of the nearest value around it."""
    if path in fields:
        return fields[path]
    steps = path.split(".")
    for length in range(len(steps) - 1, -1, -1):
        above, rest = ".".join(steps[:length]), ".".join(steps[length:])
        passing = fields.get(f"{above}.*" if above else "*")
        if passing is not None:
            return [_inside(one, rest) or one for one in passing]
        if above in fields:
            return _taken(fields[above], rest, doubts)
    if {one.partition(".")[0] for one in fields} == _OF_MAPS:  # `m['x']`: the keys decide which value it is
        below = ".".join(("value", *steps[1:]))
        decided = [
            Input(one.table, one.field, kinds.step(one.kinds, kinds.BRANCHED), one.path) for one in fields["key"]
        ]
        return _merged([*_at(fields, below, whole, doubts), *decided])
    return _taken(whole, path, doubts)


_OF_MAPS = frozenset({"key", "value"})


def _taken(whole: list[Input], path: str, doubts: dict[str, None]) -> list[Input]:
    """The field of a value of which no fields are told: of a column as it is, the path into it; else the whole value."""
    found = [(_inside(one, path) if one.kinds & kinds.IDENTITY else None) or one for one in whole]
    direct = [one for one in whole if one.kinds & _DIRECT]
    if len(direct) > 1 and any(not one.kinds & kinds.IDENTITY for one in direct):
        names = sorted({".".join((*one.table, one.field)) for one in direct})
        doubts[f"the field {path} is taken to be made of all that its value is made of: {', '.join(names)}"] = None
    return found


def _inside(one: Input, path: str) -> Input | None:
    if one.paths:
        return None
    if one.field == "*":  # The row of a table of unknown columns.
        field, _, rest = path.partition(".")
        return Input(one.table, field, one.kinds, rest)
    return Input(one.table, one.field, one.kinds, f"{one.path}.{path}" if one.path else path)


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
    *(
        (bit, bit)
        for bit in (kinds.JOIN, kinds.FILTER, kinds.GROUP_BY, kinds.SORT, kinds.WINDOW, kinds.CONDITIONAL, kinds.UNSEEN)
    ),
)


_DIRECT = kinds.DIRECT | kinds.DIRECT << kinds.MASKED


def _merged(inputs: Iterable[Input]) -> list[Input]:
    by_column: dict[tuple[TableName, str, str], int] = {}
    for one in inputs:
        for path, bits in one.paths or ((one.path, one.kinds),):
            key = (one.table, one.field, path)
            by_column[key] = by_column.get(key, 0) | bits
    return sorted(Input(table, field, bits, path) for (table, field, path), bits in by_column.items())
