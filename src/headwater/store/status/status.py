"""The log of reports about instances, the marks that hold, and the versions that runs wrote. Knows nothing of what a mark means.

Instances are runs of ordinals, start_ ≤ ordinal < end_. One transaction writes at a time (`opened`), so `seq` grows in the order in which rows can be
seen, and a reader that has seen one has seen all before it.
"""

import datetime as dt
import uuid
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from headwater.store import sqlfile
from headwater.store.arrays import Packed
from headwater.store.database import Connection, sent


class Run(NamedTuple):
    """A mark on a run of instances."""

    entity_id: int
    kind: str
    ref: str
    start_: int
    end_: int


class Change(NamedTuple):
    """A mark that a report set, or took away."""

    entity_id: int
    seq: int
    kind: str
    ref: str
    start_: int
    end_: int
    added: bool


class Report(NamedTuple):
    """A report. `first_`, `end_`: the hull of the instances, which are in `body` (JSON text)."""

    seq: int
    recorded_at: dt.datetime
    key: bytes
    entity_id: int
    what: str
    ref: str
    first_: int
    end_: int
    happened_at: dt.datetime
    actor: str
    reason: str
    body: str


class Version(NamedTuple):
    """The version that a run wrote of a run of instances; `storage` is JSON text. `complete`: all that it read is recorded."""

    entity_id: int
    seq: int
    start_: int
    end_: int
    produced_at: dt.datetime
    run: str
    code: str | None
    fingerprint: str | None
    storage: str | None
    row_count: int | None
    byte_count: int | None
    complete: bool


class Read(NamedTuple):
    """The instances that version `seq` had read, in the versions that were current at `read_seq`."""

    seq: int
    upstream_id: int
    start_: int
    end_: int
    read_seq: int


class StatusReport(msgspec.Struct, frozen=True):
    """A report of one entity's history; `body` is JSON."""

    seq: int
    recorded_at: dt.datetime
    what: str
    ref: str
    happened_at: dt.datetime
    actor: str
    reason: str
    body: bytes


class Beginning(NamedTuple):
    """The state in which a transaction begins to write.

    `seq`, `recorded_at`: of the last report; 0 and None if there is none. `declared`: the state of the declarations.
    `troubled`: whether any instance of any entity is wrong, or was wrong and left readers that still are.
    """

    seq: int
    recorded_at: dt.datetime | None
    declared: uuid.UUID | None
    troubled: bool


Window = tuple[int, int, int]
"""(entity_id, start_, end_)"""


def packed(windows: Sequence[Window]) -> dict[str, object]:
    """Return windows as queries take them, for `unnest`: each column under its name."""
    table = np.array(windows, dtype=np.int64).reshape(-1, 3)
    return {
        "entity_id": Packed("int4", table[:, 0]),
        "start_": Packed("int8", table[:, 1]),
        "end_": Packed("int8", table[:, 2]),
    }


async def opened(connection: Connection) -> Beginning:
    """Lock the status against other writers until the transaction ends."""
    seq, recorded_at, declared, troubled = await sqlfile.load("status/status")["opened"].one(connection)
    return Beginning(seq or 0, recorded_at, declared, troubled)


async def last(connection: Connection) -> tuple[int, dt.datetime | None]:
    """The last seq, and when it was written; (0, None) where there is none."""
    seq, at = await sqlfile.load("status/status")["last"].one(connection)
    return int(seq), at


async def seq_at(connection: Connection, at: dt.datetime) -> int:
    """The last seq that was known at a time."""
    (seq,) = await sqlfile.load("status/status")["seq_at"].one(connection, at=at)
    return int(seq)


async def seen_keys(connection: Connection, keys: Sequence[bytes]) -> dict[bytes, int]:
    """The seq of the report of each key that has been used."""
    if not keys:
        return {}
    rows = await sqlfile.load("status/status")["seen_keys"].many(connection, keys=Packed("bytea", list(keys)))
    return {bytes(row[0]): row[1] for row in rows}


async def runs(
    connection: Connection, asked: Sequence[tuple[int, str]]
) -> list[tuple[int, str, str, dt.datetime, int, int]]:
    """Return (entity_id, run, what, happened_at, first_, end_) of each report that a run has started or ended."""
    if not asked:
        return []
    rows = await sqlfile.load("status/status")["runs"].many(
        connection,
        entity_id=Packed("int4", [each[0] for each in asked]),
        run=Packed("text", [each[1] for each in asked]),
    )
    return [(row[0], row[1], row[2], row[3], row[4], row[5]) for row in rows]


async def marks(connection: Connection, windows: Sequence[Window]) -> list[Run]:
    """The marks that overlap or touch these windows, whole: they reach beyond them."""
    if not windows:
        return []
    return [Run(*row) for row in await sqlfile.load("status/status")["marks"].many(connection, **packed(windows))]


async def marks_of(connection: Connection, ids: Sequence[int]) -> list[Run]:
    """Return all marks of these entities."""
    rows = await sqlfile.load("status/status")["marks_of"].many(connection, ids=Packed("int4", list(ids)))
    return [Run(*row) for row in rows]


async def marks_by_ref(connection: Connection, kinds: Sequence[str], ref: str) -> list[Run]:
    """Return all marks of these kinds (no states) with a ref, of all entities."""
    rows = await sqlfile.load("status/status")["marks_by_ref"].many(
        connection, kinds=Packed("text", list(kinds)), ref=ref
    )
    return [Run(*row) for row in rows]


async def marks_by_kind(connection: Connection, kinds: Sequence[str]) -> list[Run]:
    """Return all marks of these kinds (no states), of all entities."""
    rows = await sqlfile.load("status/status")["marks_by_kind"].many(connection, kinds=Packed("text", list(kinds)))
    return [Run(*row) for row in rows]


async def having(connection: Connection, kinds: Sequence[str]) -> set[int]:
    """The entities of which any instance has a mark of these kinds (no states)."""
    rows = await sqlfile.load("status/status")["having"].many(connection, kinds=Packed("text", list(kinds)))
    return {row[0] for row in rows}


async def write(
    connection: Connection,
    reports: Sequence[Report],
    changes: Sequence[Change],
    gone: Sequence[Run],
    new: Sequence[Run],
    versions: Sequence[Version] = (),
    reads: Sequence[Read] = (),
) -> None:
    """Append reports with what they changed, and make the marks what holds now. After `opened`."""
    queries = sqlfile.load("status/status")
    async with connection.pipeline():
        if gone:
            keys = [(run.entity_id, run.kind, run.ref, run.end_) for run in gone]
            await queries["unmark"].send_columns(connection, ("entity_id", "kind", "ref", "end_"), keys)
        for name, rows in (
            ("mark", new),
            ("report", reports),
            ("change", changes),
            ("version", versions),
            ("read", reads),
        ):
            if rows:
                await queries[name].send_columns(connection, rows[0]._fields, rows)
        await sent(connection)


async def versions(connection: Connection, windows: Sequence[Window], seq: int) -> list[Version]:
    """Return the versions recorded until a seq that overlap the windows, in the order in which they were produced."""
    if not windows:
        return []
    return [
        Version(*row)
        for row in await sqlfile.load("status/status")["versions"].many(connection, **packed(windows), seq=seq)
    ]


async def deletions(connection: Connection, windows: Sequence[Window], since: int) -> list[tuple[int, int, int, int]]:
    """Return (entity id, seq, start, end) of what was deleted after a seq in these windows."""
    if not windows:
        return []
    found = await sqlfile.load("status/status")["deletions"].many(connection, **packed(windows), since=since)
    return [(row[0], row[1], row[2], row[3]) for row in found]


async def reads(connection: Connection, seqs: Sequence[int]) -> list[Read]:
    """Return the instances that these versions had read."""
    rows = await sqlfile.load("status/status")["reads"].many(connection, seqs=Packed("int8", list(seqs)))
    return [Read(*row) for row in rows]


async def changes(connection: Connection, window: Window, seq: int) -> list[tuple[str, str, int, int, bool]]:
    """Return (kind, ref, start_, end_, added) of an entity's window until a seq, in order; what one report takes away is before what it sets."""
    entity_id, start, end = window
    return [
        (row[0], row[1], row[2], row[3], row[4])
        for row in await sqlfile.load("status/status")["changes"].many(
            connection, entity_id=entity_id, start_=start, end_=end, seq=seq
        )
    ]


async def reports(connection: Connection, window: Window, seq: int, limit: int, offset: int) -> list[StatusReport]:
    """Return the reports about an entity's instances until a seq, the latest first."""
    entity_id, start, end = window
    rows = await sqlfile.load("status/status")["reports"].many(
        connection, entity_id=entity_id, start_=start, end_=end, seq=seq, limit=limit, offset=offset
    )
    return [StatusReport(row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7].encode()) for row in rows]


async def since(connection: Connection, seq: int, ids: Sequence[int] | None, limit: int) -> list[Report]:
    """Return the reports after a seq, in order; of all entities if `ids` is None. `key` is empty."""
    rows = await sqlfile.load("status/status")["since"].many(
        connection, seq=seq, ids=None if ids is None else Packed("int4", list(ids)), limit=limit
    )
    return [Report(row[0], row[1], b"", *row[2:]) for row in rows]


async def news(connection: Connection, seq: int) -> tuple[dict[int, int], int]:
    """Return the entities with reports after a seq, and the last seq of each; and the last of all, 0 if there is none."""
    found: dict[int | None, int] = dict(await sqlfile.load("status/status")["news"].many(connection, seq=seq))
    last = found.pop(None)
    return {entity: at for entity, at in found.items() if entity is not None}, last


async def version_authors(connection: Connection, seqs: Sequence[int]) -> dict[int, tuple[dt.datetime, str, str]]:
    """Return when each version was recorded, by whom, and why; by seq."""
    rows = await sqlfile.load("status/status")["reports_of_versions"].many(connection, seqs=Packed("int8", list(seqs)))
    return {row[0]: (row[1], row[2], row[3]) for row in rows}


async def durations(connection: Connection, ids: Sequence[int]) -> dict[int, tuple[float, float, int]]:
    """Return for each entity whose runs were seen to start and to produce: seconds at the median and the 95th
    percentile of the last 200, and how many."""
    rows = await sqlfile.load("status/status")["durations"].many(connection, ids=Packed("int4", list(ids)))
    return {row[0]: (row[1], row[2], row[3]) for row in rows}


async def ran(connection: Connection, ids: Sequence[int], start: int, end: int) -> list[tuple[int, int, int]]:
    """Return (entity_id, first_, end_) of instances that some run was about, however it ended."""
    rows = await sqlfile.load("status/status")["ran"].many(
        connection, ids=Packed("int4", list(ids)), start_=start, end_=end
    )
    return [(row[0], row[1], row[2]) for row in rows]


async def readers(connection: Connection, windows: Sequence[Window]) -> list[Window]:
    """Return instances whose current version had read any of these, as far as all that it read is recorded."""
    if not windows:
        return []
    return [
        (row[0], row[1], row[2])
        for row in await sqlfile.load("status/status")["readers"].many(connection, **packed(windows))
    ]
