"""The keys of a dbt project's relations that its own tests prove unique on every build."""

import re
from collections.abc import Mapping
from typing import Any

from headwater.capture.dbt.manifest import Manifest, reads

Keys = tuple[tuple[str, ...], ...]
_NAME = re.compile(r"'[^']*'|\"[^\"]+\"|`[^`]+`|[^\W\d]\w*")


def unique_keys(manifest: Manifest) -> dict[str, Keys]:
    """Return by unique id the sets of columns, in lower case, that a test demands to be unique in all rows, and fails the build otherwise.

    Tests: dbt's `unique` of a column or of columns put together (`a || '-' || b`, as dbt's documentation has it for several), and
    `unique_combination_of_columns` of dbt_utils. A test of a part of the rows, or one that warns, proves nothing.
    """
    found: dict[str, dict[tuple[str, ...], None]] = {}
    for node in manifest.nodes.values():
        metadata, config = _mapping(node.get("test_metadata")), _mapping(node.get("config"))
        if node.get("resource_type") != "test" or not is_strict(config):
            continue
        columns = _columns(str(metadata.get("name")), _mapping(metadata.get("kwargs")))
        tested = node.get("attached_node") or next(iter(reads(node)), None)
        if columns and tested:
            found.setdefault(str(tested), {})[columns] = None
    return {id_: tuple(keys) for id_, keys in found.items()}


def is_strict(config: Mapping[str, Any]) -> bool:
    """Return whether a test by its settings reads all rows and fails the build for one."""
    return (
        not config.get("where")
        and not config.get("limit")
        and str(config.get("severity") or "error").lower() == "error"
        and str(config.get("error_if") or "!= 0").strip() == "!= 0"
    )


def _columns(test: str, arguments: Mapping[str, Any]) -> tuple[str, ...]:
    if test == "unique_combination_of_columns":
        listed = arguments.get("combination_of_columns")
        return tuple(sorted(str(one).strip('"`').lower() for one in listed)) if isinstance(listed, list) else ()
    if test != "unique":
        return ()
    # A call's name is taken for one more column: then nothing is joined by all of them, and nothing is claimed.
    names = _NAME.findall(str(arguments.get("column_name") or ""))
    return tuple(sorted({one.strip('"`').lower() for one in names if not one.startswith("'")}))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
