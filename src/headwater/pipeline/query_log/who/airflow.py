"""Airflow: which task instance ran a query.

- The Databricks provider's query tags `airflow_dag_id`, `airflow_task_id`, `airflow_run_id`, `airflow_try_number`, `airflow_map_index`
  (apache/airflow#66895).
- The Trino provider's client info, JSON with `dag_id`, `task_id`, `execution_date` or `logical_date`, `try_number`, `dag_run_id`, `dag_owner`
  (providers/trino, hooks/trino.py).
- The BigQuery provider's labels `airflow-dag`, `airflow-task` (apache/airflow#37736): lower-cased, dots of a task group are dashes.
- `AIRFLOW_CTX_DAG_ID` and its kin (the variables Airflow exports to operators), or plain `dag_id` with `task_id`, in a comment or a query
  tag: what people put there by hand, as JSON, key='value' or key: value.
- Clients named airflow.

The job is `dag.task`, as the OpenLineage provider names it; the run's id is derived as that provider does it
(providers/openlineage, plugins/adapter.py, build_task_instance_run_id): see `runs.py`.
"""

import re

from headwater.pipeline.query_log.who.config import Config
from headwater.pipeline.query_log.who.evidence import (
    LOSSY,
    TOLD,
    Application,
    Attribution,
    Evidence,
    Values,
    asset,
    connected_as,
    first,
)

TOOL = "airflow"
MARKS = ("dag_id", "airflow")
APPLICATIONS = (
    Application(r"airflow|(?<![a-z])mwaa(?![a-z])|cloud.?composer|(?<![a-z])astronomer(?![a-z])", TOOL, "pipeline"),
)

_PREFIX = re.compile(r"^(?:airflow[_.-]ctx[_.-]|airflow[_.-])", re.IGNORECASE)
# The names that a dag or task may have (airflow.utils.helpers, KEY_REGEX), and a task group's dot.
_KEY = re.compile(r"[\w.-]{1,250}")


def recognise(evidence: Evidence, config: Config) -> Attribution | None:
    for attached in evidence.attached:
        labels = _task(attached.values, "airflow-dag", "airflow-task")
        if labels and attached.where == "tags":
            return _task_attribution(labels, config, LOSSY, exact=False)
        values = {_PREFIX.sub("", key).lower(): value for key, value in attached.values.items()}
        if task := _task(values, "dag_id", "task_id"):
            return _task_attribution(task, config, TOLD, exact=True)
    return connected_as(evidence, APPLICATIONS)


def _task(values: Values, dag_key: str, task_key: str) -> tuple[str, str] | None:
    dag, task = first(values, dag_key), first(values, task_key)
    if dag and task and _KEY.fullmatch(dag) and _KEY.fullmatch(task):
        return dag, task
    return None


def _task_attribution(task: tuple[str, str], config: Config, confidence: float, *, exact: bool) -> Attribution:
    dag_id, task_id = task
    return Attribution(
        tool=TOOL,
        kind="pipeline",
        confidence=confidence,
        asset=asset(("dag", dag_id), ("task", task_id)),
        asset_name=task_id,
        job_namespace=config.airflow_namespace,
        job_name=f"{dag_id}.{task_id}",
        run="airflow" if exact else "",
        run_seed=f"{config.airflow_namespace}.{dag_id}.{task_id}." if exact else "",
    )
