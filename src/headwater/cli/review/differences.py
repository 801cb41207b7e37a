"""Two states of a project, compared: the changes of its tables, and what each statement makes of them. Pure; every statement is read with the
columns as they were and as they become (decision 048), so that a name placed before and not after breaks it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from headwater.answer.whatif.types import class_of
from headwater.cli.sql.statements import name
from headwater.columns.catalog import table_key
from headwater.columns.kinds import IDENTITY
from headwater.columns.project import AnalysedText
from headwater.columns.result import Flow, Input, Level, Statement, TableName
from headwater.columns.shape.words import SelectList, Word, cast_types, select_list, words

BREAKS, CHANGES, COSMETIC, NOTHING = "breaks", "changes_values", "cosmetic", ""
ORDER: Final = (NOTHING, COSMETIC, CHANGES, BREAKS)


class Changed(msgspec.Struct, frozen=True):
    """A change of a table as ALTER would say it. `action`: as `headwater whatif` has it, or `create_table`. `column`: "" for the table."""

    action: str
    table: str
    column: str = ""
    to: str = ""
    place: str = ""


class Affected(msgspec.Struct, frozen=True):
    """A text whose statements notice. `table`: what it makes, "" for a query. `columns`: of its result that change, none for all of it.
    `certain`: false where a part could not be read. `path`: tables from the change to it. `edited`: the change is in this text itself.
    """

    place: str
    line: int
    table: str
    severity: str
    reason: str
    columns: list[str]
    certain: bool
    edited: bool
    path: list[str]


class Review(msgspec.Struct, frozen=True):
    """`severity`: the worst of all, null if nothing changes. `same`: texts that were edited and mean the same: comments, layout, case."""

    severity: str | None
    changes: list[Changed]
    affected: list[Affected]
    same: list[str]
    texts: int


class _Effect(msgspec.Struct):
    """The change of one table as its readers meet it. `whole`: its rows. `columns`: changed values, each with the family of its new type, or ""."""

    whole: bool = False
    broken: str = ""
    certain: bool = True
    columns: dict[str, str] = {}
    because: TableName | None = None

    def __bool__(self) -> bool:
        return bool(self.whole or self.broken or self.columns)


def compare(before: Iterable[AnalysedText], after: Iterable[AnalysedText], dialect: str) -> Review:
    """Compare two states. Texts meet by what they build, else by their place. `after` comes in the order in which it is built."""
    old = {_identity(one): one for one in before}
    new = {_identity(one): one for one in after}
    return _Comparison(old, new, dialect).result()


def _identity(one: AnalysedText) -> str:
    return ".".join(table_key(one.text.target)) if one.text.target else f"file:{one.text.place}"


class _Comparison:
    def __init__(self, old: dict[str, AnalysedText], new: dict[str, AnalysedText], dialect: str) -> None:
        self.old, self.new, self.dialect = old, new, dialect
        self.effects: dict[TableName, _Effect] = {}
        self.changes: list[Changed] = []
        self.affected: list[Affected] = []
        self.same: list[str] = []
        made = {key for one in new.values() for key in _made_tables(one)}
        self.gone = {key for one in old.values() for key in _made_tables(one)} - made

    def result(self) -> Review:
        for key in sorted(self.gone):
            self.changes.append(Changed("drop_table", name(key)))
            self.effects[key] = _Effect(broken="is no longer built")
        makers = {key: one for one in self.old.values() for key in _made_tables(one)}
        meet = {
            identity: self.old.get(identity)
            or next(
                (makers[key] for key in sorted(_made_tables(one)) if key in makers), None
            )  # Its file has another name.
            for identity, one in self.new.items()
        }
        self.unwritten(meet)
        for identity, one in self.new.items():
            self.text(one, meet[identity])
        worst = max((ORDER.index(one.severity) for one in self.affected), default=0)
        worst = max(worst, ORDER.index(COSMETIC) if self.changes else 0)
        self.affected.sort(key=lambda one: (-ORDER.index(one.severity), not one.edited, one.place))
        return Review(ORDER[worst] or None, self.changes, self.affected, self.same, len(self.new))

    def unwritten(self, meet: dict[str, AnalysedText | None]) -> None:
        """Note the tables that a text wrote and writes no longer: they stay, with other rows."""
        now = {one.text.place: _written_tables(self.new[identity]) for identity, one in meet.items() if one is not None}
        for one in self.old.values():
            for key in sorted(_written_tables(one) - now.get(one.text.place, set()) - self.gone):
                self.changes.append(Changed("values", name(key), place=one.text.place))
                self.effects[key] = _Effect(whole=True)

    def text(self, new: AnalysedText, old: AnalysedText | None) -> None:
        """Judge one text, and note what its readers will meet."""
        edited = old is None or old.text.text != new.text.text or old.text.view != new.text.view
        differs = old is None or words(old.text.text, self.dialect) != words(new.text.text, self.dialect)
        differs = differs or (
            old is not None and (old.text.view, old.text.columns) != (new.text.view, new.text.columns)
        )
        if edited and not differs:
            self.same.append(new.text.place)
        known = {one.name.lower() for statement in old.statements for one in statement.unresolved} if old else set()
        outputs = _outputs(old) if old else {}
        for key, columns in _outputs(new).items():
            self.schema(key, outputs.get(key), columns, new.text.place)
        own = self.edit(old, new) if old is not None and differs else _Effect()
        for place, statement in enumerate(new.statements):
            effect = self.upstream(statement, known)
            if differs and old is not None:
                effect.whole, effect.columns = effect.whole or own.whole, own.columns | effect.columns
            earlier = old.statements[place] if old is not None and place < len(old.statements) else None
            if earlier is not None and not differs and _shape(earlier) != _shape(statement):
                effect.columns |= dict.fromkeys(sorted(_shape(earlier) ^ _shape(statement)), "")
            self.note(statement, new.text.place, effect, edited=differs, is_new=old is None)
        if new.text.target is not None and not new.statements and differs and old is not None:  # A seed.
            self.effects[table_key(new.text.target)] = _Effect(whole=True)

    def schema(self, key: TableName, old: tuple[str, ...] | None, new: tuple[str, ...], place: str) -> None:
        if old is None:
            self.changes.append(Changed("create_table", name(key), place=place))
            return
        before, now = {one.lower(): one for one in old}, {one.lower(): one for one in new}
        lost = [one for low, one in before.items() if low not in now]
        found = [one for low, one in now.items() if low not in before]
        if len(old) == len(new) and len(lost) == len(found) == 1 and old.index(lost[0]) == new.index(found[0]):
            self.changes.append(Changed("rename_column", name(key), lost[0], found[0], place))
            return
        self.changes += [Changed("drop_column", name(key), one, place=place) for one in lost]
        self.changes += [Changed("add_column", name(key), one, place=place) for one in found]

    def edit(self, old: AnalysedText, new: AnalysedText) -> _Effect:
        """Return what an edit changes in its own result: these columns if it is in the SELECT list alone, else all rows."""
        parts = [select_list(words(one.text.text, self.dialect)) for one in (old, new)]
        flows = [[flow for statement in one.statements for flow in statement.flows] for one in (old, new)]
        if parts[0] is None or parts[1] is None or len(flows[0]) != 1 or len(flows[1]) != 1:
            return _Effect(whole=True)
        before, now = ([output.name.lower() for output in some[0].columns] for some in flows)
        if parts[0].before != parts[1].before or parts[0].after != parts[1].after or "*" in {*before, *now}:
            return _Effect(whole=True)
        was, became = _by_column(parts[0], before), _by_column(parts[1], now)
        if was is None or became is None:
            return _Effect(whole=True)
        different = {one for one in was.keys() | became.keys() if was.get(one) != became.get(one)}
        both = [one for one in before if one in became]
        moved = both != [one for one in now if one in was]
        elsewhere = [item for one, item in became.items() if one not in different]
        others = {text.lower() for item in (*elsewhere, parts[1].after) for _, text in item} if elsewhere else set()
        if moved or any(
            self.decides(item, parts[1].after) for one in different for item in (was.get(one), became.get(one)) if item
        ):
            return _Effect(whole=True)
        if (
            different & {text for item in elsewhere for _, text in item}
            and others & different & was.keys() & became.keys()
        ):
            return _Effect(whole=True)  # An item may use another by its alias.
        return _Effect(columns={one: self.family(was.get(one, ()), became.get(one, ())) for one in sorted(different)})

    @staticmethod
    def decides(item: Sequence[tuple[str, str]], after: Sequence[tuple[str, str]]) -> bool:
        """Return whether an item may decide about rows: an aggregate without a group, or a function that makes rows."""
        calls = any(kind == "L_PAREN" for kind, _ in item)
        makes = any(
            text in {"unnest", "explode", "posexplode", "flatten", "generate_series"} or "regexp_split" in text
            for _, text in item
        )
        return makes or (
            calls and not any(kind == "GROUP_BY" for kind, _ in after) and any(text in _AGGREGATES for _, text in item)
        )

    @staticmethod
    def family(old: tuple[tuple[str, str], ...], new: tuple[tuple[str, str], ...]) -> str:
        """Return the family of the type that a column gets by a cast that it had not; "" if its type stays, or changes among numbers."""
        was, becomes = cast_types(old), cast_types(new)
        if was == becomes or not old or not new:
            return ""
        families = [class_of(one[-1]) if one else "" for one in (was, becomes)]
        if families[0] == families[1] or set(families) == {"whole", "real"}:
            return ""
        return families[1] or "another"

    def upstream(self, statement: Statement, known: set[str]) -> _Effect:
        """Return what a statement meets in the tables that it reads, with the columns as they become."""
        found = _Effect()
        own = {table_key(flow.target) for flow in statement.flows if flow.target is not None}
        for table in (*statement.reads, *statement.writes):
            key = table_key(table)
            effect = self.effect(table)
            if effect is None or key in own:
                continue
            found.because = found.because or key
            if effect.broken:
                found.broken, found.because = f"{name(table)} {effect.broken}", key
                found.certain = found.certain and effect.certain
            elif effect.whole:
                found.whole, found.because = True, key
        missing = [one for one in statement.unresolved if one.name.lower() not in known]
        if missing and not found.broken:
            found.broken, found.certain = f"it names {missing[0].name}", not missing[0].candidates
        if statement.level in {Level.NOTHING, Level.TABLES} and found.because is not None:
            found.whole, found.certain = True, False
        for flow in statement.flows:
            self.flow(flow, found)
        return found

    def effect(self, table: TableName) -> _Effect | None:
        """Return what a table met, by its name or by the only one that ends in it."""
        key = table_key(table)
        if key in self.effects:
            return self.effects[key]
        fitting = [effect for other, effect in self.effects.items() if _fits(key, other)]
        return fitting[0] if len(fitting) == 1 else None

    def flow(self, flow: Flow, found: _Effect) -> None:
        for one in flow.rows:
            hit = self.hit(one)
            if hit is not None:
                found.whole, found.because = True, table_key(one.table)
                self.as_type(one, hit, found)
        for output in flow.columns:
            inputs = (*output.inputs, *(one for _, some in output.fields for one in some))
            for one in inputs:
                hit = self.hit(one)
                if hit is None:
                    continue
                plain = one.kinds == IDENTITY
                found.columns[output.name.lower()] = hit if plain else ""
                found.because = found.because or table_key(one.table)
                self.as_type(one, hit, found)

    def hit(self, one: Input) -> str | None:
        """Return the new type's family of a changed column, "" if its type stays; None if the column does not change."""
        effect = self.effect(one.table)
        if effect is None:
            return None
        if one.field == "*" and effect.columns:
            return ""
        return effect.columns.get(one.field.split(".")[0].lower())

    @staticmethod
    def as_type(one: Input, family: str, found: _Effect) -> None:
        if family and one.kinds & ~IDENTITY and not found.broken:
            found.broken, found.certain = f"it uses {one.field}, whose type becomes {family}", False

    def note(self, statement: Statement, place: str, effect: _Effect, *, edited: bool, is_new: bool) -> None:
        if not effect:
            return
        targets = [table_key(flow.target) for flow in statement.flows if flow.target is not None]
        path = self.path(effect.because)
        if effect.broken:
            severity, reason = BREAKS, effect.broken
        elif is_new:
            return
        else:
            severity = CHANGES
            reason = "its rows may be other ones" if effect.whole else "columns hold other values"
        for key in targets:
            broken = "breaks" if effect.broken else ""
            self.effects[key] = _Effect(effect.whole, broken, effect.certain, effect.columns, effect.because)
        columns = [] if effect.whole or effect.broken else sorted(effect.columns)
        self.affected.append(
            Affected(
                place, statement.line, name(targets[0]) if targets else "", severity, reason, columns,
                effect.certain and statement.level == Level.FULL, edited, path,
            )
        )  # fmt: skip

    def path(self, end: TableName | None) -> list[str]:
        found: list[TableName] = []
        while end is not None and end not in found:
            found.append(end)
            effect = self.effects.get(end)
            end = effect.because if effect is not None else None
        return [name(one) for one in reversed(found)]


_AGGREGATES = frozenset(
    "count sum min max avg array_agg string_agg listagg any_value bool_or bool_and median stddev variance".split()
)


def _by_column(parts: SelectList, columns: list[str]) -> dict[str, tuple[Word, ...]] | None:
    """Return the item of each column, a `*` over one table as its columns; None where they do not meet."""
    items: list[tuple[Word, ...]] = []
    for item in parts.items:
        if item == (("STAR", "*"),) and not any(kind in {"JOIN", "COMMA"} for kind, _ in parts.after):
            count = len(columns) - len(parts.items) + 1
            items += [(("VAR", one),) for one in columns[len(items) : len(items) + count]]
        elif len(item) == 1 and item[0][0] not in {"STRING", "NUMBER", "STAR"}:
            items.append((("VAR", item[0][1]),))
        else:
            items.append(item)
    if len(items) != len(columns) or len({*columns}) != len(columns):
        return None
    return dict(zip(columns, items, strict=True))


def _fits(key: TableName, other: TableName) -> bool:
    shorter = min(len(key), len(other))
    return len(key) != len(other) and key[-shorter:] == other[-shorter:]


def _made_tables(one: AnalysedText) -> set[TableName]:
    found = {
        table_key(flow.target)
        for statement in one.statements
        for flow in statement.flows
        if flow.target and flow.action == "CREATE"
    }
    found |= {
        table_key(change.table)
        for statement in one.statements
        for change in statement.changes
        if change.action in {"CREATE", "CLONE", "LIKE"} and not change.temporary
    }
    return found | ({table_key(one.text.target)} if one.text.target else set())


def _written_tables(one: AnalysedText) -> set[TableName]:
    return {
        table_key(flow.target) for statement in one.statements for flow in statement.flows if flow.target is not None
    }


def _outputs(one: AnalysedText) -> dict[TableName, tuple[str, ...]]:
    """The columns of what a text makes, where its text tells them."""
    found = {}
    for statement in one.statements:
        for flow in statement.flows:
            if flow.target is not None and flow.action == "CREATE":
                found[table_key(flow.target)] = tuple(output.name for output in flow.columns)
    if one.text.target is not None and one.text.columns:
        found[table_key(one.text.target)] = one.text.columns
    return found


def _shape(statement: Statement) -> set[str]:
    return {output.name.lower() for flow in statement.flows for output in flow.columns}
