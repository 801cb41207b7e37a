"""Traits of datasets and jobs: what their facets say of their kind and place, as `name:value`, to search and filter by. Never raises."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from headwater.model.facets import clean

FACETS = (
    "catalog", "datasetType", "dbt_exposure", "dbt_node", "gcp_composer_job",
    "gcp_lineage", "hierarchy", "jobType", "lifecycleStateChange", "storage",
)  # fmt: skip
_LONGEST, _MOST = 200, 50
# Trait names of fields that are plain texts, by facet.
_FIELDS = {
    "catalog": {"name": "catalog", "framework": "framework", "type": "catalog_type", "warehouseUri": "warehouse"},
    "datasetType": {"datasetType": "kind", "subType": "subtype"},
    "dbt_exposure": {"name": "exposure", "url": "url"},
    "dbt_node": {"unique_id": "dbt"},
    "gcp_lineage": {"displayName": "display_name"},
    "jobType": {"jobType": "kind", "integration": "integration", "processingType": "processing"},
    "storage": {"storageLayer": "storage", "fileFormat": "format"},
}


def traits(facets: Mapping[str, bytes]) -> list[str]:
    """Return the traits of a dataset or job, as `kind:VIEW`, in the order of their facets; the first fifty."""
    found = dict.fromkeys(
        clean(f"{name}:{value}")[:_LONGEST]
        for facet in FACETS
        if facet in facets
        for name, value in _traits(facet, _read(facets[facet]))
        if value
    )
    return list(found)[:_MOST]


def _traits(facet: str, body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for field, name in _FIELDS.get(facet, {}).items():
        yield name, _text(body.get(field))
    if facet == "hierarchy" and isinstance(body.get("hierarchy"), list):
        for level in body["hierarchy"]:
            if isinstance(level, dict) and isinstance(level.get("type"), str):
                yield level["type"].lower(), _text(level.get("name"))
    if facet == "lifecycleStateChange" and isinstance(before := body.get("previousIdentifier"), dict):
        yield "renamed_from", _text(before.get("name"))
    if facet in {"gcp_composer_job", "gcp_lineage"}:
        for field, value in body.items():
            if not field.startswith("_") and field != "displayName":
                yield f"{facet}.{field}", _text(value)


def _text(value: object) -> str:
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def _read(body: bytes) -> Mapping[str, Any]:
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
