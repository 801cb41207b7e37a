"""The tables that a script reads and writes, as far as they outlive it. Pure."""

from collections.abc import Iterable

import msgspec

from headwater.columns.analysis import analyse
from headwater.columns.composed import composed
from headwater.columns.result import Level, Statement, TableName


class Tables(msgspec.Struct, frozen=True):
    """`level`: that of the statement that was understood least, of those that touch a table; None if none does."""

    reads: tuple[TableName, ...]
    writes: tuple[TableName, ...]
    level: Level | None


def tables_of(text: str, dialect: str = "") -> Tables:
    """Return the tables of a script: through its temporary tables, under their last names. An unknown dialect is read as none."""
    try:
        statements = analyse(text, dialect)
    except ValueError:
        statements = analyse(text)
    touching = [one for one in statements if one.reads or one.writes]
    # A statement that could not be parsed has no flow.
    unparsed = [one for one in touching if not one.flows and one.level == Level.TABLES]
    flows = composed(statements)
    renamed = final_names(statements)
    reads = [table for flow in flows for table in flow.reads] + [table for one in unparsed for table in one.reads]
    written = [flow.target for flow in flows if flow.target] + [table for one in unparsed for table in one.writes]
    levels = list(Level)
    return Tables(
        tuple(dict.fromkeys(reads)),
        tuple(dict.fromkeys(renamed.get(table, table) for table in written)),
        max((one.level for one in touching), key=levels.index, default=None),
    )


def final_names(statements: Iterable[Statement]) -> dict[TableName, TableName]:
    """Return the last name of each table that statements rename: dbt fills a table beside the model's, and renames it."""
    found: dict[TableName, TableName] = {}
    for change in (change for statement in statements for change in statement.changes):
        if change.action == "RENAME" and change.other is not None:
            for earlier, name in found.items():
                if name == change.table:
                    found[earlier] = change.other
            found[change.table] = change.other
    return found
