"""Convert Marquez's deprecated writes to OpenLineage events, so that the log stays the only source. Pure.

Bodies are validated as Marquez validates them (Unprocessable names every wrong field). The caller checks that names and states exist.
"""

import datetime as dt
from collections.abc import Sequence
from typing import Any, Literal, TypeVar

import msgspec

from headwater.client import event
from headwater.errors import InvalidEvent, Unprocessable
from headwater.intake.events.project import ANNOUNCED

T = TypeVar("T", bound=msgspec.Struct)


class Body(msgspec.Struct, rename="camel", kw_only=True):
    """The body of a request. `checked` reports missing fields; unknown fields are ignored."""


class NamespaceBody(Body):
    owner_name: str | None = None
    description: str | None = None


class SourceBody(Body):
    type: str | None = None
    connection_url: str | None = None
    description: str | None = None


class TagBody(Body):
    description: str | None = None


class FieldBody(Body):
    name: str | None = None
    type: str | None = None
    tags: list[str] | None = None
    description: str | None = None


class DatasetBody(Body):
    type: Literal["DB_TABLE", "STREAM"] | None = None
    physical_name: str | None = None
    source_name: str | None = None
    fields: list[FieldBody] | None = None
    tags: list[str] | None = None
    description: str | None = None
    run_id: str | None = None
    schema_location: str | None = None


class DatasetIdBody(Body):
    namespace: str | None = None
    name: str | None = None


class JobBody(Body):
    type: Literal["BATCH", "STREAM", "SERVICE"] | None = None
    inputs: list[DatasetIdBody] | None = None
    outputs: list[DatasetIdBody] | None = None
    location: str | None = None
    description: str | None = None
    run_id: str | None = None
    tags: list[str] | None = None


class RunBody(Body):
    id: str | None = None
    nominal_start_time: dt.datetime | None = None
    nominal_end_time: dt.datetime | None = None
    args: dict[str, str | int | float | bool | None] | None = None


def read(body: bytes, type_: type[T]) -> T:
    """Decode a body; an empty body is `{}`. Raises InvalidEvent if it is not JSON or has a wrong type."""
    try:
        return msgspec.json.decode(body.strip() or b"{}", type=type_)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidEvent(f"the body is not a valid JSON object; correct it: {error}") from error


def checked(body: Body, *required: str) -> None:
    """Check a body. Raises Unprocessable with a message for each required field that is null or blank."""
    wrong = []
    for name in required:
        value = getattr(body, name)
        if value is None:
            wrong.append(f"{_camel(name)} must not be null")
        elif isinstance(value, str) and not value.strip():
            wrong.append(f"{_camel(name)} must not be empty")
    if isinstance(body, DatasetBody):
        if body.type == "STREAM" and not (body.schema_location or "").strip():
            wrong.append("schemaLocation must not be null")
        wrong += [
            f"fields[{i}].name must not be null" for i, f in enumerate(body.fields or ()) if not (f.name or "").strip()
        ]
    if isinstance(body, JobBody):
        for side, datasets in (("inputs", body.inputs), ("outputs", body.outputs)):
            for index, dataset in enumerate(datasets or ()):
                for key in ("namespace", "name"):
                    if not (getattr(dataset, key) or "").strip():
                        wrong.append(f"{side}[{index}].{key} must not be null")
    if wrong:
        raise Unprocessable(wrong[0], errors=wrong)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def dataset_event(namespace: str, name: str, body: DatasetBody, source_url: str) -> dict[str, Any]:
    """Build a DatasetEvent."""
    return event.dataset_event(namespace, name, facets=_dataset_facets(name, body, source_url))


def written_by_run(
    namespace: str, name: str, body: DatasetBody, source_url: str, run: str, job: tuple[str, str]
) -> dict[str, Any]:
    """Build a RunEvent of the run that wrote the dataset."""
    outputs = [event.dataset(namespace, name, facets=_dataset_facets(name, body, source_url))]
    return _announced(run, job, outputs=outputs)


def _dataset_facets(name: str, body: DatasetBody, source_url: str) -> dict[str, Any]:
    facets: dict[str, Any] = {
        "dataSource": event.facet("DatasourceDatasetFacet", name=body.source_name, uri=source_url),
        "datasetType": event.facet("DatasetTypeDatasetFacet/1-0-0", datasetType=_TYPES[body.type or "DB_TABLE"]),
    }
    if body.fields is not None:
        facets["schema"] = event.schema(
            [
                {
                    key: value
                    for key, value in (("name", f.name), ("type", f.type), ("description", f.description))
                    if value
                }
                for f in body.fields
            ]
        )
    if body.description:
        facets["documentation"] = event.documentation(body.description)
    own = body.physical_name == name
    facets["physicalName"] = event.facet(
        "headwater_physical_name", **({"_deleted": True} if own else {"physicalName": body.physical_name})
    )
    if body.schema_location:
        facets["schemaLocation"] = event.facet("headwater_schema_location", schemaLocation=body.schema_location)
    return facets


_TYPES = {"DB_TABLE": "TABLE", "STREAM": "STREAM"}


def job_event(namespace: str, name: str, body: JobBody) -> dict[str, Any]:
    """Build a JobEvent."""
    return event.job(
        (namespace, name), inputs=_ids(body.inputs), outputs=_ids(body.outputs), job_facets=_job_facets(body)
    )


def job_run_event(namespace: str, name: str, body: JobBody) -> dict[str, Any]:
    """Build a RunEvent of the body's run, with its inputs and outputs."""
    assert body.run_id is not None
    return _announced(
        body.run_id,
        (namespace, name),
        inputs=_ids(body.inputs),
        outputs=_ids(body.outputs),
        job_facets=_job_facets(body),
    )


def _ids(datasets: Sequence[DatasetIdBody] | None) -> list[dict[str, Any]]:
    return [event.dataset(dataset.namespace or "", dataset.name or "") for dataset in datasets or ()]


def _job_facets(body: JobBody) -> dict[str, Any]:
    processing = {"STREAM": "STREAMING"}.get(body.type or "", body.type or "BATCH")
    # The body names no integration and no job type; an empty one would appear as a label.
    facets: dict[str, Any] = {"jobType": event.facet("JobTypeJobFacet", processingType=processing)}
    if body.location:
        facets["sourceCodeLocation"] = event.source_code_location("git", body.location)
    if body.description:
        facets["documentation"] = event.documentation(body.description, of="Job")
    return facets


def announced(run: str, job: tuple[str, str], body: RunBody) -> dict[str, Any]:
    """Build a RunEvent for a run that was created and has not started."""
    facets: dict[str, Any] = {}
    if body.nominal_start_time is not None:
        facets["nominalTime"] = event.nominal_time(body.nominal_start_time, body.nominal_end_time)
    if body.args:
        facets["executionParameters"] = event.execution_parameters(
            {key: "" if value is None else str(value) for key, value in body.args.items()}
        )
    return _announced(run, job, run_facets=facets)


def _announced(
    run: str, job: tuple[str, str], *, run_facets: dict[str, Any] | None = None, **fields: Any
) -> dict[str, Any]:
    run_event = event.run(
        "OTHER", run_id=run, job=job, run_facets={**(run_facets or {}), ANNOUNCED: event.facet(ANNOUNCED)}, **fields
    )
    # An event without a type reports no state.
    del run_event["eventType"]
    return run_event


TRANSITIONS = {"start": "START", "complete": "COMPLETE", "fail": "FAIL", "abort": "ABORT"}


def transition(
    run: str,
    job: tuple[str, str],
    action: str,
    at: dt.datetime | None,
    inputs: Sequence[tuple[str, str]] = (),
    outputs: Sequence[tuple[str, str]] = (),
) -> dict[str, Any]:
    """Build a RunEvent for the run's next state. `inputs`, `outputs`: those of the job, which its runs read and write."""
    read, written = ([event.dataset(*one) for one in side] for side in (inputs, outputs))
    return event.run(TRANSITIONS[action], run_id=run, job=job, event_time=at, inputs=read, outputs=written)


def encoded(event_: dict[str, Any]) -> bytes:
    return msgspec.json.encode(event_)
