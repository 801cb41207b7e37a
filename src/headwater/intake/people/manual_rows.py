"""Project one manual change to database rows, as `intake.events.project` does for events. Pure."""

import datetime as dt
import uuid

import msgspec

from headwater.model import manual
from headwater.model.column_sets import ColumnSet, column_set
from headwater.model.identity import Identity
from headwater.model.lineage import ColumnInput
from headwater.model.manual import Change, DrawEdge, Fact, Link, NameNamespace, RemoveEdge, Target
from headwater.store.events.rows import (
    AnnotationRow,
    ColumnSetRow,
    DatasetRow,
    EdgeChangeRow,
    EdgeRow,
    JobRow,
    NamespaceRow,
    RowSet,
)


def project_change(change: Change, at: dt.datetime, id_: uuid.UUID, author: str, identity: Identity) -> RowSet:
    """The rows of a change, by type.

    Edges and aliases also add the datasets and jobs that they name, even if no event ever mentions them.
    """
    rows = RowSet()
    for fact in manual.facts(change, identity):
        rows.add(_annotation(fact, at, id_, author))
    if isinstance(change, Link):
        for target in (change.target, change.alias):
            _add_node(rows, target.placed(identity), at, id_)
    elif isinstance(change, NameNamespace):
        rows.add(NamespaceRow(change.name, at))
    elif isinstance(change, DrawEdge | RemoveEdge):
        _add_edges(rows, change, at, id_, identity)
    return rows


def _annotation(fact: Fact, at: dt.datetime, id_: uuid.UUID, author: str) -> AnnotationRow:
    value = msgspec.json.encode(fact.value, order="deterministic").decode()
    target = fact.target
    return AnnotationRow(
        target.text, fact.kind, fact.key, value, fact.deleted, author, at, id_, target.id, target.field or ""
    )


def _add_node(rows: RowSet, target: Target, at: dt.datetime, id_: uuid.UUID) -> None:
    assert target.id is not None
    if target.kind == "dataset":
        rows.add(DatasetRow(target.id, target.namespace, target.name, at))
    else:
        rows.add(JobRow(target.id, target.namespace, target.name, at, id_.bytes))
    rows.add(NamespaceRow(target.namespace, at))


def _add_edges(
    rows: RowSet, change: DrawEdge | RemoveEdge, at: dt.datetime, id_: uuid.UUID, identity: Identity
) -> None:
    drawn = isinstance(change, DrawEdge)
    columns = _columns(change, identity) if isinstance(change, DrawEdge) and change.columns else None
    last = "in" if change.target.kind == "job" else "out"
    for dataset, job, direction in manual.ends(change, identity):
        assert dataset.id is not None
        assert job.id is not None
        set_id = None
        if drawn:
            for end in (dataset, job):
                _add_node(rows, end, at, id_)
            # Neither a run nor a declaration reported the edge, so neither time is set; `declared` turns false when a run reports it.
            rows.add(EdgeRow(dataset.id, job.id, direction, at, declared=True, by_event=None))
            if columns is not None and direction == last:
                rows.add(ColumnSetRow(columns.id, columns.edges))
                set_id = columns.id
        rows.add(EdgeChangeRow(job.id, dataset.id, direction, id_, at, drawn, set_id))


def _columns(change: DrawEdge, identity: Identity) -> ColumnSet:
    inputs: dict[str, list[ColumnInput]] = {}
    for pair in sorted(set(change.columns)):
        inputs.setdefault(pair.target, []).append(ColumnInput(change.source.node_name, pair.source, ()))
    return column_set(inputs, identity)


def touched(change: Change, identity: Identity) -> tuple[set[uuid.UUID], set[str]]:
    """The ids of datasets and jobs, and the names of namespaces, whose annotations the change may affect."""
    targets = {fact.target for fact in manual.facts(change, identity)}
    ids = {target.id for target in targets if target.id is not None}
    return ids, {target.name for target in targets if target.kind == "namespace"}
