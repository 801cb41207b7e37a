"""Decode the facets that relate jobs and datasets beside the flow of data: dependencies of jobs, exposures of dbt, earlier names."""

import msgspec

from headwater.model.facets import clean
from headwater.model.names import DatasetName, JobName, job_name, normalised
from headwater.model.parts import PartDecoder

DEPENDENCIES, EXPOSURES = "jobDependencies", "dbt_exposures"
_MOST = 1_000


class Dependency(msgspec.Struct, frozen=True):
    """A job that has to run before the event's own job (`upstream`), or after it. `kind`: the producer's word; empty if it has none."""

    job: JobName
    upstream: bool
    kind: str


class Exposure(msgspec.Struct, frozen=True):
    """A dashboard or another use of a dbt model. `body`: the facet that the dashboard gets; `kind`: dbt's type of it."""

    id: str
    kind: str
    body: bytes


class _Job(msgspec.Struct):
    namespace: str
    name: str


class _Dependency(msgspec.Struct):
    job: _Job
    dependency_type: str | None = None


class _Dependencies(msgspec.Struct):
    upstream: list[_Dependency] | None = None
    downstream: list[_Dependency] | None = None


class _Exposure(msgspec.Struct):
    name: str | None = None
    type: str | None = None
    unique_id: str | None = None
    url: str | None = None


class _Exposures(msgspec.Struct):
    exposures: list[_Exposure] | None = None


class _Identifier(msgspec.Struct):
    namespace: str
    name: str


class _Renamed(msgspec.Struct, rename="camel"):
    lifecycle_state_change: str | None = None
    previous_identifier: _Identifier | None = None


_dependencies = PartDecoder(_Dependencies)
_exposures = PartDecoder(_Exposures)
_renamed = PartDecoder(_Renamed)


def dependencies(body: bytes) -> list[Dependency]:
    """The jobs of a run's `jobDependencies` facet, at most a thousand."""
    read = _dependencies.decode(body)
    sides = ((read.upstream, True), (read.downstream, False))
    found = dict.fromkeys(
        Dependency(job_name(clean(one.job.namespace), clean(one.job.name)), upstream, clean(one.dependency_type or ""))
        for some, upstream in sides
        for one in some or ()
        if one.job.namespace.strip() and one.job.name.strip()
    )
    return list(found)[:_MOST]


def exposures(body: bytes) -> list[Exposure]:
    """The uses of a dataset in dbt's `dbt_exposures` facet; those without an id are left out."""
    return [
        Exposure(clean(one.unique_id), clean(one.type or ""), msgspec.json.encode(one))
        for one in (_exposures.decode(body).exposures or [])[:_MOST]
        if one.unique_id
    ]


def previous_names(body: bytes) -> list[DatasetName]:
    """The name that a dataset had before it was renamed, by its `lifecycleStateChange` facet; none if it was not."""
    before = _renamed.decode(body).previous_identifier
    if before is None or not before.namespace.strip() or not before.name.strip():
        return []
    return [normalised(clean(before.namespace), clean(before.name))]
