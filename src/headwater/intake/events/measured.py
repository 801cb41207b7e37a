"""Project measurement facets of datasets and jobs: usage, cost, recurrence, pruning, query counts, lineage quality. Pure.

`model.measured` decodes the facets; `store.usage.measured` declares their tables. Each facet applies until a later event replaces or deletes
it (`_deleted`); the order and repetition of events change nothing. The facets are also stored as facets, with their history; these rows can
be sorted and summed.
"""

import datetime as dt
import uuid
from collections.abc import Callable, Iterable, Mapping

import msgspec

from headwater.intake.events.facets import is_deleted
from headwater.model import measured, version
from headwater.model.event import Facets
from headwater.store.events.rows import AnyRow
from headwater.store.usage.measured import (
    COST,
    LINEAGE_QUALITY,
    PRUNING,
    QUERY_COUNTS,
    RECURRENCE,
    USAGE,
    Measurement,
)

Add = Callable[[AnyRow], None]
Warn = Callable[[str, str], None]
# A facet's table, and the decoder of its body to the contents of its rows. An empty object stands for a deleted facet.
_Decoder = Callable[[bytes], Iterable[msgspec.Struct]]


def add_dataset_measurements(
    add: Add, warn: Warn, dataset: uuid.UUID, facets: Facets, at: dt.datetime, digest: bytes
) -> None:
    """Add the rows of a dataset's facets."""
    _add_rows(_OF_DATASET, add, warn, dataset, facets, at, digest)


def add_job_measurements(add: Add, warn: Warn, job: uuid.UUID, facets: Facets, at: dt.datetime, digest: bytes) -> None:
    """Add the rows of a job's facets."""
    _add_rows(_OF_JOB, add, warn, job, facets, at, digest)


def _add_rows(
    projections: Mapping[str, tuple[Measurement, _Decoder, msgspec.Struct | None]],
    add: Add,
    warn: Warn,
    owner: uuid.UUID,
    facets: Facets,
    at: dt.datetime,
    digest: bytes,
) -> None:
    for name in sorted(projections.keys() & facets.keys()):
        measurement, decode, empty = projections[name]
        body = bytes(facets[name])
        deleted = is_deleted(body)
        try:
            contents = ([] if empty is None else [empty]) if deleted else decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            warn(f"facets.{name}", str(error)[:300])
            continue
        for content in contents:
            add(measurement.make_row(owner, at, digest, version.content_id(body), deleted, content))


def _cost(grain: str) -> _Decoder:
    def decode(body: bytes) -> Iterable[measured.Cost]:
        cost = measured.cost(body)
        return [cost if cost.grain else msgspec.structs.replace(cost, grain=grain)]

    return decode


def _quality_days(body: bytes) -> Iterable[measured.QualityDay]:
    """A day that a later facet leaves out keeps its values, even if that facet is deleted."""
    return {(day.day, day.dialect): day for day in measured.quality(body).days}.values()


# Facet → its table, its decoder, and its content when it is deleted (None: its rows stay).
_OF_DATASET: dict[str, tuple[Measurement, _Decoder, msgspec.Struct | None]] = {
    measured.USAGE: (USAGE, lambda body: [measured.usage(body)], measured.Usage()),
    measured.COST: (COST, _cost("table"), measured.Cost(grain="table")),
    measured.PRUNING: (PRUNING, lambda body: [measured.pruning(body)], measured.Pruning(0)),
}
_OF_JOB: dict[str, tuple[Measurement, _Decoder, msgspec.Struct | None]] = {
    measured.COST: (COST, _cost("shape"), measured.Cost(grain="shape")),
    measured.RECURRENCE: (RECURRENCE, lambda body: [measured.recurrence(body)], measured.Recurrence("")),
    measured.QUERIES: (QUERY_COUNTS, lambda body: [measured.queries(body)], measured.Queries()),
    measured.QUALITY: (LINEAGE_QUALITY, _quality_days, None),
}
