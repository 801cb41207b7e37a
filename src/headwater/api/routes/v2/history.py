"""`/api/v2`: history and health. docs/reference/api-v2.md describes each route with an example."""

import datetime as dt
from typing import Annotated
from urllib.parse import unquote

from litestar import Router, get
from litestar.datastructures import State
from litestar.params import PathParameter, QueryParameter

from headwater.answer.history import (
    durations,
    facets,
    job_versions,
    object_log,
    receipts,
    stale_lineage,
    update_log,
    versions,
)
from headwater.answer.status import freshness
from headwater.model.moments import aware

Limit = Annotated[int, QueryParameter(ge=0, le=10_000)]
Offset = Annotated[int, QueryParameter(ge=0)]
Text = Annotated[str, QueryParameter(max_length=20_000)]
OptionalText = Annotated[str | None, QueryParameter(max_length=20_000)]
Time = Annotated[dt.datetime | None, QueryParameter(description="ISO 8601; without a zone, UTC.")]
Segment = Annotated[str, PathParameter(description="Percent-encoded whole.")]


@get("/datasets/{namespace:str}/{name:str}/facets")
async def dataset_facets(
    state: State,
    namespace: Segment,
    name: Segment,
    facet: Annotated[str | None, QueryParameter(name="name")] = None,
    limit: Limit = 200,
) -> facets.FacetHistory:
    """List earlier facets of a dataset, and when each was valid."""
    return await facets.facet_history(state.database, "dataset", unquote(namespace), unquote(name), facet, limit)


@get("/jobs/{namespace:str}/{name:str}/facets")
async def job_facets(
    state: State,
    namespace: Segment,
    name: Segment,
    facet: Annotated[str | None, QueryParameter(name="name")] = None,
    limit: Limit = 200,
) -> facets.FacetHistory:
    """List earlier facets of a job, and when each was valid."""
    return await facets.facet_history(state.database, "job", unquote(namespace), unquote(name), facet, limit)


@get("/datasets/{namespace:str}/{name:str}/versions")
async def dataset_versions(
    state: State, namespace: Segment, name: Segment, limit: Limit = 100, offset: Offset = 0
) -> versions.Versions:
    """List the versions of a dataset, the latest first."""
    return await versions.versions(state.database, unquote(namespace), unquote(name), limit=limit, offset=offset)


@get("/datasets/{namespace:str}/{name:str}/versions/diff")
async def dataset_version_diff(
    state: State,
    namespace: Segment,
    name: Segment,
    before: Annotated[str | None, QueryParameter(name="from")] = None,
    after: Annotated[str | None, QueryParameter(name="to")] = None,
) -> versions.VersionDiff:
    """Compare two versions of a dataset."""
    return await versions.version_diff(state.database, unquote(namespace), unquote(name), before, after)


@get("/datasets/{namespace:str}/{name:str}/versions/{version:str}")
async def dataset_version(state: State, namespace: Segment, name: Segment, version: Segment) -> versions.VersionDetail:
    """Return one version in full."""
    return await versions.version(state.database, unquote(namespace), unquote(name), unquote(version))


@get("/datasets/{namespace:str}/{name:str}/schema-history")
async def dataset_schemas(
    state: State, namespace: Segment, name: Segment, limit: Limit = 200
) -> versions.SchemaHistory:
    """List every schema of a dataset, and when each was valid."""
    return await versions.schema_history(state.database, unquote(namespace), unquote(name), limit)


@get("/jobs/{namespace:str}/{name:str}/versions")
async def versions_of_job(
    state: State, namespace: Segment, name: Segment, limit: Annotated[int, QueryParameter(ge=1, le=2000)] = 500
) -> job_versions.JobVersions:
    """List the versions of a job: each distinct code, SQL, inputs and outputs, with its runs."""
    return await job_versions.job_versions(state.database, unquote(namespace), unquote(name), limit)


@get("/datasets/{namespace:str}/{name:str}/freshness")
async def dataset_health(state: State, namespace: Segment, name: Segment, as_of: Time = None) -> freshness.Health:
    """Return whether a dataset exists, is fresh and passes its checks."""
    return await freshness.health(state.database, unquote(namespace), unquote(name), aware(as_of))


@get("/freshness")
async def freshness_list(
    state: State,
    wanted: Annotated[str | None, QueryParameter(name="state")] = None,
    namespace: OptionalText = None,
    limit: Limit = 100,
    offset: Offset = 0,
) -> freshness.FreshnessList:
    """List datasets that are late, or in another state of freshness."""
    return await freshness.freshness(state.database, state=wanted, namespace=namespace, limit=limit, offset=offset)


@get("/jobs/{namespace:str}/{name:str}/durations")
async def job_durations(
    state: State,
    namespace: Segment,
    name: Segment,
    limit: Annotated[int, QueryParameter(ge=1, le=2000)] = 200,
    as_of: Time = None,
) -> durations.Durations:
    """Return how long a job's runs take, and whether it became slower."""
    return await durations.durations(state.database, unquote(namespace), unquote(name), limit, aware(as_of))


@get("/slower")
async def slower(state: State, since: Time = None, limit: Limit = 100, offset: Offset = 0) -> durations.SlowerJobs:
    """List jobs that became slower."""
    return await durations.slower(state.database, aware(since), limit=limit, offset=offset)


@get("/update-log")
async def get_update_log(
    state: State, node: Text, as_of: Time = None, limit: Limit = 100, offset: Offset = 0
) -> update_log.UpdateLog:
    """List the writes of a dataset, the latest first: import, correction, forced."""
    return await update_log.update_log(state.database, node, as_of=aware(as_of), limit=limit, offset=offset)


@get("/object-log")
async def get_object_log(
    state: State,
    node: Text,
    column: OptionalText = None,
    as_of: Time = None,
    limit: Limit = 100,
    offset: Offset = 0,
) -> object_log.ObjectLog:
    """List the changes of a dataset itself, or of one column, the latest first: created, altered, renamed, dropped, and by whom."""
    return await object_log.object_log(
        state.database, node, column=column, as_of=aware(as_of), limit=limit, offset=offset
    )


@get("/blame")
async def get_blame(state: State, node: Text, column: OptionalText = None, as_of: Time = None) -> object_log.Blame:
    """Return the change that made each column of a dataset what it is."""
    return await object_log.blame(state.database, node, column, aware(as_of))


@get("/stale-lineage")
async def get_stale_lineage(state: State) -> stale_lineage.StaleLineage:
    """List producers, syncs and jobs that used to report and do not any more."""
    return await stale_lineage.stale_lineage(state.database)


@get("/receipts")
async def receipt_list(
    state: State,
    producer: OptionalText = None,
    code: OptionalText = None,
    run: OptionalText = None,
    since: Time = None,
    limit: Limit = 100,
    offset: Offset = 0,
) -> receipts.Receipts:
    """List recently received events."""
    return await receipts.receipts(
        state.database, producer=producer, code=code, run=run, since=aware(since), limit=limit, offset=offset
    )


@get("/receipts/{digest:str}")
async def receipt(state: State, digest: Segment) -> receipts.ReceiptDetail:
    """Return the receipt of an event."""
    return await receipts.receipt(state.database, unquote(digest))


router = Router(
    "/api/v2",
    route_handlers=[
        dataset_facets,
        job_facets,
        dataset_versions,
        dataset_version_diff,
        dataset_version,
        dataset_schemas,
        versions_of_job,
        dataset_health,
        freshness_list,
        job_durations,
        slower,
        get_stale_lineage,
        get_update_log,
        get_object_log,
        get_blame,
        receipt_list,
        receipt,
    ],
    tags=["History"],
)
