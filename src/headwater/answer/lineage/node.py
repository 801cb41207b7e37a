"""The shape of a dataset, a job and a run in every answer, and the loading of many at once."""

import datetime as dt
import uuid
from collections.abc import Collection
from functools import lru_cache
from typing import Any

import msgspec

from headwater.answer.lineage import liveness
from headwater.answer.people.people import Owner, Tag, Words, text_of
from headwater.model import facets as known
from headwater.model.names import short
from headwater.model.run import RunState
from headwater.model.statement import statement_kind
from headwater.store.database import Connection
from headwater.store.history import datasets as dataset_store
from headwater.store.history import facets as facet_store
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage import runs as run_store
from headwater.store.lineage.nodes import NodeRow
from headwater.store.lineage.runs import RunRow, RunsBelow
from headwater.store.people import annotations as annotation_store


class Field(msgspec.Struct):
    """A column of a dataset."""

    name: str
    type: str | None
    description: str | None
    tags: list[str]


class RunSummary(msgspec.Struct):
    """The latest run of a job. `lost`: it missed three signs of life it announced."""

    id: str
    state: str
    started_at: dt.datetime
    ended_at: dt.datetime | None
    duration_ms: int | None
    last_event_at: dt.datetime | None = None
    streaming: bool = False
    stalled: bool = False
    stalled_reason: str | None = None
    lost: bool = False


class DatasetNode(msgspec.Struct, kw_only=True, tag_field="type", tag="DATASET"):
    id: str
    namespace: str
    name: str
    label: str
    description: str | None
    tags: list[str]
    fields: list[Field]
    first_seen: dt.datetime
    updated_at: dt.datetime
    version_count: int
    owner_names: list[str] = []
    hop: int = 0
    hidden_upstream: int = 0
    hidden_downstream: int = 0


class JobNode(msgspec.Struct, kw_only=True, tag_field="type", tag="JOB"):
    id: str
    namespace: str
    name: str
    label: str
    parent: str | None
    description: str | None
    tags: list[str]
    first_seen: dt.datetime
    updated_at: dt.datetime
    last_run: RunSummary | None
    streaming: bool = False
    statement: str | None = None
    user: str | None = None
    owner_names: list[str] = []
    hop: int = 0
    hidden_upstream: int = 0
    hidden_downstream: int = 0


Node = DatasetNode | JobNode
_SHOWN = ("schema", "documentation", "tags", "jobType", "ownership")


async def load(
    connection: Connection, ids: Collection[uuid.UUID], as_of: dt.datetime | str = "infinity"
) -> dict[uuid.UUID, Node]:
    """Load nodes by id, with schema, description, tags and latest run; a fixed number of statements for any number of ids."""
    return await from_rows(connection, await node_store.by_ids(connection, ids), as_of)


async def from_rows(
    connection: Connection, rows: dict[uuid.UUID, NodeRow], as_of: dt.datetime | str = "infinity"
) -> dict[uuid.UUID, Node]:
    """Nodes for rows already read."""
    jobs = [id_ for id_, row in rows.items() if row.type == "JOB"]
    datasets = [id_ for id_, row in rows.items() if row.type == "DATASET"]
    facets = await facet_store.of_owners(connection, rows.keys(), _SHOWN, as_of)
    past = await dataset_store.schemas_as_of(connection, datasets, as_of) if isinstance(as_of, dt.datetime) else {}
    latest = await run_store.latest_of_jobs(connection, jobs, as_of)
    below = await run_store.below(connection, [run.run_id for run in latest.values()])
    types = {id_: mine["jobType"] for id_ in jobs if "jobType" in (mine := facets.get(id_, {}))}
    now = as_of if isinstance(as_of, dt.datetime) else dt.datetime.now(dt.UTC)
    alive = await liveness.load(connection, latest.values(), now, types)
    # A run's statement is kept with the run; only a job that never ran has to be asked for its text.
    declared = [id_ for id_ in jobs if id_ not in latest]
    texts = await facet_store.of_owners(connection, declared, ["sql"], as_of)
    parents = await node_store.by_ids(connection, {row.parent_id for row in rows.values() if row.parent_id})
    counts = await dataset_store.version_counts(connection, datasets, as_of)
    said = await annotation_store.of_owners(connection, rows.keys())
    found: dict[uuid.UUID, Node] = {}
    for id_, row in rows.items():
        mine, words = facets.get(id_, {}), Words(said.get(id_, ()))
        description = words.description() or description_of(mine)
        tags = [tag.text for tag in tags_with(words, mine.get("tags"))]
        owner_names = [owner.name for owner in words.owners(decode_owners(mine.get("ownership")))]
        if row.type == "DATASET":
            found[id_] = DatasetNode(
                id=row.node_id, namespace=row.namespace, name=row.name, label=short(row.name),
                description=description, tags=tags, fields=fields_with(words, past.get(id_) or mine.get("schema"), mine.get("tags")),
                first_seen=row.first_seen, updated_at=row.last_seen, version_count=counts.get(id_, 0),
                owner_names=owner_names,
            )  # fmt: skip
        else:
            run = latest.get(id_)
            parent = parents.get(row.parent_id) if row.parent_id else None
            found[id_] = JobNode(
                id=row.node_id, namespace=row.namespace, name=row.name, label=short_job(row.name),
                parent=parent.node_id if parent else None, description=description, tags=tags,
                first_seen=row.first_seen, updated_at=row.last_seen,
                last_run=None if run is None else run_summary(
                    run, below.get(run.run_id), alive[run.run_id, id_]),
                streaming=id_ in types and known.streaming(types[id_]),
                statement=(run and run.statement) or statement_of(texts.get(id_, {}).get("sql")),
                user=user_of(run, mine.get("ownership")),
                owner_names=owner_names,
            )  # fmt: skip
    return found


def run_summary(run: RunRow, below: RunsBelow | None, alive: liveness.Liveness | None = None) -> RunSummary:
    alive = alive or liveness.Liveness(False)
    state, run = followed(run, below)
    return RunSummary(
        str(run.run_id), state.name, run.began, run.ended_at, duration_ms(run),
        run.last_event_at, alive.streaming, alive.stalled is not None, alive.stalled,
        alive.lost is not None,
    )  # fmt: skip


def statement_of(sql: bytes | None) -> str | None:
    """Return the kind of statement that a job's `sql` facet holds; None without one."""
    query = plain(sql).get("query")
    return statement_kind(query) if isinstance(query, str) else None


def user_of(run: RunRow | None, ownership: bytes | None) -> str | None:
    """The user of the run from its facets; else the job's first owner."""
    if run is not None and run.user is not None:
        return run.user
    owners = plain(ownership).get("owners")
    named = (one.get("name") for one in (owners if isinstance(owners, list) else []) if isinstance(one, dict))
    return next((name for name in named if isinstance(name, str) and name), None)


def followed(run: RunRow, below: RunsBelow | None) -> tuple[RunState, RunRow]:
    """Return a run's effective state, and the run with its times.

    A run that ended well is no better than what ended below it; before its end it is what it reports. One that only the runs below it mention goes on
    while one of them does, and begins, ends and fares as they do; it may have more runs to come, which none can tell.
    """
    if below is None:
        return run.state, run
    if run.state == RunState.COMPLETED and below.worst in {RunState.FAILED, RunState.ABORTED}:
        return below.worst, run
    if run.state != RunState.NEW or below.began is None:
        return run.state, run
    ended = None if below.running else below.ended
    return (
        RunState.RUNNING if below.running else below.worst,
        msgspec.structs.replace(run, started_at=below.began, ended_at=ended),
    )


def duration_ms(run: RunRow) -> int | None:
    return None if run.ended_at is None else max(0, round((run.ended_at - run.began).total_seconds() * 1000))


def short_job(name: str) -> str:
    """Return a job's short name: the name itself, unless it is a path."""
    return short(name) if "/" in name else name


def description_of(facets: dict[str, bytes]) -> str | None:
    value = plain(facets.get("documentation")).get("description")
    return value if isinstance(value, str) and value.strip() else None


def fields_of(schema: bytes | None, tags: dict[str, list[str]]) -> list[Field]:
    """Return the columns of a schema facet; none if it is absent or malformed."""
    if schema is None:
        return []
    fields = _fields(schema)
    return [msgspec.structs.replace(f, tags=tags.get(f.name, [])) for f in fields] if tags else fields


@lru_cache(maxsize=2048)
def _fields(schema: bytes) -> list[Field]:
    """Decode a schema once: many datasets share it, and every answer shows it. Callers must not change the result."""
    try:
        return [Field(f.name, f.type, f.description, []) for f in known.schema(schema)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []


def fields_with(words: Words, schema: bytes | None, tags: bytes | None) -> list[Field]:
    """Columns with what people say of them; those that only people speak of come last."""
    told, spoken = decode_tags(tags), words.fields
    found = fields_of(schema, {})
    if not spoken and set(told) <= {""}:
        return found
    known_fields = {field.name for field in found}
    found = [*found, *(Field(name, None, None, []) for name in spoken if name not in known_fields)]
    return [
        Field(
            field.name,
            field.type,
            words.description(field.name) or field.description,
            [tag.text for tag in words.tags(told.get(field.name, ()), field.name)],
        )
        for field in found
    ]


def tags_with(words: Words, body: bytes | None) -> list[Tag]:
    """Tags of the dataset or job as a whole."""
    return words.tags(decode_tags(body).get("", ()))


def tags_of(body: bytes | None) -> tuple[list[str], dict[str, list[str]]]:
    """Tags that events report for the dataset or job, as `key` or `key:value`, and of its columns."""
    told = {field: [text_of(*tag) for tag in tags] for field, tags in decode_tags(body).items()}
    return told.pop("", []), told


def decode_tags(body: bytes | None) -> dict[str, list[tuple[str, Any]]]:
    """Return (name, value) of each tag of a tags facet, by column ("" for the dataset as a whole)."""
    found: dict[str, list[tuple[str, Any]]] = {}
    items = plain(body).get("tags")
    for item in items if isinstance(items, list) else []:
        if isinstance(item, dict) and isinstance(item.get("key"), str):
            field, value = item.get("field"), item.get("value")
            plain_value = value if isinstance(value, str | int | float | bool) else None
            found.setdefault(field if isinstance(field, str) else "", []).append((item["key"], plain_value))
    return found


def decode_owners(body: bytes | None) -> list[Owner]:
    """Return the owners of an ownership facet."""
    items = plain(body).get("owners")
    return [
        Owner(str(item["name"]), str(item["type"]) if item.get("type") else None)
        for item in (items if isinstance(items, list) else [])
        if isinstance(item, dict) and item.get("name")
    ]


def plain(body: bytes | None) -> dict[str, Any]:
    """A facet as plain values; empty when it is absent or unreadable."""
    if body is None:
        return {}
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def verbatim(facets: dict[str, bytes]) -> dict[str, msgspec.Raw]:
    """Return facets to be shown as they came."""
    return {name: msgspec.Raw(body) for name, body in facets.items()}
