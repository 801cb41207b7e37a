"""Project one manual change to database rows, as `intake.events.project` does for events. Pure."""

import datetime as dt
import uuid
from collections import defaultdict
from typing import Any

import msgspec

from headwater.model import manual
from headwater.model.column_sets import ColumnSet, column_set
from headwater.model.identity import Identity
from headwater.model.lineage import ColumnInput
from headwater.model.manual import Change, DrawEdge, Fact, Link, NameNamespace, RemoveEdge, Target

Rows = dict[str, list[tuple[Any, ...]]]


def rows(change: Change, at: dt.datetime, id_: uuid.UUID, author: str, identity: Identity) -> Rows:
    """The rows of a change, by query (`store/queries/events/projections.sql`).

    Edges and aliases also add the datasets and jobs that they name, even if no event ever mentions them.
    """
    made: Rows = defaultdict(list)
    for fact in manual.facts(change, identity):
        made["upsert_annotations"].append(_annotation(fact, at, id_, author))
    if isinstance(change, Link):
        for target in (change.target, change.alias):
            _add_node(made, target.placed(identity), at, id_)
    elif isinstance(change, NameNamespace):
        made["upsert_namespaces"].append((change.name, at))
    elif isinstance(change, DrawEdge | RemoveEdge):
        _edges(made, change, at, id_, identity)
    return dict(made)


def _annotation(fact: Fact, at: dt.datetime, id_: uuid.UUID, author: str) -> tuple[Any, ...]:
    value = msgspec.json.encode(fact.value, order="deterministic").decode()
    target = fact.target
    return (
        target.text, fact.kind, fact.key, value, fact.deleted, author, at, id_, target.id, target.field or "",
    )  # fmt: skip


def _add_node(made: Rows, target: Target, at: dt.datetime, id_: uuid.UUID) -> None:
    if target.kind == "dataset":
        made["upsert_datasets"].append((target.id, target.namespace, target.name, at))
    else:
        made["upsert_jobs"].append((target.id, target.namespace, target.name, at, id_.bytes, None, None, None))
    made["upsert_namespaces"].append((target.namespace, at))


def _edges(made: Rows, change: DrawEdge | RemoveEdge, at: dt.datetime, id_: uuid.UUID, identity: Identity) -> None:
    drawn = isinstance(change, DrawEdge)
    columns = _columns(change, identity) if isinstance(change, DrawEdge) and change.columns else None
    last = "in" if change.target.kind == "job" else "out"
    for dataset, job, direction in manual.ends(change, identity):
        set_id = None
        if drawn:
            for end in (dataset, job):
                _add_node(made, end, at, id_)
            # Neither a run nor a declaration reported the edge, so neither time is set; `declared` turns false when a run reports it.
            made["upsert_edges"].append((dataset.id, job.id, direction, at, True, None))
            if columns is not None and direction == last:
                made["insert_column_sets"].append((columns.id, columns.edges))
                set_id = columns.id
        made["insert_edge_changes"].append((job.id, dataset.id, direction, id_, at, drawn, set_id))


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
