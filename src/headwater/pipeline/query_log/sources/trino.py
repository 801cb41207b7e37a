"""Trino: what an event listener wrote at the end of each query (QueryCompletedEvent as JSON).

One event a line, as the HTTP event listener posts them and the Kafka event listener publishes them (there inside `eventPayload`). Events of the
beginning of a query and of its splits say nothing that the end does not, and are left out.
"""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from headwater.pipeline.query_log.sources import files
from headwater.pipeline.query_log.sources.fields import (
    MILLIS,
    TEXT,
    Export,
    Field,
    dotted,
    labelled,
    milliseconds,
    moment,
    names,
    nested,
    text,
)
from headwater.pipeline.query_log.sources.rows import BAD_ROW, SKIPPED, Case, Rows, landed

NAME: Final = "trino"

_METADATA: Final = (
    "struct<queryId:string,transactionId:string,query:string,preparedQuery:string,updateType:string,queryState:string,uri:string,"
    "tables:array<struct<catalog:string,schema:string,table:string,directlyReferenced:string>>>"
)
_STATISTICS: Final = (
    "struct<cpuTime:string,wallTime:string,queuedTime:string,physicalInputBytes:string,physicalInputRows:string,totalBytes:string,totalRows:string,"
    "writtenBytes:string,writtenRows:string>"
)
_CONTEXT: Final = (
    "struct<user:string,principal:string,enabledRoles:array<string>,traceToken:string,userAgent:string,clientInfo:string,clientTags:array<string>,"
    "source:string,catalog:string,schema:string,resourceGroupId:string,serverAddress:string,environment:string,queryType:string>"
)
_INPUTS: Final = "array<struct<catalogName:string,schema:string,table:string>>"
_IO: Final = f"struct<inputs:{_INPUTS},output:struct<catalogName:string,schema:string,table:string>>"
_FAILURE: Final = "struct<errorCode:struct<name:string,type:string>,failureMessage:string>"
_PARTS: Final = {
    "metadata": _METADATA,
    "statistics": _STATISTICS,
    "context": _CONTEXT,
    "ioMetadata": _IO,
    "failureInfo": _FAILURE,
    "createTime": "string",
    "executionStartTime": "string",
    "endTime": "string",
}

FIELDS: Final = (
    *(Field(name, nested(kind)) for name, kind in _PARTS.items()),
    Field("eventPayload", nested("struct<" + ",".join(f"{name}:{kind}" for name, kind in _PARTS.items()) + ">")),
    # Columns of the event of a split, which is left out.
    Field("stageId", TEXT),
)
EXPORTS: Final = (
    Export("QueryCompletedEvent", ("metadata", "context", "endTime")),
    Export("QueryCompletedEvent of the Kafka event listener", ("eventPayload",)),
)

_CANCELLED: Final = (
    "USER_CANCELED",
    "ADMINISTRATIVELY_KILLED",
    "ADMINISTRATIVELY_PREEMPTED",
    "ABANDONED_QUERY",
    "CLIENT_ABANDONED",
)


def read(spark: SparkSession, paths: Sequence[str], namespace: str | None) -> Rows:
    """See `sources.Source`. Where no namespace is given it is that of the server in each event, `trino://host:port` (8080 when it does not say)."""
    raw = files.read(spark, paths, files.Wanted(NAME, FIELDS, EXPORTS)).rows
    frame = raw.select(
        *(F.coalesce(F.col(name), F.col(f"eventPayload.{name}")).alias(name) for name in _PARTS),
        "stageId",
        "file",
        "record",
        "unread",
    )
    metadata, context, statistics = F.col("metadata"), F.col("context"), F.col("statistics")
    # The beginning of a query has neither an end nor what came of it.
    begun = metadata.isNotNull() & F.col("endTime").isNull() & statistics["wallTime"].isNull()
    split = metadata.isNull() & F.col("stageId").isNotNull()
    created, started, ended = moment("createTime"), moment("executionStartTime"), moment("endTime")
    code = F.upper(F.col("failureInfo.errorCode.name"))
    columns = {
        "query_id": metadata["queryId"],
        "started_at": F.coalesce(created, started),
        "ended_at": ended,
        "statement": F.coalesce(text(metadata["preparedQuery"]), metadata["query"]),
        "database": context["catalog"],
        "schema": context["schema"],
        "session_id": F.when(~metadata["transactionId"].contains("00000000-0000"), metadata["transactionId"]),
        "user": context["user"],
        "role": text(F.array_join(F.sort_array(context["enabledRoles"]), ",")),
        "application": F.coalesce(text(context["source"]), text(context["userAgent"])),
        "warehouse": _group(context["resourceGroupId"]),
        "tags": labelled(
            client_tags=text(F.array_join(context["clientTags"], ",")),
            client_info=text(context["clientInfo"]),
            trace_token=text(context["traceToken"]),
        ),
        "state": F.when(code.isin(*_CANCELLED), "cancelled")
        .when((F.upper(metadata["queryState"]) == "FAILED") | code.isNotNull(), "failed")
        .otherwise("succeeded"),
        "error": F.coalesce(text(F.col("failureInfo.failureMessage")), code),
        "statement_kind": F.coalesce(text(metadata["updateType"]), context["queryType"]),
        "duration_ms": F.coalesce(milliseconds(created, ended), duration(statistics["wallTime"])),
        "queued_ms": duration(statistics["queuedTime"]),
        "rows_read": _whole(F.coalesce(statistics["physicalInputRows"], statistics["totalRows"])),
        "rows_written": _whole(statistics["writtenRows"]),
        "bytes_read": _whole(F.coalesce(statistics["physicalInputBytes"], statistics["totalBytes"])),
        "bytes_written": _whole(statistics["writtenBytes"]),
        "cpu_ms": duration(statistics["cpuTime"]),
        "told_reads": _reads(),
        "told_writes": _writes(),
    }
    cases = (
        Case(F.coalesce(begun | split, F.lit(False)), SKIPPED, "the event is not about the end of a query"),
        Case(F.col("unread") & metadata["queryId"].isNull(), BAD_ROW, "the record is not of its file's format"),
    )
    space = namespace or _namespace(metadata["uri"], context["serverAddress"])
    return landed(frame, NAME, NAME, space, columns, cases)


def _whole(column: Column) -> Column:
    return column.try_cast("bigint")


def duration(column: Column) -> Column:
    """Milliseconds of `PT1M2.5S`, of `62.50s` (ns, us, ms, s, m, h, d), or of a bare number of seconds; null of anything else."""
    iso = r"^P(?:(\d+)D)?T?(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d*)?)S)?$"

    def part(group: int, factor: int) -> Column:
        return (
            F.coalesce(F.nullif(F.regexp_extract(column, iso, group), F.lit("")).try_cast("double"), F.lit(0.0))
            * factor
        )

    amount = F.regexp_extract(column, r"^([0-9.]+(?:[eE][-+]?\d+)?)\s*([a-z]*)$", 1).try_cast("double")
    unit = F.regexp_extract(column, r"^([0-9.]+(?:[eE][-+]?\d+)?)\s*([a-z]*)$", 2)
    factors = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3, "": 1e3, "m": 6e4, "h": 3.6e6, "d": 8.64e7}
    factor = F.when(unit.isNull(), None)
    for name, size in factors.items():
        factor = factor.when(unit == name, size)
    said = F.when(
        column.rlike(iso), part(1, 86_400_000) + part(2, 3_600_000) + part(3, 60_000) + part(4, 1_000)
    ).otherwise(amount * factor)
    return said.try_cast(MILLIS)


def _group(column: Column) -> Column:
    """`global.adhoc`, also where it is written as a list."""
    parts = F.from_json(column, "array<string>")
    return text(F.when(column.startswith("["), F.array_join(parts, ".")).otherwise(column))


def _reads() -> Column:
    """Return the tables that the text names, and those below its views. An older Trino reports only the tables read in the end."""
    from_text = F.transform(
        F.col("metadata.tables"), lambda table: dotted(table["catalog"], table["schema"], table["table"])
    )
    read = F.transform(
        F.col("ioMetadata.inputs"), lambda table: dotted(table["catalogName"], table["schema"], table["table"])
    )
    return names(F.coalesce(from_text, read))


def _writes() -> Column:
    output = F.col("ioMetadata.output")
    written = dotted(output["catalogName"], output["schema"], output["table"])
    return F.when(
        F.col("ioMetadata").isNotNull(),
        F.when(written.isNotNull(), F.array(written)).otherwise(F.array().cast("array<string>")),
    )


def _namespace(uri: Column, address: Column) -> Column:
    host = F.nullif(F.regexp_extract(uri, r"^https?://(\[[^\]]+\]|[^/:]+)", 1), F.lit(""))
    port = F.nullif(F.regexp_extract(uri, r"^https?://(?:\[[^\]]+\]|[^/:]+):(\d+)", 1), F.lit(""))
    told = F.coalesce(host, F.nullif(F.trim(address), F.lit("")), F.lit("localhost"))
    return F.concat(
        F.lit("trino://"), told, F.lit(":"), F.coalesce(port, F.when(uri.startswith("https"), "443"), F.lit("8080"))
    )
