"""Tags: those events tell, those people made or set on something, and the two that Marquez is set up with."""

from headwater.answer import node
from headwater.answer.marquez import said, shapes
from headwater.errors import NotFound
from headwater.store import marquez as rows
from headwater.store.database import Connection, Database

_ALWAYS = {
    "PII": "What tells who a person is.",
    "SENSITIVE": "What must not be seen by everybody.",
}


async def get(database: Database, name: str) -> shapes.Tag:
    """One tag. Raises NotFound."""
    async with database.snapshot() as connection:
        found = await _all(connection)
    if name not in found:
        raise NotFound(f"Tag '{name}' not found.")
    return shapes.Tag(name=name, description=found[name])


async def page(database: Database, limit: int, offset: int) -> shapes.Tags:
    """Tags by name."""
    async with database.snapshot() as connection:
        found = await _all(connection)
    return shapes.Tags(
        tags=[shapes.Tag(name=name, description=found[name]) for name in sorted(found)[offset : offset + limit]]
    )


async def _all(connection: Connection) -> dict[str, str | None]:
    found: dict[str, str | None] = dict.fromkeys(await said.tags_set(connection))
    for body in await rows.tag_facets(connection):
        whole, columns = node.tags_of(body)
        found.update(dict.fromkeys([*whole, *(tag for told in columns.values() for tag in told)]))
    found.update(_ALWAYS)
    for name, words in (await said.made(connection, "tag")).items():
        found[name] = said.text(words.get("description")) or found.get(name)
    return found
