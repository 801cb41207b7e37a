"""The datasets, jobs and runs that an event is about: all that its projection may change lies at them, or next to them."""

import uuid
from collections.abc import Iterable

import msgspec


class Touched(msgspec.Struct, frozen=True):
    """Ids of rows. A dataset that reports its own lineage is among the jobs, too."""

    datasets: frozenset[uuid.UUID]
    jobs: frozenset[uuid.UUID]
    runs: frozenset[uuid.UUID]

    @staticmethod
    def of_all(some: "Iterable[Touched]") -> "Touched":
        told = list(some)
        return Touched(
            frozenset().union(*(one.datasets for one in told)),
            frozenset().union(*(one.jobs for one in told)),
            frozenset().union(*(one.runs for one in told)),
        )
