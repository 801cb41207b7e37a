"""The runs that made wrong instances, and how much of what each made is wrong.

A run that made right instances beside wrong ones is not wrong as a whole: its other instances are right, and what used the version that it wrote is
judged by its schedule where it has one.
"""

import uuid
from collections.abc import Iterable
from typing import NamedTuple

from headwater.answer.status.declared import declared
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.model import version
from headwater.store.database import Connection
from headwater.store.status import wrong_versions as store
from headwater.store.status.wrong_versions import InstanceRange

Made = Iterable[tuple[str, InstanceRange]]
"""Runs, as they were reported, each with instances that it made."""


class WrongMakers:
    """The wrong instances of each run, added as they are found."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._wrong: dict[uuid.UUID, dict[int, Ordinals]] = {}
        self._made: dict[uuid.UUID, dict[int, Ordinals]] = {}
        self._contents: dict[uuid.UUID, list[tuple[InstanceRange, str]]] = {}

    async def add(self, made: Made) -> set[uuid.UUID]:
        """Add wrong instances; return their runs. Runs without the id of an event say nothing of versions."""
        texts: dict[uuid.UUID, str] = {}
        for text, some in made:
            for run in version.run_ids([text]):
                texts[run] = text
                _add(self._wrong.setdefault(run, {}), some)
        unknown = [text for run, text in texts.items() if run not in self._made]
        for window, text, fingerprint in await store.versions_of_runs(self._connection, unknown):
            run, some = uuid.UUID(text), InstanceRange(*window)
            _add(self._made.setdefault(run, {}), some)
            if fingerprint:
                self._contents.setdefault(run, []).append((some, fingerprint))
        return set(texts)

    def entities(self, run: uuid.UUID) -> set[int]:
        """The entities of which this run made wrong instances."""
        return set(self._wrong.get(run, ()))

    def contents(self, run: uuid.UUID) -> tuple[set[str], set[str]]:
        """The fingerprints of the wrong instances that this run made, and of the right ones."""
        found: tuple[set[str], set[str]] = set(), set()
        wrong = self._wrong.get(run, {})
        for some, fingerprint in self._contents.get(run, ()):
            of = Ordinals.between(some.start_, some.end_)
            found[0 if of & wrong.get(some.entity_id, NONE) else 1].add(fingerprint)
        return found[0], found[1] - found[0]

    def is_whole(self, run: uuid.UUID) -> bool:
        """Return whether all instances that this run made are wrong."""
        wrong = self._wrong.get(run, {})
        return all(some <= wrong.get(entity, NONE) for entity, some in self._made.get(run, {}).items())


class Scheduled(NamedTuple):
    """A run that made instances, by itself or as a part of one that did. `upstream`: the entities that these need, or are recorded to have read."""

    made: dict[int, Ordinals]
    upstream: set[int]

    @property
    def instances(self) -> int:
        return sum(some.count for some in self.made.values())


async def scheduled(connection: Connection, runs: Iterable[uuid.UUID]) -> dict[uuid.UUID, Scheduled]:
    """Return those of these runs that made instances."""
    held = await declared(connection)
    found: dict[uuid.UUID, Scheduled] = {}
    for run, some, read in await store.scheduled_upstream(connection, set(runs) if held.declared else ()):
        one = found.setdefault(run, Scheduled({}, set()))
        _add(one.made, some)
        if read is not None:
            one.upstream.add(read)
        if some.entity_id in held.names:
            one.upstream.update(held.ids[link.upstream] for link in held.graph.upstream(held.names[some.entity_id]))
    return found


def _add(to: dict[int, Ordinals], some: InstanceRange) -> None:
    to[some.entity_id] = to.get(some.entity_id, NONE) | Ordinals.between(some.start_, some.end_)
