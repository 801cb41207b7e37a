"""Decode facets, each distinct body once.

Producers send the same schema with every run, so a process decodes each body once and caches the result by the body's bytes. The cache is
bounded and never stale: equal bytes always decode to equal values.
"""

import uuid
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import msgspec

from headwater.model import facets as facet_values
from headwater.model import lineage_facets, version
from headwater.model.column_sets import ColumnSet, column_set
from headwater.model.event import Facets
from headwater.model.guessed import schema_guess
from headwater.model.identity import Identity
from headwater.model.names import LONGEST, bounded

_CACHED = 8192
# Longer bodies are rare, and thousands of them would take too much memory.
_LONGEST_CACHED = 64 * 1024


# Facets that stay the same from run to run are stored as one set. Each other facet is a set of its own, so a facet that changes with every
# run does not create a new set of the stable ones.
_STABLE = frozenset({
    "schema", "dataSource", "documentation", "ownership", "tags", "symlinks", "storage", "catalog", "datasetType", "hierarchy",
    "columnLineage", "sql", "sourceCode", "sourceCodeLocation", "jobType", "lineage",
})  # fmt: skip

# Stored elsewhere: a version is a row of dataset_versions, and as a facet of the dataset it would add a set with every run.
_NOT_IN_SETS = frozenset({"version"})

Members = tuple[tuple[str, uuid.UUID, bool], ...]


class DecodedFacets(msgspec.Struct, frozen=True):
    """The decoded facets of a dataset or job. `sets`: the facet sets to store, each as its id and its (name, body's id, deleted).

    `guess`: of the schema, see `model.guessed`. `problems`: (path in the event, what is wrong) of each malformed facet.
    `left_out`: says which parts of the columnLineage facet are malformed, while the others count.
    """

    sets: tuple[tuple[uuid.UUID, Members], ...]
    guess: int = 0
    problems: tuple[tuple[str, str], ...] = ()
    left_out: str = ""
    links: tuple[facet_values.Symlink, ...] = ()
    source: tuple[str, str] | None = None
    schema_id: uuid.UUID | None = None
    external_version: str = ""
    lifecycle: str | None = None
    columns: ColumnSet | None = None


class FacetDecoder:
    """Decodes facets under one set of identity rules."""

    def __init__(self, identity: Identity) -> None:
        self.identity = identity
        self._bodies: dict[tuple[Hashable, bytes], Any] = {}
        self._owners: dict[tuple[str, tuple[tuple[str, bytes], ...]], DecodedFacets] = {}

    def cache(self, kind: Hashable, body: bytes, decode: Callable[[bytes], Any]) -> Any:
        """Return `decode(body)`, remembered by `kind` and body."""
        key = (kind, body)
        if key in self._bodies:
            return self._bodies[key]
        values = decode(body)
        if len(body) <= _LONGEST_CACHED:
            if len(self._bodies) >= _CACHED:
                self._bodies.clear()
            self._bodies[key] = values
        return values

    def decode(self, kind: str, body: bytes) -> tuple[Any, str | None]:
        """The facet's values by `kind` (a function of `model.facets` or `model.lineage_facets`); for a malformed facet None and what is wrong."""
        return self.cache(kind, body, lambda raw: _decode(kind, raw))  # type: ignore[no-any-return]

    def content(self, body: bytes) -> tuple[Any, bool]:
        """The id of a facet's body, and whether it is a tombstone."""
        return self.cache("", body, lambda raw: (version.content_id(raw), is_deleted(raw)))  # type: ignore[no-any-return]

    def decode_job(self, facets: Facets) -> DecodedFacets:
        """The sets that a job's facets are stored as."""
        key = tuple((name, bytes(raw)) for name, raw in facets.items())
        return self._cache_owner(("job", key), lambda: DecodedFacets(self._facet_sets(key)))

    def decode_dataset(self, facets: Facets, *, read: bool = False) -> DecodedFacets:
        """The sets that a dataset's facets are stored as, and the values of those that the projection uses. `read`: by a run that read it."""
        key = tuple((name, bytes(raw)) for name, raw in facets.items())
        guess = schema_guess(facets) if read else 0
        return self._cache_owner((f"dataset {guess}", key), lambda: self._decode_dataset(key, guess))

    def _cache_owner(
        self, key: tuple[str, tuple[tuple[str, bytes], ...]], decode: Callable[[], DecodedFacets]
    ) -> DecodedFacets:
        decoded = self._owners.get(key)
        if decoded is None:
            decoded = decode()
            if sum(len(body) for _, body in key[1]) <= _LONGEST_CACHED:
                if len(self._owners) >= _CACHED:
                    self._owners.clear()
                self._owners[key] = decoded
        return decoded

    def _facet_sets(
        self, facets: tuple[tuple[str, bytes], ...], guess: int = 0
    ) -> tuple[tuple[uuid.UUID, Members], ...]:
        members = [(name, *self.content(body)) for name, body in facets if name not in _NOT_IN_SETS]
        stable = tuple(sorted(member for member in members if member[0] in _STABLE))
        groups = ([stable] if stable else []) + [(member,) for member in members if member[0] not in _STABLE]
        return tuple((_set_id(group, guess), group) for group in groups)

    def _decode_dataset(self, facets: tuple[tuple[str, bytes], ...], guess: int) -> DecodedFacets:
        problems: list[tuple[str, str]] = []
        left_out: list[str] = []

        def decode(name: str, kind: str) -> Any:
            body = next((body for other, body in facets if other == name), None)
            if body is None or self.content(body)[1]:
                return None
            values, problem = self.decode_columns(body) if kind == "" else self.decode(kind, body)
            if problem is not None:
                problems.append((f"facets.{name}", problem))
            elif name == "columnLineage":
                left_out.extend(lineage_facets.left_out_of_column_lineage(body))
            return values

        schema = next((body for name, body in facets if name == "schema"), None)
        decode("schema", "schema")
        return DecodedFacets(
            self._facet_sets(facets, guess),
            guess,
            links=tuple(decode("symlinks", "symlinks") or ()),
            source=decode("dataSource", "data_source"),
            schema_id=None if schema is None or self.content(schema)[1] else self.content(schema)[0],
            external_version=decode("version", "external_version") or "",
            lifecycle=decode("lifecycleStateChange", "lifecycle"),
            columns=decode("columnLineage", ""),
            problems=tuple(problems),
            left_out=_left_out(left_out),
        )

    def decode_columns(self, body: bytes) -> tuple[ColumnSet | None, str | None]:
        """The column set of a columnLineage facet; for a malformed facet None and what is wrong."""
        return self.cache("columns", body, self._decode_columns)  # type: ignore[no-any-return]

    def _decode_columns(self, body: bytes) -> tuple[ColumnSet | None, str | None]:
        inputs, problem = _decode("column_lineage", body)
        return (None if inputs is None else column_set(inputs, self.identity)), problem


def _set_id(members: Members, guess: int) -> uuid.UUID:
    """Return the id of a set. One with a guessed schema is another set, although its bodies are the same."""
    guessed = b"guess %d" % guess if guess and any(name == "schema" for name, _, _ in members) else b""
    return version.content_id(
        guessed
        + b"".join(b"%d:%b%b%d" % (len(n), n.encode("utf-8", "surrogatepass"), m.bytes, d) for n, m, d in members)
    )


def _left_out(places: list[str]) -> str:
    if not places:
        return ""
    return f"facets.columnLineage: {len(places)} of its parts violate the schema and are left out, the first: {places[0][:300]}; the others count"


def _decode(kind: str, body: bytes) -> tuple[Any, str | None]:
    try:
        decode = getattr(lineage_facets, kind, None) or getattr(facet_values, kind)
        return decode(body), None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return None, str(error)[:300]


class _Tombstone(msgspec.Struct):
    deleted: Any = msgspec.field(name="_deleted", default=False)


_tombstone = msgspec.json.Decoder(_Tombstone)


def decode_or_none(decode: Callable[[bytes], Any], body: msgspec.Raw | None) -> Any:
    """A facet's values. None if it is absent, deleted or malformed; the projection has warned of a malformed one."""
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


def stored_part(dimensions: Mapping[str, str]) -> str:
    """A part of a dataset as it is stored: its dimensions and their values, as JSON."""
    text = msgspec.json.encode(dimensions, order="deterministic").decode()
    # The column is indexed; 200 leaves room for JSON's escapes.
    return text if len(text.encode()) <= LONGEST else msgspec.json.encode({"part": bounded(text, 200)}).decode()
