"""Views that a DROP … CASCADE of what they read may have taken along. The log has the DROP alone, and the view's own log would end with its creation.

PostgreSQL and Redshift drop the views that read a dropped table or view, and those that read a dropped column. Elsewhere CASCADE is a word for
constraints, and views stay.
"""

import re
import uuid
from collections.abc import Sequence
from typing import Final

import msgspec

from headwater.model import measured
from headwater.model.measured import CHANGES, ObjectChange
from headwater.store.database import Connection
from headwater.store.history import facets as facet_store
from headwater.store.lineage import edges as edge_store
from headwater.store.lineage.edges import Moment

_NAMESPACES: Final = ("postgres:", "redshift:")
_MOST_STEPS: Final = 8
_CASCADE: Final = re.compile(r"(?i)\bcascade\b")
_VIEW: Final = re.compile(
    r"(?i)^\s*create\s+(?:or\s+replace\s+)?(?:(?:global|local|temp|temporary|recursive|materialized)\s+)*view\b"
)
_LIVES: Final = frozenset({"created", "dropped", "undropped", "renamed_from", "renamed_to", "swapped"})


async def cascaded_drops(
    connection: Connection, dataset: uuid.UUID, namespace: str, own: Sequence[ObjectChange]
) -> list[ObjectChange]:
    """Return the drops of a view that may have come with the DROP … CASCADE of what it reads, directly or by other views. `own`: its changes.

    Each is a change in doubt (`branch`), as one in a branch of a script is.
    """
    if not namespace.startswith(_NAMESPACES) or not any(map(_creates_view, own)):
        return []
    found: list[ObjectChange] = []
    seen, views = {dataset}, {dataset: list(own)}
    for _ in range(_MOST_STEPS):
        sources = await _sources(connection, views)
        bodies = await facet_store.of_owners(connection, sources.keys() - seen, (CHANGES,))
        seen |= sources.keys()
        following: dict[uuid.UUID, list[ObjectChange]] = {}
        for source, facets in bodies.items():
            if (body := facets.get(CHANGES)) is None:
                continue
            changes = list(measured.object_changes(body).items)
            readers = [views[one] for one in sources[source]]
            found += [
                one for one in changes if _takes_along(one, own) and any(_takes_along(one, each) for each in readers)
            ]
            if any(map(_creates_view, changes)):
                following[source] = changes
        if not following:
            break
        views = following
    return [msgspec.structs.replace(one, action="dropped", column=None, branch=True) for one in found]


async def _sources(
    connection: Connection, views: dict[uuid.UUID, list[ObjectChange]]
) -> dict[uuid.UUID, set[uuid.UUID]]:
    """Return the datasets that the jobs of these views read, each with the views."""
    writers: dict[uuid.UUID, set[uuid.UUID]] = {}
    for edge in await edge_store.at_datasets(connection, list(views), "out", Moment()):
        writers.setdefault(edge.job, set()).add(edge.dataset)
    found: dict[uuid.UUID, set[uuid.UUID]] = {}
    for edge in await edge_store.at_jobs(connection, list(writers), "in", Moment()):
        found.setdefault(edge.dataset, set()).update(writers[edge.job])
    return found


def _creates_view(one: ObjectChange) -> bool:
    return one.action == "created" and _VIEW.match(one.statement or "") is not None


def _takes_along(drop: ObjectChange, reader: Sequence[ObjectChange]) -> bool:
    """Return whether a change of what a view reads drops the view, if it read it at that time."""
    if drop.action not in {"dropped", "dropped_column"} or not _CASCADE.search(drop.statement or ""):
        return False
    lives = [one for one in reader if one.action in _LIVES and one.first_at < drop.first_at]
    last = max(lives, key=lambda one: one.first_at, default=None)
    if last is None or not _creates_view(last):
        return False
    text = (last.statement or "").lower()
    return (
        drop.action == "dropped"
        or "*" in text
        or re.search(rf"\b{re.escape((drop.column or '').lower())}\b", text) is not None
    )
