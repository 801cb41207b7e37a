"""The values that resolving computes with: leaves (columns of tables) as integers, a column's dependencies as `{leaf: kinds}`, and
relations of them.

Dependencies are shared and never changed once made. A relation may be open: some of its columns stand behind the star of a table whose schema is
unknown (`Open`), and are made when a name refers to them.
"""

from collections.abc import Iterable, Iterator, Mapping

from headwater.columns import form
from headwater.columns.catalog import Schema
from headwater.columns.kinds import AS_IS, DIRECT, IDENTITY, MASKED
from headwater.columns.nested import Inner
from headwater.columns.resolving.dependencies import (
    NOTHING,
    Dependencies,
    StructValue,
    add,
    alike,
    element_use,
    field_of,
    passed_on,
    step_into,
)
from headwater.columns.result import TableName

_DIRECT = DIRECT | DIRECT << MASKED


class Guess:
    """A name that may be one of several columns: their leaves, most likely first, and why it is not known."""

    __slots__ = ("candidates", "confidence", "name", "reason")

    def __init__(self, name: str, candidates: tuple[int, ...], reason: str, confidence: float) -> None:
        self.name, self.candidates, self.reason, self.confidence = name, candidates, reason, confidence


class Leaves:
    """The columns of tables one statement names, numbered. `entries[leaf]` is (table, field, path), or a Guess."""

    def __init__(self) -> None:
        self.entries: list[tuple[TableName, str, str] | Guess] = []
        self._of_tables: dict[TableName, dict[str | tuple[str, str], int]] = {}
        self._guesses: dict[tuple[str, tuple[int, ...], str], int] = {}
        self.doubts: dict[str, None] = {}
        """The reason why the columns behind a star may be incomplete: the tables were made by statements understood in part."""

    def of(self, table: TableName) -> dict[str | tuple[str, str], int]:
        """The leaves of a table so far, by field, or by field and path."""
        return self._of_tables.setdefault(table, {})

    def column(self, table: TableName, field: str, path: str = "") -> int:
        known, key = self.of(table), (field, path) if path else field
        found = known.get(key)
        if found is None:
            found = known[key] = len(self.entries)
            self.entries.append((table, field, path))
        return found

    def guess(
        self, name: str, candidates: Iterable[Dependencies], reason: str, confidence: float = 0.0
    ) -> Dependencies:
        """The dependencies of a name that may be any of `candidates`."""
        leaves: dict[int, None] = {}
        hidden = 0
        for candidate in candidates:
            for leaf in candidate:
                entry = self.entries[leaf]
                hidden += isinstance(entry, Guess) and not entry.candidates
                leaves.update(dict.fromkeys(entry.candidates if isinstance(entry, Guess) else (leaf,)))
        key = (name, tuple(leaves), reason)
        found = self._guesses.get(key)
        if found is None:
            found = self._guesses[key] = len(self.entries)
            share = confidence or (round(1 / (len(leaves) + hidden), 2) if leaves else 0.0)
            self.entries.append(Guess(name, tuple(leaves), reason, share))
        return {found: IDENTITY}

    def deeper(self, dependencies: Dependencies, path: str) -> Dependencies:
        """A field inside a value: of a column untouched, the path into it; of a value with fields, the field; else the value itself, which is a
        guess where several columns made it."""
        found = dependencies
        steps = path.split(".")
        for place, step in enumerate(steps):
            if not isinstance(found, StructValue):
                return self._within(found, steps[place:])
            field = field_of(found, step)
            if field is None and found.like:
                rest = ".".join(steps[place:])
                return self._alike(found, rest)
            if field is None:
                self._doubt(found, ".".join(steps[place:]))
                return dict(found)
            found = field
        return found

    def _alike(self, value: StructValue, path: str) -> Dependencies:
        """A field of what has the fields of other values."""
        if path.partition(".")[0] in value.without:
            return NOTHING
        like = tuple((self.deeper(one, step_into(one, use, path)), element_use(one, use)) for one, use in value.like)
        made = [passed_on(one, use, value.deciding) for one, use in like]
        return made[0] if len(made) == 1 else alike(made)

    def _within(self, dependencies: Dependencies, steps: list[str]) -> Dependencies:
        """A field of columns as they are."""
        path = ".".join(_PARTS_OF_MAPS.get(one, one) for one in steps if one[:1] not in {"[", "#"})
        if not path:
            return dependencies
        result: Dependencies = {}
        stuck = False
        for leaf, bits in dependencies.items():
            entry = self.entries[leaf]
            if not bits & IDENTITY or not isinstance(entry, tuple):
                stuck = stuck or bool(bits & _DIRECT)
                inner = leaf
            elif entry[1] == "*":  # The row of a table of unknown columns.
                name, _, rest = path.partition(".")
                inner = self.column(entry[0], name, rest)
            else:
                inner = self.column(entry[0], entry[1], f"{entry[2]}.{path}" if entry[2] else path)
            result[inner] = result.get(inner, 0) | bits
        if stuck and len(dependencies) > 1:
            self._doubt(dependencies, path)
        return result

    def _doubt(self, dependencies: Dependencies, path: str) -> None:
        direct = [leaf for leaf, bits in dependencies.items() if bits & _DIRECT]
        entries = [self.entries[leaf] for leaf in direct]
        names = sorted({".".join((*one[0], one[1])) for one in entries if isinstance(one, tuple)})
        if len(direct) > 1:
            self.doubts[
                f"the field {path} is taken to be made of all that its value is made of: {', '.join(names)}"
            ] = None


_PARTS_OF_MAPS = {form.KEYS: "key", form.VALUES: "value"}
"""The names of the parts of a column's map."""


def declared(leaves: Leaves, leaf: int, names: Inner) -> Dependencies:
    """A column whose type has these fields."""
    whole = {leaf: IDENTITY}
    fields: dict[str, Dependencies] = {}
    for name, inner in names:
        if name:
            (found,) = leaves.deeper(whole, name)
            fields[name] = declared(leaves, found, inner) if inner else {found: IDENTITY}
    return StructValue(whole, fields, ((whole, AS_IS),), declared=True)


class Rows:
    """The columns that decide about the rows of a relation: its own, and the relations below. A graph, so that a long chain stays
    linear."""

    __slots__ = ("below", "own")

    def __init__(self, own: Dependencies, below: list["Rows"]) -> None:
        self.own, self.below = own, below

    def flat(self) -> Dependencies:
        result: Dependencies = {}
        seen: set[int] = set()
        waiting = [self]
        while waiting:
            rows = waiting.pop()
            if id(rows) in seen:
                continue
            seen.add(id(rows))
            add(result, rows.own)
            waiting.extend(rows.below)
        return result


class Open:
    """Columns only a schema determines: those of an unknown table, but for the names `excluded`, some under new names (`renamed`: new to old)."""

    __slots__ = ("_star", "excluded", "leaves", "renamed", "table")

    def __init__(
        self,
        leaves: Leaves,
        table: TableName,
        excluded: frozenset[str] = frozenset(),
        renamed: dict[str, str] | None = None,
    ) -> None:
        self.leaves, self.table, self.excluded, self.renamed = leaves, table, excluded, renamed or {}

    def field(self, name: str) -> Dependencies | None:
        name = self.renamed.get(name) or name
        return None if name in self.excluded else {self.leaves.column(self.table, name): IDENTITY}

    def star(self) -> Dependencies:
        return {self.leaves.column(self.table, "*"): IDENTITY}

    def without(self, names: Iterable[str], renamed: dict[str, str]) -> "Open":
        return Open(self.leaves, self.table, self.excluded | frozenset(names), {**self.renamed, **renamed})


OF_MAPS = frozenset({"key", "value"})
"""The names that explode gives the columns of a map, if the query does not name them."""


class OpenValue(Open):
    """Columns made of one value: fields of a struct, outputs of a function. `within`: a name is a field inside the value."""

    __slots__ = ("value", "within")

    def __init__(
        self, leaves: Leaves, value: Dependencies, within: bool = False, excluded: frozenset[str] = frozenset()
    ) -> None:
        super().__init__(leaves, (), excluded)
        self.value, self.within = value, within

    def field(self, name: str) -> Dependencies | None:
        if name in self.excluded:
            return None
        if name in OF_MAPS and not (isinstance(self.value, StructValue) and self.value.listed()):
            return dict(self.value)  # Not a field, if it is a map that is exploded.
        return self.leaves.deeper(self.value, name) if self.within else self.value

    def star(self) -> Dependencies:
        return self.value

    def without(self, names: Iterable[str], renamed: dict[str, str]) -> Open:
        return OpenValue(self.leaves, self.value, self.within, self.excluded | frozenset(names))


class Behind(Open):
    """Columns that a template's macro makes: they are unknown before it runs. `reason` explains that."""

    __slots__ = ("reason",)

    def __init__(self, leaves: Leaves, reason: str, excluded: frozenset[str] = frozenset()) -> None:
        super().__init__(leaves, (), excluded)
        self.reason = reason

    def field(self, name: str) -> Dependencies | None:
        return None if name in self.excluded else self.leaves.guess(name, [], self.reason)

    def star(self) -> Dependencies:
        return self.leaves.guess("*", [], self.reason)

    def without(self, names: Iterable[str], renamed: dict[str, str]) -> Open:
        return Behind(self.leaves, self.reason, (self.excluded | frozenset(names)) - frozenset(renamed))


class OpenUnion(Open):
    """The star of a set operation's branches: a name is the first branch's by name, and by place a guess in the others."""

    __slots__ = ("first", "others")

    def __init__(
        self, leaves: Leaves, first: Open, others: list["Relation"], excluded: frozenset[str] = frozenset()
    ) -> None:
        super().__init__(leaves, (), excluded)
        self.first, self.others = first, others

    def field(self, name: str) -> Dependencies | None:
        if name in self.excluded:
            return None
        found = self.first.field(name)
        if found is None:
            return None
        result = dict(found)
        for other in self.others:
            known = other.any(name)
            if known:
                add(
                    result,
                    self.leaves.guess(
                        name, known, "set operations go by place, and a table's columns are unknown", 0.9
                    ),
                )
        return result

    def star(self) -> Dependencies:
        result = dict(self.first.star())
        for other in self.others:
            for _, value in other.columns():
                add(result, value.star() if isinstance(value, Open) else value)
        return result

    def without(self, names: Iterable[str], renamed: dict[str, str]) -> Open:
        return OpenUnion(self.leaves, self.first.without(names, renamed), self.others, self.excluded | frozenset(names))


Column = tuple[str, Dependencies | Open]
_NONE_TWICE: dict[str, list[Dependencies]] = {}


class Relation:
    """Columns in order and what decides about the rows. By `get` the first of equal names is found, by `any` all of them."""

    __slots__ = ("_columns", "_index", "inside", "names", "opens", "rows", "touched", "twice")

    def __init__(self, columns: list[Column], rows: Rows | None = None) -> None:
        self._columns = columns
        self._index: dict[str, Dependencies] = {}
        self.names: Mapping[str, object] = self._index
        """The columns that `get` finds, by name."""
        self.opens: list[Open] = []
        self.inside: OpenValue | None = None
        """The one value a row is made of, when a name may be a field of it: UNNEST and its like."""
        self.rows = rows
        self.touched = False
        self.twice: dict[str, list[Dependencies]] = _NONE_TWICE
        """Names that several columns have, with what each is made of."""
        index = self._index
        for name, value in columns:
            if isinstance(value, Open):
                self.opens.append(value)
            elif name not in index:
                index[name] = value
            elif name and value != index[name]:
                if self.twice is _NONE_TWICE:
                    self.twice = {}
                self.twice.setdefault(name, [index[name]]).append(value)

    def get(self, name: str) -> Dependencies | None:
        """The column of that name, if it is known to be there."""
        return self._index.get(name)

    def columns(self) -> list[Column]:
        return self._columns

    def any(self, name: str) -> list[Dependencies]:
        """The column of that name, or what it may be."""
        known = self.get(name)
        if known is not None:
            return self.twice.get(name) or [known]
        return [found for one in self.opens if (found := one.field(name)) is not None]

    def virtual(self, _name: str) -> Dependencies | None:
        """A column that every table has and no schema lists."""
        return None

    def first_values(self) -> Iterator[Dependencies]:
        for _, value in self.columns():
            yield value.star() if isinstance(value, Open) else value


class TableRelation(Relation):
    """A table whose schema is known: leaves are made as they are named."""

    __slots__ = ("_leaf_of", "_name", "leaves", "schema")

    def __init__(self, schema: Schema, name: TableName, leaves: Leaves) -> None:
        super().__init__([])
        self.schema, self.leaves = schema, leaves
        self._name = name
        self._leaf_of = leaves.of(name)
        self.names = schema.positions

    def get(self, name: str) -> Dependencies | None:
        found = self._index.get(name)
        if found is None:
            schema = self.schema
            place = schema.positions.get(name)
            if place is None:
                return None
            field = schema.columns[place]
            leaf = self._leaf_of.get(field)
            if leaf is None:  # As `Leaves.column` makes one.
                entries = self.leaves.entries
                leaf = self._leaf_of[field] = len(entries)
                entries.append((self._name, field, ""))
            found = {leaf: IDENTITY}
            if schema.fields and (inner := schema.fields.get(schema.keys[place])):
                found = declared(self.leaves, leaf, inner)
            self._index[name] = found
        return found

    def virtual(self, name: str) -> Dependencies | None:
        return {self.leaves.column(self._name, name): IDENTITY}

    def columns(self) -> list[Column]:
        if not self._columns:
            self._columns = [(key, self.get(key) or NOTHING) for key in self.schema.keys]
            if self.schema.doubt:
                self.leaves.doubts[f"the columns of {'.'.join(self._name)} may be others: {self.schema.doubt}"] = None
        return self._columns
