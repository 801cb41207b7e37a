"""DuckDB as an oracle that knows nothing of lineage: change one column's values, and what changes in the answer depends on it.

It says what an engine must not miss, never what it may leave out: values may happen not to matter.
"""

import random
from collections import Counter
from typing import Any

from tests.oracle.edges import Edges
from tests.oracle.generate import LIST, NUMBER, PAIRS, SCHEMAS, STRUCT, TEXT

ROWS = 14
_TYPES = {
    NUMBER: "bigint", TEXT: "varchar", STRUCT: "struct(a bigint, b varchar)", LIST: "bigint[]",
    PAIRS: "struct(p bigint, q varchar)[]",
}  # fmt: skip
Answer = list[Counter[str]]


class Land:
    """Small tables of random values, which few enough differ for joins to meet."""

    def __init__(self, seed: int) -> None:
        import duckdb

        self.dice = random.Random(seed)
        self.connection = duckdb.connect(config={"threads": 1})
        for table, fields in SCHEMAS.items():
            said = ", ".join(f"{name} {_TYPES[kind]}" for name, kind in fields.items())
            self.connection.execute(f"create table {table}_kept (place integer, {said})")
            places = ", ".join("?" for _ in range(len(fields) + 1))
            rows = [[place, *(self._value(kind) for kind in fields.values())] for place in range(ROWS)]
            self.connection.executemany(f"insert into {table}_kept values ({places})", rows)
            self.connection.execute(f"create view {table} as select * exclude (place) from {table}_kept")

    def _value(self, kind: str) -> Any:
        number, text = (
            self.dice.choice([None, 0, 1, 1, 2, 2, 3, 4, 5, 6]),
            self.dice.choice([None, "a", "a", "ab", "b", "bab"]),
        )
        if kind == NUMBER:
            return number
        if kind == TEXT:
            return text
        if kind == STRUCT:
            return {"a": number, "b": text}
        count = self.dice.randint(0, 3)
        if kind == LIST:
            return [self.dice.randint(0, 6) for _ in range(count)]
        return [{"p": self.dice.randint(0, 6), "q": self.dice.choice("ab")} for _ in range(count)]

    def answer(self, text: str) -> Answer:
        """Each output column's values, in any order. Raises duckdb.Error."""
        rows = self.connection.execute(text).fetchall()
        width = len(self.connection.description or ())
        return [Counter(repr(row[place]) for row in rows) for place in range(width)]

    def observed(self, text: str, tables: set[str], times: int = 1) -> list[set[str]]:
        """Return the columns of `tables` whose change changed each output column."""
        before = self.answer(text)
        found: list[set[str]] = [set() for _ in before]
        for table in sorted(tables):
            for name, kind in SCHEMAS[table].items():
                for _ in range(times):
                    self.connection.execute("begin")
                    for place in range(ROWS):
                        self.connection.execute(
                            f"update {table}_kept set {name} = ? where place = {place}", [self._value(kind)]
                        )
                    after = self.answer(text)
                    self.connection.execute("rollback")
                    for position, (was, now) in enumerate(zip(before, after, strict=True)):
                        if was != now:
                            found[position].add(f"{table}.{name}")
        return found

    def close(self) -> None:
        self.connection.close()


def missed(observed: list[set[str]], said: Edges) -> list[str]:
    """Return the columns that were seen to matter and are not among the edges."""
    if len(observed) != len(said.columns):
        return [f"{len(said.columns)} columns, not {len(observed)}"]
    return [
        f"column {position} {name}: {column} matters and is missing"
        for position, (seen, (name, inputs)) in enumerate(zip(observed, said.columns, strict=True))
        for column in sorted(seen - inputs.keys() - said.rows.keys())
    ]
