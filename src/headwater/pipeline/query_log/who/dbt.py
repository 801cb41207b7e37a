"""dbt: which model, test, seed or snapshot ran a query, in which invocation.

- The query comment `{"app": "dbt", "dbt_version": …, "profile_name": …, "target_name": …, "node_id": "model.shop.orders"}`: at the end of
  the statement on Snowflake, at its beginning elsewhere (https://docs.getdbt.com/reference/project-configs/query-comment).
- The package dbt_snowflake_query_tags adds `invocation_id`, `node_database`, `node_schema`, `node_alias`, `which`; its query tag says only
  `app` and `model` (get-select/dbt-snowflake-query-tags).
- BigQuery jobs carry the label `dbt_invocation_id`, and with `job-label: true` the comment's fields as labels: there `node_id` has lost its
  dots, so the node is not known (https://docs.getdbt.com/reference/dbt-jinja-functions/invocation_id).
- Databricks query tags `@@dbt_model_name`, `@@dbt_core_version` (dbt-databricks 1.11).
- Dagster's `…_dagster_dbt_v1_opaque_id[[[unique_id:invocation_id]]]` (dagster-cloud insights).
- Clients named dbt.

The OpenLineage dbt integration names a node's job in one of two ways (integration/common, provider/dbt/structured_logs.py and processor.py):
see `job_name`. Its runs have random ids, so the run to link to is dbt's invocation, which both sides know.
"""

import re

import msgspec

from headwater.pipeline.query_log.who.config import Config
from headwater.pipeline.query_log.who.evidence import (
    LOSSY,
    TOLD,
    Application,
    Attached,
    Attribution,
    Evidence,
    asset,
    connected_as,
    first,
    word,
)

TOOL = "dbt"
MARKS = ('"dbt"', "dbt_v", "'dbt'", "dbt_invocation", "node_id")
APPLICATIONS = (Application(r"(?<![a-z])dbt(?![a-z])", TOOL, "pipeline"),)

_NODE = re.compile(
    r"(model|seed|snapshot|test|unit_test|operation|source|analysis|sql_operation|function|saved_query)\.([\w-]+)\.(.{1,250})"
)
_OPAQUE = re.compile(r"dbt_v1_opaque_id\[\[\[([\w.-]{3,250}):")


def recognise(evidence: Evidence, config: Config) -> Attribution | None:
    """A tag that names only dbt does not hide a comment that names the node."""
    candidates = [found for attached in evidence.attached if (found := _of(attached, config))]
    if candidates:
        best = max(candidates, key=lambda found: (found.job_name is not None, found.asset is not None, found.run != ""))
        # On BigQuery the comment names the node and a label the invocation.
        told = any(found.run for found in candidates)
        return msgspec.structs.replace(best, run="invocation") if told else best
    return connected_as(evidence, APPLICATIONS)


def _of(attached: Attached, config: Config) -> Attribution | None:
    values = attached.values
    if opaque := _OPAQUE.search(attached.text):
        return _node(opaque[1], config, None, None, None, None, invocation=True)
    if word(values.get("app")) == TOOL or "dbt_snowflake_query_tags_version" in values:
        return _node(
            first(values, "node_id") or "",
            config,
            first(values, "node_database", "model_database"),
            first(values, "node_schema", "model_schema"),
            first(values, "node_alias", "node_name", "model_alias", "model"),
            first(values, "which"),
            invocation=bool(first(values, "invocation_id", "dbt_invocation_id")),
        )
    if (model := first(values, "@@dbt_model_name")) or "@@dbt_core_version" in values:
        return _node(model or "", config, None, None, model, None, invocation=False)
    if attached.where == "tags" and first(values, "dbt_invocation_id"):
        return Attribution(tool=TOOL, kind="pipeline", confidence=LOSSY, run="invocation")
    return None


def _node(
    unique_id: str,
    config: Config,
    database: str | None,
    schema: str | None,
    name: str | None,
    which: str | None,
    *,
    invocation: bool,
) -> Attribution:
    parts = _NODE.fullmatch(unique_id)
    job = job_name(unique_id, config.dbt_names, database, schema, which)
    return Attribution(
        tool=TOOL,
        kind="pipeline",
        confidence=TOLD,
        asset=asset((parts[1], f"{parts[2]}.{parts[3]}")) if parts else None,
        asset_name=name or (parts[3] if parts else None),
        job_namespace=config.dbt_namespace if job else None,
        job_name=job,
        run="invocation" if invocation else "",
    )


def job_name(
    unique_id: str, names: str, database: str | None = None, schema: str | None = None, which: str | None = None
) -> str | None:
    """The job the OpenLineage dbt integration reports for a node; None if unknown.

    `unique_id`: the node's unique id, as it is. `relation`: `database.schema.` and the unique id without its `model.` or `snapshot.`, then
    `.snapshot` for snapshots and `.build.run`, `.build.snapshot` under `dbt build`; tests are reported by the node they test, which a test's
    comment does not name.
    """
    parts = _NODE.fullmatch(unique_id)
    if not parts:
        return None
    if names == "unique_id":
        return unique_id
    resource = parts[1]
    if resource not in {"model", "snapshot", "seed"} or not schema:
        return None
    rest = unique_id if resource == "seed" else f"{parts[2]}.{parts[3]}"
    name = ".".join(filter(None, (database, schema, rest)))
    if resource == "snapshot":
        return name + (".build.snapshot" if which == "build" else ".snapshot")
    return name + (".build.run" if which == "build" else "")
