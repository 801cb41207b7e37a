"""Changes of tables from analysed SQL. Pure.

A statement that changes a table (ALTER, DROP, RENAME, SWAP, CREATE OR REPLACE) is a change of its schema. One that writes rows (INSERT, UPDATE,
DELETE, MERGE, TRUNCATE) is a change of values. The statements of a text are followed in their order, and the changes are the differences between the
tables before the first and after the last: a table that is renamed and whose name another one gets is replaced, not gone.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from headwater.answer.whatif.beside import beside_tables
from headwater.answer.whatif.changes import Action, Replaced, TableChange, Unjudged

Types = Mapping[str, str]
"""Column → type, "" where it is not known."""
_MAKES: Final = frozenset({"CREATE", "CLONE", "LIKE"})
_LONGEST_QUOTE: Final = 120
_CONDITIONAL: Final = "it stands in a branch, and may not run: the answer is for when it does"
_CASE_ALONE: Final = "the name changes its case alone: which statements write it so is not known"


def read_statements(
    statements: Iterable[Any], dialect: str, columns_of: Mapping[str, Types | None]
) -> tuple[list[TableChange], list[Unjudged]]:
    """Return the changes of analysed statements, and the statements whose effects are not known. `columns_of`: of each known table."""
    tables = _Tables(columns_of)
    unjudged: dict[Unjudged, None] = {}
    routine = ""
    for statement in statements:
        if statement.kind.startswith("CREATE") and statement.name:
            routine = statement.name
        if routine and statement.within == routine:
            continue  # The body of a routine that is made here does not run.
        tables.follow(statement)
        is_doubtful = statement.conditional and (statement.changes or statement.flows or statement.schema_changes)
        beside = beside_tables(statement, dialect)
        for rule in beside.rules:
            tables.at(rule.table).add(TableChange("rule", rule.table, rule.column, rule.words))
        is_recased = _changes_case(statement)
        for reason in (_CONDITIONAL if is_doubtful else "", beside.reason, _CASE_ALONE if is_recased else ""):
            if reason:
                unjudged[Unjudged(" ".join(statement.text.split())[:_LONGEST_QUOTE], reason)] = None
    return tables.differences(), list(unjudged)


def _changes_case(statement: Any) -> bool:
    renames = [edit for change in statement.changes for edit in change.edits if edit.action == "RENAME"]
    return any(edit.column != edit.to and edit.column.lower() == edit.to.lower() for edit in renames)


class _Column(msgspec.Struct):
    """A column as it comes to stand. `origin`: its name before the first statement, None of a new one; `name`: None of a dropped one."""

    origin: str | None
    name: str | None
    type: str
    retyped: bool = False


class _Relation:
    """A table that a name means. `origin`: its first name, None of a new table. Of the columns of an incomplete one those are listed that a statement
    names."""

    def __init__(self, origin: str | None, types: Types | None) -> None:
        self.origin = origin
        self.columns = [
            _Column(name if origin is not None else None, name, kind) for name, kind in (types or {}).items()
        ]
        self.is_complete = types is not None
        self.others: dict[TableChange, None] = {}

    def add(self, change: TableChange) -> None:
        """Note a change that is none of a column's form."""
        self.others[change] = None

    def find(self, name: str) -> _Column | None:
        lower = name.lower()
        for one in self.columns:
            if one.name is not None and one.name.lower() == lower:
                return one
        if self.is_complete or any(one.origin is not None and one.origin.lower() == lower for one in self.columns):
            return None
        self.columns.append(_Column(name, name, ""))
        return self.columns[-1]

    def alter(self, edit: Any) -> None:
        column = None if edit.action == "ADD" else self.find(edit.column)
        if edit.action == "ADD":
            if not any(one.name is not None and one.name.lower() == edit.column.lower() for one in self.columns):
                self.columns.append(_Column(None, edit.column, ""))
        elif edit.action in {"UNKNOWN", "REPLACE"}:
            self.add(TableChange("unknown", self.origin or ""))
        elif column is None:
            # A column that the server does not know: by its name, it is what the question is about.
            self.columns.append(column := _Column(edit.column, edit.column, ""))
        if column is not None and edit.action == "DROP":
            column.name = None
        elif column is not None and edit.action == "RENAME":
            column.name = edit.to
        elif column is not None and edit.action == "RETYPE":
            column.type, column.retyped = edit.to, True

    def remake(self, names: list[str]) -> None:
        """Take these columns in place of its own: CREATE OR REPLACE."""
        lower = {name.lower() for name in names}
        for one in self.columns:
            if one.name is not None and one.name.lower() not in lower:
                one.name = None
        standing = {one.name.lower() for one in self.columns if one.name is not None}
        for one in self.columns:
            if one.name is not None and one.origin is not None:
                self.add(TableChange("values", self.origin or "", one.name))
        self.columns += [_Column(None, name, "") for name in names if name.lower() not in standing]


class _Tables:
    """The tables by their names, statement by statement."""

    def __init__(self, columns_of: Mapping[str, Types | None]) -> None:
        self._columns_of = columns_of
        self._places: dict[str, _Relation | None] = {}
        self._first: dict[str, _Relation] = {}

    def at(self, name: str) -> _Relation:
        """The table that the name means now."""
        found = self._places.get(name)
        if found is None:
            first = name not in self._places
            found = self._places[name] = _Relation(
                name if first else None, self._columns_of.get(name) if first else None
            )
            if first:
                self._first[name] = found
        return found

    def follow(self, statement: Any) -> None:
        """Do with the tables what a statement does."""
        made = {change.table for change in statement.changes if change.action in _MAKES}
        for change in statement.changes:
            self._change(change, ".".join(change.table), ".".join(change.other or ()))
        for change in statement.schema_changes:
            self._change_schema(change.action, ".".join(change.schema), ".".join(change.other or ()))
        for flow in statement.flows:
            if flow.target is None or flow.action == "EXPORT":
                continue
            name = ".".join(flow.target)
            columns = [output.name for output in flow.columns]
            if flow.action == "CREATE" or flow.target in made:
                self._make(name, columns)
            elif flow.action in {"UPDATE", "MERGE"} and all(column not in {"", "*"} for column in columns):
                for column in columns:
                    self.at(name).add(TableChange("values", name, column))
            else:
                self.at(name).add(TableChange("values", name))

    def _change(self, change: Any, name: str, other: str) -> None:
        if change.action == "DROP":
            self.at(name)
            self._places[name] = None
        elif change.action == "RENAME":
            self._places[other], self._places[name] = self.at(name), None
        elif change.action == "SWAP":
            self._places[name], self._places[other] = self.at(other), self.at(name)
        elif change.action == "TRUNCATE":
            self.at(name).add(TableChange("values", name))
        elif change.action == "ALTER":
            for edit in change.edits:
                self.at(name).alter(edit)
        elif change.action in _MAKES and (name in self._places or name not in self._columns_of):
            self._places[name] = self._places.get(name) or _Relation(None, None)

    def _change_schema(self, action: str, schema: str, other: str) -> None:
        """Do with each table that is in a schema what happens to the schema."""

        def inside(prefix: str) -> list[str]:
            known = [
                name for name in dict.fromkeys([*self._columns_of, *self._places]) if name.startswith(prefix + ".")
            ]
            return [name for name in known if name not in self._places or self._places[name] is not None]

        moved = {name: self.at(name) for name in inside(schema)} if action in {"RENAME", "SWAP", "DROP"} else {}
        back = {name: self.at(name) for name in inside(other)} if action == "SWAP" else {}
        for name in (*moved, *back):
            self._places[name] = None
        if action != "DROP":
            self._places |= {other + name[len(schema) :]: relation for name, relation in moved.items()}
            self._places |= {schema + name[len(other) :]: relation for name, relation in back.items()}

    def _make(self, name: str, columns: list[str]) -> None:
        relation = self.at(name)
        if "*" in columns or "" in columns or (relation.origin is not None and not relation.is_complete):
            relation.add(TableChange("values", name))
        elif relation.origin is None:
            self._places[name] = _Relation(None, dict.fromkeys(columns, ""))
        else:
            relation.remake(columns)

    def differences(self) -> list[TableChange]:
        """Return the changes of each table that was there before the first statement."""
        found: dict[TableChange, None] = {}
        ends = {id(relation): name for name, relation in self._places.items() if relation is not None}
        for name, first in self._first.items():
            now, end = self._places[name], ends.get(id(first))
            changes = [msgspec.structs.replace(one, table=name) for one in first.others]
            if now is first:
                changes = [*_of_columns(name, first, ""), *changes]
            elif now is None:
                action: Action = "drop_table" if end is None else "rename_table"
                changes = [TableChange(action, name, to=end or ""), *(_of_columns(name, first, "") if end else ())]
            else:
                kept: Replaced = "gone" if end is None else "kept"
                changes = [*_replaced(name, first, now, kept), *(_of_columns(name, first, "own") if end else ())]
            found |= dict.fromkeys(changes)
        return list(found)


def _of_columns(table: str, relation: _Relation, replaced: Replaced) -> Iterable[TableChange]:
    """The differences of a table's columns, each by its first name."""
    for one in relation.columns:
        if one.origin is None:
            if one.name is not None:
                yield TableChange("add_column", table, one.name, replaced=replaced)
        elif one.name is None:
            yield TableChange("drop_column", table, one.origin, replaced=replaced)
        else:
            if one.name.lower() != one.origin.lower():
                yield TableChange("rename_column", table, one.origin, one.name, replaced)
            if one.retyped:
                yield TableChange("retype_column", table, one.origin, one.type, replaced)


def _replaced(table: str, old: _Relation, new: _Relation, kept: Replaced) -> Iterable[TableChange]:
    """The differences for those who find another table under the name."""
    yield TableChange(
        "swap_table" if new.is_complete and old.is_complete else "unknown", table, "", new.origin or "", kept
    )
    if not (new.is_complete and old.is_complete):
        return
    standing = {one.name.lower(): one for one in new.columns if one.name is not None}
    for one in old.columns:
        name = one.origin
        if name is None:
            continue
        now = standing.pop(name.lower(), None)
        if now is None:
            yield TableChange("drop_column", table, name, replaced=kept)
        elif now.type and one.type and now.type.lower() != one.type.lower():
            yield TableChange("retype_column", table, name, now.type, kept)
        else:
            yield TableChange("values", table, name, replaced=kept)
    for one in standing.values():
        yield TableChange("add_column", table, one.name or "", replaced=kept)
