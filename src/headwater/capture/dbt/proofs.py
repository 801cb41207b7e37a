"""The facts of a dbt project's relations that its own tests and enforced contracts prove on every build."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from headwater.capture.dbt.manifest import Manifest, Node, reads
from headwater.capture.dbt.unique_keys import is_strict, unique_keys
from headwater.columns.shape.proofs import TableName, TableProofs

_NOT_NULL_ENFORCED = frozenset({"postgres", "redshift", "snowflake", "bigquery", "databricks"})
"""Adapters whose database refuses NULL in a column that a contract declares so."""
_UNIQUE_ENFORCED = frozenset({"postgres"})
_QUOTED = re.compile(r"""['"]([^'"]+)['"]""")
_COLUMN = re.compile(r"\w+")


class ProvenFacts:
    """Collects the facts of relations by their unique id."""

    def __init__(self, manifest: Manifest, table_of: Callable[[Node], TableName | None]) -> None:
        self._manifest, self._table_of = manifest, table_of
        self._keys = {id_: set(map(frozenset, keys)) for id_, keys in unique_keys(manifest).items()}
        self._not_null: dict[str, set[str]] = {}
        self._references: dict[str, set[tuple[str, TableName, str]]] = {}
        self._accepted: dict[str, set[tuple[str, frozenset[tuple[str, bool]]]]] = {}

    def collect(self) -> dict[str, TableProofs]:
        """Return the facts that tests of all rows demand, which fail the build otherwise, and those that the database enforces in new tables."""
        for id_, node in self._manifest.nodes.items():
            if node.get("resource_type") == "test":
                self._read_test(node)
            elif node.get("resource_type") == "model":
                self._read_contract(id_, node)
        ids = {*self._keys, *self._not_null, *self._references, *self._accepted}
        return {
            id_: TableProofs(
                frozenset(self._keys.get(id_, ())),
                frozenset(self._not_null.get(id_, ())),
                frozenset(self._references.get(id_, ())),
                frozenset(self._accepted.get(id_, ())),
            )
            for id_ in ids
        }

    def _read_test(self, test: Node) -> None:
        metadata, config = _mapping(test.get("test_metadata")), _mapping(test.get("config"))
        arguments = _mapping(metadata.get("kwargs"))
        column = str(arguments.get("column_name") or "").strip('"`').lower()
        depends = reads(test)
        tested = str(test.get("attached_node") or "")
        if metadata.get("namespace") or not is_strict(config) or not _COLUMN.fullmatch(column) or not tested:
            return
        name, values = metadata.get("name"), arguments.get("values")
        if name == "not_null":
            self._not_null.setdefault(tested, set()).add(column)
        elif name == "accepted_values" and isinstance(values, list):
            is_string = arguments.get("quote", True) is not False
            listed = frozenset((str(one), is_string) for one in values)
            self._accepted.setdefault(tested, set()).add((column, listed))
        elif name == "relationships":
            parent = next((one for one in depends if one != tested), tested)
            node = self._manifest.nodes.get(parent) or self._manifest.others.get(parent)
            named = _QUOTED.findall(str(arguments.get("to") or ""))
            field = str(arguments.get("field") or "").strip('"`').lower()
            if node is None or not named or named[-1] != node.get("name") or not _COLUMN.fullmatch(field):
                return
            if (table := self._table_of(node)) is not None:
                key = tuple(part.lower() for part in table)
                self._references.setdefault(tested, set()).add((column, key, field))

    def _read_contract(self, id_: str, node: Node) -> None:
        """Read the constraints of a table that is made anew on each build; one that stays may be older than they are."""
        config = _mapping(node.get("config"))
        if not _mapping(config.get("contract")).get("enforced") or config.get("materialized") != "table":
            return
        for kind, columns in _constraints(node):
            has_keys = self._manifest.adapter in _UNIQUE_ENFORCED
            if (kind == "not_null" and self._manifest.adapter in _NOT_NULL_ENFORCED) or (
                kind == "primary_key" and has_keys
            ):
                self._not_null.setdefault(id_, set()).update(columns)
            if kind in {"unique", "primary_key"} and has_keys:
                self._keys.setdefault(id_, set()).add(columns)


def _constraints(node: Node) -> Iterator[tuple[str, frozenset[str]]]:
    for column in _mapping(node.get("columns")).values():
        for one in map(_mapping, _mapping(column).get("constraints") or ()):
            yield str(one.get("type")), frozenset({str(column.get("name")).lower()})
    for one in map(_mapping, node.get("constraints") or ()):
        if columns := frozenset(str(name).lower() for name in one.get("columns") or ()):
            yield str(one.get("type")), columns


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
