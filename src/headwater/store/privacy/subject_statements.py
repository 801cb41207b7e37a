"""Statements that delete the rows of one subject from a table, and prove that none are left. They are texts for people: nothing here runs them."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from headwater.model.references import Reference

_DEEPEST = 16
_TEXT: Final = {
    "postgres": "text", "duckdb": "text", "redshift": "varchar(max)", "snowflake": "varchar", "bigquery": "string", "databricks": "string",
    "spark": "string", "hive": "string", "trino": "varchar", "presto": "varchar", "athena": "varchar", "mysql": "char", "tsql": "nvarchar(max)",
    "oracle": "varchar2(4000)", "clickhouse": "String", "teradata": "varchar(32000)",
}  # fmt: skip
_BACKTICKS: Final = frozenset({"bigquery", "databricks", "spark", "hive", "mysql", "clickhouse"})
_OWN_DATABASE: Final = frozenset({"", "postgres", "redshift", "oracle"})
_POSITION: Final = {
    "bigquery": "strpos({text}, {subject})", "oracle": "instr({text}, {subject})", "tsql": "charindex({subject}, {text})",
    "hive": "locate({subject}, {text})", "clickhouse": "position({text}, {subject})",
}  # fmt: skip


class StatementTable(NamedTuple):
    """A table as statements of a dialect name it. `name`: a dataset's name, or, `in_place`, the folder of a Delta table."""

    name: str
    dialect: str = ""
    in_place: bool = False

    def __str__(self) -> str:
        if self.in_place:
            return f"delta.`{self.name.replace('`', '``')}`"
        parts = self.name.split(".")
        # A connection is to one database, and the dataset's name begins with it.
        return ".".join(self.quote(part) for part in (parts[-2:] if self.dialect in _OWN_DATABASE else parts))

    def quote(self, name: str) -> str:
        """Return an identifier, quoted where it has to be."""
        plain = name.isascii() and name.replace("_", "a").isalnum() and name == name.lower() and not name[:1].isdigit()
        mark = "`" if self.dialect in _BACKTICKS else '"'
        return name if plain else mark + name.replace(mark, mark * 2) + mark

    def text_of(self, column: str) -> str:
        """Return a column's value as text."""
        return f"cast({self.quote(column)} as {_TEXT.get(self.dialect, 'text')})"


def delete_rows(table: StatementTable, keys: list[str]) -> str:
    """Delete the rows that have `:subject` in one of these columns."""
    return f"delete from {table} where {_subject_in(table, keys)}"


def delete_referring_rows(
    table: StatementTable, keys: list[str], referenced_by: Mapping[str, list[Reference]]
) -> list[str]:
    """Delete what refers to the rows that `delete_rows` deletes, by foreign keys of other tables: the farthest first. `referenced_by`: by table."""
    return list(_referring(table, _subject_in(table, keys), referenced_by, (table.name,)))


def _referring(
    table: StatementTable, condition: str, referenced_by: Mapping[str, list[Reference]], way: tuple[str, ...]
) -> Iterator[str]:
    for one in referenced_by.get(table.name, ()):
        if one.table in way or len(way) > _DEEPEST:
            continue
        below = table._replace(name=one.table)
        columns, keys = (", ".join(map(table.quote, some)) for some in (one.columns, one.keys))
        rows = f"({columns}) in (select {keys} from {table} where {condition})"
        yield from _referring(below, rows, referenced_by, (*way, one.table))
        yield f"delete from {below} where {rows}"


def count_rows(table: StatementTable, column: str) -> str:
    """Count the rows of which a column's text contains `:subject`."""
    position = _POSITION.get(table.dialect, "position({subject} in {text})")
    return f"select count(*) from {table} where {position.format(subject=':subject', text=table.text_of(column))} > 0"


def refresh_view(view: StatementTable) -> str:
    """Make a materialized view again, which no row can be deleted from."""
    return f"refresh materialized view {view}"


def vacuum_delta(table: StatementTable) -> list[str]:
    """Write anew the files of a Delta table that have deleted rows, and remove those of old versions, which time travel reads, in Spark."""
    return [
        f"reorg table {table} apply (purge)",
        "set spark.databricks.delta.retentionDurationCheck.enabled = false",
        f"vacuum {table} retain 0 hours",
    ]


def expire_iceberg(table: StatementTable) -> list[str]:
    """Write anew the files of an Iceberg table that have deleted rows, and its lists of files; expire all snapshots but the last; in Spark.

    The lists have the least and the greatest value of a file, also of one that a delete removed. A name of three parts begins with Spark's catalog.
    """
    catalog, _, name = table.name.partition(".") if table.name.count(".") > 1 else ("", "", table.name)
    system = f"{table.quote(catalog)}.system" if catalog else "system"
    text = ".".join(map(table.quote, name.split("."))).replace("'", "\\'")
    return [
        f"call {system}.rewrite_data_files(table => '{text}', options => map('delete-file-threshold', '1'))",
        f"call {system}.rewrite_manifests(table => '{text}')",
        f"call {system}.expire_snapshots(table => '{text}', older_than => current_timestamp(), retain_last => 1)",
        f"call {system}.remove_orphan_files(table => '{text}')",
    ]


def _subject_in(table: StatementTable, keys: list[str]) -> str:
    return " or ".join(f"{table.text_of(key)} = :subject" for key in keys)
