"""One statement under a change of a table that it touches: does it break, give other values, or not notice? Pure: the text, the schemas, the change.

The statement is read twice, with the columns as they are and as they would be. A name that is resolved before and not after breaks it. A column that
only a `*` named is gone from the result, which is another value. Where the text cannot be read whole the verdict says so (`certain`).
"""

import re
from collections.abc import Collection, Sequence
from typing import Any, Final

import msgspec

from headwater.answer.lineage.inferred import JobTable, match_table, sql_engine
from headwater.answer.whatif.changes import Action, Replaced
from headwater.answer.whatif.returning import ReturnedUse, find_returned_use
from headwater.answer.whatif.types import class_of, is_wider

BREAKS, CHANGES, COSMETIC, NOTHING = "breaks", "changes_values", "cosmetic", ""
ORDER: Final = (NOTHING, COSMETIC, CHANGES, BREAKS)
"""From no effect to the worst."""
# Views of these know their tables and columns by number: they follow a new name, and refuse a new type.
_BY_NUMBER: Final = frozenset({"postgres", "redshift", "materialize", "risingwave"})
_IDENTITY: Final = 1
# `TABLE t` is `SELECT * FROM t`.
_TABLE_QUERY: Final = re.compile(r"\btable\s+[\w\"]", re.IGNORECASE)
_BY_CONSTRAINT: Final = re.compile(r"\bon\s+conflict\s+on\s+constraint\b", re.IGNORECASE)
CHECKED_DEFAULT: Final = "set default, which a CHECK names"
"""A default that a constraint of its table may refuse."""
_RECURSIVE: Final = re.compile(r"\brecursive\b", re.IGNORECASE)
_SET_OPERATION: Final = re.compile(r"\b(?:union|intersect|except|minus)\b", re.IGNORECASE)


class Edit(msgspec.Struct, frozen=True):
    """A change of the one table under question. `old_type`: of a retyped column, as far as it is known. `replaced`: as of a TableChange."""

    action: Action
    column: str = ""
    to: str = ""
    old_type: str = ""
    replaced: Replaced = ""


class Verdict(msgspec.Struct, frozen=True):
    """`severity`: breaks, changes_values, cosmetic, or "". `columns`: of the changed table that it uses. `kind`: of the statement."""

    severity: str = NOTHING
    reason: str = ""
    columns: tuple[str, ...] = ()
    kind: str = ""
    is_view: bool = False
    certain: bool = True

    def worst(self, other: "Verdict") -> "Verdict":
        """Both together: the worse severity with its reason, and the columns of both."""
        first = self if ORDER.index(self.severity) >= ORDER.index(other.severity) else other
        columns = tuple(sorted({*self.columns, *other.columns}))
        return msgspec.structs.replace(first, columns=columns, is_view=self.is_view or other.is_view)


def judge(
    query: str, dialect: str, tables: Sequence[JobTable], changed: JobTable, edits: Sequence[Edit]
) -> Verdict | None:
    """The verdict on a job's text; None if it was read and names the table nowhere, so that it is not what the job does with it.

    `tables`: all that the job touches, with their columns as they are; `changed`: that of them that changes.
    """
    before = _read(query, dialect, tables, changed, changed.columns)
    columns = after_edits(changed.columns, edits)
    # Other values leave the columns as they are: most texts of an answer are read once.
    after = before if columns == tuple(changed.columns) else _read(query, dialect, tables, changed, columns)
    found = Verdict()
    standing = frozenset(name.lower() for name in columns)
    readings = [_Reading(old, new, dialect, tables, changed, standing) for old, new in zip(before, after, strict=False)]
    if not any(one.touches for one in readings):
        return None
    for reading in readings:
        for edit in edits:
            found = found.worst(reading.verdict(edit))
    return found


def _read(query: str, dialect: str, tables: Sequence[JobTable], changed: JobTable, columns: Sequence[str]) -> list[Any]:
    """The statements of a text, of which `changed` has `columns`."""
    from headwater.columns.catalog import Catalog

    known = {parts: columns if table.id == changed.id else table.columns for table in tables for parts in table.parts}
    catalog = Catalog({parts: some for parts, some in known.items() if some}, "")
    try:
        return list(sql_engine().analyse(query, dialect, catalog.of(dialect)))
    except ValueError:
        return list(sql_engine().analyse(query, "", catalog))


def sql_statements(query: str, dialect: str) -> list[Any]:
    """The statements of a text. Raises ValueError for an unknown dialect."""
    return list(sql_engine().analyse(query, dialect))


def typed_use(text: str, dialect: str, column: str) -> str | None:
    """Return a use of the column in the text that may ask for its present type; None if there is none."""
    from headwater.columns.shape.typed_uses import uses_by_type
    from headwater.columns.shape.words import words

    return next(uses_by_type(words(text, dialect), column), None)


def after_edits(columns: Sequence[str], edits: Sequence[Edit]) -> tuple[str, ...]:
    """The columns of the table after the change, all of whose edits name them as they are before it."""
    mine = [edit for edit in edits if edit.replaced != "own"]
    gone = {edit.column.lower() for edit in mine if edit.action == "drop_column"}
    renamed = {edit.column.lower(): edit.to for edit in mine if edit.action == "rename_column"}
    found = [renamed.get(name.lower(), name) for name in columns if name.lower() not in gone]
    standing = {name.lower() for name in found}
    added = [edit.column for edit in mine if edit.action == "add_column" and edit.column.lower() not in standing]
    return (*found, *dict.fromkeys(added))


class _Reading:
    """One statement, read with the columns as they are (`old`) and as they would be (`new`). `standing`: the latter, in lower case."""

    def __init__(
        self, old: Any, new: Any, dialect: str, tables: Sequence[JobTable], changed: JobTable, standing: Collection[str]
    ) -> None:
        self.old, self.new, self.dialect, self.tables, self.changed = old, new, dialect, tables, changed
        self.standing = standing
        self.is_view = "VIEW" in old.kind and old.kind.startswith("CREATE")

    @property
    def touches(self) -> bool:
        """True if the statement names the table, or may: it could not be read."""
        return self.old.level in {"nothing", "tables"} or any(
            map(self._is_changed, (*self.old.reads, *self.old.writes))
        )

    def verdict(self, edit: Edit) -> Verdict:
        """Return the effect of one change on the statement: of the table as a whole, or of a column."""
        reads = any(self._is_changed(table) for table in self.old.reads)
        writes = any(self._is_changed(table) for table in self.old.writes)
        unread = self.old.level in {"nothing", "tables"}
        found = Verdict(kind=self.old.kind)
        if not reads and not writes:
            found = self._effect(BREAKS, "its text could not be read", certain=False) if unread else found
        elif self.is_view and self.dialect in _BY_NUMBER and edit.replaced in {"kept", "gone"}:
            found = self._of_view(edit)
        elif edit.replaced == "own" and not (self.is_view and self.dialect in _BY_NUMBER):
            return found
        elif reads or not self._remakes():
            if edit.action == "rule":
                found = self._ruled(edit, reads=reads, writes=writes)
            elif edit.action in {"drop_table", "rename_table", "swap_table"}:
                found = self._of_table(edit, "it reads the table" if reads else "it writes the table")
            elif edit.action == "unknown" or unread:
                found = self._effect(BREAKS, "what it needs could not be read", certain=False)
            elif edit.action == "add_column":
                found = self._added(edit)
            else:
                found = self._of_column(edit)
        return found

    def _of_view(self, edit: Edit) -> Verdict:
        """The view keeps the table that it was made of, whatever has its name."""
        if edit.replaced == "gone":
            return self._effect(BREAKS, "the table that the view was made of is dropped", ("*",))
        return self._effect(COSMETIC, "the view stays with the table that has another name", ("*",))

    def _ruled(self, edit: Edit, *, reads: bool, writes: bool) -> Verdict:
        """The verdict where a rule of the table changes, and none of its columns. The rows that this meets are not known."""
        inserts = self.old.kind in {"INSERT", "MERGE", "COPY"}
        severity, reason = NOTHING, f"it writes the table ({edit.to})"
        if edit.to in {"row level security", "policy"}:
            severity, reason = (
                BREAKS if writes and not self.is_view else CHANGES,
                f"{edit.to} decides which rows it may use",
            )
        elif edit.to == "revoke" and not self.is_view:
            severity, reason = BREAKS, "it may lose the right to use the table"
        elif edit.to == "inherited rows" and reads:
            severity, reason = CHANGES, "the table gets or loses rows"
        elif edit.to == "drop constraint" and self._needs_key(reads=reads, writes=writes):
            severity, reason = BREAKS, "it may ask for the key that is dropped"
        elif edit.to == "rename constraint" and writes and _BY_CONSTRAINT.search(self.old.text):
            severity, reason = BREAKS, "it may name the constraint"
        elif self.is_view or not writes:
            pass
        elif edit.to in {"create rule", "create trigger"}:
            severity = BREAKS
        elif edit.to in {"drop trigger", "trigger", "rule"}:
            severity = CHANGES
        elif edit.to in {"drop default", "set default", CHECKED_DEFAULT} and inserts and not self._names(edit.column):
            severity = CHANGES if edit.to == "set default" else BREAKS
        elif edit.to in {"add constraint", "set not null", "identity"} and self._may_be_refused(edit, inserts=inserts):
            severity = BREAKS
        return self._effect(severity, reason, ("*",), certain=False) if severity else Verdict(kind=self.old.kind)

    def _may_be_refused(self, edit: Edit, *, inserts: bool) -> bool:
        """Return whether a rule on the values of a column, or of some columns, may refuse what it writes."""
        if inserts:
            return edit.to != "identity" or self._names(edit.column)
        return self.old.kind == "UPDATE" and (not edit.column or self._names(edit.column))

    def _names(self, column: str) -> bool:
        """Return whether the statement gives the column a value, or may."""
        flows = [flow for flow in self.old.flows if self._is_changed(flow.target)]
        names = {output.name.lower() for flow in flows for output in flow.columns}
        return column.lower() in names or "*" in names or not self.changed.columns

    def _needs_key(self, *, reads: bool, writes: bool) -> bool:
        """Return whether the statement may ask for a unique key of the table: by ON CONFLICT, or by GROUP BY of less than it selects."""
        from headwater.columns.shape.words import groups_by_key, words

        conflicts = writes and re.search(r"\bon\s+conflict\b", self.old.text, re.IGNORECASE) is not None
        return conflicts or (reads and groups_by_key(words(self.old.text, self.dialect)))

    def _of_table(self, edit: Edit, reason: str) -> Verdict:
        if edit.action == "swap_table" and self._needs_key(reads=True, writes=True):
            return self._effect(BREAKS, "it may ask for a key that the other table lacks", ("*",), certain=False)
        if edit.action == "swap_table":
            return self._effect(CHANGES, "it touches a table that is swapped", ("*",), certain=False)
        if edit.action == "rename_table" and self.is_view and self.dialect in _BY_NUMBER:
            return self._effect(COSMETIC, "the view follows the new name")
        return self._effect(BREAKS, reason, ("*",))

    def _added(self, edit: Edit) -> Verdict:
        used = (edit.column,)
        if missing := self._newly_missing():
            return self._effect(BREAKS, f"{missing} means two columns then", used)
        if self.is_view or not (self._star() or self._uses(self.new, edit.column.lower())):
            return Verdict(kind=self.old.kind)
        if self._is_combined():
            return self._effect(BREAKS, "a UNION has one column more on this side then", used, certain=False)
        if self._inserts():
            return self._effect(BREAKS, "its * gives one column more than it inserts", used, certain=False)
        return self._effect(COSMETIC, "its * has one column more", used)

    def _of_column(self, edit: Edit) -> Verdict:
        column, used = edit.column.lower(), (edit.column,)
        kinds, written = self._uses(self.old, column), self._writes(self.old, column)
        if returned := self._returns(column):
            if edit.action in {"drop_column", "rename_column"}:
                return self._effect(BREAKS, returned.reason, used, certain=returned.certain)
            kinds = (kinds or 0) | _IDENTITY
        if kinds is None and not written:
            return self._doubted(column, used)
        if edit.action == "retype_column":
            return self._retyped(edit, kinds or 0, written)
        if edit.action == "values":
            return Verdict(kind=self.old.kind) if kinds is None else self._effect(CHANGES, "it uses the column", used)
        return self._without(edit, written, read=kinds is not None)

    def _doubted(self, column: str, used: tuple[str, ...]) -> Verdict:
        """No use of the column was found; a name that could not be placed may be one."""
        doubted = [one for one in self.old.unresolved if column in one.name.lower()]
        if doubted:
            return self._effect(BREAKS, f"{doubted[0].name} may be the column", used, certain=False)
        if self._star() and not self.changed.columns:
            return self._effect(CHANGES, "it reads every column", used, certain=False)
        return Verdict(kind=self.old.kind)

    def _without(self, edit: Edit, written: bool, *, read: bool) -> Verdict:
        """The column is dropped or has another name."""
        used, dropped = (edit.column,), edit.action == "drop_column"
        found = self._effect(CHANGES if dropped else COSMETIC, "it reads every column by *", used)
        if not self.is_view and edit.column.lower() in self.standing:
            if self._needs_key(reads=read, writes=written):
                return self._effect(
                    BREAKS, f"another column is called {edit.column} then, and a key may be gone", used, certain=False
                )
            return self._effect(CHANGES, f"another column is called {edit.column} then", used)
        if self.is_view:
            found = self._effect(BREAKS, "the view uses the column", used)
            if not dropped and self.dialect in _BY_NUMBER:
                found = self._effect(COSMETIC, "the view follows the new name", used)
        elif written and (dropped or self._writes(self.new, edit.column.lower())):
            found = self._effect(BREAKS, "it writes the column", used, certain=not self._fits())
        elif self._newly_missing() or (read and not self.changed.columns):
            found = self._effect(BREAKS, f"it names {edit.column}", used, certain=bool(self.changed.columns))
        elif not read:
            found = Verdict(kind=self.old.kind)
        elif self.new.level != self.old.level:
            found = self._effect(BREAKS, f"what it names may be {edit.column}", used, certain=False)
        elif dropped and self._is_combined():
            found = self._effect(BREAKS, "a UNION has one column less on this side then", used, certain=False)
        elif dropped and self._inserts():
            found = self._effect(BREAKS, "it inserts every column, and there is one less", used, certain=False)
        return found

    def _fits(self) -> bool:
        """Return whether its values go by their places, and the columns that are left have room for them: then their types decide."""
        flows = [flow for flow in self.new.flows if self._is_changed(flow.target)]
        named = "*" in self.standing or any(
            one.name.lower() not in self.standing for flow in flows for one in flow.columns
        )
        return not named and all(len(flow.columns) <= len(self.standing) for flow in flows)

    def _inserts(self) -> bool:
        return any(flow.target is not None for flow in self.old.flows)

    def _retyped(self, edit: Edit, kinds: int, written: bool) -> Verdict:
        used = (edit.column,)
        if self.is_view and self.dialect in _BY_NUMBER:
            return self._effect(BREAKS, "the type of a column that a view uses cannot be changed", used)
        wider = bool(edit.old_type) and is_wider(edit.old_type, edit.to)
        if (use := self._typed_use(edit, wider=wider)) is not None:
            return self._effect(BREAKS, f"it uses {use}, and the column becomes {edit.to}", used, certain=False)
        if wider:
            return self._effect(COSMETIC, f"every {edit.old_type} is a {edit.to}", used)
        same = bool(edit.old_type) and class_of(edit.old_type) == class_of(edit.to)
        numbers = {class_of(edit.old_type), class_of(edit.to)} <= {"whole", "real"}
        if same or numbers:
            return self._effect(CHANGES, f"values as {edit.to} may be other ones", used)
        if written or kinds & ~_IDENTITY or self._inserts():
            return self._effect(BREAKS, f"it uses the column as {edit.old_type or 'another type'}", used, certain=False)
        return self._effect(CHANGES, f"the column comes as {edit.to}", used)

    def _typed_use(self, edit: Edit, *, wider: bool) -> str | None:
        """Return a use that may ask for the column's present type, though the new one holds all of its values; None if there is none."""
        if _RECURSIVE.search(self.old.text):
            return f"{edit.column} in a recursive query"  # Both of its sides have the same types.
        numbers = bool(edit.old_type) and {class_of(edit.old_type), class_of(edit.to)} <= {"whole", "real"}
        # A function of a text takes every width.
        if not (wider or numbers) or class_of(edit.to) == "text":
            return None
        return typed_use(self.old.text, self.dialect, edit.column)

    def _effect(self, severity: str, reason: str, columns: tuple[str, ...] = (), *, certain: bool = True) -> Verdict:
        return Verdict(severity, reason, columns, self.old.kind, self.is_view, certain and self.old.level == "full")

    def _is_changed(self, table: tuple[str, ...] | None) -> bool:
        if table is None:
            return False
        found = match_table(table, self.tables)
        return found is not None and found.id == self.changed.id

    def _remakes(self) -> bool:
        """Return whether the statement makes the table itself, and so needs nothing of it: CREATE TABLE, CREATE OR REPLACE."""
        made = [change.table for change in self.old.changes if change.action in {"CREATE", "CLONE", "LIKE"}]
        made += [flow.target for flow in self.old.flows if flow.action == "CREATE"]
        return any(self._is_changed(table) for table in made)

    def _uses(self, statement: Any, column: str) -> int | None:
        """The kinds of all uses of the column, as bits; None if there is none."""
        found: int | None = None
        for flow in statement.flows:
            inputs = [one for output in flow.columns for one in output.inputs]
            inputs += [one for output in flow.columns for _, some in output.fields for one in some]
            for one in (*inputs, *flow.rows):
                if one.field.split(".")[0].lower() == column and self._is_changed(one.table):
                    found = (found or 0) | one.kinds
        return found

    def _writes(self, statement: Any, column: str) -> bool:
        return any(
            output.name.lower() == column
            for flow in statement.flows
            if flow.action != "DELETE" and self._is_changed(flow.target)
            for output in flow.columns
        )

    def _newly_missing(self) -> str:
        """The first name that is resolved with the columns as they are and not with those after the change."""
        known = {one.name.lower() for one in self.old.unresolved}
        return next((one.name for one in self.new.unresolved if one.name.lower() not in known), "")

    def _star(self) -> bool:
        is_query = self.old.kind in {"SELECT", "INSERT"}
        return "*" in self.old.text or (is_query and _TABLE_QUERY.search(self.old.text) is not None)

    def _is_combined(self) -> bool:
        return self._star() and _SET_OPERATION.search(self.old.text) is not None

    def _returns(self, column: str) -> ReturnedUse | None:
        def read(text: str) -> list[Any]:
            return _read(text, self.dialect, self.tables, self.changed, self.changed.columns)

        return find_returned_use(self.old, column, read, self._is_changed)
