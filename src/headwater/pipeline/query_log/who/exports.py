"""dbt's artifacts: which query was which model's, in which invocation.

`run_results.json` gives for each node the query that finished it: `adapter_response.query_id` (Snowflake, Databricks, Trino, …) or `job_id`
with `project_id` and `location` (BigQuery); `manifest.json` gives the node's relation. Every version of both since dbt 0.19 is read: only the
few fields needed are looked at, and a field that is missing or of another kind is ignored. A node's other queries (its hooks, a table's
drop) are not named there; their comments name the node.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from headwater.errors import UnreadableContent
from headwater.pipeline.query_log.who.config import Config
from headwater.pipeline.query_log.who.dbt import job_name
from headwater.pipeline.query_log.who.evidence import first, word

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = ("query_id", "job_namespace", "job_name", "job_run_id", "node", "relation")


class Node(msgspec.Struct):
    """The part of a manifest's node that is read. Fields are any kind of value: versions differ."""

    database: Any = None
    schema: Any = None
    alias: Any = None
    name: Any = None
    relation_name: Any = None


class Manifest(msgspec.Struct):
    nodes: dict[str, Node] = {}


class DbtQuery(msgspec.Struct, frozen=True):
    """One query of a node. `query_id` as the warehouse's log has it; `relation` is `database.schema.alias`, of a node that makes one."""

    query_id: str
    job_namespace: str
    job_name: str | None
    job_run_id: str | None
    node: str
    relation: str | None


def read(run_results: Path, manifest: Path | None = None, config: Config | None = None) -> list[DbtQuery]:
    """The queries of a run, from its two files. UnreadableContent for a file that is missing or is not such an artifact."""
    results = _decoded(run_results, dict[str, Any])
    nodes = _decoded(manifest, Manifest).nodes if manifest else {}
    return queries(results, nodes, config or Config())


def queries(run_results: Mapping[str, Any], nodes: Mapping[str, Node], config: Config) -> list[DbtQuery]:
    """The queries named in a run_results.json, in its order; nodes without a query (views of an old adapter, what was skipped) have none."""
    metadata, arguments = _mapping(run_results.get("metadata")), _mapping(run_results.get("args"))
    invocation = first(metadata, "invocation_id")
    which = first(arguments, "which")
    results = run_results.get("results")
    found: list[DbtQuery] = []
    for result in results if isinstance(results, Sequence) else ():
        said = _mapping(result)
        # Before dbt 0.19 the node stood whole in its result.
        unique_id = first(said, "unique_id") or first(_mapping(said.get("node")), "unique_id")
        if unique_id is None:
            continue
        node = nodes.get(unique_id) or Node()
        database, schema = word(node.database), word(node.schema)
        parts = (database, schema, word(node.alias) or word(node.name))
        relation = ".".join(filter(None, parts)) if node.relation_name and all(parts[1:]) else None
        job = job_name(unique_id, config.dbt_names, database, schema, which)
        found += [
            DbtQuery(query_id, config.dbt_namespace, job, invocation, unique_id, relation)
            for query_id in _query_ids(_mapping(said.get("adapter_response")))
        ]
    return found


def _query_ids(response: Mapping[str, Any]) -> Iterable[str]:
    """The ids the warehouse's log may have for it; BigQuery's also with project and location, as OpenLineage's externalQuery has it."""
    if query_id := first(response, "query_id"):
        yield query_id
    if job_id := first(response, "job_id"):
        yield job_id
        project, location = first(response, "project_id"), first(response, "location")
        if project and location:
            yield f"{project}:{location}.{job_id}"


def frame(spark: "SparkSession", found: Sequence[DbtQuery]) -> "DataFrame":
    """The queries as a table of `COLUMNS`, one row a query id; of two that claim one query, the later in order of invocation and node."""
    least: dict[str, DbtQuery] = {}
    for query in sorted(found, key=lambda query: (query.job_run_id or "", query.node)):
        least[query.query_id] = query
    rows = [tuple(getattr(query, name) for name in COLUMNS) for query in least.values()]
    return spark.createDataFrame(rows, ", ".join(f"{name} string" for name in COLUMNS))


def linked(executions: "DataFrame", told: "DataFrame") -> "DataFrame":
    """Rows with the job, run and tool that dbt's artifacts give for their `query_id`; the others as they are. `told`: of `frame`."""
    from pyspark.sql import functions as F  # noqa: N812

    known = told.select(*(F.col(name).alias(f"_dbt_{name}") for name in COLUMNS))
    is_known = F.col("_dbt_query_id").isNotNull()
    node = F.split("_dbt_node", r"\.", 2)
    given = {
        "actor_kind": F.lit("pipeline"),
        "tool": F.lit("dbt"),
        "tool_asset": F.concat_ws("/", node[0], node[1]),
        "tool_asset_name": F.split("_dbt_node", r"\.", 3)[2],
        "job_namespace": F.when(F.col("_dbt_job_name").isNotNull(), F.col("_dbt_job_namespace")).otherwise(
            F.col("job_namespace")
        ),
        "job_name": F.coalesce("_dbt_job_name", "job_name"),
        "job_run_id": F.coalesce("_dbt_job_run_id", "job_run_id"),
    }
    joined = executions.join(known, executions["query_id"] == known["_dbt_query_id"], "left")
    return joined.select(
        *(
            F.when(is_known, given[name]).otherwise(F.col(name)).alias(name) if name in given else F.col(name)
            for name in executions.columns
        )
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _decoded(path: Path, kind: type) -> Any:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableContent(f"{path} is not an artifact of dbt: {error}", path=str(path)) from error
