"""What facets say, each distinct body understood once.

Producers send the same schema with every run; its text is the key, so a process decodes it once and remembers. Bounded, pure, and never
wrong: the same bytes always say the same.
"""

import uuid
from collections.abc import Callable
from typing import Any

import msgspec

from headwater.intake.column_sets import ColumnSet, column_set
from headwater.model import facets as known
from headwater.model import version
from headwater.model.identity import Identity

_REMEMBERED = 8192
# Longer bodies are rare, and remembering thousands of them would be felt.
_LONGEST = 64 * 1024


class Understood:
    """Decodes facets under one set of identity rules."""

    def __init__(self, identity: Identity) -> None:
        self.identity = identity
        self._remembered: dict[tuple[str, bytes], Any] = {}
        self._sets: dict[tuple[tuple[str, uuid.UUID, bool], ...], uuid.UUID] = {}

    def _once(self, kind: str, body: bytes, make: Callable[[bytes], Any]) -> Any:
        key = (kind, body)
        if key in self._remembered:
            return self._remembered[key]
        made = make(body)
        if len(body) <= _LONGEST:
            if len(self._remembered) >= _REMEMBERED:
                self._remembered.clear()
            self._remembered[key] = made
        return made

    def decoded(self, kind: str, body: bytes) -> tuple[Any, str | None]:
        """The facet's values by `kind` (a function of model.facets), or None and what is wrong with its shape."""
        return self._once(kind, body, lambda given: _decoded(kind, given))  # type: ignore[no-any-return]

    def content(self, body: bytes) -> tuple[Any, bool]:
        """The id of a facet's body, and whether it is a tombstone."""
        return self._once("", body, lambda given: (version.content_id(given), is_deleted(given)))  # type: ignore[no-any-return]

    def set_id(self, members: tuple[tuple[str, uuid.UUID, bool], ...]) -> uuid.UUID:
        """The id of facets told together: (name, body's id, deleted) in the order of names."""
        found = self._sets.get(members)
        if found is None:
            if len(self._sets) >= _REMEMBERED:
                self._sets.clear()
            found = self._sets[members] = version.content_id(
                b"".join(b"%d:%b%b%d" % (len(n), n.encode("utf-8", "surrogatepass"), m.bytes, d) for n, m, d in members)
            )
        return found

    def columns(self, body: bytes) -> tuple[ColumnSet | None, str | None]:
        """The set of a columnLineage facet."""
        return self._once("columns", body, self._columns)  # type: ignore[no-any-return]

    def _columns(self, body: bytes) -> tuple[ColumnSet | None, str | None]:
        told, wrong = _decoded("column_lineage", body)
        return (None if told is None else column_set(told, self.identity)), wrong


def _decoded(kind: str, body: bytes) -> tuple[Any, str | None]:
    try:
        return getattr(known, kind)(body), None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return None, str(error)[:300]


class _Tombstone(msgspec.Struct):
    deleted: Any = msgspec.field(name="_deleted", default=False)


_tombstone = msgspec.json.Decoder(_Tombstone)


def is_deleted(body: bytes) -> bool:
    """`_deleted: true` removes the facet (jobs and datasets; OpenLineage §1.1)."""
    if b"_deleted" not in body:
        return False
    try:
        return _tombstone.decode(body).deleted is True
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
