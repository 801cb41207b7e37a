"""The schemas an analysis may use: which columns a table has, as of the time the caller chose. Plain values, built once and shared.

Names are matched without case where the dialect does so, and by their last parts when one side has fewer of them and only one table fits.
"""

import re
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from types import MappingProxyType

from headwater.columns.dialect import EXTERNAL, fold, rules
from headwater.columns.nested import Inner, nested_fields
from headwater.columns.result import TableName

_REMEMBERED = 100_000


class Schema:
    """One table: its name and columns as the catalog spells them, and `keys`, the same as the dialect folds them.

    `own`: the keys of columns whose values the table makes itself, which an INSERT by place may pass over.
    `fields`: those inside columns that are structs, or arrays of them, by key: (name, its own fields) in order.
    `doubt`: why the list may not be right, where a statement that was understood in part made it; "" otherwise.
    """

    __slots__ = ("columns", "doubt", "fields", "keys", "name", "own", "positions")

    def __init__(
        self,
        name: TableName,
        columns: Iterable[str],
        dialect: str,
        own: Iterable[str] = (),
        doubt: str = "",
        fields: Mapping[str, Inner] = MappingProxyType({}),
    ) -> None:
        rule = rules(dialect)
        self.name = name
        self.doubt = doubt
        self.columns = tuple(columns)
        self.own = frozenset(own)
        self.fields = dict(fields)
        upper = rule.fold == "upper" and not rule.insensitive
        same = rule.fold == "same" and not rule.insensitive
        self.keys = self.columns if same else tuple(one.upper() if upper else one.lower() for one in self.columns)
        self.positions = {key: place for place, key in enumerate(self.keys)}
        if not rule.insensitive and not same:
            for place, column in enumerate(self.columns):
                self.positions.setdefault(column, place)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self._fields() == other._fields()

    def _fields(self) -> tuple[object, ...]:
        return self.name, self.columns, self.keys, self.own, self.doubt, self.fields

    def __hash__(self) -> int:
        return hash((self.name, self.columns))

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (self.name, self.columns, self.keys, self.positions, self.own, self.doubt, self.fields)


def _restore(
    name: TableName,
    columns: tuple[str, ...],
    keys: tuple[str, ...],
    positions: dict[str, int],
    own: frozenset[str] = frozenset(),
    doubt: str = "",
    fields: Mapping[str, Inner] = MappingProxyType({}),
) -> Schema:
    found = Schema.__new__(Schema)
    found.doubt, found.fields = doubt, dict(fields)
    found.name, found.columns, found.keys, found.positions, found.own = name, columns, keys, positions, own
    return found


class Catalog:
    """Tables to their columns in order. Keys are names: `"db.schema.table"` (quotes keep a dot) or tuples of parts.

    A table with no columns given is as good as unknown. `dialect`: the one it is most often asked in; `of` gives it for another.
    """

    def __init__(self, tables: Mapping[str | TableName, Iterable[str]] | None = None, dialect: str = "") -> None:
        self.dialect = dialect
        self._exact: dict[TableName, Schema] = {}
        self._by_last: dict[str, list[Schema]] = {}
        self._found: dict[TableName, Schema | None] = {}
        self._version = b""
        self._others: dict[str, Catalog] = {}
        for name, columns in (tables or {}).items():
            parts = split_name(name) if isinstance(name, str) else tuple(name)
            listed = tuple(columns)
            if not parts or not listed:
                continue
            typed = columns.items() if isinstance(columns, Mapping) else ()
            fields = {
                fold(name, True, rules(dialect)) if not rules(dialect).insensitive else name.lower(): inner
                for name, kind in typed
                if isinstance(kind, str) and (inner := nested_fields(kind, dialect))
            }
            schema = Schema(parts, listed, dialect, fields=fields)
            self._exact[table_key(parts)] = schema
            self._by_last.setdefault(parts[-1].lower(), []).append(schema)

    def of(self, dialect: str) -> "Catalog":
        """The same tables, their columns folded as `dialect` folds them."""
        if rules(dialect) is rules(self.dialect):
            return self
        found = self._others.get(dialect)
        if found is None:
            tables: dict[str | TableName, Iterable[str]] = {one.name: one.columns for one in self._exact.values()}
            found = self._others[dialect] = Catalog(tables, dialect)
            for one in self._exact.values():
                if one.fields:
                    places = dict(zip(one.keys, range(len(one.keys)), strict=True))
                    other = found._exact[table_key(one.name)]
                    other.fields = {other.keys[places[key]]: inner for key, inner in one.fields.items()}
        return found

    def __len__(self) -> int:
        return len(self._exact)

    @property
    def version(self) -> bytes:
        """Equal for catalogs of the same tables in the same order. Made at the first call, of all of them."""
        if not self._version:
            known = [
                (one.name, one.columns, one.keys, one.fields) for listed in self._by_last.values() for one in listed
            ]
            self._version = blake2b(repr(known).encode("utf-8", "surrogatepass"), digest_size=16).digest()
        return self._version

    def find(self, name: TableName) -> Schema | None:
        """The schema of a table, or None when it is unknown or several would fit."""
        if not self._exact:
            return None
        if name in self._found:
            return self._found[name]
        found = self._find(name)
        if len(self._found) < _REMEMBERED:
            self._found[name] = found
        return found

    def _find(self, name: TableName) -> Schema | None:
        key = table_key(name)
        found = self._exact.get(key)
        if found is not None:
            return found
        fitting: list[Schema] = []
        if key[0].startswith(EXTERNAL):
            return None
        for one in self._by_last.get(key[-1], ()):
            other = table_key(one.name)
            shorter = min(len(key), len(other))
            if len(key) != len(other) and key[-shorter:] == other[-shorter:]:
                fitting.append(one)
        return fitting[0] if len(fitting) == 1 else None


class GrowingCatalog(Catalog):
    """A catalog that learns, and forgets: the tables of `known`, and what is recorded from then on. `known` stays as it is."""

    def __init__(self, known: Catalog) -> None:
        super().__init__(dialect=known.dialect)
        self._exact = dict(known._exact)
        self._by_last = {last: list(schemas) for last, schemas in known._by_last.items()}

    def record(
        self,
        name: TableName,
        columns: Iterable[str],
        own: Iterable[str] = (),
        doubt: str = "",
        fields: Mapping[str, Inner] = MappingProxyType({}),
    ) -> None:
        """Give a table its columns, in place of those it had. `doubt`, `fields`: see `Schema`."""
        self.forget(name)
        schema = Schema(name, columns, self.dialect, own, doubt, fields)
        self._exact[table_key(name)] = schema
        self._by_last.setdefault(name[-1].lower(), []).append(schema)

    def forget(self, name: TableName) -> None:
        """Make a table's columns unknown; nothing happens for a table that is."""
        key = table_key(name)
        self._exact.pop(key, None)
        last = self._by_last.get(name[-1].lower(), [])
        last[:] = [one for one in last if table_key(one.name) != key]
        self._found.clear()
        self._others.clear()
        self._version = b""


def table_key(parts: TableName) -> TableName:
    """Return the parts of a name as tables are matched by them: without case."""
    return tuple(part.lower() for part in parts)


def split_name(text: str) -> TableName:
    """The parts of a dotted name; a part in double quotes, backticks or brackets may hold dots."""
    parts: list[str] = []
    current: list[str] = []
    closing = ""
    for character in text:
        if closing:
            if character == closing:
                closing = ""
            else:
                current.append(character)
        elif character in _QUOTES:
            closing = _QUOTES[character]
        elif character == ".":
            parts.append("".join(current))
            current = []
        else:
            current.append(character)
    parts.append("".join(current))
    return tuple(part for part in parts if part)


def folded_name(text: str, dialect: str) -> TableName:
    """The parts of a dotted name as `dialect` reads them: what is not quoted is folded, where the dialect folds to one case."""
    rule = rules(dialect)
    parts: list[str] = []
    for part in _SPLIT.findall(text):
        quoted = part[:1] in _QUOTES
        bare = "".join(split_name(part))
        if bare:
            parts.append(bare if quoted or rule.fold == "same" else fold(bare, False, rule))
    return tuple(parts)


_SPLIT = re.compile(r"""(?:"[^"]*"|`[^`]*`|\[[^\]]*\]|[^."`\[])+""")
_QUOTES = {'"': '"', "`": "`", "[": "]"}
