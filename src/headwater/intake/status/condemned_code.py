"""The code that made the instances an incident condemns: what the same code makes is wrong until the cause is fixed."""

import datetime as dt
import uuid
from collections.abc import Mapping, Sequence

import numpy as np

from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.entities.time.pieces import cut
from headwater.store.database import Connection
from headwater.store.status import histories as histories_store
from headwater.store.status import incidents as store


async def coded_versions(
    connection: Connection, held: StoredDeclarations, roots: Mapping[str, Ordinals]
) -> dict[str, list[histories_store.Coded]]:
    """The versions of these instances with their code, by entity; also versions between them."""
    hulls = [(held.number(name), some.first, some.end) for name, some in roots.items() if some]
    found: dict[str, list[histories_store.Coded]] = {}
    for one in await histories_store.codes(connection, hulls):
        found.setdefault(held.names[one.entity_id], []).append(one)
    return found


def produced_since(
    roots: Mapping[str, Ordinals], coded: Mapping[str, Sequence[histories_store.Coded]]
) -> dt.datetime | None:
    """Return when the first of these instances was produced; None if that is not known for all."""
    for name, some in roots.items():
        bounds = np.array([(one.start_, one.end_) for one in coded.get(name, ())], dtype=np.int64).reshape(-1, 2)
        if some - Ordinals.joined(bounds[:, 0], bounds[:, 1]):
            return None
    return min(one.produced_at for some in coded.values() for one in some)


def roots_by_code(
    held: StoredDeclarations,
    id_: uuid.UUID,
    roots: Mapping[str, Ordinals],
    coded: Mapping[str, Sequence[histories_store.Coded]],
) -> list[store.Root]:
    """The instances by the code of their last version; `""` for those without a known version."""
    found: list[store.Root] = []
    for name, some in roots.items():
        number = held.number(name)
        rows = coded.get(name, [])
        codes = [one.code for one in rows]
        bounds = np.array([(one.start_, one.end_) for one in rows], dtype=np.int64).reshape(-1, 2)
        order = np.arange(len(rows))
        last = cut(bounds[:, 0], bounds[:, 1], order, order, np.full(len(rows), -1))
        by = dict.fromkeys(sorted(set(codes)), NONE)
        for code in by:
            its = last.where(last.current & np.array([codes[row] == code for row in last.row.tolist()], dtype=np.bool_))
            by[code] = Ordinals.joined(its.start, its.end) & some
        by[""] = by.get("", NONE) | (some - NONE.union(*by.values()))
        found += [store.Root(id_, number, code, start, end) for code, each in by.items() for start, end in each]
    return found
