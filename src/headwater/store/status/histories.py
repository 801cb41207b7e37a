"""Versions of many entities at once, and what they had read, as columns of numbers: rows as objects would cost more than all that is asked of them.

Windows are one of each entity: what overlaps two of them would come twice.
"""

import datetime as dt
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headwater.store import sqlfile
from headwater.store.arrays import Packed
from headwater.store.database import Connection
from headwater.store.status.status import Window, packed

Column = NDArray[np.int64]


class There(NamedTuple):
    """Runs of instances that exist (`state` 1) or are deleted (0)."""

    entity_id: Column
    start_: Column
    end_: Column
    state: Column


class Versions(NamedTuple):
    """`produced`: microseconds. `complete`: 1 if all that was read is recorded. `content`: equal if the content is; `told`: 0 if it
    is unknown.
    """

    entity_id: Column
    seq: Column
    start_: Column
    end_: Column
    produced: Column
    complete: Column
    content: Column
    told: Column


class Reads(NamedTuple):
    """The columns of `status.Read`."""

    seq: Column
    upstream_id: Column
    start_: Column
    end_: Column
    read_seq: Column


async def there(connection: Connection, windows: Sequence[Window]) -> There:
    """The runs that overlap the windows, whole; those of different states overlap."""
    return There(*await _columns(connection, "there", "4881", packed(windows)))


async def versions(connection: Connection, windows: Sequence[Window], limit: int) -> Versions:
    """Return the versions that overlap the windows, in any order; any `limit` of them if there are more."""
    return Versions(*await _columns(connection, "versions", "48888181", {**packed(windows), "limit": limit}))


async def reads(connection: Connection, windows: Sequence[Window]) -> Reads:
    """The readers of anything in the windows, in any order."""
    return Reads(*await _columns(connection, "reads", "84888", packed(windows)))


async def version_instances(connection: Connection, seqs: Column) -> list[Window]:
    """The instances of these versions."""
    rows = await sqlfile.load("status/histories")["version_instances"].many(connection, seqs=Packed("int8", seqs))
    return [(row[0], row[1], row[2]) for row in rows]


class Coded(NamedTuple):
    """A version, the code that made it (`""` if unknown), and when it was produced."""

    entity_id: int
    start_: int
    end_: int
    code: str
    produced_at: dt.datetime


async def codes(connection: Connection, windows: Sequence[Window]) -> list[Coded]:
    """The versions in these windows, in the order in which they were produced."""
    rows = await sqlfile.load("status/histories")["codes"].many(connection, **packed(windows))
    return [Coded(*row) for row in rows]


async def _columns(connection: Connection, name: str, widths: str, parameters: dict[str, object]) -> list[Column]:
    found = await sqlfile.load("status/histories")[name].raw(connection, **parameters)
    return [
        np.frombuffer(column or b"", f">i{width}").astype(np.int64) for column, width in zip(found, widths, strict=True)
    ]
