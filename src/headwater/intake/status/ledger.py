"""Collect what one transaction adds to the status log: reports, their seqs and the marks they change. Written together at its end."""

import datetime as dt
import hashlib
import uuid
from collections.abc import Mapping

import msgspec

from headwater.entities.status.marks import Marks, difference
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.intake.status.loaded_marks import LoadedMarks
from headwater.store.database import Connection
from headwater.store.status import status as store

_LEAST = dt.timedelta(microseconds=1)
_EVER = dt.datetime.min.replace(tzinfo=dt.UTC)


class Ledger:
    """`seq`: of the last report, written or not. `now`: the recording time of this transaction's reports, later than any before. `began`: the state
    of the log when the transaction began.
    """

    def __init__(self, connection: Connection, began: store.Beginning) -> None:
        self.connection = connection
        self.began = began
        self.seq = began.seq
        self.now = max(dt.datetime.now(dt.UTC), (began.recorded_at or _EVER) + _LEAST)
        self.marks = LoadedMarks(())
        self.versions: list[store.Version] = []
        self.reads: list[store.Read] = []
        self._reports: list[store.Report] = []
        self._changes: list[store.Change] = []

    @classmethod
    async def open(cls, connection: Connection) -> "Ledger":
        """Open the ledger and lock it: no other transaction writes status until this one ends."""
        return cls(connection, await store.opened(connection))

    def report(
        self,
        entity_id: int,
        what: str,
        ref: str,
        instances: Ordinals,
        *,
        actor: str,
        reason: str = "",
        at: dt.datetime | None = None,
        key: bytes | None = None,
        fields: Mapping[str, object] | None = None,
    ) -> None:
        """Add the next report; later calls of `change` belong to it. `key`: reports with the same key are duplicates; None: a unique key."""
        self.seq += 1
        body = msgspec.json.encode({"instances": list(instances), **(fields or {})}).decode()
        key = key or hashlib.blake2b(uuid.uuid4().bytes, digest_size=16).digest()
        first, end = instances.first, instances.end
        self._reports.append(
            store.Report(self.seq, self.now, key, entity_id, what, ref, first, end, at or self.now, actor, reason, body)
        )

    def change(self, new: Mapping[int, Marks]) -> bool:
        """Replace the marks of these entities as the result of the last report. Returns whether any mark changed."""
        changed = False
        for entity_id, now in new.items():
            for mark, some, added in difference(self.marks.of(entity_id), now):
                changed = True
                for start, end in some:
                    self._changes.append(store.Change(entity_id, self.seq, mark.kind, mark.ref, start, end, added))
            self.marks.put(entity_id, now)
        return changed

    def touched(self, entity_id: int, now: Marks) -> Ordinals:
        """The instances whose marks these would change."""
        return NONE.union(*(some for _, some, _ in difference(self.marks.of(entity_id), now)))

    async def flush(self) -> None:
        """Write the collected reports, changes, marks, versions and reads."""
        gone, new = self.marks.rows()
        await store.write(self.connection, self._reports, self._changes, gone, new, self.versions, self.reads)
