"""Marquez's node ids: `dataset:ns:name`, `datasetField:ns:name:field`, `job:ns:name`, each with `#version` or without.

Namespaces and names hold colons, slashes and ports, so an id can be read in several ways; what exists decides. `run:` ids are known
as such and stand in no graph.
"""

import re
import uuid

import msgspec

from headwater.answer.marquez import naming
from headwater.errors import NotFound
from headwater.store.database import Connection
from headwater.store.marquez.marquez import DatasetRow, JobRow

_KINDS = ("dataset", "datasetField", "job", "run")
_VERSION = re.compile(r"#([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$")
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
    """Resolve a `dataset:` or `job:` id. Of two readings that exist, the one with the longer namespace is taken. Raises NotFound."""
    names = [(node.rest[:cut], node.rest[cut + 1 :]) for cut in _cuts(node.rest)]
    found: dict[tuple[str, str], DatasetRow] | dict[tuple[str, str], JobRow]
    if node.kind == "job":
        found = await naming.jobs_of(connection, names)
    else:
        found = await naming.datasets_of(connection, names)
    if not found:
        raise NotFound(f"{node.kind.capitalize()} '{node.rest}' not found.")
    return found[max(found, key=lambda name: (len(name[0]), name))]


async def fields_of(connection: Connection, node: NodeId) -> list[tuple[DatasetRow, str]]:
    """Return (dataset, field) for every way to read a `datasetField:` id whose dataset exists, the likelier first. Raises NotFound."""
    cuts = _cuts(node.rest)
    readings = [
        ((node.rest[:first], node.rest[first + 1 : last]), node.rest[last + 1 :])
        for last in cuts
        for first in cuts
        if first < last - 1
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
