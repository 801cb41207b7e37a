"""Statements about schemas and databases with all that is in them, read word by word: the names of many tables change by one."""

from headwater.columns import form
from headwater.columns.recovery.phrase import Phrase

_SCHEMAS = frozenset({"SCHEMA", "DATABASE", "NAMESPACE", "CATALOG"})
_INNER = frozenset(
    {
        "mysql",
        "clickhouse",
        "hive",
        "spark",
        "spark2",
        "databricks",
        "athena",
        "doris",
        "starrocks",
        "singlestore",
        "teradata",
    }
)
"""Dialects in which a database is what others call a schema."""
_TAKES_ALL = frozenset({"snowflake", "mysql", "clickhouse", "doris", "starrocks", "singlestore"})
"""Dialects in which DROP SCHEMA takes what is in it along, without CASCADE. In the others it succeeds only if nothing is."""


def read(phrase: Phrase) -> tuple[str, form.Form | None] | None:
    """Return the kind and the form of a statement that changes the names or the life of all tables in a schema, else None."""
    first, place = phrase.word(0), 1
    if first == "CREATE":
        place = max(1, phrase.after(1, "OR", "REPLACE"))
        if place == 1:
            return None
    what = phrase.word(place)
    if what not in _SCHEMAS or first not in {"ALTER", "DROP", "UNDROP", "RENAME", "CREATE"}:
        return None
    place += 1
    while (at := max(phrase.after(place, "IF", "EXISTS"), phrase.after(place, "IF", "NOT", "EXISTS"))) > 0:
        place = at
    names, place = phrase.names(place)
    if not names:
        return None
    changes: list[tuple[str, form.Parts, form.Parts]] = []
    if first in {"DROP", "CREATE"}:
        parser = phrase.context.rule.parser
        takes_all = parser in _TAKES_ALL or (what == "DATABASE" and parser not in _INNER) or phrase.find("CASCADE") > 0
        if not takes_all or phrase.find("RESTRICT") > 0:
            return None
        changes = [("DROP", name, ()) for name in names]
    elif first == "UNDROP":
        changes = [("UNDROP", names[0], ())]
    else:
        to = max(phrase.after(place, "RENAME", "TO"), phrase.after(place, "TO") if first == "RENAME" else -1)
        swap = phrase.after(place, "SWAP", "WITH")
        other = phrase.name(max(to, swap))[0] if max(to, swap) > 0 else ()
        if not other:
            return None
        if len(other) < len(names[0]):
            other = (*names[0][: len(names[0]) - len(other)], *other)
        changes = [("RENAME" if to > 0 else "SWAP", names[0], other)]
    outer = what in {"DATABASE", "CATALOG"} and phrase.context.rule.parser not in _INNER
    return f"{first} {what}", form.SchemaForm(changes, outer)
