"""Column evidence as content: the edges of one target become a set with an id, and equal sets are kept once."""

import uuid
from collections.abc import Callable
from typing import Any

import msgspec

from headwater.model import version
from headwater.model.lineage import ColumnInput, Transformation
from headwater.model.names import DatasetName, JobName

_NO_WORDS = Transformation("", "", False, None)


class ColumnSets:
    """Turns column inputs into rows of `column_edges`."""

    def __init__(self, add: Callable[..., None], dataset: Callable[[DatasetName], uuid.UUID]) -> None:
        self._add = add
        self._dataset = dataset

    def add(self, inputs: dict[str, list[ColumnInput]], job: Callable[[JobName], uuid.UUID]) -> uuid.UUID:
        """Add the rows of these inputs and return the set's id. No inputs is a set too: "nothing feeds it"."""
        ids: dict[DatasetName | JobName, uuid.UUID] = {}
        rows: set[tuple[Any, ...]] = set()
        for field, sources in _whole_dataset_once(inputs).items():
            for item in sources:
                if item.source not in ids:
                    ids[item.source] = (
                        self._dataset(item.source) if isinstance(item.source, DatasetName) else job(item.source)
                    )
                for t in item.transformations or (_NO_WORDS,):
                    rows.add(
                        (field, str(ids[item.source]), item.field, t.type, t.subtype, t.masking, t.description or "")
                    )
        ordered = sorted(rows)
        made = version.content_id(msgspec.json.encode(ordered))
        for position, (field, source, source_field, kind, subtype, masking, words) in enumerate(ordered):
            self._add(
                "insert_column_edges",
                made,
                position,
                field,
                uuid.UUID(source),
                source_field,
                kind,
                subtype,
                masking,
                words or None,
            )
        return made


def _whole_dataset_once(inputs: dict[str, list[ColumnInput]]) -> dict[str, list[ColumnInput]]:
    """Move an INDIRECT dependency that stands on every field to the dataset as a whole.

    The Spark listener's default repeats each filter and join key on every column: n columns times m keys, for one fact.
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
        kept = []
        for item in sources:
            rest = (
                tuple(t for t in item.transformations if (item.source, item.field, t) not in shared)
                if name
                else item.transformations
            )
            if rest or not item.transformations:
                kept.append(ColumnInput(item.source, item.field, rest))
        moved[name] = kept
    whole = moved.setdefault("", [])
    for source, field, transformation in sorted(shared, key=repr):
        whole.append(ColumnInput(source, field, (transformation,)))  # type: ignore[arg-type]
    return moved
