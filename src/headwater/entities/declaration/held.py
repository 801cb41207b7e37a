"""Declarations as a database holds them: canonical JSON and the number under which an entity's instances are kept."""

import difflib
import json
import threading
import uuid
from collections import OrderedDict
from collections.abc import Iterable

from headwater.entities.declaration.canonical import from_document
from headwater.entities.declaration.declared import Declared
from headwater.entities.needs.graph import Graph
from headwater.entities.time.instances import Instances
from headwater.errors import NotFound

_KEPT = 4


class Held:
    """All declarations of one time, as one graph. `id` names that state of them."""

    def __init__(self, id: uuid.UUID | None, rows: Iterable[tuple[int, bytes]]) -> None:
        self.id = id
        self.declared: dict[str, Declared] = {}
        self.ids: dict[str, int] = {}
        for number, body in rows:
            one = from_document(json.loads(body))
            self.declared[one.name] = one
            self.ids[one.name] = number
        self.names = {number: name for name, number in self.ids.items()}
        self.graph = Graph(one.entity for one in self.declared.values())

    def number(self, name: str) -> int:
        """Under which an entity's instances are kept. NotFound if it is not declared, with the nearest declared name."""
        found = self.ids.get(name)
        if found is None:
            raise self.unknown(name)
        return found

    def instances(self, name: str) -> Instances | None:
        """None of a static entity. NotFound as `number`."""
        return self.declaration(name).entity.instances

    def declaration(self, name: str) -> Declared:
        """NotFound as `number`."""
        found = self.declared.get(name)
        if found is None:
            raise self.unknown(name)
        return found

    def unknown(self, name: str) -> NotFound:
        near = difflib.get_close_matches(name, self.declared, 1)
        hint = f"did you mean {near[0]!r}?" if near else "`headwater entities list` shows those there are"
        return NotFound(f"no entity is declared as {name[:200]!r}; {hint}", entity=name[:200])


class GraphCache:
    """The last few states, so that a graph is made once."""

    def __init__(self) -> None:
        self._held: OrderedDict[uuid.UUID | None, Held] = OrderedDict()
        self._lock = threading.Lock()
        self._making = threading.Lock()

    def get(self, id: uuid.UUID | None) -> Held | None:
        with self._lock:
            if id in self._held:
                self._held.move_to_end(id)
            return self._held.get(id)

    def get_or_build(self, id: uuid.UUID | None, rows: Iterable[tuple[int, bytes]]) -> Held:
        """Of these rows, as `Held` takes them; of threads that ask for the same state one makes it and the others wait."""
        with self._making:
            found = self.get(id)
            if found is None:
                found = Held(id, rows)
                with self._lock:
                    self._held[id] = found
                    while len(self._held) > _KEPT:
                        self._held.popitem(last=False)
            return found


KEPT = GraphCache()
"""Of this process: an id is that of no other state, in whatever database."""
