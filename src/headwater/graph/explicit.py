"""The flows through a job that its explicit lineage allows: OpenLineage's rule of precedence. Pure."""

import uuid
from collections.abc import Mapping, Set

# target → sources, as one job reports them. An empty set: nothing feeds the target; the target may be the job itself.
ReportedSources = Mapping[uuid.UUID, Set[uuid.UUID]]


def feeds(told: ReportedSources, job: uuid.UUID, source: uuid.UUID, target: uuid.UUID) -> bool:
    """Return whether the job, which has explicit lineage, lets the source feed the target.

    A target that no entry is about is fed by what feeds the job itself, and by sources that no entry mentions.
    """
    if target in told:
        return source in told[target]
    return feeds_unmentioned(told, job, source)


def feeds_unmentioned(told: ReportedSources, job: uuid.UUID, source: uuid.UUID) -> bool:
    """Return whether the source feeds the targets that no entry is about."""
    return source in told.get(job, ()) or not any(source in sources for sources in told.values())
