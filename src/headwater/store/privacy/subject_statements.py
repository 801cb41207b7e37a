"""Statements that delete the rows of one subject from a table, and prove that none are left. They are texts for people: nothing here runs them."""

from collections.abc import Iterator, Mapping

from headwater.model.references import Reference

_DEEPEST = 16


def delete_rows(table: str, keys: list[str]) -> str:
    """Delete the rows that have `:subject` in one of these columns. `table`: a dataset's name."""
    return f"delete from {_table(table)} where {_subject_in(keys)}"


def delete_referring_rows(table: str, keys: list[str], referenced_by: Mapping[str, list[Reference]]) -> list[str]:
    """Delete what refers to the rows that `delete_rows` deletes, by foreign keys of other tables: the farthest first. `referenced_by`: by table."""
    return list(_referring(table, _subject_in(keys), referenced_by, (table,)))


def _referring(
    table: str, condition: str, referenced_by: Mapping[str, list[Reference]], way: tuple[str, ...]
) -> Iterator[str]:
    for one in referenced_by.get(table, ()):
        if one.table in way or len(way) > _DEEPEST:
            continue
        columns, keys = (", ".join(map(_identifier, some)) for some in (one.columns, one.keys))
        rows = f"({columns}) in (select {keys} from {_table(table)} where {condition})"
        yield from _referring(one.table, rows, referenced_by, (*way, one.table))
        yield f"delete from {_table(one.table)} where {rows}"


def count_rows(table: str, column: str) -> str:
    """Count the rows of which a column's text contains `:subject`."""
    within = f"position(:subject in cast({_identifier(column)} as text)) > 0"
    return f"select count(*) from {_table(table)} where {within}"


def refresh_view(name: str) -> str:
    """Make a materialized view again, which no row can be deleted from."""
    return f"refresh materialized view {_table(name)}"


def vacuum_delta(name: str, *, path: bool) -> str:
    """Remove the files of old versions of a Delta table, which time travel reads. It asks for `retentionDurationCheck` to be off."""
    table = f"delta.`{name}`" if path else _table(name)
    return f"vacuum {table} retain 0 hours"


def expire_iceberg(name: str) -> list[str]:
    """Expire all snapshots of an Iceberg table but the last, and remove files that no snapshot has, in Spark."""
    text = name.replace("'", "''")
    return [
        f"call system.expire_snapshots(table => '{text}', older_than => current_timestamp(), retain_last => 1)",
        f"call system.remove_orphan_files(table => '{text}')",
    ]


def _subject_in(keys: list[str]) -> str:
    return " or ".join(f"cast({_identifier(key)} as text) = :subject" for key in keys)


def _table(name: str) -> str:
    """Name the table without its database, which a connection is to."""
    return ".".join(_identifier(part) for part in name.split(".")[-2:])


def _identifier(name: str) -> str:
    plain = name.isascii() and name.replace("_", "a").isalnum() and name == name.lower() and not name[:1].isdigit()
    return name if plain else '"' + name.replace('"', '""') + '"'
