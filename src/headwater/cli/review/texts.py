"""One text of a review: the tables that it makes and writes, the columns of these, and whether two texts are the same. Pure."""

from __future__ import annotations

from collections.abc import Collection

from headwater.answer.whatif.types import class_of
from headwater.columns.catalog import table_key
from headwater.columns.dialect import rules
from headwater.columns.project import AnalysedText, Text
from headwater.columns.result import Statement, TableName
from headwater.columns.shape.words import words


def made_tables(one: AnalysedText) -> set[TableName]:
    found = {
        table_key(flow.target)
        for statement in one.statements
        for flow in statement.flows
        if flow.target and flow.action == "CREATE"
    }
    found |= {
        table_key(change.table)
        for statement in one.statements
        for change in statement.changes
        if change.action in {"CREATE", "CLONE", "LIKE"} and not change.temporary
    }
    return found | ({table_key(one.text.target)} if one.text.target else set())


def written_tables(one: AnalysedText) -> set[TableName]:
    return {
        table_key(flow.target) for statement in one.statements for flow in statement.flows if flow.target is not None
    }


def outputs_of(one: AnalysedText) -> dict[TableName, tuple[str, ...]]:
    """The columns of what a text makes, where its text tells them."""
    found = {}
    for statement in one.statements:
        for flow in statement.flows:
            if flow.target is not None and flow.action == "CREATE":
                found[table_key(flow.target)] = tuple(output.name for output in flow.columns)
    if one.text.target is not None and one.text.columns:
        found[table_key(one.text.target)] = one.text.columns
    return found


def columns_of(one: AnalysedText) -> set[str]:
    return {column for statement in one.statements for column in shape(statement)}


def is_same(old: Text, new: Text) -> bool:
    """Return whether nothing of a text was edited; a tool may have compiled the same source to other words."""
    same = old.text == new.text or (old.source != "" and old.source == new.source)
    return same and built_as(old) == built_as(new)


def built_as(text: Text) -> tuple[object, ...]:
    """Return all that decides about a target beside its query."""
    return text.view, text.columns, text.rows, text.values, text.types, text.contract


def shape(statement: Statement) -> dict[str, None]:
    """The names of the columns that a statement makes, in their order."""
    return {output.name.lower(): None for flow in statement.flows for output in flow.columns}


def is_moved(old: dict[str, None], new: dict[str, None]) -> bool:
    return [one for one in old if one in new] != [one for one in new if one in old]


def recased(old: Collection[str], new: Collection[str], dialect: str) -> dict[str, str]:
    """Return the columns of which only the case differs, from the old name to the new one, where that makes another column."""
    if rules(dialect).insensitive:
        return {}
    now = {one.lower(): one for one in new}
    return {one: now[one.lower()] for one in old if one not in new and one.lower() in now}


def retyped_columns(old: Text, new: Text) -> dict[str, str]:
    """Return the columns of a seed that get a type of another family, in lower case, with the family; whole numbers and others are one."""
    was = dict(zip((one.lower() for one in old.columns), old.types, strict=False))
    found = {}
    for column, kind in zip((one.lower() for one in new.columns), new.types, strict=False):
        families = [class_of(was.get(column, kind)), class_of(kind)]
        if families[0] != families[1] and set(families) != {"whole", "real"}:
            found[column] = families[1]
    return found


def changed_values(old: Text, new: Text) -> set[str] | None:
    """Return the columns of a seed, in lower case, that hold other values in rows which are the same otherwise; None for other rows."""
    if not old.values or not new.values:
        return set() if (old.rows, old.columns) == (new.rows, new.columns) else None
    before = dict(zip((one.lower() for one in old.columns), old.values, strict=False))
    now = dict(zip((one.lower() for one in new.columns), new.values, strict=False))
    both = before.keys() & now.keys()
    changed = {one for one in both if before[one] != now[one]}
    return changed if changed != both or not both else None


def breach_of_contract(old: Text, new: Text, made: Collection[str], families: dict[str, str]) -> tuple[str, bool]:
    """Return the words for a contract that a model does not keep, and whether that is certain; "" if nothing speaks against it.

    `made`: the columns that it makes, in lower case; `families`: those that get another type by the change, with the family.
    """
    if not new.contract or "*" in made:
        return "", True
    listed = {name.lower(): kind for name, kind in new.contract}
    for one in [*(listed.keys() - made), *(made - listed.keys())]:
        return f"its contract {'names' if one in listed else 'lacks'} {one}", True
    before = {name.lower(): kind for name, kind in old.contract}
    for one, kind in listed.items():
        family = families.get(one)
        if family and class_of(kind) != family:
            return f"its contract has {one} as {kind}", False
        if not family and kind and class_of(before.get(one, kind)) != class_of(kind):
            return f"its contract has {one} as {kind} now", False
    return "", True


def names_unquoted(text: str, dialect: str, column: str) -> bool:
    """Return whether a text has the name outside of quotes."""
    return any(kind == "VAR" and one.lower() == column.lower() for kind, one in words(text, dialect))


def fits(key: TableName, other: TableName) -> bool:
    """Return whether one of two names of different length ends in the other."""
    shorter = min(len(key), len(other))
    return len(key) != len(other) and key[-shorter:] == other[-shorter:]


def identity_of(one: AnalysedText) -> str:
    """Return the name by which a text is the same in both states: what it builds, else its place."""
    return ".".join(table_key(one.text.target)) if one.text.target else f"file:{one.text.place}"
