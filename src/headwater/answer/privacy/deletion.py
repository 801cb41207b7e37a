"""Places of one subject's data, by lineage from the columns that name it: what to delete, in which order, what to make again, how to prove it.

A place is a dataset with a column that holds the key, or another tagged value of the same rows, plain or in part. Columns that are hashed or
masked on every way are counted, and are no places. Nothing here reads data, or learns whose data is meant: the asker puts the subject into the
statements.
"""

import datetime as dt
import uuid
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

import msgspec

from headwater.answer.lineage import node
from headwater.answer.lineage.catalog import Contacts, contacts_of
from headwater.answer.lineage.named_columns import named_columns
from headwater.answer.privacy.carried import MASKED, PLAIN, Carried, Carrier, Column, spread, tagged
from headwater.answer.privacy.where import MOST_DATASETS, load_names
from headwater.answer.status.declared import declared
from headwater.answer.status.schedules import of_datasets
from headwater.answer.status.wrong_by_reads import in_order
from headwater.entities.status.marks import by_entity
from headwater.entities.time import ranges
from headwater.errors import InvalidQuestion, NotFound
from headwater.model import facets, references, version
from headwater.model.dataset_kind import kind_of
from headwater.model.names import DatasetName
from headwater.model.patterns import Pattern
from headwater.model.references import Reference, References
from headwater.model.sql_platform import dialect_of
from headwater.store.database import Connection, Database
from headwater.store.history import datasets as dataset_store
from headwater.store.history import facets as facet_store
from headwater.store.lineage import edges as edge_store
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage.edges import Moment
from headwater.store.lineage.nodes import NodeRow
from headwater.store.privacy import places as store
from headwater.store.privacy.subject_statements import (
    StatementTable,
    count_rows,
    delete_referring_rows,
    delete_rows,
    expire_iceberg,
    refresh_view,
    vacuum_delta,
)
from headwater.store.status import status as status_store

_CHUNK: Final = 500
_MOST_VERSIONS: Final = 1_000
_NAMED_VERSIONS: Final = 5
_FILES: Final = ("file", "s3://", "s3a://", "gs://", "abfs", "wasb", "hdfs://", "dbfs")
_STREAMS: Final = ("kafka://", "kinesis://", "pubsub", "eventhub", "sb://", "pulsar://")
_UNKNOWN: Final = (
    "Backups and snapshots of databases, disks and object stores: `headwater privacy scan` says which files have the value. "
    "Restore none from before the deletion, or delete in it again.",
    "Copies by hand, mails, and what a dashboard exported: their readers are listed by `headwater privacy where`.",
    "Headwater's own event log, if producers send values, as in SQL without masked literals: search `events.body` for it.",
    "Partitions read by their own name, and heirs of a table, where `headwater connect postgres` reads no catalog: ask for their column too.",
    "Data that left by a way that no event reports.",
)


_DELTA_LOG: Final = (
    "The log of a Delta table has the least and the greatest value of each file that it ever had, until its own retention ends, 30 days by "
    "default: shorten `delta.logRetentionDuration`, and scan the folder again once a checkpoint has been written after that."
)
_LAKE: Final = frozenset({"delta", "iceberg"})


class DeletionQuestion(msgspec.Struct, forbid_unknown_fields=True):
    """`key`: the column that names the subject: `customer_id` wherever it is, or `shop.customers.customer_id`. `tag`: also follow values with
    this tag of the same datasets. `subject_sha256`: names the subject in the report without telling it.
    """

    key: str
    tag: str | None = None
    subject_sha256: str | None = None


class SubjectColumn(msgspec.Struct, frozen=True):
    """`column`: null where any column of the dataset may hold it. `certain`: every step to it is known by column. `is_key`: it holds the key."""

    column: str | None
    handling: str
    certain: bool
    is_key: bool


class StoredVersions(msgspec.Struct, frozen=True):
    """Versions that runs wrote, `total` of them: the storage may hold each still. `names`: the latest, as the storage names them."""

    total: int
    first_at: dt.datetime | None
    last_at: dt.datetime | None
    names: list[str]


class DeletionPlace(msgspec.Struct, frozen=True):
    """A dataset in which the subject may be, in the order of deletion. `action`: `delete` (rows by the key), `rewrite` (files that hold it),
    `make again` (no column of it names the subject, or it is a materialized view), `expire` (a topic, whose records cannot be scanned or changed), or
    `nothing` (a view, which holds no rows). `after`: places that must be clean before. `jobs`: those that write it, to run again
    where it is made from another place. `before`: statements that delete, by foreign keys, what refers to the rows of `delete`; to run first.
    `before`, `delete`, `prove`: statements or commands with `:subject` for the subject; prove finds 0. `then`: statements to run after it, until
    which the old versions of a table that keeps them still hold the subject.
    """

    order: int
    dataset: str
    columns: list[SubjectColumn]
    action: str
    after: list[str]
    jobs: list[str]
    instances: list[str]
    versions: StoredVersions
    owners: list[str]
    teams: list[str]
    before: list[str]
    delete: str | None
    then: list[str]
    prove: list[str]


class DeletionReport(msgspec.Struct, frozen=True):
    """`hidden_columns`: columns that hold only a hash or a mask of it. `elsewhere`: what the lineage cannot know, and where to look.
    `left_out`: datasets past the limit of 5,000, whose readers were not followed.
    """

    key: str
    tag: str | None
    subject_sha256: str | None
    made_at: dt.datetime
    places: list[DeletionPlace]
    make_again: list[str]
    hidden_columns: list[str]
    elsewhere: list[str]
    left_out: int


class _Form(NamedTuple):
    """`kind`: TABLE, VIEW and so on, as the dataset's type; `layer`: its table format, such as delta; `alias`: the name by which a catalog has it."""

    kind: str = ""
    layer: str = ""
    alias: str = ""


async def plan_deletion(database: Database, question: DeletionQuestion) -> DeletionReport:
    """Return every place in which the subject may be. NotFound if no dataset has such a column."""
    key = question.key.strip()
    if not key or key.endswith("."):
        raise InvalidQuestion("name a column, such as customer_id or shop.customers.customer_id", field="key")
    async with database.snapshot() as connection:
        start = await _key_columns(connection, key)
        keyed = await spread(connection, dict(start), Moment(), MOST_DATASETS, ever=True)
        whole = Carried(dict(keyed.columns), keyed.hidden)
        if question.tag:
            homes = {dataset for dataset, _ in start}
            more = {at: one for at, one in (await tagged(connection, question.tag, Moment())).items() if at[0] in homes}
            values = await spread(connection, more, Moment(), MOST_DATASETS, ever=True)
            whole.hidden = max(whole.hidden, values.hidden)
            for at, one in values.columns.items():
                if at not in whole.columns or one.rank < whole.columns[at].rank:
                    whole.columns[at] = one
        return await _report(connection, question, key, keyed, whole)


async def _key_columns(connection: Connection, key: str) -> dict[Column, Carrier]:
    """The columns with this name: of any dataset, or of those that the part before the last dot names."""
    dataset, _, column = key.rpartition(".")
    pattern = Pattern(dataset) if dataset else None
    rows = await store.datasets(connection)
    chosen = [id_ for id_, name in rows if pattern is None or pattern.matches(name)]
    found: dict[Column, Carrier] = {}
    for start in range(0, len(chosen), _CHUNK):
        some = chosen[start : start + _CHUNK]
        known = await named_columns(connection, some)
        # A source is read and never written: its schema is of no version.
        for id_, mine in (await facet_store.of_owners(connection, some, ("schema",))).items():
            known.setdefault(id_, set()).update(field.name for field in node.fields_of(mine.get("schema"), {}))
        for id_, names in known.items():
            for name in names:
                if name.casefold() == column.casefold():
                    found[id_, name.lower()] = Carrier(name, PLAIN, True, 0)
    if not found:
        raise NotFound(f"no dataset has a column {key[:200]!r}; find columns with `headwater search`", key=key[:200])
    return found


async def _report(
    connection: Connection, question: DeletionQuestion, key: str, keyed: Carried, whole: Carried
) -> DeletionReport:
    names = await load_names(connection, whole)
    columns: dict[uuid.UUID, list[SubjectColumn]] = {}
    hidden = []
    for (dataset, column), one in sorted(whole.columns.items(), key=lambda item: item[0][1]):
        if dataset not in names:
            continue
        if one.handling == MASKED:
            hidden.append(f"{names[dataset].node_id}#{one.name}")
            continue
        in_key = keyed.columns.get((dataset, column))
        is_key = in_key is not None and in_key.handling == PLAIN and in_key.certain and in_key.exact
        columns.setdefault(dataset, []).append(SubjectColumn(one.name or None, one.handling, one.certain, is_key))
    makers, above = await _makers(connection, columns)
    jobs = await node_store.by_ids(connection, {job for some in makers.values() for job in some})
    contacts = await contacts_of(connection, columns)
    referenced_by = await _references(connection, names)
    forms = await _forms(connection, columns)
    instances = await _instances(connection, columns)
    order = in_order({id_: above.get(id_, set()) for id_ in columns}, {id_: names[id_].node_id for id_ in columns})
    places = []
    for number, id_ in enumerate(order, 1):
        places.append(
            await _place(
                connection, number, id_, names, columns[id_], above.get(id_, set()),
                [jobs[job].node_id for job in sorted(makers.get(id_, ()), key=str) if job in jobs], instances.get(id_, []), contacts.get(id_),
                referenced_by.get(names[id_].namespace, {}), forms.get(id_, _Form()),
            )
        )  # fmt: skip
    again = [job for place in places if place.after for job in place.jobs]
    return DeletionReport(
        key, question.tag, question.subject_sha256, dt.datetime.now(dt.UTC), places, list(dict.fromkeys(again)), sorted(hidden),
        [*([_DELTA_LOG] if any(form.layer == "delta" for form in forms.values()) else []), *_UNKNOWN], whole.hidden,
    )  # fmt: skip


async def _makers(
    connection: Connection, places: Collection[uuid.UUID]
) -> tuple[dict[uuid.UUID, set[uuid.UUID]], dict[uuid.UUID, set[uuid.UUID]]]:
    """The jobs that write each place, and the other places that these read."""
    makers: dict[uuid.UUID, set[uuid.UUID]] = {}
    for edge in await edge_store.at_datasets(connection, places, "out", Moment()):
        makers.setdefault(edge.dataset, set()).add(edge.job)
    reads: dict[uuid.UUID, set[uuid.UUID]] = {}
    for edge in await edge_store.at_jobs(connection, {job for some in makers.values() for job in some}, "in", Moment()):
        reads.setdefault(edge.job, set()).add(edge.dataset)
    above = {
        id_: ({dataset for job in some for dataset in reads.get(job, ())} & set(places)) - {id_}
        for id_, some in makers.items()
    }
    return makers, above


async def _instances(connection: Connection, places: Collection[uuid.UUID]) -> dict[uuid.UUID, list[str]]:
    """The instances that exist of the entities that these datasets hold."""
    held = await declared(connection)
    schedules = await of_datasets(connection, list(places))
    entities = sorted({each.entity for some in schedules.values() for each in some if each.entity in held.declared})
    marks = by_entity(await status_store.marks_of(connection, [held.number(entity) for entity in entities]))
    found: dict[uuid.UUID, list[str]] = {}
    for id_, some in schedules.items():
        for each in some:
            mark = marks.get(held.number(each.entity)) if each.entity in held.declared else None
            if mark is not None and mark.exist:
                found.setdefault(id_, []).extend(
                    f"{each.entity}@{text}" for text in ranges.written(held.instances(each.entity), mark.exist)
                )
    return found


async def _place(
    connection: Connection,
    number: int,
    id_: uuid.UUID,
    names: Mapping[uuid.UUID, NodeRow],
    columns: list[SubjectColumn],
    above: Collection[uuid.UUID],
    jobs: list[str],
    instances: list[str],
    contacts: Contacts | None,
    referenced_by: Mapping[str, list[Reference]],
    form: _Form,
) -> DeletionPlace:
    row = names[id_]
    keys = [one.column for one in columns if one.is_key and one.column]
    versions = await dataset_store.versions(connection, id_, "infinity", _MOST_VERSIONS)
    stored = [one.external_version for one in versions if one.external_version]
    dates = [one.written_at for one in versions]
    table = _table(row, form)
    action = _action(row, keys, form, table)
    rows = table if action == "delete" else None
    return DeletionPlace(
        number, row.node_id, columns, action, sorted(names[each].node_id for each in above if each in names), jobs, instances,
        StoredVersions(len(versions), min(dates, default=None), max(dates, default=None), stored[:_NAMED_VERSIONS]),
        contacts.owners if contacts else [], contacts.teams if contacts else [],
        delete_referring_rows(rows, keys, referenced_by) if rows else [], delete_rows(rows, keys) if rows else None,
        _following(form, table), _proofs(row, columns, action, table),
    )  # fmt: skip


async def _forms(connection: Connection, places: Collection[uuid.UUID]) -> dict[uuid.UUID, _Form]:
    found = {}
    for id_, mine in (await facet_store.of_owners(connection, places, ("datasetType", "storage", "symlinks"))).items():
        found[id_] = _Form(kind_of(mine.get("datasetType")), _layer(mine.get("storage")), _alias(mine.get("symlinks")))
    return found


def _layer(body: bytes | None) -> str:
    """Return the table format of a storage facet; "" of one that a producer wrote otherwise."""
    try:
        return facets.storage_layer(body) if body else ""
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""


def _alias(body: bytes | None) -> str:
    """Return the first name of a table in a symlinks facet; "" of one that a producer wrote otherwise."""
    try:
        found = facets.symlinks(body) if body else []
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    return next((one.name.name for one in found if one.kind == "TABLE"), "")


def _table(row: NodeRow, form: _Form) -> StatementTable | None:
    """Return the name by which statements find it; None of files that only programs read."""
    if not row.namespace.startswith(_FILES):
        dialect = "spark" if form.layer in _LAKE and dialect_of(row.namespace) == "hive" else dialect_of(row.namespace)
        return StatementTable(row.name, dialect)
    if form.layer == "delta":
        return StatementTable(_location(row), "spark", in_place=True)
    return StatementTable(form.alias, "spark") if form.layer == "iceberg" and "." in form.alias else None


def _location(row: NodeRow) -> str:
    return row.name if row.namespace == "file" else f"{row.namespace}/{row.name.lstrip('/')}"


def _action(row: NodeRow, keys: list[str], form: _Form, table: StatementTable | None) -> str:
    if row.namespace.startswith(_STREAMS):
        return "expire"
    if form.kind == "VIEW":
        return "nothing"
    if form.kind == "MATERIALIZED_VIEW":
        return "make again"
    if row.namespace.startswith(_FILES) and not (keys and table):
        return "rewrite"
    return "delete" if keys else "make again"


def _following(form: _Form, table: StatementTable | None) -> list[str]:
    if table is None:
        return []
    if form.kind == "MATERIALIZED_VIEW":
        return [refresh_view(table)]
    if form.layer == "delta":
        return vacuum_delta(table)
    return expire_iceberg(table) if form.layer == "iceberg" else []


async def _references(
    connection: Connection, names: Mapping[uuid.UUID, NodeRow]
) -> dict[str, dict[str, list[Reference]]]:
    """Return the foreign keys that lead to these tables, and to the tables that have those, as far as they go: by namespace and table."""
    found: dict[str, dict[str, list[Reference]]] = {}
    level = {id_: (row.namespace, row.name) for id_, row in names.items()}
    seen = set(level)
    while level:
        facets = await facet_store.of_owners(connection, level, (references.FACET,))
        below: dict[uuid.UUID, tuple[str, str]] = {}
        for id_, mine in facets.items():
            namespace, name = level[id_]
            some = _decode_references(mine[references.FACET])
            found.setdefault(namespace, {})[name] = some
            below |= {version.dataset_id(DatasetName(namespace, one.table)): (namespace, one.table) for one in some}
        level = {id_: place for id_, place in below.items() if id_ not in seen}
        seen |= level.keys()
    return found


def _decode_references(body: bytes) -> list[Reference]:
    """Return the foreign keys of a facet; none of one that a producer wrote otherwise."""
    try:
        return [one for one in msgspec.json.decode(body, type=References).referenced_by if one.columns and one.keys]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []


def _proofs(row: NodeRow, columns: list[SubjectColumn], action: str, table: StatementTable | None) -> list[str]:
    if action == "expire":
        return [
            f"{row.node_id} cannot be scanned: wait until its retention has ended, or write a tombstone for each key and let it be compacted"
        ]
    if action == "nothing":
        return []
    found = [count_rows(table, each.column) for each in columns if each.column] if table else []
    if row.namespace == "file":
        return [*found, f"headwater privacy scan -- :subject {_quoted_path(row.name)}"]
    if row.namespace.startswith(_FILES):
        return [
            *found,
            f"copy {_location(row)} to a folder, and search it: headwater privacy scan -- :subject FOLDER",
        ]
    return found or [f"look into {row.node_id} by hand: its columns are not known"]


def _quoted_path(path: str) -> str:
    return "'" + path.replace("'", "'\\''") + "'"
