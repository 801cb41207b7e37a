"""Marquez's node ids: `dataset:ns:name`, `datasetField:ns:name:field`, `job:ns:name`, each with `#version` or without.

Namespaces and names hold colons, slashes and ports, so an id can be read in several ways; what exists decides. `run:` ids are known
as such and stand in no graph.
"""

import re
import uuid
from collections.abc import Iterable
from typing import TypeVar, cast

import msgspec

from headwater.answer.marquez import naming
from headwater.errors import Ambiguous, NotFound
from headwater.model.names import distinct_node_id, with_colons
from headwater.store.database import Connection
from headwater.store.marquez.marquez import DatasetRow, JobRow

Name = TypeVar("Name", bound=tuple[str, ...])
_KINDS = ("dataset", "datasetField", "job", "run")
_VERSION = re.compile(r"#([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$")
# Where Marquez ends a namespace: not in `scheme://` and `host:port`.
_BORDER = re.compile(r":(?!//|\d)")
# In an id with more colons than twice this, only the first and the last so many are tried as borders.
_MOST_CUTS = 16


class NodeId(msgspec.Struct, frozen=True):
    """`rest` is all between the kind and the version."""

    kind: str
    rest: str
    version: uuid.UUID | None

    @property
    def text(self) -> str:
        return f"{self.kind}:{self.rest}"


def parsed(text: str) -> NodeId:
    """Read a node id. Raises NotFound for one without a known kind, as Marquez does."""
    kind, colon, rest = text.partition(":")
    if not colon or kind not in _KINDS:
        raise NotFound(f"Node '{text}' not found.")
    match = _VERSION.search(rest)
    return NodeId(kind, rest[: match.start()] if match else rest, uuid.UUID(match[1]) if match else None)


async def dataset_or_job(connection: Connection, node: NodeId) -> DatasetRow | JobRow:
    """Resolve a `dataset:` or `job:` id. Raises NotFound, and Ambiguous if two readings exist."""
    names = _with_colons([(node.rest[:cut], node.rest[cut + 1 :]) for cut in _cuts(node.rest)])
    found: dict[tuple[str, str], DatasetRow] | dict[tuple[str, str], JobRow]
    if node.kind == "job":
        found = await naming.jobs_of(connection, names)
    else:
        found = await naming.datasets_of(connection, names)
    if not found:
        raise NotFound(f"{node.kind.capitalize()} '{_BORDER.split(node.rest, maxsplit=1)[-1]}' not found.")
    by_id: dict[uuid.UUID, DatasetRow | JobRow] = {row.id: row for row in found.values()}
    if len(by_id) > 1:
        raise ambiguous(node, found)
    return next(iter(by_id.values()))


def _with_colons(names: list[Name]) -> list[Name]:
    """Return these names, and those with `%3A` read as a colon."""
    read = [cast("Name", tuple(with_colons(part) for part in name)) for name in names]
    return list(dict.fromkeys((*names, *read)))


def ambiguous(node: NodeId, names: Iterable[tuple[str, ...]]) -> Ambiguous:
    ids = sorted(distinct_node_id(node.kind, *name) for name in names)
    return Ambiguous(
        f"Node '{node.text}' could be any of {len(ids)}: its colons can be read in several ways. Ask with one of {', '.join(ids)}.",
        candidates=ids,
    )


async def fields_of(connection: Connection, node: NodeId) -> list[tuple[DatasetRow, str]]:
    """Return (dataset, field) for every way to read a `datasetField:` id whose dataset exists, the likelier first. Raises NotFound."""
    cuts = _cuts(node.rest)
    readings = [
        ((node.rest[:first], node.rest[first + 1 : last]), node.rest[last + 1 :])
        for last in cuts
        for first in cuts
        if first < last - 1
    ]
    readings = [
        ((namespace, name), field)
        for namespace, name, field in _with_colons([(*name, field) for name, field in readings])
    ]
    found = await naming.datasets_of(connection, {name for name, _ in readings})
    known = [(name, field) for name, field in readings if name in found]
    if not known:
        raise NotFound(f"Field '{node.rest}' not found.")
    known.sort(key=lambda one: (-len(one[0][0]), len(one[1])))
    return [(found[name], field) for name, field in known]


def _cuts(rest: str) -> list[int]:
    """Return the places where a namespace may end and a name begin."""
    cuts = [place for place, char in enumerate(rest) if char == ":" and 0 < place < len(rest) - 1]
    return cuts if len(cuts) <= 2 * _MOST_CUTS else cuts[:_MOST_CUTS] + cuts[-_MOST_CUTS:]


def of_dataset(namespace: str, name: str) -> str:
    return f"dataset:{namespace}:{name}"


def of_job(namespace: str, name: str) -> str:
    return f"job:{namespace}:{name}"


def of_field(namespace: str, name: str, field: str, version: str | None = None) -> str:
    return f"datasetField:{namespace}:{name}:{field}" + (f"#{version}" if version else "")
