"""The kinds of datasets that producers name (`datasetType`): data, or a part of a BI tool that shows data."""

from typing import Any, Final

import msgspec

# dbt's semantic layer is data too: what it computes is shown by others.
_DATA: Final = frozenset({
    "", "TABLE", "VIEW", "MATERIALIZED_VIEW", "FILE", "TOPIC", "STREAM", "MODEL", "SEMANTIC_MODEL", "METRIC", "SAVED_QUERY",
})  # fmt: skip


def kind_of(facet: bytes | None) -> str:
    """Return the kind that a `datasetType` facet names, in capitals; "" without one."""
    told: Any = msgspec.json.decode(facet) if facet is not None else {}
    return str(told.get("datasetType") or "").upper() if isinstance(told, dict) else ""


def is_of_bi_tool(kind: str) -> bool:
    """Return whether a kind is a dashboard, a chart, a question or the like."""
    return kind not in _DATA
