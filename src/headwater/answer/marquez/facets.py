"""Values that Marquez shows beside the facets (types, locations, labels, sources, fields and tags), read out of them. Pure."""

import datetime as dt
import uuid
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache

from headwater.answer.lineage import node
from headwater.answer.marquez import shapes
from headwater.answer.marquez.annotations import NodeChanges
from headwater.model.tags import key_of
from headwater.store.marquez.marquez import PastFacet

_STREAMS = ("kafka", "pubsub", "kinesis", "pulsar", "eventhub", "eventhubs", "rabbitmq", "amqp", "nats", "mqtt", "sqs")
_SOURCE_TYPES = {
    "postgres": "POSTGRESQL", "postgresql": "POSTGRESQL", "mysql": "MYSQL", "redshift": "REDSHIFT", "snowflake": "SNOWFLAKE",
    "bigquery": "BIGQUERY", "kafka": "KAFKA", "mssql": "SQLSERVER", "sqlserver": "SQLSERVER", "gs": "GCS",
}  # fmt: skip
DEFAULT_SOURCE = "default"


def dataset_type(namespace: str, facets: Mapping[str, bytes]) -> str:
    """Return STREAM for topics, queues and streams, by the datasetType facet or else by the namespace; DB_TABLE for all others."""
    told = _text(node.plain(facets.get("datasetType")).get("datasetType"))
    if told is not None:
        return "STREAM" if any(word in told.upper() for word in ("STREAM", "TOPIC", "QUEUE")) else "DB_TABLE"
    return "STREAM" if namespace.split(":", 1)[0].lower() in _STREAMS else "DB_TABLE"


def job_type(facets: Mapping[str, bytes]) -> str:
    """Return BATCH, STREAM or SERVICE."""
    told = (_text(node.plain(facets.get("jobType")).get("processingType")) or "").upper()
    return "STREAM" if told in {"STREAMING", "STREAM"} else "SERVICE" if told == "SERVICE" else "BATCH"


def labels(facets: Mapping[str, bytes]) -> list[str]:
    told = node.plain(facets.get("jobType"))
    return [text for text in (_text(told.get("jobType")), _text(told.get("integration"))) if text]


def location(body: bytes | None) -> str | None:
    """Return the location of the code, by a sourceCodeLocation facet."""
    return _text(node.plain(body).get("url"))


def source_name(facets: Mapping[str, bytes]) -> str:
    return _text(node.plain(facets.get("dataSource")).get("name")) or DEFAULT_SOURCE


def source_type(url: str) -> str:
    """The type of a source by its address; what says nothing is a POSTGRESQL, as Marquez has it."""
    scheme = url.removeprefix("jdbc:").partition(":")[0].lower() if ":" in url else ""
    return _SOURCE_TYPES.get(scheme, scheme.upper() or "POSTGRESQL")


def schema_location(facets: Mapping[str, bytes]) -> str | None:
    """Return the location of a stream's schema, by Marquez's own facet for it; None without one."""
    return _text(node.plain(facets.get("schemaLocation")).get("schemaLocation"))


def physical_name(facets: Mapping[str, bytes]) -> str | None:
    """Return the name in its source that a PUT of Marquez gave a dataset; None if it is the dataset's own."""
    return _text(node.plain(facets.get("physicalName")).get("physicalName"))


def fields(schema: bytes | None, tags: bytes | None, said: NodeChanges) -> list[shapes.Field]:
    """Columns with their tags. The list is shared: do not change it."""
    if schema is None:
        return []
    plain = _fields(schema)
    if tags is None and not (said.field_tags or said.untagged_fields or said.field_descriptions):
        return plain
    _, told = node.tags_of(tags)
    return [
        shapes.Field(
            name=field.name,
            type=field.type,
            description=said.field_descriptions.get(field.name) or field.description,
            tags=_joined(
                told.get(field.name, ()), said.field_tags.get(field.name, ()), said.untagged_fields.get(field.name, ())
            ),
        )
        for field in plain
    ]


@lru_cache(maxsize=2048)
def _fields(schema: bytes) -> list[shapes.Field]:
    """Decode a schema once: many datasets share it."""
    return [
        shapes.Field(name=field.name, type=field.type, description=field.description, tags=[])
        for field in node.fields_of(schema, {})
    ]


def tags(body: bytes | None, said: NodeChanges) -> list[str]:
    """Tags of the whole dataset or job: those of its tags facet and those people set, without those people removed."""
    return _joined(node.tags_of(body)[0], said.tags, said.untagged)


def description(facets: Mapping[str, bytes], said: NodeChanges) -> str | None:
    return said.description if said.description is not None else node.description_of(dict(facets))


def _joined(told: Collection[str], said: Collection[str], untagged: Collection[str]) -> list[str]:
    if not told and not said:
        return []
    gone = set(untagged)
    return sorted({tag for tag in told if not {key_of(tag), key_of(tag.partition(":")[0])} & gone} | set(said))


class Past:
    """Facets over time: at a time, an owner has the facets last reported by then."""

    def __init__(self, history: Iterable[PastFacet]) -> None:
        self._by_owner: dict[uuid.UUID, dict[str, list[PastFacet]]] = {}
        for one in history:
            self._by_owner.setdefault(one.owner, {}).setdefault(one.name, []).append(one)

    def at(self, owner: uuid.UUID, time: dt.datetime) -> dict[str, bytes]:
        """Return every facet that held at a time."""
        found = {name: self.body_at(owner, name, time) for name in self._by_owner.get(owner, ())}
        return {name: body for name, body in found.items() if body is not None}

    def body_at(self, owner: uuid.UUID, name: str, time: dt.datetime) -> bytes | None:
        reported = [one for one in self._by_owner.get(owner, {}).get(name, ()) if one.first_at <= time]
        if not reported:
            return None
        last = max(reported, key=lambda one: (min(one.last_at, time), one.last_at, one.body))
        return None if last.deleted else last.body


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
