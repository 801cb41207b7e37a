"""Writes `schema.sql`, the schema as it is now, from the migrations; and reads a database's catalog, so that the two can be compared.

`python -m tests.store.schema` writes the file. The migrations are replayed as text: what was dropped is left out, columns added later stand in
their table, comments stay above what they speak of. A comment that was edited in the file stays: applied migrations are never edited, words are.
`test_schema.py` compares what the file makes with what the migrations make.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg

from headwater.store import migrate

PATH = Path(migrate.__file__).parent / "schema.sql"
HEAD = """\
-- The schema as the migrations leave it, to be read: nothing runs this file. A test compares it with what the migrations make;
-- `python -m tests.store.schema` writes it again after a new one, and keeps comments that were edited here.

set check_function_bodies = off;
"""
_NAME = r"(?:if (?:not )?exists )?(\w+)"
_PIECE = re.compile(r"\$(\w*)\$.*?\$\1\$|'(?:[^']|'')*'|--[^\n]*|;", re.DOTALL)
_MADE = re.compile(
    r"create (?:or replace )?(?:unlogged )?(?:unique )?(extension|table|index|view|materialized view|function|trigger|type|sequence) "
    + _NAME,
    re.IGNORECASE,
)
_DROPPED = re.compile(r"drop (table|index|view|materialized view|function|trigger|type|sequence) (?:if exists )?(.+)", re.I | re.S)  # fmt: skip
_ADDED = re.compile(r"alter table " + _NAME + r"\s+add column (?:if not exists )?(.+)", re.I | re.S)

_OF_INDEX = re.compile(r"alter index " + _NAME, re.IGNORECASE)
_OF_TABLE = re.compile(r"(?:alter table|insert into) " + _NAME, re.IGNORECASE)


def statements(sql: str) -> list[tuple[str, str]]:
    """(comment above it, statement) for each statement, without its semicolon."""
    found, begin = [], 0
    for piece in _PIECE.finditer(sql):
        if piece[0] == ";":
            found.append(_parted(sql[begin : piece.start()]))
            begin = piece.end()
    return found


def _parted(text: str) -> tuple[str, str]:
    lines = text.strip("\n").split("\n")
    first = next(i for i, line in enumerate(lines) if line.strip() and not line.startswith("--"))
    above = first
    while above and lines[above - 1].startswith("--"):
        above -= 1
    return "\n".join(lines[above:first]), "\n".join(lines[first:]).strip()


class Replay:
    """The objects that the migrations leave, in the order they were made, each with the statements that belong to it."""

    def __init__(self) -> None:
        self.made: dict[tuple[str, str], list[str]] = {}
        self.table_of: dict[tuple[str, str], str] = {}

    def run(self, comment: str, text: str) -> None:
        whole = f"{comment}\n{text}".strip()
        if match := _MADE.match(text):
            self._make(match[1].lower(), match[2], whole, text)
        elif match := _DROPPED.match(text):
            for name in re.split(r"[,\s]+", match[2]):
                self._drop(match[1].lower(), name.partition("(")[0])
        elif (match := _ADDED.match(text)) and not self._calls(text):
            table = self.made["table", match[1]]
            for column in re.split(r",\s*add column (?:if not exists )?", match[2]):
                table[0] = _with_column(table[0], comment, column)
                comment = ""
        elif match := _OF_INDEX.match(text):
            self.made["table", self.table_of["index", match[1]]].append(whole)
        elif (match := _OF_TABLE.match(text)) and ("table", match[1]) in self.made:
            self.made["table", match[1]].append(whole)

    def _make(self, kind: str, name: str, whole: str, text: str) -> None:
        if kind in {"index", "trigger"}:
            on = re.search(r"\bon (\w+)", text, re.IGNORECASE)
            assert on is not None
            self.table_of[kind, name] = on[1]
            if kind == "index" and not self._calls(text):
                self.made["table", on[1]].append(whole)
                return
        if part := re.search(r"partition of (\w+)", text, re.IGNORECASE):
            self.made["table", part[1]].append(whole)
            return
        old = self.made.pop((kind, name), None) if kind == "view" else None
        self.made[kind, name] = [whole if whole.startswith("--") or not old else _comment(old[0]) + whole]

    def _calls(self, text: str) -> bool:
        """Return whether it needs a function of ours, so that its place matters."""
        return any(kind == "function" and re.search(rf"\b{name}\(", text) for kind, name in self.made)

    def _drop(self, kind: str, name: str) -> None:
        self.made.pop((kind, name), None)
        if kind == "table":
            self.made = {key: value for key, value in self.made.items() if self.table_of.get(key) != name}
        if kind == "index" and (table := self.table_of.get((kind, name))) and ("table", table) in self.made:
            held = self.made["table", table]
            held[:] = [one for one in held if not re.search(rf"(?m)^create (unique )?index {name} ", one)]

    def text(self) -> str:
        return HEAD + "".join("\n" + ";\n".join(held) + ";\n" for held in self.made.values())


def _comment(text: str) -> str:
    return "".join(line + "\n" for line in text.split("\n") if line.startswith("--"))


def _with_column(table: str, comment: str, column: str) -> str:
    """The table's statement with one more column after its last, before what holds of the whole table."""
    lines = table.split("\n")
    end = next(i for i, line in enumerate(lines) if line.startswith(")"))
    place = end
    while re.match(r"\s+(primary key|unique|check|constraint|foreign key)\b", lines[place - 1]):
        place -= 1
    if not lines[place - 1].endswith(","):
        lines[place - 1] += ","
    said = [f"  {line}" for line in comment.split("\n") if line]
    return "\n".join([*lines[:place], *said, f"  {column.strip()}{',' if place < end else ''}", *lines[place:]])


def replayed(edited: str) -> str:
    """The text of schema.sql that the migrations come to, with the comments of `edited` above each line of code that it has too."""
    replay = Replay()
    for _, sql in migrate.files():
        for comment, text in statements(sql):
            replay.run(comment, text)
    comments = {place: above for place, above, _ in _commented(edited)}
    body = "".join(
        "".join(f"{each}\n" for each in [*comments.get(place, above), line])
        for place, above, line in _commented(replay.text().removeprefix(HEAD))
    )
    return HEAD + body


def _commented(text: str) -> Iterator[tuple[tuple[str, str], list[str], str]]:
    """Each line of code: its place (the first line of its statement, and itself), the comments above it, and the line.

    Blank lines take no comments. Comments in the body of a function are code: PostgreSQL keeps them.
    """
    statement, above, in_body = "", list[str](), False
    for line in text.splitlines():
        if line.lstrip().startswith("--") and not in_body:
            above.append(line)
            continue
        in_body ^= line.count("$$") % 2 == 1
        if not line.startswith((" ", ")")):
            statement = line
        yield (statement, line.rstrip(",")), above, line
        above = []


# The objects of a database but for the schema `lineage`, which is made whole from one file, each as lines of text without numbers that differ from database to database.
_CATALOG = {
    "extension": "select extname from pg_extension",
    "relation": """
        select c.relname, c.relkind, c.relpersistence, c.reloptions, pg_get_partkeydef(c.oid), pg_get_expr(c.relpartbound, c.oid), i.inhparent::regclass
        from pg_class c left join pg_inherits i on i.inhrelid = c.oid
        where c.relnamespace = 'public'::regnamespace and c.relkind <> 'i' and c.relname <> all(%(but)s)""",
    "column": """
        select c.relname, row_number() over (partition by c.oid order by a.attnum), a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
               pg_get_expr(d.adbin, d.adrelid), a.attidentity, a.attgenerated, a.attstorage, a.attcompression, a.attstattarget, a.attcollation::regcollation
        from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
        where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm') and c.relname <> all(%(but)s)""",
    "constraint": """
        select conrelid::regclass, conname, pg_get_constraintdef(oid) from pg_constraint
        where connamespace = 'public'::regnamespace and contype <> 'n' and conrelid::regclass::text <> all(%(but)s)""",
    "index": """
        select pg_get_indexdef(i.indexrelid), c.reloptions, i.indisclustered from pg_index i join pg_class c on c.oid = i.indexrelid
        where c.relnamespace = 'public'::regnamespace and i.indrelid::regclass::text <> all(%(but)s)""",
    "view": "select viewname, definition from pg_views where schemaname = 'public'",
    "function": """
        select p.oid::regprocedure, pg_get_functiondef(p.oid) from pg_proc p
        where p.pronamespace = 'public'::regnamespace and p.prokind <> 'a'
          and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')""",
    "trigger": "select pg_get_triggerdef(oid), tgenabled from pg_trigger where not tgisinternal",
    "type": """
        select t.typname, t.typtype, (select array_agg(e.enumlabel order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid)
        from pg_type t where t.typnamespace = 'public'::regnamespace and t.typtype in ('e', 'd', 'r')""",
    "statistics": "select pg_get_statisticsobjdef(oid) from pg_statistic_ext",
    "comment": """
        select objoid::regclass, objsubid, description from pg_description join pg_class c on c.oid = objoid
        where classoid = 'pg_class'::regclass and objoid > 16384 and c.relnamespace = 'public'::regnamespace""",
}


def catalog(url: str) -> set[str]:
    """Everything a database is made of, and the rows its tables begin with; a line each."""
    found = set()
    with psycopg.connect(url) as connection:
        for kind, query in _CATALOG.items():
            rows: list[Any] = connection.execute(query.encode(), {"but": ["migrations", "migrations_pkey"]}).fetchall()
            found |= {f"{kind}: {' | '.join(map(str, row))}" for row in rows}
        tables = connection.execute(
            "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and relname <> 'migrations'"
        ).fetchall()
        for (table,) in tables:
            rows = connection.execute(f'select t::text from "{table}" t'.encode()).fetchall()
            found |= {f"row of {table}: {row[0]}" for row in rows}
    return found


if __name__ == "__main__":
    PATH.write_text(replayed(PATH.read_text(encoding="utf-8")), encoding="utf-8")
