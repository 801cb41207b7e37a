"""Marquez's node ids: `dataset:ns:name`, `datasetField:ns:name:field`, `job:ns:name`, each with `#version` or without.

Namespaces and names hold colons, slashes and ports, so an id can be read in several ways; what exists decides. `run:` ids are known
as such and stand in no graph.
"""

import re
import uuid

import msgspec

from headwater.answer.marquez import naming
from headwater.errors import NotFound
from headwater.model.names import node_id_readings
from headwater.store.database import Connection
from headwater.store.marquez import DatasetRow, JobRow

_KINDS = ("dataset", "datasetField", "job", "run")
_VERSION = re.compile(r"#([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$")
# An id with more colons than this is read by its last ones only.
_MOST_CUTS = 32


class NodeId(msgspec.Struct, frozen=True):
    """`rest` is all between the kind and the version."""

    kind: str
    rest: str
    version: uuid.UUID | None

    @property
    def text(self) -> str:
        return f"{self.kind}:{self.rest}"


def parsed(text: str) -> NodeId:
    """Raises NotFound for what has no known kind, as Marquez does."""
    kind, colon, rest = text.partition(":")
    if not colon or kind not in _KINDS:
        raise NotFound(f"Node '{text}' not found.")
    match = _VERSION.search(rest)
    return NodeId(kind, rest[: match.start()] if match else rest, uuid.UUID(match[1]) if match else None)


async def dataset_or_job(connection: Connection, node: NodeId) -> DatasetRow | JobRow:
    """What a `dataset:` or `job:` id means. Of two readings that exist the one with the longer namespace. Raises NotFound."""
    names = [(reading.namespace, reading.name) for reading in node_id_readings(node.text)]
    found: dict[tuple[str, str], DatasetRow] | dict[tuple[str, str], JobRow]
    if node.kind == "job":
        found = await naming.jobs_of(connection, names)
    else:
        found = await naming.datasets_of(connection, names)
    if not found:
        raise NotFound(f"{node.kind.capitalize()} '{node.rest}' not found.")
    return found[max(found, key=lambda name: (len(name[0]), name))]


async def fields_of(connection: Connection, node: NodeId) -> list[tuple[DatasetRow, str]]:
    """(dataset, field): every way to read a `datasetField:` id whose dataset exists, the likelier first. Raises NotFound."""
    cuts = [place for place, char in enumerate(node.rest) if char == ":" and 0 < place < len(node.rest) - 1]
    readings = [
        ((node.rest[:first], node.rest[first + 1 : last]), node.rest[last + 1 :])
        for last in cuts[-_MOST_CUTS:]
        for first in cuts[-_MOST_CUTS:]
        if first < last - 1
    ]
    found = await naming.datasets_of(connection, {name for name, _ in readings})
    known = [(name, field) for name, field in readings if name in found]
    if not known:
        raise NotFound(f"Field '{node.rest}' not found.")
    known.sort(key=lambda one: (-len(one[0][0]), len(one[1])))
    return [(found[name], field) for name, field in known]


def of_dataset(namespace: str, name: str) -> str:
    return f"dataset:{namespace}:{name}"


def of_job(namespace: str, name: str) -> str:
    return f"job:{namespace}:{name}"


def of_field(namespace: str, name: str, field: str, version: str | None = None) -> str:
    return f"datasetField:{namespace}:{name}:{field}" + (f"#{version}" if version else "")
