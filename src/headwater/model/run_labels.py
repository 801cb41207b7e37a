"""Labels of runs: what a run's facets say that people look runs up by. Never raises: a malformed facet has no labels."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from headwater.model.facets import clean
from headwater.model.related import DEPENDENCIES

# Facets of Google's registry, whose scalars are labels as they are.
_REGISTRY = ("gcp_composer_run", "gcp_dataproc")
# Clients tag every run with their version, which tells no run from another.
_SYSTEM_SOURCE = "OPENLINEAGE_CLIENT"
_LONGEST, _MOST = 400, 50
# Facets of Airflow's runs of a DAG, and of its tasks.
_AIRFLOW = ("airflowDagRun", "airflow")
_FACETS = frozenset(
    {"externalQuery", "processing_engine", "tags", "environmentVariables", *_REGISTRY, *_AIRFLOW, DEPENDENCIES}
)


def run_labels(facets: Mapping[str, bytes | msgspec.Raw]) -> list[tuple[str, str]]:
    """Return (name, value) of each label: `tag:KEY`, `query`, `engine`, `variable:NAME`, `partition`, `asset:URI`, `FACET.FIELD`; the first fifty."""
    if _FACETS.isdisjoint(facets):
        return []
    found = dict.fromkeys(
        (clean(name)[:_LONGEST], clean(value)[:_LONGEST]) for name, value in _labels(facets) if name and value
    )
    return list(found)[:_MOST]


def _labels(facets: Mapping[str, bytes | msgspec.Raw]) -> Iterator[tuple[str, str]]:
    query = _read(facets, "externalQuery").get("externalQueryId")
    if isinstance(query, str):
        yield "query", query
    engine = _read(facets, "processing_engine")
    parts = [engine[key] for key in ("name", "version") if isinstance(engine.get(key), str)]
    if parts:
        yield "engine", " ".join(parts)
    for tag in _items(_read(facets, "tags").get("tags")):
        if isinstance(tag.get("key"), str) and tag.get("source") != _SYSTEM_SOURCE:
            yield f"tag:{tag['key']}", _text(tag.get("value")) or "true"
    for variable in _items(_read(facets, "environmentVariables").get("environmentVariables")):
        if isinstance(variable.get("name"), str):
            yield f"variable:{variable['name']}", _text(variable.get("value"))
    for facet in _AIRFLOW:
        dag_run = _read(facets, facet).get("dagRun")
        if isinstance(dag_run, dict):
            yield "partition", _text(dag_run.get("partition_key"))
    yield from _assets(_read(facets, DEPENDENCIES))
    for facet in _REGISTRY:
        for key, value in _read(facets, facet).items():
            if not key.startswith("_"):
                yield f"{facet}.{key}", _text(value)


def _assets(dependencies: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Return which partition of which asset triggered the run of a DAG: Airflow's events of assets."""
    for job in _items(dependencies.get("upstream")):
        airflow = job.get("airflow")
        for asset in _items(airflow.get("asset_events") if isinstance(airflow, dict) else None):
            if isinstance(asset.get("asset_uri"), str):
                yield f"asset:{asset['asset_uri']}", _text(asset.get("partition_key"))


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else ""


def _items(listed: object) -> list[dict[str, Any]]:
    return [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []


def _read(facets: Mapping[str, bytes | msgspec.Raw], name: str) -> dict[str, Any]:
    if name not in facets:
        return {}
    try:
        value = msgspec.json.decode(bytes(facets[name]))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
