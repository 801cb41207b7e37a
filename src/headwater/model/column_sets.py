"""Column lineage as content: the column edges of one target are a set whose id is its digest, so equal sets are stored once. Pure."""

import uuid

import msgspec

from headwater.model import version
from headwater.model.identity import Identity
from headwater.model.lineage import ColumnInput, Transformation
from headwater.model.names import DatasetName, JobName

_NO_TRANSFORMATION = Transformation("", "", False, None)
_NO_SOURCE = str(uuid.UUID(int=0))


class ColumnSet(msgspec.Struct, frozen=True):
    """`edges` is JSON: [[target field, source id, source field, type, subtype, masking, description or null], …], in order. The source id of a
    field that is reported to have no inputs is all zeros.

    `sources`: every dataset and job in the edges; the projection adds them too.
    """

    id: uuid.UUID
    edges: bytes
    sources: tuple[DatasetName | JobName, ...]


def column_set(inputs: dict[str, list[ColumnInput]], identity: Identity) -> ColumnSet:
    """The set of these inputs. An empty set is valid: it means "no inputs"."""
    ids: dict[DatasetName | JobName, str] = {}
    rows: set[tuple[str, str, str, str, str, bool, str]] = set()
    for field, sources in _whole_dataset_once(inputs).items():
        if field and not inputs[field]:
            rows.add((field, _NO_SOURCE, "", "", "", False, ""))
        for item in sources:
            source = item.source
            if isinstance(source, DatasetName):
                source = identity.place(source).name
            if source not in ids:
                ids[source] = str(
                    version.dataset_id(source) if isinstance(source, DatasetName) else version.job_id(source)
                )
            for t in item.transformations or (_NO_TRANSFORMATION,):
                rows.add((field, ids[source], item.field, t.type, t.subtype, t.masking, t.description or ""))
    edges = msgspec.json.encode([(*row[:6], row[6] or None) for row in sorted(rows)])
    return ColumnSet(version.content_id(edges), edges, tuple(ids))


def _whole_dataset_once(inputs: dict[str, list[ColumnInput]]) -> dict[str, list[ColumnInput]]:
    """Move an INDIRECT dependency that every field has to the dataset as a whole.

    By default, the Spark listener repeats each filter and join key on every column: n columns times m keys, for m facts.
    """
    fields = [name for name in inputs if name]
    if len(fields) < 2:
        return inputs
    counted: dict[tuple[object, str, Transformation], int] = {}
    for name in fields:
        for fact in {(i.source, i.field, t) for i in inputs[name] for t in i.transformations if t.type == "INDIRECT"}:
            counted[fact] = counted.get(fact, 0) + 1
    shared = {fact for fact, count in counted.items() if count == len(fields)}
    if not shared:
        return inputs
    moved: dict[str, list[ColumnInput]] = {}
    for name, sources in inputs.items():
        remaining = []
        for item in sources:
            rest = (
                tuple(t for t in item.transformations if (item.source, item.field, t) not in shared)
                if name
                else item.transformations
            )
            if rest or not item.transformations:
                remaining.append(ColumnInput(item.source, item.field, rest))
        moved[name] = remaining
    whole = moved.setdefault("", [])
    for source, field, transformation in sorted(shared, key=repr):
        whole.append(ColumnInput(source, field, (transformation,)))  # type: ignore[arg-type]
    return moved
