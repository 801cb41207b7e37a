"""Decode facets, each distinct body once.

Producers send the same schema with every run, so a process decodes each body once and caches the result by the body's bytes. The cache is
bounded and never stale: equal bytes always decode to equal values.
"""

import uuid
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import msgspec

from headwater.model import facets as facet_values
from headwater.model import lineage_facets, listed_facets, version
from headwater.model.column_sets import ColumnSet, column_set
from headwater.model.event import Facets
from headwater.model.guessed import schema_guess
from headwater.model.identity import Identity
from headwater.model.names import LONGEST, bounded
from headwater.model.parts import left_out

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

# Modules that have a function for each kind of facet.
_DECODERS = (lineage_facets, facet_values, listed_facets)
_LISTS = ("tags", "ownership")

Members = tuple[tuple[str, uuid.UUID, bool], ...]


class DecodedFacets(msgspec.Struct, frozen=True):
    """The decoded facets of a dataset or job. `sets`: the facet sets to store, each as its id and its (name, body's id, deleted).

    `guess`: of the schema, see `model.guessed`. `problems`: (path in the event, what is wrong) of each malformed facet.
    `left_out`: (path in the event, its places) of each facet of which some parts are malformed, while the others count.
    """

    sets: tuple[tuple[uuid.UUID, Members], ...]
    guess: int = 0
    problems: tuple[tuple[str, str], ...] = ()
    left_out: tuple[tuple[str, list[str]], ...] = ()
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

    def decode(self, kind: str, body: bytes) -> tuple[Any, str | None, list[str]]:
        """The facet's values by `kind` (a function of `model.facets` or `model.lineage_facets`); for a malformed facet None and what is wrong. The
        last: parts that were left out of it."""
        return self.cache(kind, body, lambda raw: _decode(kind, raw))  # type: ignore[no-any-return]

    def content(self, body: bytes) -> tuple[Any, bool]:
        """The id of a facet's body, and whether it is a tombstone."""
        return self.cache("", body, lambda raw: (version.content_id(raw), is_deleted(raw)))  # type: ignore[no-any-return]

    def decode_job(self, facets: Facets) -> DecodedFacets:
        """The sets that a job's facets are stored as, and what is wrong with those that list tags and owners."""
        key = tuple((name, bytes(raw)) for name, raw in facets.items())
        return self._cache_owner(("job", key), lambda: self._decode_job(key))

    def _decode_job(self, facets: tuple[tuple[str, bytes], ...]) -> DecodedFacets:
        listed = {
            name: self.decode(name, body) for name, body in facets if name in _LISTS and not self.content(body)[1]
        }
        problems = tuple((name, problem) for name, (_, problem, _) in listed.items() if problem is not None)
        return DecodedFacets(
            self._facet_sets(facets),
            problems=tuple((f"job.facets.{name}", problem) for name, problem in problems),
            left_out=tuple((f"job.facets.{name}", places) for name, (_, _, places) in listed.items() if places),
        )

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
        left_out: list[tuple[str, list[str]]] = []

        def decode(name: str, kind: str) -> Any:
            body = next((body for other, body in facets if other == name), None)
            if body is None or self.content(body)[1]:
                return None
            values, problem, places = self.decode_columns(body) if kind == "" else self.decode(kind, body)
            if problem is not None:
                problems.append((f"facets.{name}", problem))
            if places:
                left_out.append((f"facets.{name}", places))
            return values

        schema = next((body for name, body in facets if name == "schema"), None)
        for name in ("schema", *_LISTS):
            decode(name, name)
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
            left_out=tuple(left_out),
        )

    def decode_columns(self, body: bytes) -> tuple[ColumnSet | None, str | None, list[str]]:
        """The column set of a columnLineage facet, as `decode`."""
        return self.cache("columns", body, self._decode_columns)  # type: ignore[no-any-return]

    def _decode_columns(self, body: bytes) -> tuple[ColumnSet | None, str | None, list[str]]:
        inputs, problem, places = _decode("column_lineage", body)
        return (None if inputs is None else column_set(inputs, self.identity)), problem, places


def _set_id(members: Members, guess: int) -> uuid.UUID:
    """Return the id of a set. One with a guessed schema is another set, although its bodies are the same."""
    guessed = b"guess %d" % guess if guess and any(name == "schema" for name, _, _ in members) else b""
    return version.content_id(
        guessed
        + b"".join(b"%d:%b%b%d" % (len(n), n.encode("utf-8", "surrogatepass"), m.bytes, d) for n, m, d in members)
    )


def describe_left_out(where: str, places: list[str]) -> str:
    """Say which parts of a facet were left out; the first three by name."""
    named = "; ".join(place[:200] for place in places[:3])
    more = f" and {len(places) - 3} more" if len(places) > 3 else ""
    return f"{where}: parts that violate the schema are left out, and the others count: {named}{more}"


def _decode(kind: str, body: bytes) -> tuple[Any, str | None, list[str]]:
    try:
        found = (getattr(module, kind, None) for module in _DECODERS)
        decode: Callable[[bytes], Any] = next(one for one in found if one is not None)
        with left_out() as places:
            return decode(body), None, places
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return None, str(error)[:300], []


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
