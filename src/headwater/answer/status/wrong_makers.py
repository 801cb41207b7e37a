"""The runs that made wrong instances, and how much of what each made is wrong.

A run that made right instances beside wrong ones is not wrong as a whole: its other instances are right, and what used the version that it wrote is
judged by its schedule where it has one.
"""

import uuid
from collections.abc import Iterable
from typing import NamedTuple

from headwater.answer.lineage.walk import Place
from headwater.answer.status.declared import declared
from headwater.answer.status.instance_pairs import InstancePairs
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.model import version
from headwater.store.database import Connection
from headwater.store.status import wrong_versions as store
from headwater.store.status.wrong_versions import InstanceRange, MadeInstances

Made = Iterable[tuple[str, InstanceRange]]
"""Runs, as they were reported, each with instances that it made."""


class WrongMakers:
    """The wrong instances of each run, added as they are found."""

    def __init__(self, pairs: InstancePairs) -> None:
        self._pairs = pairs
        self._wrong: dict[uuid.UUID, dict[int, Ordinals]] = {}

    async def add(self, made: Made) -> set[uuid.UUID]:
        """Add wrong instances; return their runs. Runs without the id of an event say nothing of versions."""
        runs: set[uuid.UUID] = set()
        for text, some in made:
            for run in version.run_ids([text]):
                _add(self._wrong.setdefault(run, {}), some)
                runs.add(run)
        await self._pairs.load(runs)
        return runs

    def entities(self, run: uuid.UUID) -> set[int]:
        """The entities of which this run made wrong instances."""
        return set(self._wrong.get(run, ()))

    def homes(self, run: uuid.UUID) -> set[Place]:
        """The versions that the wrong instances of this run are, or may be."""
        return {
            place for one in self._pairs.made_by(run) if self._is_wrong(run, one) for place in self._pairs.homes(one)
        }

    def right_contents(self, run: uuid.UUID) -> set[str]:
        """The fingerprints of the right instances that this run made, of none that is wrong."""
        found: tuple[set[str], set[str]] = set(), set()
        for one in self._pairs.made_by(run):
            if one.fingerprint:
                found[self._is_wrong(run, one)].add(one.fingerprint)
        return found[0] - found[1]

    def is_whole(self, run: uuid.UUID) -> bool:
        """Return whether all instances that this run made are wrong."""
        made: dict[int, Ordinals] = {}
        for one in self._pairs.made_by(run):
            _add(made, one.some)
        wrong = self._wrong.get(run, {})
        return all(some <= wrong.get(entity, NONE) for entity, some in made.items())

    def _is_wrong(self, run: uuid.UUID, one: MadeInstances) -> bool:
        of = Ordinals.between(one.some.start_, one.some.end_)
        return bool(of & self._wrong.get(run, {}).get(one.some.entity_id, NONE))


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


def subtract_instances(made: Made, others: Made) -> list[tuple[str, InstanceRange]]:
    """The instances that are none of the others of the same run."""
    left: dict[tuple[str, int], Ordinals] = {}
    for run, some in others:
        key = run, some.entity_id
        left[key] = left.get(key, NONE) | Ordinals.between(some.start_, some.end_)
    return [
        (run, InstanceRange(some.entity_id, start, end))
        for run, some in made
        for start, end in Ordinals.between(some.start_, some.end_) - left.get((run, some.entity_id), NONE)
    ]


def _add(to: dict[int, Ordinals], some: InstanceRange) -> None:
    to[some.entity_id] = to.get(some.entity_id, NONE) | Ordinals.between(some.start_, some.end_)
