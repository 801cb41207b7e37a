"""The columns behind each column of a question that was made with Metabase's builder. Pure.

A question's `result_metadata` names its columns, each with a reference into the query: to a field by its number or name, an aggregation or an
expression.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from headwater.model.names import DatasetName

Column = tuple[DatasetName, str]
Query = Mapping[str, Any]
# The field with this number, in this table; None if the user may not see it. The dataset of a table's number, or of `card__12`.
FieldOf = Callable[[int], Column | None]
SourceOf = Callable[[int | str], DatasetName | None]
_DEEPEST: Final = 20


class Builder:
    """Questions of one Metabase. `columns_of`: the names of another question's columns."""

    def __init__(self, field: FieldOf, source: SourceOf, columns_of: Callable[[str], Sequence[str]]) -> None:
        self._field, self._source, self._columns_of = field, source, columns_of

    def find_columns(self, query: Query, shown: Sequence[Mapping[str, Any]]) -> dict[str, list[Column]]:
        """Return what each column is made of. `shown`: `result_metadata`; without it a question over another has that one's columns."""
        found: dict[str, list[Column]] = {}
        for one in shown:
            name, reference = one.get("name"), one.get("field_ref")
            if isinstance(name, str):
                found[name] = list(dict.fromkeys(self._resolve(reference, query, 0)))
        if not found and not any(query.get(key) for key in ("fields", "breakout", "aggregation")):
            source = query.get("source-table")
            if isinstance(source, str) and (dataset := self._source(source)) is not None:
                found = {name: [(dataset, name)] for name in self._columns_of(source)}
        return found

    def _resolve(self, reference: object, query: Query, depth: int) -> Iterator[Column]:
        if not isinstance(reference, list) or len(reference) < 2 or depth > _DEEPEST:
            return
        kind, what = reference[0], reference[1]
        options = reference[2] if len(reference) > 2 and isinstance(reference[2], dict) else {}
        if kind == "field" and isinstance(what, int):
            if (column := self._field(what)) is not None:
                yield column
        elif kind == "field" and isinstance(what, str):
            yield from self._named(what, options.get("join-alias"), query, depth)
        elif kind == "expression":
            yield from self._within((query.get("expressions") or {}).get(what), query, depth + 1)
        elif kind == "aggregation" and isinstance(what, int):
            listed = query.get("aggregation") or []
            yield from self._within(listed[what] if 0 <= what < len(listed) else None, query, depth + 1)

    def _within(self, clause: object, query: Query, depth: int) -> Iterator[Column]:
        """Yield the columns that a clause names, at any depth."""
        if isinstance(clause, list) and depth <= _DEEPEST:
            if clause and clause[0] in {"field", "expression"}:
                yield from self._resolve(clause, query, depth)
            else:
                for part in clause:
                    yield from self._within(part, query, depth + 1)

    def _named(self, name: str, alias: object, query: Query, depth: int) -> Iterator[Column]:
        """Yield a column of what the query reads, by its name there."""
        joined = (one for one in query.get("joins") or [] if one.get("alias") == alias)
        inner = query if alias is None else next(joined, None)
        if inner is None:
            return
        below = inner.get("source-query")
        if isinstance(below, dict):
            yield from self._of_query(name, below, depth + 1)
        elif (source := inner.get("source-table")) is not None and (dataset := self._source(source)) is not None:
            yield dataset, name

    def _of_query(self, name: str, query: Query, depth: int) -> Iterator[Column]:
        """Yield what the column of a query inside of the question is made of: a group, a field, or the aggregation with this name."""
        if name in (query.get("expressions") or {}):
            yield from self._resolve(["expression", name], query, depth)
            return
        for reference in [*(query.get("breakout") or []), *(query.get("fields") or [])]:
            made = list(self._resolve(reference, query, depth))
            if [column for _, column in made] == [name]:
                yield from made
                return
        names = _aggregation_names(query.get("aggregation") or [])
        if name in names:
            yield from self._resolve(["aggregation", names.index(name)], query, depth)
        elif not query.get("breakout") and not query.get("aggregation"):
            yield from self._named(name, None, query, depth)


def _aggregation_names(clauses: Sequence[Any]) -> list[str]:
    """Return the names that Metabase gives: `sum`, and `sum_2` to the second of that kind; or the one that the user gave."""
    found: list[str] = []
    for clause in clauses:
        kind, options = str(clause[0]), {}
        if kind == "aggregation-options" and len(clause) > 2 and isinstance(clause[2], dict):
            kind, options = str(clause[1][0]), clause[2]
        name = str(options.get("name") or {"distinct": "count", "cum-sum": "sum", "cum-count": "count"}.get(kind, kind))
        seen = sum(one == name or one.startswith(f"{name}_") for one in found)
        found.append(f"{name}_{seen + 1}" if seen else name)
    return found
