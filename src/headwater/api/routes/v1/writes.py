"""Writes of Marquez's clients: datasets, jobs and runs become OpenLineage events; namespaces, sources, tags and hiding become metadata."""

import datetime as dt
import uuid
from typing import Any
from urllib.parse import quote

from litestar import Request, Response, delete, post, put
from litestar.datastructures import State

from headwater.answer.marquez import datasets, jobs, namespaces, runs, shapes, sources, tags
from headwater.api import body
from headwater.api.authors import author
from headwater.api.routes.v1 import parameters
from headwater.api.routes.v1.parameters import Segment, Text, decoded
from headwater.client import event
from headwater.errors import InvalidQuestion, NotFound
from headwater.intake.events import marquez_writes
from headwater.intake.events.accept import Intake
from headwater.intake.people import manual, manual_targets
from headwater.model.manual import Change, DefineTag, Describe, Hide, NameNamespace, NameSource, Tag, Target, Untag
from headwater.model.tags import TagSchema

Asked = Request[Any, Any, Any]


async def _body(request: Asked, state: State, type_: type[marquez_writes.T]) -> marquez_writes.T:
    return marquez_writes.read(await body.read(request, state.settings.server.max_body_bytes), type_)


async def _send(state: State, *events: dict[str, Any]) -> None:
    intake: Intake = state.intake
    for made in events:
        await intake.accept(marquez_writes.encoded(made))


async def _say(request: Asked, state: State, *changes: manual.ProposedChange) -> None:
    for change in changes:
        strict = state.settings.metadata.strict_tags
        await manual.record(state.database, change, author(request), strict_tags=strict)


@put("/namespaces/{namespace:str}")
async def namespace_put(request: Asked, state: State, namespace: Segment) -> shapes.Namespace:
    """Create a namespace or set its owner; shows it again if it was hidden."""
    name, given = decoded(namespace), await _body(request, state, marquez_writes.NamespaceBody)
    marquez_writes.checked(given, "owner_name")
    await _say(request, state, NameNamespace(name, given.owner_name or ""))
    if given.description is not None:
        await _say(request, state, Describe(Target("namespace", name), given.description or None))
    return await namespaces.get(state.database, name)


@delete("/namespaces/{namespace:str}", status_code=200)
async def namespace_delete(request: Asked, state: State, namespace: Segment) -> shapes.Namespace:
    """Hide a namespace and everything in it until an event reports it again."""
    found = await namespaces.get(state.database, decoded(namespace))
    await _say(request, state, Hide(Target("namespace", found.name)))
    return found


@put("/sources/{source:str}")
async def source_put(request: Asked, state: State, source: Segment) -> shapes.Source:
    """Create a source, or set its address."""
    name, given = decoded(source), await _body(request, state, marquez_writes.SourceBody)
    marquez_writes.checked(given, "type", "connection_url")
    await _say(request, state, NameSource(name, given.type or "", given.connection_url or "", given.description))
    return await sources.get(state.database, name)


@put("/tags/{tag:str}")
async def tag_put(request: Asked, state: State, tag: Segment) -> shapes.Tag:
    """Create a tag, or describe it."""
    name, body = decoded(tag), await _body(request, state, marquez_writes.TagBody)

    async def define(connection: Any, _identity: Any) -> Change:
        # Marquez has no tag values: the defined ones stay as they are.
        spelled, schema = await manual_targets.defined(connection, name) or (name, TagSchema())
        wanted = TagSchema(schema.type, body.description, schema.values, schema.pattern, schema.applies_to)
        return DefineTag(spelled, wanted)

    await _say(request, state, define)
    return await tags.get(state.database, name)


@put("/namespaces/{namespace:str}/datasets/{dataset:str}")
async def dataset_put(request: Asked, state: State, namespace: Segment, dataset: Segment) -> shapes.Dataset:
    """Report a dataset (deprecated: send OpenLineage)."""
    where, name = decoded(namespace), decoded(dataset)
    given = await _body(request, state, marquez_writes.DatasetBody)
    marquez_writes.checked(given, "type", "physical_name", "source_name")
    await namespaces.get(state.database, where)
    source = await _source(state, given.source_name or "")
    events = [marquez_writes.dataset_event(where, name, given, source)]
    if given.run_id is not None:
        job = await runs.job_of(state.database, given.run_id)
        events.append(marquez_writes.written_by_run(where, name, given, source, given.run_id, job))
    await _send(state, *events)
    whole = Target("dataset", name, where)
    await _say(request, state, *(Tag(whole, tag) for tag in given.tags or ()))
    for field in given.fields or ():
        column = Target("dataset", name, where, field.name)
        await _say(request, state, *(Tag(column, tag) for tag in field.tags or ()))
    return await datasets.get(state.database, where, name)


async def _source(state: State, name: str) -> str:
    """Return a source's address. Raises NotFound; `default` always exists."""
    try:
        return (await sources.get(state.database, name)).connection_url
    except NotFound:
        if name != "default":
            raise
        return ""


@delete("/namespaces/{namespace:str}/datasets/{dataset:str}", status_code=200)
async def dataset_delete(request: Asked, state: State, namespace: Segment, dataset: Segment) -> shapes.Dataset:
    """Hide a dataset until an event reports it again."""
    found = await datasets.get(state.database, decoded(namespace), decoded(dataset))
    await _say(request, state, Hide(Target("dataset", found.name, found.namespace)))
    return found


async def _dataset_tag(
    request: Asked, state: State, namespace: str, dataset: str, tag: str, field: str | None = None, *, put: bool
) -> shapes.Dataset:
    found = await datasets.get(state.database, decoded(namespace), decoded(dataset))
    column = None if field is None else decoded(field)
    if column is not None and column not in {one.name for one in found.fields}:
        raise NotFound(f"Field '{column}' not found for dataset '{found.name}'.")
    target = Target("dataset", found.name, found.namespace, column)
    await _say(request, state, Tag(target, decoded(tag)) if put else Untag(target, decoded(tag)))
    return await datasets.get(state.database, found.namespace, found.name)


@post("/namespaces/{namespace:str}/datasets/{dataset:str}/tags/{tag:str}", status_code=200)
async def dataset_tag_post(
    request: Asked, state: State, namespace: Segment, dataset: Segment, tag: Segment
) -> shapes.Dataset:
    """Tag a dataset."""
    return await _dataset_tag(request, state, namespace, dataset, tag, put=True)


@delete("/namespaces/{namespace:str}/datasets/{dataset:str}/tags/{tag:str}", status_code=200)
async def dataset_tag_delete(
    request: Asked, state: State, namespace: Segment, dataset: Segment, tag: Segment
) -> shapes.Dataset:
    """Remove a tag from a dataset."""
    return await _dataset_tag(request, state, namespace, dataset, tag, put=False)


@post("/namespaces/{namespace:str}/datasets/{dataset:str}/fields/{field:str}/tags/{tag:str}", status_code=200)
async def field_tag_post(
    request: Asked, state: State, namespace: Segment, dataset: Segment, field: Segment, tag: Segment
) -> shapes.Dataset:
    """Tag a column. The tag keeps its spelling and matches in any case."""
    return await _dataset_tag(request, state, namespace, dataset, tag, field, put=True)


@delete("/namespaces/{namespace:str}/datasets/{dataset:str}/fields/{field:str}/tags/{tag:str}", status_code=200)
async def field_tag_delete(
    request: Asked, state: State, namespace: Segment, dataset: Segment, field: Segment, tag: Segment
) -> shapes.Dataset:
    """Remove a tag from a column."""
    return await _dataset_tag(request, state, namespace, dataset, tag, field, put=False)


@put("/namespaces/{namespace:str}/jobs/{job:str}")
async def job_put(request: Asked, state: State, namespace: Segment, job: Segment) -> shapes.Job:
    """Report a job with its inputs and outputs (deprecated: send OpenLineage)."""
    given = await _body(request, state, marquez_writes.JobBody)
    marquez_writes.checked(given, "type", "inputs", "outputs")
    await namespaces.get(state.database, decoded(namespace))
    named = [(one.namespace or "", one.name or "") for one in (*(given.inputs or ()), *(given.outputs or ()))]
    await datasets.check(state.database, named)
    try:
        where, name = await jobs.own_name(state.database, decoded(namespace), decoded(job))
    except NotFound:
        where, name = decoded(namespace), decoded(job)
    events = [marquez_writes.job_event(where, name, given)]
    if given.run_id is not None:
        if await runs.job_of(state.database, given.run_id) != (where, name):
            raise NotFound(f"Run '{given.run_id}' not found.")
        events.append(marquez_writes.job_run_event(where, name, given))
    await _send(state, *events)
    await _say(request, state, *(Tag(Target("job", name, where), tag) for tag in given.tags or ()))
    return await jobs.get(state.database, where, name)


@delete("/namespaces/{namespace:str}/jobs/{job:str}", status_code=200)
async def job_delete(request: Asked, state: State, namespace: Segment, job: Segment) -> shapes.Job:
    """Hide a job until an event reports it again."""
    where, name = await jobs.own_name(state.database, decoded(namespace), decoded(job))
    found = await jobs.get(state.database, where, name)
    await _say(request, state, Hide(Target("job", name, where)))
    return found


@post("/namespaces/{namespace:str}/jobs/{job:str}/tags/{tag:str}", status_code=200)
async def job_tag_post(request: Asked, state: State, namespace: Segment, job: Segment, tag: Segment) -> shapes.Job:
    """Tag a job."""
    where, name = await jobs.own_name(state.database, decoded(namespace), decoded(job))
    await _say(request, state, Tag(Target("job", name, where), decoded(tag)))
    return await jobs.get(state.database, where, name)


@delete("/namespaces/{namespace:str}/jobs/{job:str}/tags/{tag:str}", status_code=200)
async def job_tag_delete(request: Asked, state: State, namespace: Segment, job: Segment, tag: Segment) -> shapes.Job:
    """Remove a tag from a job."""
    where, name = await jobs.own_name(state.database, decoded(namespace), decoded(job))
    await _say(request, state, Untag(Target("job", name, where), decoded(tag)))
    return await jobs.get(state.database, where, name)


@post("/namespaces/{namespace:str}/jobs/{job:str}/runs", status_code=201)
async def run_post(request: Asked, state: State, namespace: Segment, job: Segment) -> Response[shapes.Run]:
    """Create a run that has not started (deprecated: send OpenLineage)."""
    given = await _body(request, state, marquez_writes.RunBody)
    where, name = await jobs.own_name(state.database, decoded(namespace), decoded(job))
    run = given.id or event.run_id()
    if not _is_uuid(run):
        raise InvalidQuestion(f"id must be a UUID, not {run[:100]!r}")
    if given.id is not None and await runs.exists(state.database, run):
        raise InvalidQuestion(f"Run '{run}' already exists for '{name}' under namespace '{where}'.")
    await _send(state, marquez_writes.announced(run, (where, name), given))
    location = f"/api/v1/jobs/runs/{quote(run, safe='')}"
    return Response(await runs.get(state.database, run), status_code=201, headers={"location": location})


def _is_uuid(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return len(text) == 36


async def _transition(state: State, run_id: str, action: str, at: dt.datetime | None) -> shapes.Run:
    run = decoded(run_id)
    job = await runs.job_of(state.database, run)
    sides: tuple[list[tuple[str, str]], ...] = ([], [])
    if action in {"start", "complete"}:
        declared = await jobs.get(state.database, *job)
        sides = tuple([(one.namespace, one.name) for one in side] for side in (declared.inputs, declared.outputs))
    await _send(state, marquez_writes.transition(run, job, action, at, *sides))
    return await runs.get(state.database, run)


@post("/jobs/runs/{run_id:str}/start", status_code=200)
async def run_start(state: State, run_id: Segment, at: Text = None) -> shapes.Run:
    """Mark a run as started (deprecated: send OpenLineage)."""
    return await _transition(state, run_id, "start", parameters.time("at", at))


@post("/jobs/runs/{run_id:str}/complete", status_code=200)
async def run_complete(state: State, run_id: Segment, at: Text = None) -> shapes.Run:
    """Mark a run as completed (deprecated: send OpenLineage)."""
    return await _transition(state, run_id, "complete", parameters.time("at", at))


@post("/jobs/runs/{run_id:str}/fail", status_code=200)
async def run_fail(state: State, run_id: Segment, at: Text = None) -> shapes.Run:
    """Mark a run as failed (deprecated: send OpenLineage)."""
    return await _transition(state, run_id, "fail", parameters.time("at", at))


@post("/jobs/runs/{run_id:str}/abort", status_code=200)
async def run_abort(state: State, run_id: Segment, at: Text = None) -> shapes.Run:
    """Mark a run as aborted (deprecated: send OpenLineage)."""
    return await _transition(state, run_id, "abort", parameters.time("at", at))


HANDLERS = [
    namespace_put, namespace_delete, source_put, tag_put, dataset_put, dataset_delete, dataset_tag_post, dataset_tag_delete,
    field_tag_post, field_tag_delete, job_put, job_delete, job_tag_post, job_tag_delete, run_post, run_start, run_complete,
    run_fail, run_abort,
]  # fmt: skip
