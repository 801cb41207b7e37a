"""A schema registry with Confluent's REST API (Confluent, Karapace, Apicurio's compatible API, Redpanda): its versions are versions of topics.

A subject `orders-value` is the schema of the topic `orders` (TopicNameStrategy). Each version that was registered is a run of the job that the
subject is, which wrote that version of the topic's dataset: the columns, the version's number, and the compatibility that the registry asks of the
next one. A registry does not say when a version was registered, so a version has the time of the pull that first saw it.
"""

import datetime as dt
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

import msgspec

from headwater.client import event
from headwater.connectors import Send
from headwater.connectors.rest import Rest
from headwater.errors import NotFound
from headwater.model.connector_reports import ConnectorCheck, ConnectorTask, PullReport

_RUNS: Final = uuid.UUID("6b1ab9a5-2a07-5a3b-9e5c-736368656d61")
_SUFFIX: Final = "-value"
_DEEPEST: Final = 8
_MOST_REFERENCES: Final = 100
COMPATIBILITY: Final = "headwater_compatibility"


def test(task: ConnectorTask) -> Iterator[ConnectorCheck]:
    with _connected(task.settings) as rest:
        subjects = rest.get("/subjects")
        yield ConnectorCheck("connect", "ok", f"{len(subjects):,} subjects, compatibility {_compatibility(rest, None)}")


def pull(task: ConnectorTask, send: Send) -> PullReport:
    seen: dict[str, list[int]] = (task.cursor or {}).get("versions") or {}
    asked: dict[str, str] = (task.cursor or {}).get("compatibility") or {}
    now, rows, warnings = dt.datetime.now(dt.UTC), 0, []
    versions: dict[str, list[int]] = {}
    compatibility: dict[str, str] = {}
    with _connected(task.settings) as rest:
        usual = _compatibility(rest, None)
        for subject in rest.get("/subjects"):
            if not subject.endswith(_SUFFIX):
                continue
            path = f"/subjects/{quote(subject, safe='')}/versions"
            try:
                versions[subject] = [int(one) for one in rest.get(path)]
            except NotFound:  # deleted since it was listed
                continue
            compatibility[subject] = _compatibility(rest, subject) or usual
            new = [one for one in versions[subject] if one not in seen.get(subject, ())]
            if not new and asked.get(subject) not in {None, compatibility[subject]}:
                new = versions[subject][-1:]  # what is asked of the next version has changed
            for version in new:
                rows += 1
                try:
                    found = rest.get(f"{path}/{version}")
                except NotFound:
                    continue
                fields = _fields(found.get("schemaType") or "AVRO", found["schema"], _referenced(rest, found))
                if fields is None:
                    warnings.append(
                        f"{subject} version {version}: the columns of {found.get('schemaType')} are not read"
                    )
                # One after the other, in the order of their numbers.
                at = now + dt.timedelta(microseconds=rows)
                send(_version(task.settings["namespace"], subject, found, fields, compatibility[subject], at))
    for subject in sorted(seen.keys() - versions.keys()):
        warnings.append(f"{subject} was deleted in the registry: the versions that were read of it are kept")
    return PullReport(rows, {"versions": versions, "compatibility": compatibility}, None, tuple(warnings))


def _version(
    namespace: str,
    subject: str,
    found: Mapping[str, Any],
    fields: list[dict[str, Any]] | None,
    compatibility: str,
    at: dt.datetime,
) -> dict[str, Any]:
    topic, number = subject.removesuffix(_SUFFIX), str(found["version"])
    facets = {
        "version": event.facet("DatasetVersionDatasetFacet", datasetVersion=number),
        "datasetType": event.facet("DatasetTypeDatasetFacet/1-0-0", datasetType="TOPIC"),
        COMPATIBILITY: event.facet(
            COMPATIBILITY, compatibility=compatibility, schemaId=found.get("id"), subject=subject
        ),
    }
    if fields is not None:
        facets["schema"] = event.schema(fields)
    return event.run(
        "COMPLETE",
        run_id=str(uuid.uuid5(_RUNS, f"{namespace} {subject} {number} {compatibility}")),
        job=(namespace, f"schema registry {subject}"),
        outputs=[event.dataset(namespace, topic, facets=facets)],
        job_facets={"jobType": event.job_type("BATCH", "SCHEMA_REGISTRY", "SUBJECT")},
        event_time=at,
    )


def _referenced(rest: Rest, found: Mapping[str, Any]) -> list[Any]:
    """Return the schemas that a schema refers to, and those that these refer to. One that the registry has no more is left out."""
    schemas, left, seen = list[Any](), list(found.get("references") or []), set[tuple[str, int]]()
    while left and len(seen) < _MOST_REFERENCES:
        one = left.pop(0)
        if (place := (str(one["subject"]), int(one["version"]))) in seen:
            continue
        seen.add(place)
        try:
            other = rest.get(f"/subjects/{quote(place[0], safe='')}/versions/{place[1]}")
            schemas.append(msgspec.json.decode(other["schema"]))
        except (NotFound, msgspec.DecodeError):
            continue
        left += other.get("references") or []
    return schemas


def _fields(kind: str, text: str, referenced: Sequence[Any] = ()) -> list[dict[str, Any]] | None:
    """Return the columns of a schema: of an Avro record, or of an object of JSON Schema. None of other kinds. `referenced`: schemas that it names."""
    if kind == "PROTOBUF":
        return None
    try:
        schema = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None
    if kind == "JSON":
        return _json_fields(schema) if isinstance(schema, dict) else None
    if not isinstance(schema, dict) or schema.get("type") != "record":
        return None
    records: dict[str, Mapping[str, Any]] = {}
    for one in (*referenced, schema):
        _name_records(one, "", records)
    return _avro_fields(schema, records, str(schema.get("namespace") or ""))


def _name_records(schema: Any, space: str, found: dict[str, Mapping[str, Any]]) -> None:
    """Note the records of a schema by their full names: a later field may give the name alone."""
    if isinstance(schema, list):
        for one in schema:
            _name_records(one, space, found)
    elif isinstance(schema, dict):
        if schema.get("type") == "record":
            full = _full_name(str(schema.get("name")), str(schema.get("namespace") or space))
            space = full.rpartition(".")[0]
            found[full] = {"namespace": space, **schema}
            for field in schema.get("fields") or []:
                _name_records(field.get("type"), space, found)
        else:
            for inner in ("type", "items", "values"):
                _name_records(schema.get(inner), space, found)


def _full_name(name: str, space: str) -> str:
    return name if "." in name or not space else f"{space}.{name}"


def _avro_fields(
    record: Mapping[str, Any], records: Mapping[str, Mapping[str, Any]], space: str, depth: int = 0
) -> list[dict[str, Any]]:
    found = []
    for field in record.get("fields") or []:
        kind, inner = _avro_type(field["type"])
        if inner is None:
            inner = records.get(_full_name(kind.removeprefix("array<").removesuffix(">"), space))
        told: dict[str, Any] = {"name": str(field["name"]), "type": kind}
        if field.get("doc"):
            told["description"] = field["doc"]
        if inner is not None and depth < _DEEPEST:
            told["fields"] = _avro_fields(inner, records, str(inner.get("namespace") or space), depth + 1)
        found.append(told)
    return found


def _avro_type(kind: Any) -> tuple[str, Mapping[str, Any] | None]:
    """Return the name of a type, and the record inside of it, if there is one."""
    if isinstance(kind, list):  # null or this
        others = [one for one in kind if one != "null"]
        return _avro_type(others[0]) if len(others) == 1 else ("union", None)
    if isinstance(kind, dict):
        if kind.get("type") == "record":
            return "record", kind
        if kind.get("type") == "array":
            inner, record = _avro_type(kind["items"])
            return f"array<{inner}>", record
        return str(kind.get("logicalType") or kind.get("type")), None
    return str(kind), None


def _json_fields(schema: Mapping[str, Any], depth: int = 0) -> list[dict[str, Any]]:
    found = []
    for name, field in (schema.get("properties") or {}).items():
        kind = field.get("type") if isinstance(field, dict) else None
        told: dict[str, Any] = {"name": name, "type": "/".join(kind) if isinstance(kind, list) else str(kind or "any")}
        if isinstance(field, dict) and field.get("description"):
            told["description"] = field["description"]
        if isinstance(field, dict) and field.get("properties") and depth < _DEEPEST:
            told["fields"] = _json_fields(field, depth + 1)
        found.append(told)
    return found


def _compatibility(rest: Rest, subject: str | None) -> str:
    """Return what the registry asks of the next version of a subject; "" if it has no rule of its own. Without a subject, of all."""
    try:
        found = rest.get("/config" + (f"/{quote(subject, safe='')}" if subject else ""))
    except NotFound:
        return ""
    return str(found.get("compatibilityLevel") or found.get("compatibility") or "")


def _connected(settings: Mapping[str, str]) -> Rest:
    headers = {}
    if user := settings.get("user"):
        import base64

        pair = base64.b64encode(f"{user}:{settings.get('password', '')}".encode()).decode()
        headers["Authorization"] = f"Basic {pair}"
    return Rest(settings["address"], headers)
