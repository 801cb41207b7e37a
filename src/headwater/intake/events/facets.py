"""What facets say, each distinct body understood once.

Producers send the same schema with every run; its text is the key, so a process decodes it once and remembers. Bounded, pure, and never
wrong: the same bytes always say the same.
"""

import uuid
from collections.abc import Callable
from typing import Any

import msgspec

from headwater.model import facets as known
from headwater.model import version
from headwater.model.column_sets import ColumnSet, column_set
from headwater.model.event import Facets
from headwater.model.identity import Identity

_REMEMBERED = 8192
# Longer bodies are rare, and remembering thousands of them would be felt.
_LONGEST = 64 * 1024


# Facets that stay the same from run to run and are kept as one set. Any other name is a set of its own, so that what changes with every
# run does not make a new set of the rest.
_LASTING = frozenset({
    "schema", "dataSource", "documentation", "ownership", "tags", "symlinks", "storage", "catalog", "datasetType", "hierarchy",
    "columnLineage", "sql", "sourceCode", "sourceCodeLocation", "jobType", "lineage",
})  # fmt: skip

# Kept as what they are: a version is a row of dataset_versions, and as a facet of the dataset it would be one more set with every run.
_ELSEWHERE = frozenset({"version"})

Members = tuple[tuple[str, uuid.UUID, bool], ...]


class Told(msgspec.Struct, frozen=True):
    """What the facets of a dataset (or job) say together. `sets`: those to keep, each by its id, with (name, body's id, deleted).

    `wrong`: (place in the event, what is wrong) of facets that are not of their shape.
    """

    sets: tuple[tuple[uuid.UUID, Members], ...]
    wrong: tuple[tuple[str, str], ...] = ()
    links: tuple[known.Symlink, ...] = ()
    source: tuple[str, str] | None = None
    schema_id: uuid.UUID | None = None
    external_version: str = ""
    lifecycle: str | None = None
    columns: ColumnSet | None = None


class Understood:
    """Decodes facets under one set of identity rules."""

    def __init__(self, identity: Identity) -> None:
        self.identity = identity
        self._remembered: dict[tuple[str, bytes], Any] = {}
        self._told: dict[tuple[str, tuple[tuple[str, bytes], ...]], Told] = {}

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

    def sets(self, facets: Facets) -> Told:
        """The sets that a job's facets are kept as."""
        key = tuple((name, bytes(raw)) for name, raw in facets.items())
        return self._together(("job", key), lambda: Told(self._sets(key)))

    def dataset(self, facets: Facets) -> Told:
        """What a dataset's facets say."""
        key = tuple((name, bytes(raw)) for name, raw in facets.items())
        return self._together(("dataset", key), lambda: self._dataset(key))

    def _together(self, key: tuple[str, tuple[tuple[str, bytes], ...]], make: Callable[[], Told]) -> Told:
        found = self._told.get(key)
        if found is None:
            found = make()
            if sum(len(body) for _, body in key[1]) <= _LONGEST:
                if len(self._told) >= _REMEMBERED:
                    self._told.clear()
                self._told[key] = found
        return found

    def _sets(self, facets: tuple[tuple[str, bytes], ...]) -> tuple[tuple[uuid.UUID, Members], ...]:
        told = [(name, *self.content(body)) for name, body in facets if name not in _ELSEWHERE]
        lasting = tuple(sorted(one for one in told if one[0] in _LASTING))
        groups = ([lasting] if lasting else []) + [(one,) for one in told if one[0] not in _LASTING]
        return tuple((_set_id(members), members) for members in groups)

    def _dataset(self, facets: tuple[tuple[str, bytes], ...]) -> Told:
        wrong: list[tuple[str, str]] = []

        def told(name: str, kind: str) -> Any:
            body = next((body for other, body in facets if other == name), None)
            if body is None or self.content(body)[1]:
                return None
            found, error = self.columns(body) if kind == "" else self.decoded(kind, body)
            if error is not None:
                wrong.append((f"facets.{name}", error))
            return found

        schema = next((body for name, body in facets if name == "schema"), None)
        told("schema", "schema")
        return Told(
            self._sets(facets),
            links=tuple(told("symlinks", "symlinks") or ()),
            source=told("dataSource", "data_source"),
            schema_id=None if schema is None or self.content(schema)[1] else self.content(schema)[0],
            external_version=told("version", "external_version") or "",
            lifecycle=told("lifecycleStateChange", "lifecycle"),
            columns=told("columnLineage", ""),
            wrong=tuple(wrong),
        )

    def columns(self, body: bytes) -> tuple[ColumnSet | None, str | None]:
        """The set of a columnLineage facet."""
        return self._once("columns", body, self._columns)  # type: ignore[no-any-return]

    def _columns(self, body: bytes) -> tuple[ColumnSet | None, str | None]:
        told, wrong = _decoded("column_lineage", body)
        return (None if told is None else column_set(told, self.identity)), wrong


def _set_id(members: Members) -> uuid.UUID:
    return version.content_id(
        b"".join(b"%d:%b%b%d" % (len(n), n.encode("utf-8", "surrogatepass"), m.bytes, d) for n, m, d in members)
    )


def _decoded(kind: str, body: bytes) -> tuple[Any, str | None]:
    try:
        return getattr(known, kind)(body), None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return None, str(error)[:300]


class _Tombstone(msgspec.Struct):
    deleted: Any = msgspec.field(name="_deleted", default=False)


_tombstone = msgspec.json.Decoder(_Tombstone)


def if_understood(decode: Callable[[bytes], Any], body: msgspec.Raw | None) -> Any:
    """What a facet says; None where it is not there, is deleted, or has another shape, of which the projection warns."""
    if body is None or is_deleted(bytes(body)):
        return None
    try:
        return decode(bytes(body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def is_deleted(body: bytes) -> bool:
    """`_deleted: true` removes the facet (jobs and datasets; OpenLineage §1.1)."""
    if b"_deleted" not in body:
        return False
    try:
        return _tombstone.decode(body).deleted is True
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
