"""The names in a model that dbt has not compiled: `ref`, `source`, `this`, `var` and dbt's types become what they stand for. Nothing is executed.

Everything else of a template is left to `headwater.columns.script.template`, which knows what it may assume and warns of the rest. Lines stay where
they are.
"""

import re
from collections.abc import Mapping

import msgspec

_TAG = re.compile(r"\{\{-?\s*(?:(ref|source|var)\s*\(([^(){}]*)\)|(this)|(?:dbt|dbt_utils)\.(\w+)\s*\(\s*\))\s*-?\}\}")
_CALLS = {
    "type_string": "varchar",
    "type_int": "int",
    "type_bigint": "bigint",
    "type_float": "float",
    "type_numeric": "numeric",
    "type_boolean": "boolean",
    "type_timestamp": "timestamp",
    "current_timestamp": "current_timestamp",
}
"""Macros of dbt that every adapter has, without arguments: a type, or the time. Which type it is, is of no matter to lineage."""
_ARGUMENT = re.compile(r"""\s*(?:(\w+)\s*=\s*)?(?:'([^']*)'|"([^"]*)"|(-?[\w.]+))\s*(?:,|$)""")


class Names(msgspec.Struct, frozen=True):
    """The meaning of a project's names, as SQL.

    `refs`: by (model,), (package, model) or (model, "vVERSION"). `sources`: by (source, table). `variables`: values of `var`.
    """

    refs: Mapping[tuple[str, ...], str]
    sources: Mapping[tuple[str, ...], str]
    this: str = ""
    variables: Mapping[str, str] = {}


def rendered(text: str, names: Names) -> str:
    """Return the text with the tags that `names` knows replaced; others stay."""

    def put(match: re.Match[str]) -> str:
        found = _meaning(match, names)
        if found is None:
            return match.group()
        return found + "\n" * match.group().count("\n")

    return _TAG.sub(put, text)


def called(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the refs and sources that a text names in tags of their own: ("ref" or "source", its arguments)."""
    return [
        (match.group(1), path)
        for match in _TAG.finditer(text)
        if match.group(1) in {"ref", "source"} and (path := _path(match.group(2)))
    ]


def _meaning(match: re.Match[str], names: Names) -> str | None:
    if match.group(3):
        return names.this or None
    if match.group(4):
        return _CALLS.get(match.group(4))
    path = _path(match.group(2))
    if match.group(1) == "ref":
        return names.refs.get(path) or (names.refs.get(path[:1]) if len(path) == 2 and path[1][:1] == "v" else None)
    if match.group(1) == "source":
        return names.sources.get(path)
    return names.variables.get(path[0]) if path else None


def _path(arguments: str) -> tuple[str, ...]:
    """Return the arguments of a call: those by place, and a version as "vN"."""
    found: list[str] = []
    for name, single, double, bare in _ARGUMENT.findall(arguments):
        value = single or double
        if name in {"v", "version"}:
            found.append(f"v{value or bare}")
        elif not name and value:
            found.append(value)
    return tuple(found)
