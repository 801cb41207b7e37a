"""The instances that instances need by their schedules, and the runs that made them: links for the walk, and the nodes of instances in it."""

import datetime as dt
import uuid
from collections.abc import Collection, Mapping, Sequence

from headwater.answer.lineage.lineage_answer import InstancesNode
from headwater.answer.lineage.run_records import RunRecords
from headwater.answer.lineage.walk import Instances, Key, Link, Place, Step
from headwater.answer.status.declared import declared
from headwater.answer.status.instance_pairs import InstancePairs
from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.status.marks import Marks, by_entity
from headwater.entities.status.taint import Facts, Hit, Reached, suspects, tainted
from headwater.entities.time import ranges
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.model.version import run_ids
from headwater.store.database import Connection
from headwater.store.lineage.runs import RunKey
from headwater.store.status import status as store
from headwater.store.status import wrong_versions as run_store

_AGAINST = (
    ("tainted", "known to be wrong"),
    ("suspect", "a check failed"),
    ("inherited", "made from what is wrong"),
    ("deleted", "deleted since"),
    ("stale", "made from another version than the current one"),
)

# So many instances of one entity are looked at one by one.
_MOST_NAMED = 1000


class InstanceLinks:
    """The existing instances that some instances of an entity need, and those that need them. `seq`: the last report that counts."""

    def __init__(self, held: StoredDeclarations, entity: str, some: Ordinals, seq: int) -> None:
        self.held, self.entity, self.some, self.seq = held, entity, some, seq
        self.versions: list[Place] = []
        self._makers: set[RunKey] = set()
        self._marks: dict[str, Marks] = {}
        self._reached: dict[str, Reached] = {}

    @classmethod
    async def load(
        cls,
        connection: Connection,
        entity: str,
        instances: Sequence[str],
        as_of: dt.datetime | None,
        direction: str = "both",
    ) -> "InstanceLinks":
        """Read the schedules of a time. NotFound for an entity, InvalidPeriod for instances, that are none."""
        held = await declared(connection, as_of)
        some = ranges.read(held.instances(entity), instances)
        seq = (await store.last(connection))[0] if as_of is None else await store.seq_at(connection, as_of)
        self = cls(held, entity, some, seq)
        for way, follow in (("upstream", suspects), ("downstream", tainted)):
            if direction not in {"both", way}:
                continue
            reach = {name: hit.instances for name, hit in follow(held.graph, {entity: some}).hits.items()}
            windows = [(held.number(name), each.first, each.end) for name, each in reach.items() if each]
            marks = by_entity(await store.marks(connection, windows))
            self._marks |= {name: marks.get(held.number(name), Marks()) for name in reach}
            self._reached[way] = follow(held.graph, {entity: some}, Facts(exist=self._exist))
        return self

    async def pair(self, walk: RunRecords) -> None:
        """Find the `versions` that these instances are, and the runs that made them: those that reported them, and those that wrote these versions.

        Where nothing says which version an instance is, every run below the one that reported it may have made it.
        """
        number, pairs = self.held.number(self.entity), InstancePairs(walk.connection, walk)
        windows = [(number, start, end) for start, end in self.some]
        made: dict[uuid.UUID, Ordinals] = {}
        for text, piece in await run_store.runs_of_instances(walk.connection, windows, self.seq):
            for run in run_ids([text]):
                made[run] = made.get(run, NONE) | Ordinals.between(piece.start_, piece.end_)
        await pairs.load(made)
        for run, mine in made.items():
            family = pairs.families.get(run, set())
            for one in pairs.made_by(run):
                if one.some.entity_id != number or not mine & Ordinals.between(one.some.start_, one.some.end_):
                    continue
                homes = pairs.homes(one)
                writers = {writer for place in homes if (writer := walk.writer_of(place)) is not None}
                self._makers |= ({key for key in family if key.run == run} | writers) if homes else family
                self.versions += [place for place in homes if len(homes) == 1 and place not in self.versions]

    def _exist(self, name: str) -> Ordinals:
        # The instances asked about count even if they do not exist.
        there = self._marks[name].exist | self._marks[name].of("deleted") if name in self._marks else NONE
        return there | self.some if name == self.entity else there

    def hits(self, direction: str) -> Mapping[str, Hit]:
        """Return the reached instances of each entity, without those that the question is about (depth 0)."""
        found = self._reached[direction].hits.items() if direction in self._reached else ()
        return {name: hit for name, hit in found if name != self.entity or hit.depth}

    async def expand(self, keys: Collection[Key], direction: str, steps: int) -> list[Step]:
        """Return all links at once: they are known from the beginning."""
        if Instances(self.entity) not in keys:
            return []
        found: list[Step] = []
        for hit in self.hits(direction).values():
            link = hit.witness
            if link is not None and link.upstream != link.downstream:
                needs = Link("NEEDS", "SCHEDULE", weight=2, by=f"entity:{link.downstream}")
                found.append((Instances(link.upstream), Instances(link.downstream), needs))
        if direction == "upstream":
            found += [(run, Instances(self.entity), Link("MADE", "TOLD")) for run in self._makers]
        return found

    def _of(self, key: Instances) -> tuple[Ordinals, str]:
        """The instances of an entity that are part of the answer, and what led to them."""
        hit = next((hits[key.entity] for way in self._reached if key.entity in (hits := self.hits(way))), None)
        return (self.some, "") if key.entity == self.entity or hit is None else (hit.instances, str(hit.witness or ""))

    def names(self, key: Instances) -> dict[str, int]:
        """Return the ordinal of each instance by its name `ENTITY@INSTANCE`; none if there are more than a thousand."""
        some, of_ = self._of(key)[0], self.held.instances(key.entity)
        if some.count > _MOST_NAMED:
            return {}
        return {
            f"{key.entity}@{ranges.written(of_, Ordinals.between(at, at + 1))[0]}": at for at in some.members().tolist()
        }

    def node(self, key: Instances, hop: int, without: Collection[str]) -> InstancesNode | None:
        """The instances of an entity and what speaks against them, but for those that are other nodes; None if all are."""
        some, through = self._of(key)
        names = self.names(key) if without else {}
        some -= Ordinals.of([names[name] for name in without])
        if not some:
            return None
        of_ = self.held.instances(key.entity)
        _, against, those = self.against(key.entity, some)
        texts = ranges.written(of_, some)
        return InstancesNode(
            id=f"instances:{key.entity}",
            entity=key.entity,
            label=f"{key.entity} {', '.join(texts[:3])}{' …' if len(texts) > 3 else ''}",
            instances=texts,
            count=some.count,
            hop=hop,
            through=through,
            against=against or None,
            of_these=ranges.written(of_, those),
        )

    def against(self, entity: str, some: Ordinals) -> tuple[int, str, Ordinals]:
        """The worst that is known of some of these instances: its rank (the worst is 0), in words, and of which."""
        marks = self._marks.get(entity, Marks())
        for place, (kind, why) in enumerate(_AGAINST):
            if those := some & marks.of(kind):  # type: ignore[arg-type]
                return place, why, those
        return len(_AGAINST), "", NONE


async def instances_of(connection: Connection, runs: Collection[str]) -> dict[str, list[str]]:
    """Run → `ENTITY@INSTANCE` of the current versions that it made; only of runs that made any."""
    rows = await run_store.made_by_runs(connection, runs)
    if not rows:
        return {}
    held = await declared(connection)
    found: dict[str, list[str]] = {}
    for run, some, _ in rows:
        if (name := held.names.get(some.entity_id)) is not None:
            texts = ranges.written(held.instances(name), Ordinals.between(some.start_, some.end_))
            found.setdefault(run, []).extend(f"{name}@{text}" for text in texts)
    return found
