"""Two states of a project, compared: the changes of its tables, and what each statement makes of them. Pure; every statement is read with the
columns as they were and as they become (decision 048), so that a name placed before and not after breaks it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import msgspec

from headwater.answer.whatif.returning import ReturnedUse, find_returned_use
from headwater.answer.whatif.types import class_of
from headwater.cli.review.column_types import KnownTypes, Types
from headwater.cli.review.edits import SHUFFLED, Edits, Effect, edit_of_seed
from headwater.cli.review.effects import Effects
from headwater.cli.review.enriching import KeyedTables
from headwater.cli.review.results import BREAKS, CHANGES, COSMETIC, MAY_CHANGE, ORDER, Affected, Changed, Review
from headwater.cli.review.rewrites import Rewrites
from headwater.cli.review.texts import (
    breach_of_contract,
    columns_of,
    fits,
    identity_of,
    is_moved,
    is_same,
    made_tables,
    names_unquoted,
    outputs_of,
    recased,
    shape,
    written_tables,
)
from headwater.cli.sql.statements import name
from headwater.columns.analysis import analyse
from headwater.columns.catalog import Catalog, table_key
from headwater.columns.kinds import IDENTITY
from headwater.columns.project import AnalysedText
from headwater.columns.result import Flow, Input, Level, Statement, TableName
from headwater.columns.shape.counted_stars import counted_stars
from headwater.columns.shape.row_order import depends_on_order
from headwater.columns.shape.typed_uses import uses_by_type
from headwater.columns.shape.words import words


def compare(
    before: Iterable[AnalysedText], after: Iterable[AnalysedText], dialect: str, types: Types | None = None
) -> Review:
    """Compare two states. Texts meet by what they build, else by their place. `after` comes in the order in which it is built. `types`: of columns,
    as they are before."""
    old = {identity_of(one): one for one in before}
    new = {identity_of(one): one for one in after}
    return _Comparison(old, new, dialect, KnownTypes(types or {})).result()


class _Comparison:
    def __init__(
        self, old: dict[str, AnalysedText], new: dict[str, AnalysedText], dialect: str, types: KnownTypes
    ) -> None:
        self.old, self.new, self.dialect, self.types = old, new, dialect, types
        self.effects = Effects()
        self.changes: list[Changed] = []
        self.affected: list[Affected] = []
        self.same: list[str] = []
        self.lost: dict[TableName, list[str]] = {}
        """Columns that a table has no longer under their names."""
        self.recased: dict[TableName, dict[str, str]] = {}
        """Columns of which the case alone is another, from the old name to the new one, where the database tells them apart."""
        self.viewed: set[TableName] = set()
        """Tables that become views."""
        self.resized: set[TableName] = set()
        """Tables that have more columns or fewer than before."""
        self.ephemeral: dict[str, Effect] = {}
        """The changes of models that stand as common tables in the text of those that read them, by the name there."""
        self.rewrites = Rewrites(old, new, dialect)
        self.keyed = KeyedTables(old.values(), new.values(), dialect)
        self.edits = Edits(dialect, types, self.keyed, self.rewrites)
        made = {key for one in new.values() for key in made_tables(one)}
        self.gone = {key for one in old.values() for key in made_tables(one)} - made

    def result(self) -> Review:
        for key in sorted(self.gone):
            self.changes.append(Changed("drop_table", name(key)))
            self.effects[key] = Effect(broken="is no longer built")
        makers = {key: one for one in self.old.values() for key in made_tables(one)}
        meet = {
            identity: self.old.get(identity)
            or next(
                (makers[key] for key in sorted(made_tables(one)) if key in makers), None
            )  # Its file has another name.
            for identity, one in self.new.items()
        }
        self.unwritten(meet)
        for _ in range(2):  # One may stand in another.
            self.read_ephemeral(meet)
        for identity, one in self.new.items():
            self.text(one, meet[identity])
        worst = max((ORDER.index(one.severity) for one in self.affected), default=0)
        worst = max(worst, ORDER.index(COSMETIC) if self.changes else 0)
        self.affected.sort(key=lambda one: (-ORDER.index(one.severity), not one.edited, one.place))
        return Review(ORDER[worst] or None, self.changes, self.affected, self.same, len(self.new))

    def unwritten(self, meet: dict[str, AnalysedText | None]) -> None:
        """Note the tables that a text wrote and writes no longer: they stay, with other rows."""
        now = {one.text.place: written_tables(self.new[identity]) for identity, one in meet.items() if one is not None}
        for one in self.old.values():
            for key in sorted(written_tables(one) - now.get(one.text.place, set()) - self.gone):
                self.changes.append(Changed("values", name(key), place=one.text.place))
                self.effects[key] = Effect(whole=True)

    def text(self, new: AnalysedText, old: AnalysedText | None) -> None:
        """Judge one text, and note what its readers will meet."""
        edited = old is None or not is_same(old.text, new.text)
        differs = edited and (old is None or not self.rewrites.is_same_result(old.text, new.text))
        if edited and not differs:
            self.same.append(new.text.place)
        known = {one.name.lower() for statement in old.statements for one in statement.unresolved} if old else set()
        outputs = outputs_of(old) if old else {}
        for key, columns in outputs_of(new).items():
            self.schema(key, outputs.get(key), columns, new.text.place)
        own = self.edits.effect(old, new) if old is not None and differs else Effect()
        for column in self.recased.get(table_key(new.text.target or ()), {}):
            own.put({column.lower(): ""}, sure=True)
        if old is not None and new.text.target is not None and new.text.view and not old.text.view:
            self.viewed.add(table_key(new.text.target))
        self.inline(new, own)
        for place, statement in enumerate(new.statements):
            effect = self.upstream(statement, known, new)
            if own and old is not None:
                effect.add(own)
            earlier = old.statements[place] if old is not None and place < len(old.statements) else None
            if earlier is not None and not differs and shape(earlier) != shape(statement):
                effect.put(dict.fromkeys(sorted(shape(earlier).keys() ^ shape(statement).keys()), ""), sure=True)
            if earlier is not None:
                effect.moved = is_moved(shape(earlier), shape(statement))
            if differs and old is not None and not effect.broken:
                breach, certain = breach_of_contract(old.text, new.text, shape(statement), own.columns)
                effect.broken, effect.certain = breach, effect.certain and certain
            reshaped = earlier is not None and shape(earlier).keys() != shape(statement).keys()
            self.note(statement, new.text.place, effect, edited=differs, is_new=old is None, reshaped=reshaped)
        if new.text.target is not None and not new.statements and differs and old is not None:
            key, (effect, reason) = table_key(new.text.target), edit_of_seed(old.text, new.text)
            if effect or old.text.columns != new.text.columns:
                self.effects[key] = effect
                shown = [] if effect.whole else sorted(effect.columns)
                severity = COSMETIC if effect.shuffled else CHANGES
                self.affected.append(Affected(new.text.place, 1, name(key), severity, reason, shown, True, True, []))

    def read_ephemeral(self, meet: dict[str, AnalysedText | None]) -> None:
        """Note the changes of ephemeral models before all texts: what reads one has its text, and may come first."""
        for identity, new in self.new.items():
            old = meet[identity]
            if old is None or new.text.view != "ephemeral" or is_same(old.text, new.text):
                continue
            if not self.rewrites.is_same_result(old.text, new.text):
                self.inline(new, self.edits.effect(old, new))

    def inline(self, new: AnalysedText, own: Effect) -> None:
        """Add to a text's own change those of the ephemeral models in it, which no statement reads by name."""
        if new.text.view == "ephemeral":
            self.ephemeral[name(table_key(new.text.target or ())).lower()] = own
        if not self.ephemeral:
            return
        used = {text.lower() for kind, text in words(new.text.text, self.dialect) if not kind.endswith("STRING")}
        for key, effect in self.ephemeral.items():
            if effect is own or key not in used or not effect:
                continue
            own.whole = own.whole or effect.whole or bool(used & effect.columns.keys())
            own.put({one: effect.columns[one] for one in effect.columns if one in columns_of(new)}, sure=False)
            own.because = own.because or (key,)

    def schema(self, key: TableName, old: tuple[str, ...] | None, new: tuple[str, ...], place: str) -> None:
        if old is None:
            self.changes.append(Changed("create_table", name(key), place=place))
            return
        if differing := recased(old, new, self.dialect):
            self.recased[key] = differing
            self.changes += [Changed("rename_column", name(key), was, now, place) for was, now in differing.items()]
        before, now = {one.lower(): one for one in old}, {one.lower(): one for one in new}
        lost = [one for low, one in before.items() if low not in now]
        found = [one for low, one in now.items() if low not in before]
        self.lost[key] = lost
        if len(old) != len(new):
            self.resized.add(key)
        if len(old) == len(new) and len(lost) == len(found) == 1 and old.index(lost[0]) == new.index(found[0]):
            self.changes.append(Changed("rename_column", name(key), lost[0], found[0], place))
            return
        self.changes += [Changed("drop_column", name(key), one, place=place) for one in lost]
        self.changes += [Changed("add_column", name(key), one, place=place) for one in found]

    def upstream(self, statement: Statement, known: set[str], text: AnalysedText) -> Effect:
        """Return what a statement meets in the tables that it reads, with the columns as they become."""
        found, shuffled = Effect(), None
        own = {table_key(flow.target) for flow in statement.flows if flow.target is not None}
        made = made_tables(text)
        for table in (*statement.reads, *statement.writes):
            key = table_key(table)
            effect = self.effect(table)
            if effect is None or key in made or (key in own and not effect.broken):
                continue
            shuffled = shuffled or (key if effect.shuffled else None)
            if not (effect.broken or effect.whole or effect.columns or effect.wider or effect.moved):
                continue
            found.because = found.because or key
            if effect.broken:
                found.broken, found.because = f"{name(table)} {effect.broken}", key
                found.certain = found.certain and effect.certain
            elif effect.whole and (added := self.keyed.added_columns(statement, key, text.text.text)) is not None:
                found.put(dict.fromkeys(added, ""), sure=False)
            elif effect.whole or (effect.moved and self.reads_by_place(text)):
                found.whole, found.because = True, key
                found.certain = found.certain and effect.certain
        if shuffled and not found.whole and depends_on_order(words(text.text.text, self.dialect)):
            found.whole, found.certain, found.because = True, False, found.because or shuffled
        missing = [one for one in statement.unresolved if one.name.lower() not in known]
        if missing and not found.broken:
            found.broken, found.certain = f"it names {missing[0].name}", not missing[0].candidates
        if not found.broken:
            self.counted(statement, text, found)
            self.returned(statement, found)
            self.written(statement, text, found)
            self.read_by_case(statement, found)
        if statement.level in {Level.NOTHING, Level.TABLES} and found.because is not None:
            found.whole, found.certain = True, False
        for flow in statement.flows:
            self.flow(flow, found)
            self.widened(flow, found, text)
        found.shuffled, found.because = shuffled is not None, found.because or shuffled
        return found

    def counted(self, statement: Statement, text: AnalysedText, found: Effect) -> None:
        """Note a `*` that gives another number of columns to a UNION or an INSERT."""
        resized = {key: name(table) for table in statement.reads if (key := table_key(table)) in self.resized}
        if resized and self.reads_by_place(text):
            for star in counted_stars(statement.text, self.dialect):
                for key in (one for one in resized if one == star or fits(star, one)):
                    found.broken, found.certain, found.because = (
                        f"its * reads {resized[key]}, which has other columns",
                        False,
                        key,
                    )

    def written(self, statement: Statement, text: AnalysedText, found: Effect) -> None:
        """Note a lost column that a write names, and a write into what becomes a view."""
        for flow in statement.flows:
            key = table_key(flow.target or ())
            if key in made_tables(text) or flow.action == "DELETE":
                continue
            gone = {one.lower() for one in self.lost.get(key, ())} | {one.lower() for one in self.recased.get(key, {})}
            if lost := next((one.name for one in flow.columns if one.name.lower() in gone), None):
                found.broken, found.certain, found.because = f"it writes {lost}", False, key
        for table in statement.writes:
            if (key := table_key(table)) in self.viewed and key not in made_tables(text):
                found.broken, found.certain, found.because = (
                    f"it writes {name(table)}, which becomes a view",
                    False,
                    key,
                )

    def read_by_case(self, statement: Statement, found: Effect) -> None:
        """Note a name without quotes that stands for a column which has capitals then, or for one that had."""
        for table in statement.reads:
            for was, now in self.recased.get(table_key(table), {}).items():
                if names_unquoted(statement.text, self.dialect, was):
                    found.broken, found.certain, found.because = (
                        f"it names {was}, which is {now} then",
                        False,
                        table_key(table),
                    )

    def returned(self, statement: Statement, found: Effect) -> None:
        """Note a lost column that a write returns, and one that holds other values."""
        for table in statement.writes:
            key, effect = table_key(table), self.effect(table)
            for column in self.lost.get(key, ()):
                if (use := self.returned_use(statement, key, column)) is not None:
                    found.broken, found.certain, found.because = use.reason, use.certain, key
            for column, family in (effect.columns if effect is not None else {}).items():
                if self.returned_use(statement, key, column) is not None:
                    found.put({column: family}, sure=column in effect.sure_columns if effect is not None else False)
                    found.because = key

    def returned_use(self, statement: Statement, key: TableName, column: str) -> ReturnedUse | None:
        def read(text: str) -> list[Statement]:
            return analyse(text, self.dialect, self.before)

        def is_changed(table: TableName | None) -> bool:
            return table is not None and (table_key(table) == key or fits(table_key(table), key))

        return find_returned_use(statement, column, read, is_changed)

    @cached_property
    def before(self) -> Catalog:
        """The columns of the tables that the project makes, as they are before the change."""
        return Catalog(
            {key: columns for one in self.old.values() for key, columns in outputs_of(one).items()}, self.dialect
        )

    def reads_by_place(self, text: AnalysedText) -> bool:
        """Return whether a text may take columns by their order: `*` with a UNION, or into a table."""
        kinds = {kind for kind, _ in words(text.text.text, self.dialect)}
        return "STAR" in kinds and bool(kinds & {"UNION", "INTERSECT", "EXCEPT", "INSERT"})

    def widened(self, flow: Flow, found: Effect, text: AnalysedText) -> None:
        """Note what a flow meets of columns that get a wider type: its result has the same values, unless it asks for one type."""
        met = {
            one.field: (kind, one.table)
            for one in (*flow.rows, *(each for output in flow.columns for each in output.inputs))
            if (kind := self.wider(one))
        }
        if not met:
            return
        for output in flow.columns:
            if len(output.inputs) == 1 and output.inputs[0].kinds == IDENTITY and output.inputs[0].field in met:
                found.wider[output.name.lower()] = met[output.inputs[0].field][0]
        every = words(text.text.text, self.dialect)
        for field, (kind, table) in met.items():
            if class_of(kind) == "text":  # Functions of a text take every width.
                continue
            use = next(uses_by_type(every, field), None)
            if use is not None and not found.broken:
                found.broken, found.certain = f"it uses {use}, and {field} becomes {kind}", False
                found.because = table_key(table)

    def wider(self, one: Input) -> str:
        effect = self.effect(one.table)
        return effect.wider.get(one.field.split(".")[0].lower(), "") if effect is not None else ""

    def effect(self, table: TableName) -> Effect | None:
        return self.effects.find(table_key(table))

    def flow(self, flow: Flow, found: Effect) -> None:
        for one in flow.rows:
            hit = self.hit(one)
            if hit is not None and not self.compares_alike(one):
                found.whole, found.because = True, table_key(one.table)
                self.as_type(one, hit, found)
        for output in flow.columns:
            inputs = (*output.inputs, *(one for _, some in output.fields for one in some))
            for one in inputs:
                hit = self.hit(one)
                if hit is None:
                    continue
                plain = one.kinds == IDENTITY
                found.put({output.name.lower(): hit if plain else ""}, sure=self.surely(one))
                if plain and self.compares_alike(one):
                    found.rescaled.add(output.name.lower())
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

    def surely(self, one: Input) -> bool:
        """Return whether a value that comes from a changed column changes whatever the data are."""
        effect = self.effect(one.table)
        return effect is not None and one.kinds == IDENTITY and one.field.split(".")[0].lower() in effect.sure_columns

    def compares_alike(self, one: Input) -> bool:
        effect = self.effect(one.table)
        return effect is not None and one.field.lower() in effect.rescaled

    @staticmethod
    def as_type(one: Input, family: str, found: Effect) -> None:
        if family and one.kinds & ~IDENTITY and not found.broken:
            found.broken, found.certain = f"it uses {one.field}, whose type becomes {family}", False

    def note(
        self, statement: Statement, place: str, effect: Effect, *, edited: bool, is_new: bool, reshaped: bool
    ) -> None:
        if not effect:
            return
        targets = [table_key(flow.target) for flow in statement.flows if flow.target is not None]
        path = self.path(effect.because)
        if effect.broken:
            severity, reason = BREAKS, effect.broken
        elif is_new:
            return
        elif effect.moved and not (effect.whole or effect.columns):
            severity, reason = CHANGES, "its columns stand in another order"
        elif not (effect.whole or effect.columns):
            severity, reason = COSMETIC, "columns get a wider type" if effect.wider else SHUFFLED
        else:
            is_sure = (effect.whole and effect.sure) or effect.sure_columns or effect.moved or reshaped
            severity = CHANGES if is_sure and effect.certain else MAY_CHANGE
            reason = "its rows may be other ones" if effect.whole else "columns hold other values"
        made = {
            table_key(flow.target) for flow in statement.flows if flow.target is not None and flow.action == "CREATE"
        }
        for key in targets:
            if effect.broken and key not in made:
                # The table is there, without the rows of this write; or it is gone itself.
                if not (key in self.effects and self.effects[key].broken):
                    self.effects[key] = Effect(whole=True, certain=effect.certain, because=effect.because)
            else:
                self.effects[key] = msgspec.structs.replace(effect, broken="breaks" if effect.broken else "")
        if reason == SHUFFLED and not edited:
            return
        columns = [] if effect.whole or effect.broken else sorted(effect.columns or effect.wider)
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
