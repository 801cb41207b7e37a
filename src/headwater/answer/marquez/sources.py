"""Data sources: as dataSource facets name them, and those people made. `default` is the source of datasets that name none."""

import datetime as dt
from collections.abc import Mapping

from headwater.answer.marquez import addresses, annotations, shapes
from headwater.answer.marquez import facets as said_by_facets
from headwater.errors import NotFound
from headwater.store.database import Database
from headwater.store.marquez import marquez as rows


async def get(database: Database, name: str) -> shapes.Source:
    """Return one source. Raises NotFound."""
    async with database.snapshot() as connection:
        made = await annotations.created_by_people(connection, "source")
        found = await rows.sources(connection, [name] if name in made else [], [name], 1, 0)
    if not found:
        raise NotFound(f"Source '{name}' not found.")
    return _shape(*found[0], made.get(name, {}))


async def page(database: Database, limit: int, offset: int) -> shapes.Sources:
    """Return a page of sources by name."""
    async with database.snapshot() as connection:
        made = await annotations.created_by_people(connection, "source")
        found = await rows.sources(connection, list(made), None, limit, offset)
    return shapes.Sources(sources=[_shape(*row, made.get(row[0], {})) for row in found])


def _shape(
    name: str, first_seen: dt.datetime | None, url: str, words: Mapping[str, annotations.AnnotatedText]
) -> shapes.Source:
    times = sorted([*([first_seen] if first_seen else []), *(word.at for word in words.values())])
    url = annotations.text(words.get("connectionUrl")) or url
    return shapes.Source(
        type=annotations.text(words.get("type")) or said_by_facets.source_type(url),
        name=name,
        created_at=shapes.instant(times[0]),
        updated_at=shapes.instant(times[-1]),
        connection_url=addresses.uri(url),
        description=annotations.text(words.get("description")),
    )
