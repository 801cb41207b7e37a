"""Everything that is wrong now: by verdicts on runs, versions and contents, by failed checks, and by marks on the instances that runs made."""

import contextlib
import uuid
from collections.abc import Iterable

from headwater.answer.lineage.lineage_answer import InstancesNode, Node, RunNode, VersionNode
from headwater.answer.status.doubted_versions import doubted_versions
from headwater.answer.status.wrong_instances import load_wrong_instances
from headwater.answer.status.wrong_versions import Search
from headwater.errors import NotFound
from headwater.store.database import Connection
from headwater.store.status import incidents as incident_store
from headwater.store.status import status as status_store
from headwater.store.status import wrong_versions as origin_store

_CONDEMNED, _CHECKED, _FAILED = "known to be wrong", "a check failed", "it failed"
_USED, _DOUBTED = "made from what is wrong", "made from what is doubted"
_MARKS = ("tainted", "inherited", "repaired")
_MOST = 1000
"""So many incidents are looked at for instances, the latest."""
_RANKS = {
    _CONDEMNED: 0,
    _CHECKED: 1,
    _FAILED: 1,
    _USED: 2,
    _DOUBTED: 3,
    "deleted since": 4,
    "made from another version than the current one": 5,
}


class KnownWrong:
    """`why`: by the id of a run or version, or a fingerprint. `versions`: those that are wrong or doubted, held still or not."""

    def __init__(self) -> None:
        self.why: dict[str, str] = {}
        self.versions: set[uuid.UUID] = set()

    @classmethod
    async def load(cls, connection: Connection) -> "KnownWrong":
        """Read all incidents that are not retracted, and failed checks."""
        self, search = cls(), Search()
        search.begin(connection)
        for origin in await origin_store.condemned(connection):
            self.why[origin.ref] = _CONDEMNED
            with contextlib.suppress(NotFound):  # retention deleted it
                await search.condemn([origin])
        for one in (await incident_store.page(connection, None, _MOST, 0))[0]:
            if one.state != "retracted" and (rows := await status_store.marks_by_ref(connection, _MARKS, str(one.id))):
                instances = await load_wrong_instances(connection, one, rows)
                await search.condemn_makers(instances.inherited, instances.columns)
                await search.condemn_instances(instances.named, instances.columns)
        doubts = (await doubted_versions(connection, replaced=True)).doubts
        found = [
            (place, _CONDEMNED if reason.because is None and reason.depth == 0 else _USED)
            for place, reason in search.found.places.items()
        ]
        found += [(doubt.place, _CHECKED) for doubt in doubts]
        found += [(place, _DOUBTED) for doubt in doubts for place in doubt.reached]
        for place, why in found:
            if place.version is not None:
                self.why.setdefault(str(place.version), why)
                self.versions.add(place.version)
        for key in search.found.runs:
            self.why.setdefault(str(key.run), _USED)
        for kind, why in (("tainted", _CONDEMNED), ("inherited", _USED)):
            windows = [
                (row.entity_id, row.start_, row.end_) for row in await status_store.marks_by_kind(connection, [kind])
            ]
            for text, _ in await origin_store.runs_of_instances(connection, windows):
                self.why.setdefault(text, why)
        return self

    def judge(self, nodes: Iterable[Node]) -> dict[str, int]:
        """Set on each node what speaks against it; return the ids of those against which something does, with its rank, the worst 0."""
        rank: dict[str, int] = {}
        for one in nodes:
            if isinstance(one, RunNode):
                failed = _FAILED if one.effective_state in {"FAILED", "ABORTED"} else None
                one.against = self.why.get(one.run_id) or failed
            elif isinstance(one, VersionNode):
                ids = (one.version_id, one.item, one.external_version)
                one.against = next((self.why[id_] for id_ in ids if id_ in self.why), None)
            if isinstance(one, RunNode | VersionNode | InstancesNode) and one.against:
                rank[one.id] = _RANKS[one.against]
        return rank


async def load_wrong_versions(connection: Connection) -> set[uuid.UUID]:
    """The versions that are wrong or doubted because of anything, held still or not."""
    return (await KnownWrong.load(connection)).versions
