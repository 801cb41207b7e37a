"""The change of a text's own result by an edit: these columns, if the edit is in its SELECT list alone, else all rows. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from headwater.answer.whatif.types import class_of
from headwater.capture.dbt.project import SNAPSHOT_COLUMNS, snapshot_queries
from headwater.cli.review.column_types import KnownTypes, cast_of, is_rescaled, shows_alike
from headwater.cli.review.enriching import KeyedTables, columns_of
from headwater.cli.review.rewrites import Rewrites
from headwater.cli.review.texts import changed_values, retyped_columns
from headwater.cli.review.texts import columns_of as columns_of_text
from headwater.columns.project import AnalysedText, Text
from headwater.columns.result import Flow, TableName
from headwater.columns.shape.words import SelectList, Word, cast_types, select_list, words

RENAMED = "its columns have other names"
SHUFFLED = "its rows stand in another order"


class Effect(msgspec.Struct):
    """The change of one table as its readers meet it. `whole`: its rows. `columns`: changed values, each with the family of its new type, or "".
    `wider`: columns that hold the same values, each with its wider type; `rescaled`: of `columns`, those that compare as before. `moved`: its columns
    stand in another order; `shuffled`: its rows do. `maybe`: of `columns`, those that hold other values only if the data have a row that shows it;
    `sure`: rows of `whole` differ whatever the data are."""

    whole: bool = False
    sure: bool = False
    maybe: set[str] = set()
    broken: str = ""
    certain: bool = True
    columns: dict[str, str] = {}
    shuffled: bool = False
    wider: dict[str, str] = {}
    rescaled: set[str] = set()
    moved: bool = False
    because: TableName | None = None

    def add(self, own: Effect) -> None:
        """Add the change of the table's own text."""
        if own.broken and not self.broken:
            self.broken, self.certain = own.broken, own.certain
        sure = self.sure_columns | own.sure_columns
        self.whole, self.columns = self.whole or own.whole, own.columns | self.columns
        self.sure, self.maybe = self.sure or own.sure, self.columns.keys() - sure
        self.shuffled, self.because = self.shuffled or own.shuffled, self.because or own.because
        self.wider, self.rescaled = own.wider | self.wider, own.rescaled | self.rescaled

    @property
    def sure_columns(self) -> set[str]:
        """The columns that hold other values whatever the data are."""
        return self.columns.keys() - self.maybe

    def put(self, columns: dict[str, str], *, sure: bool) -> None:
        """Add changed columns, each with the family of its new type."""
        known = self.sure_columns
        self.columns = self.columns | columns
        self.maybe = self.columns.keys() - known - (columns.keys() if sure else set())

    def __bool__(self) -> bool:
        return bool(self.whole or self.broken or self.columns or self.wider or self.moved or self.shuffled)


class Edits:
    """Judges edits of texts. `types`: of columns before the change."""

    def __init__(self, dialect: str, types: KnownTypes, keyed: KeyedTables, rewrites: Rewrites) -> None:
        self._dialect, self._types, self._keyed, self._rewrites = dialect, types, keyed, rewrites

    def effect(self, old: AnalysedText, new: AnalysedText) -> Effect:
        """Return what an edit changes in its own result: columns if all else of its rows provably is the same, the order of rows, or all rows."""
        if refused := self._rewrites.refused(old.text, new.text):
            return Effect(whole=True, broken=f"it {refused[0]}", certain=False)
        found = _edit_of_text(old, new, self._dialect, self._types, self._keyed)
        if found.whole:
            if self._rewrites.is_reordered(old.text, new.text):
                return Effect(shuffled=True)
            columns = self._rewrites.changed_columns(old.text, new.text)
            if columns is None:
                found.sure = self._rewrites.surely_other_rows(old.text, new.text)
                return found
            found = Effect(columns=dict.fromkeys(sorted(columns), ""))
        sure = self._rewrites.surely_changed(old.text, new.text) | (columns_of_text(old) ^ columns_of_text(new))
        found.maybe = {one for one, family in found.columns.items() if not family and one not in sure} - found.rescaled
        return found


def _edit_of_text(old: AnalysedText, new: AnalysedText, dialect: str, types: KnownTypes, keyed: KeyedTables) -> Effect:
    """Return the columns that an edit changes if it is in the SELECT list, or in left joins by a unique key; else all rows."""
    flows = [[flow for statement in one.statements for flow in statement.flows] for one in (old, new)]
    if (queries := snapshot_queries(old.text.text, new.text.text)) is not None:
        return _edit_of_snapshot(queries, flows, dialect, types)
    found = _edit_of((old.text.text, new.text.text), flows, set(), dialect, types)
    if not found.whole:
        return found
    before, now = keyed.strip(old.text.text), keyed.strip(new.text.text)
    if before is None or now is None:
        return found
    tables = [one for one in before.joins.keys() | now.joins.keys() if before.joins.get(one) != now.joins.get(one)]
    by = {one: before.columns.get(one, frozenset()) | now.columns.get(one, frozenset()) for one in tables}
    joined = columns_of((flow for some in flows for flow in some), by)
    return _edit_of((before.text, now.text), flows, joined, dialect, types) if joined else found


def _edit_of_snapshot(
    queries: tuple[str, str], flows: Sequence[Sequence[Flow]], dialect: str, types: KnownTypes
) -> Effect:
    """Compare the queries of a snapshot: a column more or fewer changes no rows; another value of one may make new ones."""
    own = [[msgspec.structs.replace(flow, columns=flow.columns[:-SNAPSHOT_COLUMNS]) for flow in some] for some in flows]
    found = _edit_of(queries, own, set(), dialect, types)
    before, now = ({one.name.lower() for flow in some for one in flow.columns} for some in own)
    return found if not found.whole and not found.wider and found.columns.keys() <= before ^ now else Effect(whole=True)


def edit_of_seed(old: Text, new: Text) -> tuple[Effect, str]:
    """Return what an edit changes in a seed, with the reason in words."""
    changed, retyped = changed_values(old, new), retyped_columns(old, new)
    if changed is None and not retyped and old.columns == new.columns and old.unordered == new.unordered != "":
        return Effect(shuffled=True), SHUFFLED
    if changed is None:
        return Effect(whole=True, sure=True, columns=retyped), "its rows may be other ones"
    reason = "columns hold other values" if changed else "columns get another type" if retyped else RENAMED
    return Effect(columns=dict.fromkeys(sorted(changed), "") | retyped), reason


def _edit_of(
    texts: tuple[str, str], flows: Sequence[Sequence[Flow]], joined: set[str], dialect: str, types: KnownTypes
) -> Effect:
    """Compare two texts of one result. `joined`: columns that change by parts which the texts lack."""
    parts = [select_list(words(one, dialect)) for one in texts]
    if parts[0] is None or parts[1] is None or len(flows[0]) != 1 or len(flows[1]) != 1:
        return Effect(whole=True)
    before, now = ([output.name.lower() for output in some[0].columns] for some in flows)
    same = (parts[0].before, parts[0].after, parts[0].named) == (parts[1].before, parts[1].after, parts[1].named)
    if not same or "*" in {*before, *now}:
        return Effect(whole=True)
    was, became = _by_column(parts[0], before), _by_column(parts[1], now)
    if was is None or became is None:
        return Effect(whole=True)
    retyped = _retyped(was, became, flows[0][0], types)
    wider = {one: new for one, (old_type, new) in retyped.items() if shows_alike(old_type, new)}
    different = {one for one in was.keys() | became.keys() if was.get(one) != became.get(one)} - wider.keys() | joined
    elsewhere = [item for one, item in became.items() if one not in different]
    others = {text.lower() for item in (*elsewhere, parts[1].after) for _, text in item} if elsewhere else set()
    if any(_decides(item, parts[1].after) for one in different for item in (was.get(one), became.get(one)) if item):
        return Effect(whole=True)
    # A column of a table that is read goes before an alias of the same name.
    aliases = different - {one.field.lower() for output in flows[1][0].columns for one in output.inputs}
    if aliases & {text for item in elsewhere for _, text in item} and others & aliases & was.keys() & became.keys():
        return Effect(whole=True)  # An item may use another by its alias.
    columns = {one: _family(was.get(one, ()), became.get(one, ()), retyped.get(one)) for one in sorted(different)}
    rescaled = {one for one, (old_type, new) in retyped.items() if one in columns and is_rescaled(old_type, new)}
    return Effect(columns=columns, wider=wider, rescaled=rescaled)


def _retyped(
    was: dict[str, tuple[Word, ...]], became: dict[str, tuple[Word, ...]], flow: Flow, known: KnownTypes
) -> dict[str, tuple[str, str]]:
    """Return the old and the new type of each column of which nothing but a cast changes, if both are known."""
    outputs = {output.name.lower(): output for output in flow.columns}
    found = {}
    for one in was.keys() & became.keys():
        (old, old_cast), (new, new_cast) = cast_of(was[one]), cast_of(became[one])
        if was[one] == became[one] or old != new:
            continue
        plain = known.of_output(None, outputs[one])
        types = old_cast or known.of_output(flow.target, outputs[one]), new_cast or plain
        if all(types):
            found[one] = types
    return found


def _decides(item: Sequence[tuple[str, str]], after: Sequence[tuple[str, str]]) -> bool:
    """Return whether an item may decide about rows: an aggregate without a group, or a function that makes rows."""
    calls = any(kind == "L_PAREN" for kind, _ in item)
    makes = any(
        text in {"unnest", "explode", "posexplode", "flatten", "generate_series"} or "regexp_split" in text
        for _, text in item
    )
    return makes or (
        calls and not any(kind == "GROUP_BY" for kind, _ in after) and any(text in _AGGREGATES for _, text in item)
    )


def _family(old: tuple[Word, ...], new: tuple[Word, ...], types: tuple[str, str] | None) -> str:
    """Return the family of the type that a column gets by a cast that it had not; "" if its type stays, or changes among numbers.
    `types`: the old and the new one, where both are known."""
    was, becomes = ((types[0],), (types[1],)) if types else (cast_types(old), cast_types(new))
    if was == becomes or not old or not new:
        return ""
    families = [class_of(one[-1]) if one else "" for one in (was, becomes)]
    if families[0] == families[1] or set(families) == {"whole", "real"}:
        return ""
    return families[1] or "another"


_AGGREGATES = frozenset(
    "count sum min max avg array_agg string_agg listagg any_value bool_or bool_and median stddev variance".split()
)


def _by_column(parts: SelectList, columns: list[str]) -> dict[str, tuple[Word, ...]] | None:
    """Return the item of each column, a `*` as its columns if there is only one; None where they do not meet."""
    if sum(item[-1:] == (("STAR", "*"),) for item in parts.items) > 1:
        return None
    items: list[tuple[Word, ...]] = []
    for item in parts.items:
        if item[-1:] == (("STAR", "*"),) and (len(item) == 1 or item[-2][0] == "DOT"):
            count = len(columns) - len(parts.items) + 1
            prefix = item[:-1]
            items += [(*prefix, ("VAR", one)) for one in columns[len(items) : len(items) + count]]
        elif len(item) == 1 and item[0][0] not in {"STRING", "NUMBER", "STAR"}:
            items.append((("VAR", item[0][1]),))
        else:
            items.append(item)
    if len(items) != len(columns) or len({*columns}) != len(columns):
        return None
    return dict(zip(columns, items, strict=True))
