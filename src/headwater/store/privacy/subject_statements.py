"""Statements that delete the rows of one subject from a table, and prove that none are left. They are texts for people: nothing here runs them."""


def delete_rows(table: str, keys: list[str]) -> str:
    """Delete the rows that have `:subject` in one of these columns. `table`: a dataset's name."""
    same = " or ".join(f"cast({_identifier(key)} as text) = :subject" for key in keys)
    return f"delete from {_table(table)} where {same}"


def count_rows(table: str, column: str) -> str:
    """Count the rows of which a column's text contains `:subject`."""
    within = f"position(:subject in cast({_identifier(column)} as text)) > 0"
    return f"select count(*) from {_table(table)} where {within}"


def _table(name: str) -> str:
    """Name the table without its database, which a connection is to."""
    return ".".join(_identifier(part) for part in name.split(".")[-2:])


def _identifier(name: str) -> str:
    plain = name.isascii() and name.replace("_", "a").isalnum() and name == name.lower() and not name[:1].isdigit()
    return name if plain else '"' + name.replace('"', '""') + '"'
