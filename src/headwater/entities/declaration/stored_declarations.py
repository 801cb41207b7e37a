"""Declarations as the database stores them: canonical JSON, and the number that identifies an entity's instances."""

import difflib
import json
import threading
import uuid
from collections import OrderedDict
from collections.abc import Iterable

from headwater.entities.declaration.canonical import from_document
from headwater.entities.declaration.entity import EntityDeclaration
from headwater.entities.needs.graph import Graph
from headwater.entities.time.instances import Instances
from headwater.errors import NotFound

_KEPT = 4


class StoredDeclarations:
    """All declarations at one moment, as one graph. `id` identifies that state."""

    def __init__(self, id: uuid.UUID | None, rows: Iterable[tuple[int, bytes]]) -> None:
        self.id = id
        self.declared: dict[str, EntityDeclaration] = {}
        self.ids: dict[str, int] = {}
        for number, body in rows:
            one = from_document(json.loads(body))
            self.declared[one.name] = one
            self.ids[one.name] = number
        self.names = {number: name for name, number in self.ids.items()}
        self.graph = Graph(one.entity for one in self.declared.values())

    def number(self, name: str) -> int:
        """The number of an entity's instances. NotFound, with the nearest declared name, if it is not declared."""
        found = self.ids.get(name)
        if found is None:
            raise self.unknown(name)
        return found

    def instances(self, name: str) -> Instances | None:
        """The instances of an entity; None if it is static. Raises NotFound as `number` does."""
        return self.declaration(name).entity.instances

    def declaration(self, name: str) -> EntityDeclaration:
        """The declaration of an entity. Raises NotFound as `number` does."""
        found = self.declared.get(name)
        if found is None:
            raise self.unknown(name)
        return found

    def unknown(self, name: str) -> NotFound:
        near = difflib.get_close_matches(name, self.declared, 1)
        hint = f"did you mean {near[0]!r}?" if near else "`headwater entities list` shows those there are"
        return NotFound(f"no entity is declared as {name[:200]!r}; {hint}", entity=name[:200])


class GraphCache:
    """A cache of the last few states; each graph is built once."""

    def __init__(self) -> None:
        self._held: OrderedDict[uuid.UUID | None, StoredDeclarations] = OrderedDict()
        self._lock = threading.Lock()
        self._making = threading.Lock()

    def get(self, id: uuid.UUID | None) -> StoredDeclarations | None:
        with self._lock:
            if id in self._held:
                self._held.move_to_end(id)
            return self._held.get(id)

    def get_or_build(self, id: uuid.UUID | None, rows: Iterable[tuple[int, bytes]]) -> StoredDeclarations:
        """The state of these rows (as for `Held`). If several threads ask for one state, one builds it and the others wait."""
        with self._making:
            found = self.get(id)
            if found is None:
                found = StoredDeclarations(id, rows)
                with self._lock:
                    self._held[id] = found
                    while len(self._held) > _KEPT:
                        self._held.popitem(last=False)
            return found


KEPT = GraphCache()
"""One cache per process: an id is unique across states and databases."""
