"""Tables that hold rows of each other: a table, its partitions, and the tables that inherit from it, where a catalog lists them.

A statement may name a partition alone, so a value goes from a table to each of its children, and from a child to its table.
"""

import uuid
from typing import NamedTuple

import msgspec

from headwater.answer.lineage import node
from headwater.model import inheritance, version
from headwater.model.inheritance import Inheritance
from headwater.model.names import DatasetName
from headwater.store.database import Connection
from headwater.store.history import facets as facet_store
from headwater.store.lineage import names
from headwater.store.lineage.edges import Moment


class Families(NamedTuple):
    """`children`: by table. `parents`: by child. `columns`: of tables with children, by their names in lower case; empty if unknown.

    Children that no event names are among them: a caller finds no dataset of that id.
    """

    children: dict[uuid.UUID, set[uuid.UUID]]
    parents: dict[uuid.UUID, set[uuid.UUID]]
    columns: dict[uuid.UUID, set[str]]

    def has(self, parent: uuid.UUID, column: str) -> bool:
        """Return whether a table may have a column of its child: an heir has some of its own."""
        known = self.columns.get(parent)
        return not known or column in known


async def load_families(connection: Connection, moment: Moment, *, ever: bool = False) -> Families:
    """Return all families. `ever`: also children that a table no longer has: the rows that they had may be where they were copied to."""
    found = Families({}, {}, {})
    for facet in await facet_store.of_name(connection, inheritance.FACET, moment.as_of):
        if ever or facet.is_last:
            ids = {version.dataset_id(DatasetName(facet.namespace, name)) for name in _children(facet.body)}
            found.children.setdefault(facet.dataset, set()).update(ids)
    if not found.children:
        return found
    canonical = await names.canonical(connection, {id_ for some in found.children.values() for id_ in some})
    for parent, some in found.children.items():
        found.children[parent] = {canonical.get(id_, id_) for id_ in some} - {parent}
        for child in found.children[parent]:
            found.parents.setdefault(child, set()).add(parent)
    for id_, mine in (await facet_store.of_owners(connection, found.children, ("schema",), moment.as_of)).items():
        found.columns[id_] = {field.name.lower() for field in node.fields_of(mine.get("schema"), {})}
    return found


def _children(body: bytes) -> list[str]:
    """Return the names in a facet; none of one that a producer wrote otherwise."""
    try:
        return msgspec.json.decode(body, type=Inheritance).children
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
