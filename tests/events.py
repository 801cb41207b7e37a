"""Short ways to write OpenLineage events in tests."""

import json
from typing import Any

RUN = "0199c0de-0000-7000-8000-{:012d}"


def facet(**values: Any) -> dict[str, Any]:
    return {"_producer": "https://example.test", "_schemaURL": "https://example.test/facet.json", **values}


def schema(*names: str, type: str = "string") -> dict[str, Any]:
    return {"schema": facet(fields=[{"name": name, "type": type} for name in names])}


def columns(fields: dict[str, list[tuple[str, str, str]]], whole: list[tuple[str, str, str]] = ()) -> dict[str, Any]:  # type: ignore[assignment]
    """`{target: [(dataset, field, "DIRECT:IDENTITY")]}` as a columnLineage facet over namespace `file`."""

    def one(item: tuple[str, str, str]) -> dict[str, Any]:
        kind, _, subtype = item[2].partition(":")
        return {
            "namespace": "file",
            "name": item[0],
            "field": item[1],
            "transformations": [{"type": kind, "subtype": subtype}],
        }

    told: dict[str, Any] = {
        "fields": {name: {"inputFields": [one(i) for i in items]} for name, items in fields.items()}
    }
    if whole:
        told["dataset"] = [one(i) for i in whole]
    return {"columnLineage": facet(**told)}


def dataset(name: str, namespace: str = "file", **facets: Any) -> dict[str, Any]:
    return {"namespace": namespace, "name": name, "facets": facets}


def run_event(
    type_: str | None,
    run: int | str,
    job: str,
    inputs: list[Any] = (),  # type: ignore[assignment]
    outputs: list[Any] = (),  # type: ignore[assignment]
    *,
    at: str = "2026-01-01T00:00:00Z",
    namespace: str = "test",
    run_facets: dict[str, Any] | None = None,
    job_facets: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Inputs and outputs are names in namespace `file`, or dataset objects."""

    def datasets(items: list[Any]) -> list[Any]:
        return [dataset(item) if isinstance(item, str) else item for item in items]

    event = {
        "eventType": type_,
        "eventTime": at,
        "producer": "https://example.test",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": RUN.format(run) if isinstance(run, int) else run, "facets": run_facets or {}},
        "job": {"namespace": namespace, "name": job, "facets": job_facets or {}},
        "inputs": datasets(inputs),
        "outputs": datasets(outputs),
    }
    if type_ is None:
        del event["eventType"]
    return event


def parent(run: int, job: str, namespace: str = "test", root: tuple[int, str] | None = None) -> dict[str, Any]:
    told: dict[str, Any] = {"run": {"runId": RUN.format(run)}, "job": {"namespace": namespace, "name": job}}
    if root:
        told["root"] = {"run": {"runId": RUN.format(root[0])}, "job": {"namespace": namespace, "name": root[1]}}
    return {"parent": facet(**told)}


def encoded(event: Any) -> bytes:
    return json.dumps(event).encode()
