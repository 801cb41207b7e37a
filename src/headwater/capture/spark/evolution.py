"""Find the schema of a table after a write. The query does not say it: the table keeps columns that the query lacks, and may get others from it."""

from collections.abc import Mapping, Sequence
from typing import Any

from headwater.capture.spark import crossing, schema
from headwater.capture.spark.plan import Node

_REPLACES = "overwriteschema"
"""The option by which a Delta table gets the schema of the query."""


def extended(before: Sequence[dict[str, Any]], query: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the schema of a table that keeps its columns and gets those of a query that it lacks, in structs too. Names differ by more than case."""
    added = {str(field["name"]).lower(): field for field in query}
    fields = [dict(field) for field in before]
    for field in fields:
        same = added.pop(str(field["name"]).lower(), None)
        if same is not None and field.get("fields") and same.get("fields"):
            field["fields"] = extended(field["fields"], same["fields"])
    return [field | {"ordinal_position": place} for place, field in enumerate([*fields, *map(dict, added.values())], 1)]


def is_replaced(options: Mapping[str, Any]) -> bool:
    """Return whether the options of an overwrite say that the table gets the schema of the query."""
    return any(name.lower() == _REPLACES and str(value).lower() == "true" for name, value in options.items())


def relation_fields(node: Node) -> list[dict[str, Any]]:
    """Return the schema that a table of the catalog had when the command was analyzed; empty if the plan does not say."""
    table = node.nested("table")
    return schema.fields(table.attributes("output")) if table is not None else []


def delta_fields(jsession: Any, location: str) -> list[dict[str, Any]]:
    """Return the current schema of a Delta table; empty if there is no table yet."""
    log = crossing.java_class(jsession, "org.apache.spark.sql.delta.DeltaLog").forTable(jsession, location)
    return schema.json_fields(log.unsafeVolatileSnapshot().schema())


def delta_fields_at(jsession: Any, location: str, version: str) -> list[dict[str, Any]]:
    """Return the schema of a Delta table at its current version; empty if that is another one by now."""
    log = crossing.java_class(jsession, "org.apache.spark.sql.delta.DeltaLog").forTable(jsession, location)
    snapshot = log.unsafeVolatileSnapshot()
    return schema.json_fields(snapshot.schema()) if str(snapshot.version()) == version else []


def added_columns(jtable: Any, started: int) -> list[str]:
    """Return the columns of an Iceberg table of which no row has a value before a query: they came after its last snapshot.

    `started`: of the query, in milliseconds. Its own snapshot may be there already.
    """
    table = jtable.table()
    snapshot = table.currentSnapshot()
    while snapshot is not None and int(snapshot.timestampMillis()) >= started:
        parent = snapshot.parentId()
        snapshot = table.snapshot(parent) if parent is not None else None
    if snapshot is None or snapshot.schemaId() is None:
        return []
    before = table.schemas().get(snapshot.schemaId())
    return [str(one.name()) for one in table.schema().columns() if before.findField(one.fieldId()) is None]
