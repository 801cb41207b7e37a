"""The effects of a change that is not made yet: columns downstream, jobs and views that break, dashboards, entities, people, and whom to warn."""

import asyncio
import difflib
import re
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from headwater.answer.lineage import find, inferred
from headwater.answer.whatif.affected import Dashboard, HitColumn, HitEntity, HitJob, Person, Warned, describe
from headwater.answer.whatif.beside import beside_tables
from headwater.answer.whatif.calls import Around, follow_calls, follow_views, load_around
from headwater.answer.whatif.changes import Question, TableChange, Unjudged, split_target
from headwater.answer.whatif.routines import changed_routines
from headwater.answer.whatif.spread import GONE, spread
from headwater.answer.whatif.statements import Types, read_statements
from headwater.answer.whatif.verdicts import BREAKS, ORDER, Edit, sql_statements
from headwater.errors import Ambiguous, InvalidQuestion, NotFound
from headwater.model import facets
from headwater.store.database import Connection, Database
from headwater.store.history import facets as facet_store
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage.nodes import NodeRow

_MOST_DATASETS = 2_000
_LONGEST_QUOTE = 120
_ONLY = re.compile(r"\b(?:table|truncate|update|from)\s+only\b", re.IGNORECASE)
_SHARED = frozenset({"drop_table", "drop_column", "rename_column", "retype_column", "add_column", "values"})
"""Changes of a table that its partitions and heirs share."""
_OF_ROWS = frozenset({"drop_table", "swap_table", "values"})
"""Changes of a partition or an heir by which the table that it is a part of has other rows."""


class AskedChange(msgspec.Struct, frozen=True):
    """A change that was asked about. `action`: drop_table, rename_table, swap_table, drop_column, rename_column, retype_column, add_column,
    values (other rows), rule (what the table accepts or shows: `to` has the words), unknown (an ALTER that could not be read). `old_type`: of a
    retyped column, null if it is not known.
    """

    action: str
    dataset: str
    column: str | None
    to: str | None
    old_type: str | None


class WhatIf(msgspec.Struct, kw_only=True):
    """The answer. `severity`: the worst of all: breaks, changes_values, cosmetic; null if nothing notices.

    `unknown`: tables of the SQL that the server does not know; the answer leaves them out. `hidden`: datasets past the limit of 2,000, whose
    readers were not looked at. `views`: those of `jobs` that define a view that will not compile. `unjudged`: statements of the question whose
    effects are not known, at least in part.
    """

    severity: str | None
    changes: list[AskedChange]
    unknown: list[str]
    unjudged: list[Unjudged]
    columns: list[HitColumn]
    jobs: list[HitJob]
    views: list[str]
    dashboards: list[Dashboard]
    entities: list[HitEntity]
    people: list[Person]
    pipelines: list[Person]
    warn: list[Warned]
    hidden: int


class _Table(NamedTuple):
    row: NodeRow
    types: dict[str, str]

    def spelling(self, column: str) -> str:
        """The column as the table spells it, whatever its case; as it is given if it is not there."""
        return next((name for name in self.types if name.lower() == column.lower()), column)


async def whatif(database: Database, question: Question) -> WhatIf:
    """Answer one question. Raises InvalidQuestion for none or several, NotFound and Ambiguous for its names."""
    given = [name for name in ("sql", "drop", "rename", "retype") if getattr(question, name) is not None]
    if len(given) != 1:
        raise InvalidQuestion(f"ask one of sql, drop, rename, retype, not {', '.join(given) or 'nothing'}")
    found: dict[str, _Table] = {}
    if question.sql is not None:
        changes, unknown, unjudged, called = await _from_sql(database, question.sql, question.dialect, found)
    else:
        changes, unknown, unjudged, called = [await _from_option(database, question, found)], [], [], {}
    edits: dict[uuid.UUID, list[Edit]] = {}
    rows: dict[uuid.UUID, _Table] = {}
    for change in changes:
        table = found[change.table]
        rows[table.row.id] = table
        column = table.spelling(change.column)
        edit = Edit(change.action, column, change.to, table.types.get(column) or "", change.replaced)
        edits.setdefault(table.row.id, []).append(edit)
    async with database.snapshot() as connection:
        columns = {id_: list(table.types) for id_, table in rows.items()}
        around = await load_around(connection, [rows[id_].row for id_ in edits])
        for id_, some in edits.items():
            if not _changes_form(some):
                continue
            edits[id_] = around.beside(rows[id_].row, [*some, *around.generated(rows[id_].row, some)])
            unjudged += around.published(rows[id_].row, edits[id_])
            called |= dict.fromkeys(around.functions(rows[id_].row, edits[id_]), BREAKS)
        is_alone = question.sql is not None and _ONLY.search(question.sql) is not None
        related = await _relatives(
            database, around, {id_: (rows[id_].row, edits[id_]) for id_ in edits}, is_alone=is_alone
        )
        columns |= {table.row.id: list(table.types) for table, _ in related}
        every = {id_: list(some) for id_, some in edits.items()}
        for table, some in related:
            every.setdefault(table.row.id, []).extend(some)
        reached = await spread(connection, every, columns, _MOST_DATASETS)
        await follow_views(connection, reached, edits)
    unjudged += await follow_calls(database, reached, called)
    async with database.snapshot() as connection:
        told = await describe(connection, reached)
    asked = [
        AskedChange(edit.action, rows[id_].row.node_id, edit.column or None, edit.to or None, edit.old_type or None)
        for id_, some in edits.items()
        for edit in some
        if edit.replaced != "own"
    ]
    worst = max((ORDER.index(verdict.severity) for verdict in reached.jobs.values()), default=0)
    return WhatIf(
        severity=ORDER[worst] or None, changes=asked, unknown=unknown, unjudged=unjudged, hidden=reached.hidden,
        **msgspec.structs.asdict(told),
    )  # fmt: skip


async def _relatives(
    database: Database, around: Around, edits: Mapping[uuid.UUID, tuple[NodeRow, list[Edit]]], *, is_alone: bool
) -> list[tuple[_Table, list[Edit]]]:
    """Return the partitions and heirs of changed tables, with the changes that they share, the tables that have the changed rows too, and sequences
    that are dropped with their owner.

    `is_alone`: the statement says ONLY, so no part changes with its table.
    """
    found: dict[str, _Table] = {}
    related = []
    for id_, (row, some) in edits.items():
        parts, wholes = around.relatives(row)
        owned = around.owned(row, some)
        shared = [edit for edit in some if edit.action in _SHARED]
        rows = [Edit("values", edit.column if edit.action == "values" else "") for edit in some if _moves_rows(edit)]
        for names, given in ((() if is_alone else parts, shared), (wholes, rows), (owned, [GONE])):
            for name in names if given else ():
                table = await _find(database, name, found)
                if table is not None and table.row.id not in edits and table.row.id != id_:
                    related.append((table, given))
    return related


def _moves_rows(edit: Edit) -> bool:
    return edit.action in _OF_ROWS or (edit.action == "rule" and edit.to == "inherited rows")


def _changes_form(edits: Iterable[Edit]) -> bool:
    return any(edit.action != "values" for edit in edits)


async def _from_option(database: Database, question: Question, found: dict[str, _Table]) -> TableChange:
    if question.drop is not None:
        name, to, what = question.drop, "", "drop"
    else:
        what = "rename" if question.rename is not None else "retype"
        name, to = split_target(str(question.rename or question.retype), what)
    table, column = await _place(database, name, found)
    if what == "retype" and not column:
        raise InvalidQuestion(f"retype {name!r} names no column: write retype t.c:{to}", parameter="retype")
    if what == "drop":
        return TableChange("drop_column" if column else "drop_table", table, column)
    if what == "rename":
        return TableChange("rename_column" if column else "rename_table", table, column, to)
    return TableChange("retype_column", table, column, to)


async def _place(database: Database, name: str, found: dict[str, _Table]) -> tuple[str, str]:
    """The table and the column that a name means: a table, or a table and its column. A name that is a table is one."""
    whole = await _find(database, name, found)
    if whole is not None:
        return name, ""
    front, dot, column = name.rpartition(".")
    table = await _find(database, front, found) if dot else None
    if table is None:
        near = (await find.resolve(database, name, "dataset")).suggestions
        raise NotFound(
            f"no dataset is named {name!r}, and none has such a column", suggestions=[one.id for one in near]
        )
    if table.types and table.spelling(column) not in table.types:
        near_columns = difflib.get_close_matches(column, table.types, n=5, cutoff=0.5)
        nearest = (
            f"the nearest: {', '.join(near_columns)}" if near_columns else f"it has {', '.join(list(table.types)[:10])}"
        )
        raise NotFound(
            f"{table.row.node_id} has no column {column!r}; {nearest}",
            suggestions=near_columns or list(table.types)[:10],
        )
    return front, column


async def _find(database: Database, name: str, found: dict[str, _Table]) -> _Table | None:
    if name in found:
        return found[name]
    resolution = await find.resolve(database, name, "dataset", suggest=False)
    if resolution.match is None:
        if resolution.candidates:
            candidates = [one.id for one in resolution.candidates]
            raise Ambiguous(f"{name!r} could be any of {len(candidates)}; give a longer name", candidates=candidates)
        return None
    async with database.snapshot() as connection:
        row = await find.node_row(connection, resolution.match.id)
        found[name] = _Table(row, await _types(connection, row.id))
    return found[name]


async def _types(connection: Connection, dataset: uuid.UUID) -> dict[str, str]:
    return _types_in((await facet_store.of_owners(connection, [dataset], ("schema",))).get(dataset, {}).get("schema"))


def _types_in(body: bytes | None) -> dict[str, str]:
    if body is None:
        return {}
    top = inferred.top_columns(body)
    return {field.name: field.type or "" for field in facets.schema(body) if field.name in top}


async def _from_sql(
    database: Database, sql: str, dialect: str, found: dict[str, _Table]
) -> tuple[list[TableChange], list[str], list[Unjudged], dict[str, str]]:
    loop = asyncio.get_running_loop()
    try:
        statements = await loop.run_in_executor(inferred.sql_thread(), sql_statements, sql, dialect)
    except ValueError as error:
        raise InvalidQuestion(str(error), parameter="dialect") from error
    if not statements:
        raise InvalidQuestion("there is no statement in the SQL", parameter="sql")
    names = {".".join(table) for one in statements for table in _tables_of(one)}
    names |= {rule.table for one in statements for rule in beside_tables(one, dialect).rules}
    for name in sorted(names):
        await _find(database, name, found)
    sizes = {name: await _find_schema(database, name, found) for name in sorted(_schemas_of(statements))}
    columns_of: dict[str, Types | None] = {name: table.types or None for name, table in found.items()}
    if unread := next((one.text for one in statements if _is_unread(one, dialect)), None):
        text = " ".join(unread.split())[:_LONGEST_QUOTE]
        raise InvalidQuestion(
            f"this statement cannot be read: {text!r}; check its words, and name its dialect", parameter="sql"
        )
    changes, unjudged = read_statements(statements, dialect, columns_of)
    too_many = f"it has more than {_MOST_DATASETS:,} tables: the others are left out"
    unjudged += [Unjudged(name, too_many) for name, size in sizes.items() if size > _MOST_DATASETS]
    unjudged += [Unjudged(name, "no table of it is known") for name, size in sizes.items() if size == 0]
    unknown = sorted({change.table for change in changes} - found.keys())
    called = {name: severity for one in statements for name, severity in changed_routines(one.text)}
    return [change for change in changes if change.table in found], unknown, unjudged, called


def _schemas_of(statements: Iterable[Any]) -> set[str]:
    """The schemas that the statements change, by the names that they have before the first."""
    found: set[str] = set()
    new: set[str] = set()
    for change in (change for one in statements for change in one.schema_changes):
        other = ".".join(change.other or ())
        found |= {".".join(change.schema), *([other] if change.action == "SWAP" else [])} - new
        new |= {other} if change.action == "RENAME" else set()
    return found


async def _find_schema(database: Database, schema: str, found: dict[str, _Table]) -> int:
    """Add the tables of a schema to those found, and return their number. Raises Ambiguous for a schema that several databases have."""
    async with database.snapshot() as connection:
        rows = await node_store.in_schema(connection, schema)
        places = sorted({f"{row.namespace}:{row.name.removesuffix(name).rstrip('.')}" for row, name in rows})
        if len(places) > 1:
            raise Ambiguous(f"{schema!r} could be any of {len(places)} schemas; give a longer name", candidates=places)
        bodies = await facet_store.of_owners(connection, [row.id for row, _ in rows], ("schema",))
    for row, name in rows[:_MOST_DATASETS]:
        found.setdefault(f"{schema}.{name}", _Table(row, _types_in(bodies.get(row.id, {}).get("schema"))))
    return len(rows)


def _is_unread(statement: Any, dialect: str) -> bool:
    beside = beside_tables(statement, dialect)
    return statement.level == "nothing" and not beside.rules and not beside.reason


def _tables_of(statement: Any) -> Iterable[tuple[str, ...]]:
    for change in statement.changes:
        yield change.table
        if change.action == "SWAP":
            yield change.other
    for flow in statement.flows:
        if flow.target is not None and flow.action != "EXPORT":
            yield flow.target
