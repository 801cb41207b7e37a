"""Tags: those of events, those people created or set, and the two that Marquez begins with."""

from headwater.answer.lineage import node
from headwater.answer.marquez import annotations, shapes
from headwater.errors import NotFound
from headwater.model.tags import key_of
from headwater.store.database import Connection, Database
from headwater.store.marquez import marquez as rows

_ALWAYS = {
    "PII": "What tells who a person is.",
    "SENSITIVE": "Must not be visible to all.",
}


async def get(database: Database, name: str) -> shapes.Tag:
    """Return one tag; its name is compared without case. Raises NotFound."""
    async with database.snapshot() as connection:
        found = (await _all(connection)).get(key_of(name))
    if found is None:
        raise NotFound(f"Tag '{name}' not found.")
    return found


async def page(database: Database, limit: int, offset: int) -> shapes.Tags:
    """Return a page of tags by name, without duplicates that differ only in case."""
    async with database.snapshot() as connection:
        found = await _all(connection)
    return shapes.Tags(tags=sorted(found.values(), key=lambda tag: tag.name)[offset : offset + limit])


async def _all(connection: Connection) -> dict[str, shapes.Tag]:
    """Return all tags by key; the spelling of the person who made a tag comes first."""
    made = {
        name: annotations.text(words.get("description"))
        for name, words in (await annotations.created_by_people(connection, "tag")).items()
    }
    names = [*made, *_ALWAYS, *await annotations.tags_set(connection)]
    for body in await rows.tag_facets(connection):
        whole, columns = node.tags_of(body)
        names += [*whole, *(tag for told in columns.values() for tag in told)]
    found: dict[str, shapes.Tag] = {}
    for name in names:
        found.setdefault(key_of(name), shapes.Tag(name=name, description=made.get(name) or _ALWAYS.get(name)))
    return found
