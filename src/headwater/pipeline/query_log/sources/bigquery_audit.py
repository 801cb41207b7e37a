"""BigQuery's audit log: what an entry says of a job that ended, in either of its two forms.

The new form is `metadata.jobChange` (BigQueryAuditMetadata), the old one `serviceData.jobCompletedEvent` (AuditData). Each comes as Cloud Logging
writes it (`protoPayload`: files of a sink to Cloud Storage, of Pub/Sub, of `gcloud logging read`) or as a sink to BigQuery stores it
(`protopayload_auditlog`, where the new form is JSON text in `metadataJson`). Reads of a table and writes to it without a job (the Storage APIs,
`tabledata.list`) are entries of their own, with no text: their table is what is known. Those of a job are left out, for its end names them. Entries
of anything else are no executions.
"""

from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from headwater.pipeline.query_log.sources.fields import TEXT, Field, dotted, names, nested, pairs, text
from headwater.pipeline.query_log.sources.rows import CUT_OFF

_TABLE: Final = "struct<projectId:string,datasetId:string,tableId:string>"
_STATUS: Final = "struct<code:string,message:string>"
_CALLER: Final = "authenticationInfo:struct<principalEmail:string>,requestMetadata:struct<callerSuppliedUserAgent:string>,resourceName:string"

_TOUCHED: Final = "struct<reason:string,jobName:string>"
NEW: Final = (
    f"struct<tableDataRead:{_TOUCHED},tableDataChange:{_TOUCHED},jobChange:struct<after:string,job:struct<jobName:string,"
    "jobConfig:struct<type:string,labels:map<string,string>,"
    "queryConfig:struct<query:string,queryTruncated:string,destinationTable:string,defaultDataset:string,statementType:string>,"
    "loadConfig:struct<sourceUris:array<string>,destinationTable:string,writeDisposition:string>,"
    "tableCopyConfig:struct<sourceTables:array<string>,destinationTable:string>,"
    "extractConfig:struct<destinationUris:array<string>,sourceTable:string>>,"
    f"jobStatus:struct<jobState:string,errorResult:{_STATUS}>,"
    "jobStats:struct<createTime:string,startTime:string,endTime:string,totalSlotMs:string,reservation:string,parentJobName:string,"
    "queryStats:struct<totalProcessedBytes:string,totalBilledBytes:string,referencedTables:array<string>,referencedViews:array<string>,cacheHit:string>,"
    "loadStats:struct<totalOutputBytes:string>>>>>"
)


def _old(labels: str) -> str:
    return (
        f"struct<jobCompletedEvent:struct<job:struct<jobName:struct<projectId:string,jobId:string,location:string>,"
        f"jobConfiguration:struct<dryRun:string,labels:{labels},"
        f"query:struct<query:string,destinationTable:{_TABLE},defaultDataset:struct<projectId:string,datasetId:string>,statementType:string>,"
        f"load:struct<sourceUris:array<string>,destinationTable:{_TABLE},writeDisposition:string>,"
        f"extract:struct<destinationUris:array<string>,sourceTable:{_TABLE}>,"
        f"tableCopy:struct<sourceTables:array<{_TABLE}>,destinationTable:{_TABLE}>>,"
        f"jobStatus:struct<state:string,error:{_STATUS}>,"
        "jobStatistics:struct<createTime:string,startTime:string,endTime:string,totalProcessedBytes:string,totalBilledBytes:string,totalSlotMs:string,"
        f"reservation:string,referencedTables:array<{_TABLE}>,referencedViews:array<{_TABLE}>,totalLoadOutputBytes:string>>>>"
    )


LOGGED: Final = Field(
    "protoPayload", nested(f"struct<{_CALLER},metadata:{NEW},serviceData:{_old('map<string,string>')}>")
)
STORED: Final = Field(
    "protopayload_auditlog",
    nested(
        f"struct<{_CALLER},metadataJson:string,servicedata_v1_bigquery:{_old('array<struct<key:string,value:string>>')}>"
    ),
)
AUDIT_FIELDS: Final = (LOGGED, STORED, Field("insertId", TEXT), Field("timestamp", TEXT))
# The datasets in which BigQuery keeps temporary results. A person's own may begin with `_`, too.
ANONYMOUS: Final = r"^[^.]+\._(?:[0-9a-f]{8,}|script[0-9a-f]{8,}|SESSION)\."

_CANCELLED: Final = "1"
_PARSED: Final = "stored_metadata"


def opened(frame: DataFrame) -> DataFrame:
    """Add the text inside an entry as a column of its own: it is parsed once."""
    return frame.withColumn(_PARSED, F.from_json(F.col(STORED.name)["metadataJson"], NEW))


def ended() -> Column:
    """Return an entry of a job that ended, or of rows that no job touched, as a struct by the names of the common schema and some that the reader
    puts together; else null.

    `frame` is one that was `opened`. Times and numbers are text, as they are there.
    """
    logged, stored = F.col(LOGGED.name), F.col(STORED.name)
    return F.coalesce(
        _new(logged["metadata"]["jobChange"], logged),
        _new(F.col(_PARSED)["jobChange"], stored),
        _completed(logged["serviceData"]["jobCompletedEvent"]["job"], logged, stored=False),
        _completed(stored["servicedata_v1_bigquery"]["jobCompletedEvent"]["job"], stored, stored=True),
        _without_job(logged["metadata"], logged),
        _without_job(F.col(_PARSED), stored),
    )


class _Load(NamedTuple):
    uris: Column
    table: Column
    disposition: Column


class _Extract(NamedTuple):
    table: Column
    uris: Column


class _Copy(NamedTuple):
    tables: Column
    table: Column


def _as_sql(load: _Load, extract: _Extract, copy: _Copy) -> Column:
    """A job that is no query, as the SQL that BigQuery has for it, so that both of its sides are lineage: tables, and files of Cloud Storage.

    A load of a file that the client sent has no URI. A job is at most one of the three; null of a query.
    """
    into = F.when(load.disposition == "WRITE_TRUNCATE", "OVERWRITE").otherwise("INTO")
    none = F.array().cast("array<string>")
    files = F.array_join(F.transform(F.coalesce(load.uris, none), _literal), ", ")
    loaded = F.concat(
        F.lit("LOAD DATA "), into, F.lit(" "), _quoted(load.table), F.lit(" FROM FILES (uris = ["), files, F.lit("])")
    )
    rows = _all_of(extract.table)
    extracted = F.transform(
        F.nullif(extract.uris, none),
        lambda uri: F.concat(F.lit("EXPORT DATA OPTIONS (uri = "), _literal(uri), F.lit(") AS "), rows),
    )
    copied = F.transform(F.nullif(copy.tables, none), _all_of)
    return F.coalesce(
        loaded,
        F.array_join(F.when(extract.table.isNotNull(), extracted), ";\n"),
        F.concat(
            F.lit("INSERT"), F.lit(" INTO "), _quoted(copy.table), F.lit(" "), F.array_join(copied, " UNION ALL ")
        ),
    )


def _all_of(table: Column) -> Column:
    return F.concat(F.lit("SELECT"), F.lit(" * FROM "), _quoted(table))


def _quoted(table: Column) -> Column:
    return F.concat(F.lit("`"), table, F.lit("`"))


def _literal(uri: Column) -> Column:
    return F.concat(F.lit("'"), F.regexp_replace(uri, r"(['\\])", r"\\$1"), F.lit("'"))


def _caller_application(caller: Column) -> dict[str, Column]:
    return {
        "user": caller["authenticationInfo"]["principalEmail"],
        "application": text(caller["requestMetadata"]["callerSuppliedUserAgent"]),
    }


def _new(change: Column, caller: Column) -> Column:
    job = change["job"]
    config, stats = job["jobConfig"], job["jobStats"]
    query, copied = config["queryConfig"], config["tableCopyConfig"]
    load, extract = config["loadConfig"], config["extractConfig"]
    done = F.coalesce(change["after"], job["jobStatus"]["jobState"]) == "DONE"
    referenced = F.concat(
        F.coalesce(stats["queryStats"]["referencedTables"], F.array().cast("array<string>")),
        F.coalesce(stats["queryStats"]["referencedViews"], F.array().cast("array<string>")),
        F.coalesce(copied["sourceTables"], F.array().cast("array<string>")),
        F.array(extract["sourceTable"]),
    )
    error = job["jobStatus"]["errorResult"]
    destination = F.coalesce(query["destinationTable"], load["destinationTable"], copied["destinationTable"])
    as_sql = _as_sql(
        _Load(load["sourceUris"], _name(load["destinationTable"]), load["writeDisposition"]),
        _Extract(_name(extract["sourceTable"]), extract["destinationUris"]),
        _Copy(F.transform(copied["sourceTables"], _name), _name(copied["destinationTable"])),
    )
    told = {
        "query_id": _last(job["jobName"]),
        "database": F.regexp_extract(job["jobName"], r"^projects/([^/]+)/", 1),
        "schema": text(F.regexp_extract(query["defaultDataset"], r"/datasets/([^/]+)$", 1)),
        "statement": F.coalesce(_whole(query), as_sql),
        "statement_kind": F.coalesce(text(query["statementType"]), config["type"]),
        "created_at": stats["createTime"],
        "started_at": stats["startTime"],
        "ended_at": stats["endTime"],
        "parent_query_id": _last(stats["parentJobName"]),
        "warehouse": stats["reservation"],
        "tags": F.when(F.size(config["labels"]) > 0, config["labels"]),
        "bytes_read": stats["queryStats"]["totalProcessedBytes"],
        "bytes_billed": stats["queryStats"]["totalBilledBytes"],
        "bytes_written": stats["loadStats"]["totalOutputBytes"],
        "slot_ms": stats["totalSlotMs"],
        "cache_hit": stats["queryStats"]["cacheHit"],
        "told_reads": names(F.transform(referenced, _name)),
        "destination": _name(destination),
        "error_code": _code(error),
        "error": text(error["message"]),
    }
    return _only(done, {**told, **_caller_application(caller)})


def _without_job(metadata: Column, caller: Column) -> Column:
    """An entry about the rows of a table that no job read or wrote."""
    read, written = metadata["tableDataRead"], metadata["tableDataChange"]
    table = _name(caller["resourceName"])
    touched = F.coalesce(read, written)
    alone = touched["jobName"].isNull() & ~F.coalesce(touched["reason"], F.lit("")).isin("JOB", "QUERY")
    told = {
        "query_id": F.col("insertId"),
        "database": F.regexp_extract(caller["resourceName"], r"^projects/([^/]+)/", 1),
        "statement_kind": touched["reason"],
        "started_at": F.col("timestamp"),
        "tags": F.lit(None).cast("map<string,string>"),
        "told_reads": F.when(read.isNotNull(), F.array(table)).otherwise(F.array().cast("array<string>")),
        "destination": F.when(read.isNull(), table),
    }
    return _only(alone & table.isNotNull() & ~table.rlike(ANONYMOUS), {**told, **_caller_application(caller)})


def _completed(job: Column, caller: Column, *, stored: bool) -> Column:
    config, stats = job["jobConfiguration"], job["jobStatistics"]
    query, copied = config["query"], config["tableCopy"]
    load, extract = config["load"], config["extract"]
    real = job["jobName"]["jobId"].isNotNull() & (F.coalesce(config["dryRun"], F.lit("false")) != "true")
    empty = F.array().cast(f"array<{_TABLE}>")
    referenced = F.concat(
        F.coalesce(stats["referencedTables"], empty),
        F.coalesce(stats["referencedViews"], empty),
        F.coalesce(copied["sourceTables"], empty),
        F.array(extract["sourceTable"]),
    )
    kinds = F.when(load.isNotNull(), "LOAD").when(copied.isNotNull(), "COPY").when(extract.isNotNull(), "EXTRACT")
    error = job["jobStatus"]["error"]
    destination = F.coalesce(query["destinationTable"], load["destinationTable"], copied["destinationTable"])
    as_sql = _as_sql(
        _Load(load["sourceUris"], _table(load["destinationTable"]), load["writeDisposition"]),
        _Extract(_table(extract["sourceTable"]), extract["destinationUris"]),
        _Copy(F.transform(copied["sourceTables"], _table), _table(copied["destinationTable"])),
    )
    labels = config["labels"]
    told = {
        "query_id": job["jobName"]["jobId"],
        "database": job["jobName"]["projectId"],
        "schema": query["defaultDataset"]["datasetId"],
        "statement": F.coalesce(query["query"], as_sql),
        "statement_kind": F.coalesce(text(query["statementType"]), kinds),
        "created_at": stats["createTime"],
        "started_at": stats["startTime"],
        "ended_at": stats["endTime"],
        "warehouse": text(stats["reservation"]),
        "tags": pairs(labels) if stored else F.when(F.size(labels) > 0, labels),
        "bytes_read": stats["totalProcessedBytes"],
        "bytes_billed": stats["totalBilledBytes"],
        "bytes_written": stats["totalLoadOutputBytes"],
        "slot_ms": stats["totalSlotMs"],
        "told_reads": names(F.transform(referenced, _table)),
        "destination": _table(destination),
        "error_code": _code(error),
        "error": text(error["message"]),
    }
    return _only(real, {**told, **_caller_application(caller)})


# One order of columns for both forms, so that their structs are of one type.
_TOLD: Final = (
    *(
        "query_id",
        "database",
        "schema",
        "statement",
        "statement_kind",
        "created_at",
        "started_at",
        "ended_at",
        "user",
        "application",
    ),
    *(
        "parent_query_id",
        "warehouse",
        "bytes_read",
        "bytes_billed",
        "bytes_written",
        "slot_ms",
        "cache_hit",
        "destination",
    ),
    *("error_code", "error"),
)


def _only(holds: Column, told: dict[str, Column]) -> Column:
    nothing = F.lit(None).cast("string")
    texts = [told.get(name, nothing).alias(name) for name in _TOLD]
    return F.when(holds, F.struct(*texts, told["tags"].alias("tags"), told["told_reads"].alias("told_reads")))


def _code(error: Column) -> Column:
    """The reason as INFORMATION_SCHEMA would have it, as far as it matters: stopped, or something else. A status without code is none."""
    code = F.nullif(error["code"], F.lit("0"))
    stopped = (code == _CANCELLED) | error["message"].startswith("Job execution was cancelled")
    return F.when(stopped, "stopped").otherwise(code)


def _whole(query: Column) -> Column:
    """The text of a query, with a mark behind one that the log has the beginning of."""
    return F.when(query["queryTruncated"] == "true", F.concat(query["query"], F.lit(CUT_OFF))).otherwise(query["query"])


def _last(name: Column) -> Column:
    return text(F.substring_index(name, "/", -1))


def _name(resource: Column) -> Column:
    """`project.dataset.table` of `projects/P/datasets/D/tables/T`."""
    return F.regexp_replace(resource, "^projects/([^/]+)/datasets/([^/]+)/(?:tables|views)/(.+)$", "$1.$2.$3")


def _table(table: Column) -> Column:
    return dotted(table["projectId"], table["datasetId"], table["tableId"])
