"""Routines and triggers, by their text: PostgreSQL and its like run them for statements that do not name what they touch. Pure.

A function that fails takes along each statement that calls it, and a trigger each write of its table. Lineage has no edge for either: the names in
the texts tell.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from headwater.answer.whatif.verdicts import BREAKS, CHANGES

_NAME: Final = r'((?:"(?:[^"]|"")+"|[\w$]+)(?:\s*\.\s*(?:"(?:[^"]|"")+"|[\w$]+))*)'
_PART: Final = re.compile(r'"((?:[^"]|"")+)"|([\w$]+)')
_ROUTINE: Final = re.compile(rf"\bcreate\s+(?:or\s+replace\s+)?(?:function|procedure)\s+{_NAME}", re.IGNORECASE)
_CHANGED: Final = re.compile(
    rf"^\s*(?P<verb>drop|alter|create\s+or\s+replace)\s+(?:function|procedure|routine)\s+(?:if\s+exists\s+)?(?P<name>{_NAME})",
    re.IGNORECASE,
)
_TRIGGER: Final = re.compile(
    rf"\bcreate\s+(?:or\s+replace\s+)?(?:constraint\s+)?trigger\s+{_NAME}\s+(?:before|after|instead\s+of)\s+(?P<events>.*?)\s+on\s+(?P<table>{_NAME}).*?"
    rf"\bexecute\s+(?:function|procedure)\s+(?P<function>{_NAME})",
    re.IGNORECASE | re.DOTALL,
)
_GENERATED: Final = re.compile(
    r'(?:[,(]|\badd\s+(?:column\s+)?(?:if\s+not\s+exists\s+)?)\s*("(?:[^"]|"")+"|[\w$]+)\s+[^,()]*(?:\([^()]*\)[^,()]*)?generated\s+always\s+as\s*\(',
    re.IGNORECASE,
)
_TABLE: Final = re.compile(
    rf"^\s*(?:create\s+(?:unlogged\s+|foreign\s+)?table|alter\s+table)\s+(?:if\s+(?:not\s+)?exists\s+)?(?:only\s+)?{_NAME}",
    re.IGNORECASE,
)
_PARENTS: Final = re.compile(rf"\bpartition\s+of\s+{_NAME}|\binherits\s*\(\s*([^()]*)\)", re.IGNORECASE)
_CHECK: Final = re.compile(r"\bcheck\s*\(", re.IGNORECASE)
_OWNED: Final = re.compile(
    rf"^\s*alter\s+sequence\s+(?:if\s+exists\s+)?{_NAME}.*?\bowned\s+by\s+{_NAME}", re.IGNORECASE | re.DOTALL
)
_POLICY: Final = re.compile(rf"^\s*create\s+policy\s+{_NAME}\s+on\s+{_NAME}(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_PUBLICATION: Final = re.compile(
    r"^\s*(?:create|alter)\s+publication\b.*?\btable\s+(?:only\s+)?(?P<tables>.*)", re.IGNORECASE | re.DOTALL
)
_VIEW: Final = re.compile(
    r"^\s*create\s+(?:or\s+replace\s+)?(?:temp(?:orary)?\s+)?(?:recursive\s+)?view\b", re.IGNORECASE
)
_EVENTS: Final = {
    "insert": ("insert", "merge", "copy"),
    "update": ("update", "merge"),
    "delete": ("delete", "merge"),
    "truncate": ("truncate",),
}
_COMMENT: Final = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)


class Trigger(NamedTuple):
    """A trigger: the table whose writes fire it, the events (`insert`, …) and the function that it runs."""

    name: str
    table: str
    events: tuple[str, ...]
    function: str


def routine_names(text: str) -> list[str]:
    """The routines that a text makes."""
    return [_folded(name) for name in _ROUTINE.findall(_COMMENT.sub(" ", text))]


def changed_routines(text: str) -> list[tuple[str, str]]:
    """The routines that a statement drops, alters or replaces, with the severity for those that call them."""
    found = _CHANGED.match(_COMMENT.sub(" ", text))
    return (
        [(_folded(found["name"]), CHANGES if found["verb"].lower().startswith("create") else BREAKS)] if found else []
    )


def triggers(text: str) -> list[Trigger]:
    """The triggers that a text makes."""
    made = []
    for found in _TRIGGER.finditer(_COMMENT.sub(" ", text)):
        events = tuple(one for one in _EVENTS if one in found["events"].lower())
        made.append(Trigger(_folded(found[1]), _folded(found["table"]), events, _folded(found["function"])))
    return made


def fires(trigger: Trigger, text: str) -> bool:
    """Return whether a statement may fire the trigger of a table that it writes."""
    lower = text.lower()
    return any(re.search(rf"\b{verb}\b", lower) for event in trigger.events for verb in _EVENTS[event])


def calls(text: str, routine: str) -> bool:
    """Return whether a text may call the routine: it has its last name before a parenthesis, and makes no routine of this name alone."""
    last = re.escape(routine.rpartition(".")[2])
    return (
        re.search(rf'(?<![\w$])"?{last}"?\s*\(', _ROUTINE.sub(" ", _COMMENT.sub(" ", text)), re.IGNORECASE) is not None
    )


def uses_row(text: str, column: str) -> bool:
    """Return whether the text of a trigger's function names the column of the row that fires it."""
    return re.search(rf'\b(?:new|old)\s*\.\s*"?{re.escape(column)}"?(?![\w$])', text, re.IGNORECASE) is not None


def generated_columns(text: str, table: str) -> dict[str, str]:
    """The generated columns of a table that a text makes or alters, each with its expression."""
    text = _COMMENT.sub(" ", text)
    named = _TABLE.match(text)
    if named is None or not same_name(_folded(named[1]), table):
        return {}
    return {_folded(found[1]): _parenthesis(text, found.end()) for found in _GENERATED.finditer(text)}


def parents_of(text: str) -> tuple[str, list[str]]:
    """Return the table that a text makes as a partition or an heir, and the tables that have its rows too; none if it makes no such table."""
    text = _COMMENT.sub(" ", text)
    made = _TABLE.match(text)
    names = [name for found in _PARENTS.finditer(text) for name in (found[1] or found[2]).split(",")] if made else []
    return (_folded(made[1]) if made and names else "", [_folded(name.strip()) for name in names])


def owned_sequence(text: str) -> tuple[str, str, str] | None:
    """Return the sequence that a text gives an owner, and the table and the column that own it; None for another text."""
    found = _OWNED.match(_COMMENT.sub(" ", text))
    table, _, column = _folded(found[2]).rpartition(".") if found else ("", "", "")
    return (_folded(found[1]), table, column) if found and table else None


def is_policy_of(text: str, table: str, column: str) -> bool:
    """Return whether a text makes a row policy of the table that names the column."""
    found = _POLICY.match(_COMMENT.sub(" ", text))
    return found is not None and same_name(_folded(found[2]), table) and names_column(found["rest"], column)


def is_published(text: str, table: str) -> bool:
    """Return whether a text publishes the table."""
    found = _PUBLICATION.match(_COMMENT.sub(" ", text))
    return found is not None and any(
        same_name(_folded(one), table) for one in re.split(r",|\s(?=where|with)", found["tables"])
    )


def is_checked(text: str, table: str, column: str) -> bool:
    """Return whether a text makes or alters the table with a CHECK that names the column."""
    text = _COMMENT.sub(" ", text)
    named = _TABLE.match(text)
    if named is None or not same_name(_folded(named[1]), table):
        return False
    return any(names_column(_parenthesis(text, found.end()), column) for found in _CHECK.finditer(text))


def makes_view(text: str) -> bool:
    return _VIEW.match(_COMMENT.sub(" ", text)) is not None


def names_column(expression: str, column: str) -> bool:
    return re.search(rf"(?<![\w$]){re.escape(column)}(?![\w$])", expression, re.IGNORECASE) is not None


def same_name(one: str, other: str) -> bool:
    """Return whether two names may be of one object: the shorter is the end of the longer, part by part."""
    left, right = one.lower().split("."), other.lower().split(".")
    size = min(len(left), len(right))
    return left[-size:] == right[-size:]


def _parenthesis(text: str, start: int) -> str:
    depth = 1
    for place in range(start, len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if depth == 0:
            return text[start:place]
    return text[start:]


def _folded(name: str) -> str:
    return ".".join(_parts(name))


def _parts(name: str) -> Iterable[str]:
    for quoted, plain in _PART.findall(name):
        yield quoted.replace('""', '"') if quoted else plain.lower()
