"""Namespaces: of events, and those people made. Hidden ones are there, and say so."""

import datetime as dt
from collections.abc import Mapping

from headwater.answer.marquez import annotations, naming, shapes
from headwater.store.database import Database
from headwater.store.marquez import marquez as rows

# The owner of what has none, as in Marquez.
_NO_OWNER = "anonymous"


async def get(database: Database, name: str) -> shapes.Namespace:
    """Return one namespace, hidden or not. Raises NotFound."""
    async with database.snapshot() as connection:
        known = await naming.namespace_of(connection, name)
        made = await annotations.created_by_people(connection, "namespace")
        (row,) = await rows.namespaces(connection, [known], [known], 1, 0)
    return _shape(*row, made.get(known, {}))


async def page(database: Database, limit: int, offset: int) -> shapes.Namespaces:
    """Return a page of namespaces by name."""
    async with database.snapshot() as connection:
        made = await annotations.created_by_people(connection, "namespace")
        found = await rows.namespaces(connection, list(made), None, limit, offset)
    return shapes.Namespaces(namespaces=[_shape(*row, made.get(row[0], {})) for row in found])


def _shape(
    name: str, first_seen: dt.datetime | None, hidden: bool, words: Mapping[str, annotations.AnnotatedText]
) -> shapes.Namespace:
    times = sorted([*([first_seen] if first_seen else []), *(word.at for word in words.values())])
    return shapes.Namespace(
        name=name,
        created_at=shapes.instant(times[0]),
        updated_at=shapes.instant(times[-1]),
        owner_name=annotations.text(words.get("owner")) or _NO_OWNER,
        description=annotations.text(words.get("description")),
        is_hidden=hidden,
    )
