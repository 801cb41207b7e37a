"""Tables that a statement only takes columns from: it left-joins them by a key that their project proves unique. Pure."""

from collections.abc import Iterable, Iterator, Mapping

from headwater.columns.catalog import table_key
from headwater.columns.kinds import JOIN
from headwater.columns.project import AnalysedText
from headwater.columns.result import Flow, Statement, TableName
from headwater.columns.shape.keyed_joins import Keys, Stripped, strip_keyed_joins


class KeyedTables:
    """The tables of a project with keys that hold before a change and after it."""

    def __init__(self, before: Iterable[AnalysedText], after: Iterable[AnalysedText], dialect: str) -> None:
        old = {table_key(one.text.target): one.text.keys for one in before if one.text.target}
        self._dialect = dialect
        self._ephemeral: dict[str, str] = {}
        self._keys: dict[TableName, Keys] = {}
        for one in after:
            if one.text.target is None:
                continue
            key = table_key(one.text.target)
            if held := [frozenset(columns) for columns in one.text.keys if columns in old.get(key, ())]:
                self._keys[key] = held
            if one.text.view == "ephemeral":
                self._ephemeral[key[-1]] = one.text.text

    def strip(self, text: str) -> Stripped | None:
        """Return a text without its left joins by such a key; None in doubt."""
        return strip_keyed_joins(text, self._dialect, self._keys) if self._keys else None

    def added_columns(self, statement: Statement, table: TableName, text: str) -> set[str] | None:
        """Return the columns of a statement's result, in lower case, that other rows of a table can change; None if they can change its rows."""
        if table not in self._keys:
            return None
        by: set[str] = set()
        compared: set[str] = set()
        for one in self._with_ephemeral(text):
            stripped = self.strip(one)
            if stripped is None or (table[-1] in one.lower() and table not in stripped.joins):
                return None
            by |= stripped.columns.get(table, frozenset())
            compared |= stripped.compared
        return columns_of(statement.flows, {table: by}) if by and not by & compared else None

    def _with_ephemeral(self, text: str) -> Iterator[str]:
        """Yield a text and those of the ephemeral models in it."""
        waiting, seen = [text], {text}
        while waiting:
            one = waiting.pop()
            yield one
            more = [other for name, other in self._ephemeral.items() if name in one.lower() and other not in seen]
            seen.update(more)
            waiting += more


def columns_of(flows: Iterable[Flow], tables: Mapping[TableName, Iterable[str]]) -> set[str] | None:
    """Return the columns that are made of these tables; None if a table decides about rows otherwise than in its join by the columns given."""
    found = set()
    for flow in flows:
        for one in flow.rows:
            by = tables.get(table_key(one.table))
            if by is not None and (one.kinds != JOIN or one.field.lower() not in by):
                return None
        for output in flow.columns:
            inputs = (*output.inputs, *(one for _, some in output.fields for one in some))
            if any(table_key(one.table) in tables for one in inputs):
                found.add(output.name.lower())
    return None if "*" in found else found
