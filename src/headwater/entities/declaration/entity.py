"""The whole declaration of one entity: what the graph computes with, and what is only stored and shown.

Defaults are filled in here: a reader of a declaration need not know them.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from headwater.entities.declaration.document import Place
from headwater.entities.needs.graph import Entity
from headwater.entities.time.durations import Length
from headwater.entities.time.ordinals import NONE, Ordinals

Path = tuple[str | int, ...]


class Stored(NamedTuple):
    """A dataset that holds an entity, as OpenLineage names it."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace} {self.name}"


class Producer(NamedTuple):
    """A job that makes an entity's instances: `airflow://prod/reads_weekly/compute`. `max_periods`: so many in one run at most."""

    job: str
    every: str = ""  # the rhythm of its runs; empty: one run for each period of the entity
    max_periods: int | None = None
    pool: str = ""


class EntityDeclaration(NamedTuple):
    """`entity` is what the graph is made of. Its dependencies are sorted by upstream, as their order says nothing; states are as declared."""

    entity: Entity
    description: str = ""
    owners: tuple[str, ...] = ()
    tags: Mapping[str, tuple[str, ...]] = {}
    tier: str = ""
    produced_by: tuple[Producer, ...] = ()
    stored_in: tuple[Stored, ...] = ()
    compatible: tuple[
        tuple[str, ...], ...
    ] = ()  # states that an instance may have together, though completed takes others away
    due: int | None = (
        None  # seconds after a period's end by which its instance is expected; nothing is expected where None
    )
    retention: Length | None = None  # so long after a period's end its instance may be deleted; None: it is kept
    frozen: Ordinals = NONE  # instances that are never made again
    repair: Literal["latest", "all"] | int = (
        "latest"  # of rebuilt snapshots: the argument of `Snapshot.repair`; an ordinal: that one and later
    )
    transparent: bool = False  # only points at what it depends on: drawings leave it out and keep its lines
    renamed_from: str = ""
    places: Mapping[Path, Place] = {}

    @property
    def name(self) -> str:
        return self.entity.name

    def place(self, *path: str | int) -> Place:
        """Return the place of a part, or else of the nearest part that contains it; line 0 if it comes from no text.

        `place("period", "from")` names a field, `place("states", "completed", 0)` a dependency by its number in
        `entity.states`; add `"needs", "2024-W10"` for a row of its table.
        """
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, Place())
