"""Events as external lineage of Snowflake and Databricks: those that they take, and the bodies of the requests to Databricks. Pure.

Snowflake's endpoint takes OpenLineage's COMPLETE events of runs as they are (docs.snowflake.com/user-guide/external-lineage). Databricks takes
relationships between a table of Unity Catalog or a path and an object of another system, which has to be registered first
(docs.databricks.com/api/uc-external-lineage).
"""

import hashlib
import re
from typing import Any

import msgspec

from headwater.errors import InvalidEvent
from headwater.model import lineage_facets
from headwater.model.event import DatasetReport, Event, read
from headwater.model.names import DatasetName

METADATA = "/api/2.0/lineage-tracking/external-metadata"
RELATIONSHIPS = "/api/2.0/lineage-tracking/external-lineage"
_UNITY = ("unitycatalog:", "databricks:")
_PATHS = ("s3:", "gs:", "abfss:", "dbfs:", "wasbs:", "r2:")
_SYSTEMS = {
    "redshift": "AMAZON_REDSHIFT", "bigquery": "GOOGLE_BIGQUERY", "kafka": "KAFKA", "mssql": "MICROSOFT_SQL_SERVER",
    "sqlserver": "MICROSOFT_SQL_SERVER", "fabric-warehouse": "MICROSOFT_FABRIC", "mongodb": "MONGODB", "mysql": "MYSQL", "oracle": "ORACLE",
    "postgres": "POSTGRESQL", "postgresql": "POSTGRESQL", "snowflake": "SNOWFLAKE", "teradata": "TERADATA", "looker": "LOOKER",
    "powerbi": "POWER_BI", "tableau": "TABLEAU",
}  # fmt: skip
_ENTITIES = {"KAFKA": "topic", "LOOKER": "dashboard", "POWER_BI": "dashboard", "TABLEAU": "dashboard"}
_LONGEST = 255
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


class Request(msgspec.Struct, frozen=True):
    """One request. `update`: the path to PATCH with the same body if Databricks has the object already; None: there is nothing to change."""

    path: str
    body: bytes
    update: str | None = None


def complete_run(body: bytes) -> Event | None:
    """Return the event if it is the end of a run that read and wrote datasets; None for any other, which is no lineage to these systems."""
    try:
        event = read(body)
    except InvalidEvent:
        return None
    return event if event.kind == "run" and event.event_type == "COMPLETE" and event.inputs and event.outputs else None


def databricks_requests(event: Event) -> list[Request]:
    """Return the requests that tell Databricks of the event's edges: first the objects of other systems, then the relationships.

    An edge between two objects of Databricks is left out: it knows those, and refuses them. With a columnLineage facet an output is related to the
    inputs that it names, with their columns; without one to every input.
    """
    objects: dict[str, Request] = {}
    relationships = []
    for output in event.outputs:
        columns = _columns(output)
        for input_ in event.inputs:
            ends = _object(input_), _object(output)
            if not any("external_metadata" in end for end in ends) or (columns and input_.name not in columns):
                continue
            for report, end in zip((input_, output), ends, strict=True):
                if "external_metadata" in end:
                    objects.setdefault(end["external_metadata"]["name"], _registration(report, end))
            body: dict[str, Any] = {"source": ends[0], "target": ends[1]}
            if pairs := columns.get(input_.name):
                body["columns"] = [{"source": source, "target": target} for source, target in sorted(pairs)]
            encoded = msgspec.json.encode(body)
            relationships.append(Request(RELATIONSHIPS, encoded, f"{RELATIONSHIPS}?update_mask=columns"))
    return [*objects.values(), *relationships]


def _columns(output: DatasetReport) -> dict[DatasetName, set[tuple[str, str]]]:
    """Return the pairs of columns (source, target) by input; empty without a facet that can be read."""
    body = output.facets.get("columnLineage")
    if body is None:
        return {}
    try:
        fields = lineage_facets.column_lineage(bytes(body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    found: dict[DatasetName, set[tuple[str, str]]] = {}
    for target, inputs in fields.items():
        for one in inputs:
            if isinstance(one.source, DatasetName):
                pairs = found.setdefault(one.source, set())
                if target and one.field:
                    pairs.add((one.field, target))
    return found


def _object(report: DatasetReport) -> dict[str, dict[str, str]]:
    namespace, name = report.name.namespace, report.name.name
    if namespace.startswith(_UNITY) and name.count(".") == 2:
        return {"table": {"name": name}}
    if namespace.startswith(_PATHS):
        return {"path": {"url": f"{namespace.rstrip('/')}/{name.lstrip('/')}"}}
    return {"external_metadata": {"name": _safe(f"{namespace}/{name}")}}


def _registration(report: DatasetReport, end: dict[str, dict[str, str]]) -> Request:
    system = _SYSTEMS.get(report.name.namespace.partition(":")[0].lower(), "OTHER")
    body: dict[str, Any] = {
        "name": end["external_metadata"]["name"],
        "system_type": system,
        "entity_type": _ENTITIES.get(system, "table"),
        "properties": {"namespace": report.name.namespace, "name": report.name.name},
    }
    if columns := _schema(report):
        body["columns"] = columns
    encoded = msgspec.json.encode(body)
    return Request(METADATA, encoded, f"{METADATA}/{body['name']}?update_mask=columns" if columns else None)


class _Field(msgspec.Struct):
    name: str


class _Schema(msgspec.Struct):
    fields: list[_Field] = []


def _schema(report: DatasetReport) -> list[str]:
    try:
        return [field.name for field in msgspec.json.decode(report.facets["schema"], type=_Schema).fields]
    except (KeyError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []


def _safe(name: str) -> str:
    """A name that an object of Databricks may have, and that no other dataset has."""
    safe = _UNSAFE.sub("_", name)
    if safe == name and len(safe) <= _LONGEST:
        return safe
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{safe[: _LONGEST - 9]}_{mark}"
