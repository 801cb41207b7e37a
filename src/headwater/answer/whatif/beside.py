"""Changes of a statement beside tables and their columns: constraints, defaults, triggers, rules, policies, rights, routines, types. Pure.

A rule of a table that the statement names is returned in words; for any other object, the reason why its effects are not known.
"""

import re
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import msgspec

_COLUMN: Final = r'(?:alter (?:column )?(?P<column>"[^"]+"|[\w$]+) )?'
_ACTIONS: Final = (
    (r"add (?:constraint|primary|unique|foreign|check|exclude)\b", "add constraint"),
    (r"set not null\b", "set not null"),
    (r"drop (?:constraint|primary|unique)\b", "drop constraint"),
    (r"rename constraint\b", "rename constraint"),
    (r"drop default\b|drop identity\b", "drop default"),
    (r"set generated\b|add generated\b", "identity"),
    (r"drop expression\b|set default\b", "set default"),
    (r"(?:enable|disable|force|no force) row level security\b", "row level security"),
    (r"(?:enable|disable)(?: replica| always)? (?:trigger|rule)\b", "trigger"),
    (r"(?:no )?inherit\b|detach partition\b|drop partition\b", "inherited rows"),
)  # fmt: skip
# Objects that hang on a table, which the statement names after ON or TO.
_HANGING: Final = (
    (r"^create (?:or replace )?(?:constraint )?trigger\b", "create trigger"),
    (r"^drop trigger\b", "drop trigger"),
    (r"^create (?:or replace )?rule\b", "create rule"),
    (r"^(?:drop|alter) rule\b", "rule"),
    (r"^(?:create|drop|alter) policy\b", "policy"),
    (r"^create unique index\b", "add constraint"),
    (r"^revoke\b", "revoke"),
)
_NAME: Final = r'((?:"(?:[^"]|"")+"|[\w$]+)(?:\s*\.\s*(?:"(?:[^"]|"")+"|[\w$]+))*)'
_ON: Final = re.compile(rf"\bon\s+(?:table\s+)?(?:only\s+)?{_NAME}", re.IGNORECASE)
_TO: Final = re.compile(rf"\bto\s+{_NAME}", re.IGNORECASE)
_SPACE: Final = re.compile(r"\s+")
_QUOTED: Final = re.compile(r"'(?:[^']|'')*'|\$(\w*)\$.*?\$\1\$|--[^\n]*|/\*.*?\*/", re.DOTALL)
_OTHER: Final = re.compile(
    r"^(?:(?:drop|alter|create or replace|reassign|import|security label on)\s+(?P<object>\w+)|(?P<run>call|execute|do)\b|(?P<rights>revoke)\b)"
)
_HARMLESS: Final = frozenset(
    {"role", "user", "group", "database", "system", "statistics", "publication", "subscription", "default"}
)
_OF_COLUMNS: Final = frozenset({"type", "domain", "sequence", "extension", "owned"})


class Rule(NamedTuple):
    """A rule of a table that changes, in words, and the column that it is of ("" for none)."""

    table: str
    words: str
    column: str = ""


class Beside(msgspec.Struct, frozen=True):
    """`reason`: "" if nothing is left open."""

    rules: tuple[Rule, ...] = ()
    reason: str = ""


def beside_tables(statement: Any, dialect: str) -> Beside:
    """Return the rules that an analysed statement changes, and what it leaves open."""
    text = _SPACE.sub(" ", _QUOTED.sub(" ", statement.text)).strip()
    lower = text.lower()
    altered = [".".join(change.table) for change in statement.changes if change.action == "ALTER"]
    if altered:
        return Beside(tuple(_of_alter(altered[0], text, dialect)))
    for pattern, words in _HANGING:
        if re.search(pattern, lower):
            at = _TO if words == "create rule" else _ON
            if (found := at.search(text)) is not None and not (words == "revoke" and _is_no_table(lower)):
                return Beside((Rule(_folded(found[1], dialect), words),))
    return Beside(reason=_reason(statement, lower))


def _of_alter(table: str, text: str, dialect: str) -> Iterable[Rule]:
    for pattern, words in _ACTIONS:
        for found in re.finditer(rf"\b{_COLUMN}(?:{pattern})", text, re.IGNORECASE):
            yield Rule(table, words, _folded(found["column"] or "", dialect))


def _is_no_table(lower: str) -> bool:
    return (
        re.search(
            r"\bon (?:all|schema|database|function|procedure|routine|sequence|type|domain|language|large)\b", lower
        )
        is not None
    )


def _folded(name: str, dialect: str) -> str:
    """The name as the statements of its dialect spell it: without quotes, and in lower case where it has none."""
    upper = dialect in {"snowflake", "oracle"}
    parts = re.findall(r'"(?:[^"]|"")+"|[\w$]+', name)
    return ".".join(
        part[1:-1].replace('""', '"') if part.startswith('"') else part.upper() if upper else part.lower()
        for part in parts
    )


def _reason(statement: Any, lower: str) -> str:
    """The reason why the effects of a statement that changes no table are not known; "" if it has none."""
    if statement.changes or any(flow.target is not None for flow in statement.flows):
        return ""
    found = _OTHER.match(lower)
    what = found["object"] if found is not None else None
    if found is None or what in _HARMLESS or lower.startswith(("alter index", "create or replace temp")):
        reason = ""
    elif found["run"]:
        reason = "the statements that it runs are not known: ask about these"
    elif found["rights"]:
        reason = "rights are not known to Headwater"
    elif what == "index":
        reason = "the table of an index is not known: an INSERT with ON CONFLICT may need it"
    elif what == "schema":
        reason = "the statements that use its functions, types and sequences are not looked up"
    elif what in _OF_COLUMNS:
        reason = f"the columns that use the {what} are not known: ask about each table that has one"
    else:
        reason = f"the statements that use the {what} are not all known: search for its name"
    return reason
