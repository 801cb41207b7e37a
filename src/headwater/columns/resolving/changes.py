"""Changes of tables themselves: made, altered, renamed, swapped, dropped. The session follows, so that a later `*` is right."""

from typing import Protocol

from headwater.columns import form
from headwater.columns.catalog import Schema
from headwater.columns.resolving.relation import Column, Rows
from headwater.columns.resolving.resolver import Resolver
from headwater.columns.result import Change, ColumnEdit, SchemaChange, TableName
from headwater.columns.session import Session


class Outcome(Protocol):
    changes: list[Change]
    schema_changes: list[SchemaChange]
    writes: list[TableName]


class Teller(Protocol):
    """The resolver of the whole statement."""

    resolver: Resolver
    session: Session

    @property
    def result(self) -> Outcome: ...

    def key(self, parts: form.Parts, temporary: bool = False) -> TableName: ...

    def display_name(self, name: str) -> str: ...

    def flow(
        self, target: TableName | None, action: str, columns: list[Column], rows: Rows | None, reads: list[TableName]
    ) -> None: ...


class Changes:
    """Applies the changes of one statement."""

    def __init__(self, teller: Teller) -> None:
        self.teller = teller

    def evolve(self, target: form.Target, columns: list[str]) -> None:
        """Record the columns that a statement with schema evolution adds to its target."""
        key = self.teller.key(target.name)
        schema = self.teller.session.find(key, self.teller.resolver.catalog) if target.evolves else None
        if schema is not None:
            added = [self.teller.display_name(one) for one in columns if one not in schema.positions and one != "*"]
            listed, parser = [*schema.columns, *added], self.teller.resolver.rule.parser
            wider = Schema(schema.name, listed, parser, schema.own, schema.doubt, schema.fields)
            self.teller.session.record_table(key, wider, temporary=key in self.teller.session.temporary)

    def tell(self, what: form.ChangeForm) -> None:
        for query in what.reads:
            relation = self.teller.resolver.query(query, {}, None)
            self.teller.flow(None, "SELECT", relation.columns(), relation.rows, list(self.teller.resolver.reads))
        if what.edits and what.changes:
            key = self.teller.key(what.changes[0][1])
            self._edit(key, self.teller.resolver.display_name(key), what.edits)
        for action, parts, other_parts in what.changes:
            key = self.teller.key(parts, what.temporary and action in _MADE)
            other_key = self.teller.key(other_parts, action == "RENAME" and key in self.teller.session.temporary)
            name, other = (
                self.teller.resolver.display_name(key),
                self.teller.resolver.display_name(other_key) if other_parts else None,
            )
            if action != "DECLARE":  # A variable ends with its batch.
                edits = column_edits(what.edits) if parts == what.changes[0][1] else ()
                self.teller.result.changes.append(Change(action, name, other, what.temporary, edits))
            if action in {"CREATE", "CLONE", "LIKE", "DECLARE"}:
                schema = None
                if what.columns:
                    listed = [self.teller.display_name(one) for one in what.columns]
                    schema = Schema(name, listed, self.teller.resolver.rule.parser, what.own, "", dict(what.types))
                elif other_parts:
                    found = self.teller.session.find(other_key, self.teller.resolver.catalog)
                    schema = self._called(other_key, name) if found else None
                self.teller.session.record_table(key, schema, temporary=what.temporary)
            if action in {"CREATE", "CLONE"} and other_parts and other is not None:
                self._copied(name, other, other_key, action)
            elif action == "DROP":
                self.teller.session.gone(key)
            elif action == "RENAME":
                self.teller.session.renamed(key, other_key, self._called(key, other or name))
            elif action == "SWAP":
                mine, theirs = self._called(key, other or name), self._called(other_key, name)
                self.teller.session.record_table(other_key, mine)
                self.teller.session.record_table(key, theirs)
            self._touched(action, name, other)

    def _touched(self, action: str, name: TableName, other: TableName | None) -> None:
        """The tables a change reads and writes: a new name has the rows of the old one; dropping or altering writes nothing."""
        moved = action in {"RENAME", "SWAP"} and other is not None
        alters = action in {"ALTER", "DROP"} and self.teller.session.conventions.ddl_writes
        writes = (
            [other]
            if action == "RENAME" and other
            else [name, other]
            if moved
            else [name]
            if action in _WRITING or alters
            else []
        )
        reads = (
            [name, other] if action == "SWAP" and other else [name] if moved else [other] if action == "LIKE" else []
        )
        self.teller.result.writes += [one for one in writes if one is not None and one not in self.teller.result.writes]
        for one in reads:
            if one is not None:
                self.teller.resolver.reads[one] = None

    def _copied(self, name: TableName, other: TableName, other_key: TableName, action: str) -> None:
        """A clone has every column of the other."""
        relation, _ = self.teller.resolver.table(form.TableSource(other_key), {})
        self.teller.flow(name, action, relation.columns(), None, [other])

    def _called(self, key: TableName, other: TableName) -> Schema | None:
        """The columns of a table under another name."""
        found = self.teller.session.find(key, self.teller.resolver.catalog)
        if found is None:
            return None
        return Schema(other, found.columns, self.teller.resolver.rule.parser, found.own, "", found.fields)

    def _edit(self, key: TableName, name: TableName, edits: list[form.Edit]) -> None:
        """The session follows what ALTER does to columns."""
        found = self.teller.session.find(key, self.teller.resolver.catalog)
        columns = edited(list(found.keys) if found is not None else None, edits)
        schema = None
        if columns is not None:
            shown = dict(zip(found.keys, found.columns, strict=True)) if found is not None else {}
            listed = [shown.get(one) or self.teller.display_name(one) for one in columns]
            own, fields = (found.own, dict(found.fields)) if found is not None else ((), {})
            for edit, names, _ in edits:
                if edit == "rename" and names[0] in fields:
                    fields[names[1]] = fields.pop(names[0])
                elif edit not in {"move", "retype"}:
                    for one in names[:1] if edit == "reshape" else names:
                        fields.pop(one, None)
            schema = Schema(name, listed, self.teller.resolver.rule.parser, own, "", fields)
        if schema is not None or found is not None:
            self.teller.session.edited(key, schema)


def change_schemas(teller: Teller, what: form.SchemaForm) -> None:
    """Record changes of schemas. The session's tables that lie in them follow a new name, or go."""
    session = teller.session

    def whole(parts: form.Parts) -> TableName:
        key = (session.database, *parts) if session.database and len(parts) == 1 and not what.outer else tuple(parts)
        return teller.resolver.display_name(key)

    for action, parts, other_parts in what.changes:
        schema, other = whole(parts), whole(other_parts) if other_parts else None
        teller.result.schema_changes.append(SchemaChange(action, schema, other))
        inside = [name for name in session.tables if name[: len(schema)] == schema and len(name) > len(schema)]
        for name in inside:
            if action == "RENAME" and other is not None:
                moved = (*other, *name[len(schema) :])
                found = session.tables[name]
                session.renamed(
                    name, moved, Schema(moved, found.columns, teller.resolver.rule.parser, found.own, "", found.fields)
                )
            elif action == "DROP":
                session.gone(name)


def edited(columns: list[str] | None, edits: list[form.Edit]) -> list[str] | None:
    """The columns of a table after the edits, None when they are not known."""
    for what, names, after in edits:
        if what in {"retype", "reshape"}:
            continue
        if what == "replace":
            columns = list(names)
        elif what == "unknown" or columns is None:
            columns = None
        elif what == "rename":
            old, new = names
            columns = [new if one == old else one for one in columns]
        elif what != "add" or not set(names) <= set(columns):
            columns = [one for one in columns if one not in names]
            if what in {"add", "move"}:
                place = len(columns) if after is None else 0 if after == "" else _behind(columns, after)
                columns[place:place] = names
    return columns


_TOLD = {"add": "ADD", "drop": "DROP", "replace": "REPLACE"}


def column_edits(edits: list[form.Edit]) -> tuple[ColumnEdit, ...]:
    """Return the effect of ALTER on each column. A column's place is left out; an action that is not understood is UNKNOWN, of no column."""
    found: list[ColumnEdit] = []
    for what, names, _ in edits:
        if what in {"rename", "retype"}:
            found.append(ColumnEdit(what.upper(), names[0], names[1]))
        elif what == "reshape":
            if names[1] != "ADD":
                found.append(ColumnEdit("UNKNOWN", names[0]))
        elif what == "unknown":
            found.append(ColumnEdit("UNKNOWN", ""))
        elif what in _TOLD:
            found += [ColumnEdit(_TOLD[what], name) for name in names]
    return tuple(found)


def _behind(columns: list[str], name: str) -> int:
    return columns.index(name) + 1 if name in columns else len(columns)


_MADE = frozenset({"CREATE", "CLONE", "LIKE"})
_WRITING = frozenset({"CREATE", "CLONE", "LIKE", "TRUNCATE"})
