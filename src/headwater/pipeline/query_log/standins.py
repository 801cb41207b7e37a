"""Names in statements that are no assets of their own: dbt's names for what it is about to rename, a database's own catalog, a client's pipe.

dbt builds `x__dbt_tmp`, renames `x` to `x__dbt_backup` and `x__dbt_tmp` to `x`, and drops the backup; an incremental model's new rows are in
`x__dbt_tmp`, on some databases with the time behind it, until they are merged (https://docs.getdbt.com/docs/build/materializations). So what is done
to either is done to `x`, and its renaming and dropping is nothing at all. Only the statement that moves the rows of
an unqualified one of a session tells what it stands for: the target.

A query of the catalog (information_schema, pg_catalog, and PostgreSQL's unqualified pg_ names, which it looks up there first) looks at no data. COPY
from STDIN or to STDOUT moves rows from or to the client.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from headwater.columns import Statement
from headwater.columns.result import Change, Flow, Input, Output, TableName, Unresolved

_STANDIN: Final = re.compile(r"(.+?)__dbt_(?:tmp|backup)\d*\Z", re.IGNORECASE | re.DOTALL)
_CATALOGS: Final = frozenset({"information_schema", "pg_catalog"})
_PIPES: Final = frozenset({("stdin",), ("stdout",)})
_POSTGRES: Final = frozenset({"postgres", "redshift"})
_MADE: Final = frozenset({"CREATE", "CLONE", "LIKE"})

Rename = Callable[[TableName], TableName | None]


def called(statements: Iterable[Statement], home: TableName) -> dict[TableName, TableName]:
    """The temporary tables that are made without a schema, and what statements of the session that do not know that would call them.

    `home`: the database and schema in which an unqualified name is looked up, as far as they are known; () says nothing of either.
    """
    if not home:
        return {}
    changes = (change for one in statements for change in one.changes)
    made = {change.table for change in changes if change.temporary and len(change.table) == 1}
    return {table: (*home, *table) for table in made if not table[0].startswith(("#", "@"))}


def settled(statement: Statement, dialect: str, own: Mapping[TableName, TableName] = MappingProxyType({})) -> Statement:
    """The statement with assets' names only. `own`: of `called`; such a one keeps the name of a stand-in, unless the statement writes what it
    stands for."""
    tables = {*statement.reads, *statement.writes, *(flow.target for flow in statement.flows if flow.target)}
    tables.update(table for change in statement.changes for table in (change.table, change.other) if table)
    tables.update(table for flow in statement.flows for table in flow.reads)
    known = {table: own.get(table) or _name(table, dialect, statement.writes) for table in tables}
    if all(table == name for table, name in known.items()):
        return statement

    def name(table: TableName) -> TableName | None:
        return known[table] if table in known else _name(table, dialect, statement.writes)

    changes = tuple(change for one in statement.changes if (change := _change(one, name)) is not None)
    flows = tuple(flow for one in statement.flows if (flow := _flow(one, name)) is not None)
    moved = bool(statement.changes) and not changes and not flows
    return msgspec.structs.replace(
        statement,
        reads=() if moved else _distinct(statement.reads, name),
        writes=() if moved else _distinct(statement.writes, name),
        flows=flows,
        changes=changes,
        unresolved=tuple(one for one in statement.unresolved if not _gone(one, name)),
    )


def _name(table: TableName, dialect: str, writes: Iterable[TableName]) -> TableName | None:
    """Return the name that a table's name stands for; None if it stands for none."""
    if table in _PIPES or any(part.lower() in _CATALOGS for part in table[:-1]):
        return None
    if dialect in _POSTGRES and table[-1].lower().startswith("pg_") and table[-2:-1] in {(), ("public",)}:
        return None
    found = _STANDIN.match(table[-1])
    if found is None:
        return table
    for target in writes:
        if target[-1] == found[1] and target != table:
            return None  # its own rows, on their way
    return (*table[:-1], found[1]) if len(table) > 1 else table


def _change(change: Change, name: Rename) -> Change | None:
    table = name(change.table)
    if table is None or (change.other is not None and name(change.other) is None):
        return None
    if table == change.table and (change.other is None or name(change.other) == change.other):
        return change
    if change.action not in _MADE:
        return None
    temporary = change.temporary and table[-1] == change.table[-1]
    return msgspec.structs.replace(change, table=table, other=change.other and name(change.other), temporary=temporary)


def _flow(flow: Flow, name: Rename) -> Flow | None:
    target = flow.target and name(flow.target)
    return msgspec.structs.replace(
        flow,
        target=target,
        action=flow.action if target or not flow.target else "SELECT",
        columns=tuple(
            Output(
                one.name, _inputs(one.inputs, name), tuple((path, _inputs(inputs, name)) for path, inputs in one.fields)
            )
            for one in flow.columns
        ),
        rows=_inputs(flow.rows, name),
        reads=_distinct(flow.reads, name),
    )


def _inputs(inputs: tuple[Input, ...], name: Rename) -> tuple[Input, ...]:
    found = ((one, name(one.table)) for one in inputs)
    return tuple(msgspec.structs.replace(one, table=table) for one, table in found if table is not None)


def _distinct(tables: tuple[TableName, ...], name: Rename) -> tuple[TableName, ...]:
    return tuple(dict.fromkeys(found for table in tables if (found := name(table)) is not None))


def _gone(one: Unresolved, name: Rename) -> bool:
    """Return whether every candidate owner of a name is gone."""
    return bool(one.candidates) and all(name(candidate.table) is None for candidate in one.candidates)
