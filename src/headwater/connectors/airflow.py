"""Airflow's REST API: DAGs and tasks as jobs, their runs, and the assets that tasks make and DAGs wait for.

For an Airflow in which nothing can be installed. Where its OpenLineage provider runs, that one says more, under other run ids: use one of the two.
The address of an Airflow 2 ends with `/api/v1`.
"""

import datetime as dt
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, Final

from headwater.capture.airflow.rest import Airflow
from headwater.client import event
from headwater.connectors import Send
from headwater.connectors.changed import Changes
from headwater.errors import Forbidden
from headwater.model.connector_reports import ConnectorCheck, ConnectorTask, PullReport
from headwater.model.moments import aware
from headwater.model.names import DatasetName, from_location

MOST_RUNS: Final = 2_000
_FIRST_DAYS: Final = 7
_RUNS: Final = uuid.UUID("4f0f2f3f-0f4f-5c55-9b1f-616972666c6f")
_ENDED: Final = {"success": "COMPLETE", "failed": "FAIL", "upstream_failed": "ABORT", "skipped": "ABORT"}


def test(task: ConnectorTask) -> Iterator[ConnectorCheck]:
    settings = task.settings
    api = _connected(settings)
    yield ConnectorCheck("connect", "ok", f"Airflow {api.version()}")
    for what, path, key in (
        ("DAGs", ["dags"], "dags"),
        ("runs", ["dags", "~", "dagRuns"], "dag_runs"),
        ("assets", [api.assets], api.assets),
    ):
        try:
            next(api.items(*path, key=key), None)
            yield ConnectorCheck(key, "ok", f"{what} can be read")
        except Forbidden:
            state = "missing" if what == "assets" else "failed"
            yield ConnectorCheck(key, state, f"this user may not read {what}", "give the user the role Viewer")


def pull(task: ConnectorTask, send: Send) -> PullReport:
    settings, before = task.settings, task.cursor or {}
    api, space, now = _connected(settings), settings["namespace"], dt.datetime.now(dt.UTC)
    warnings: list[str] = []
    changes = Changes(before.get("jobs"))
    rows = _send_jobs(api, space, now, changes, warnings, send)
    since = str(before.get("until") or event.timestamp(now - dt.timedelta(days=_FIRST_DAYS)))
    until, newest = since, None
    found = api.items("dags", "~", "dagRuns", key="dag_runs", updated_at_gte=since, order_by="updated_at")
    for number, run in enumerate(found):
        if number >= MOST_RUNS:
            warnings.append(f"only {MOST_RUNS:,} runs were read; the next pull reads on from there")
            break
        rows += 1 + _send_run(api, space, run, send)
        until = max(until, str(run.get("updated_at") or run.get("end_date") or since))
        newest = max(filter(None, (newest, run.get("end_date"))), default=None)
    # A run that changed in the same moment as the last one is read again, and its events are the same.
    cursor = {"jobs": changes.digests, "until": until}
    at = dt.datetime.fromisoformat(newest) if newest else None
    return PullReport(rows, cursor, aware(at), tuple(warnings))


def _connected(settings: Mapping[str, str]) -> Airflow:
    return Airflow(
        settings["address"],
        username=settings.get("user"),
        password=settings.get("password"),
        token=settings.get("token"),
        timeout=30.0,
    )


def _send_jobs(api: Airflow, space: str, now: dt.datetime, changes: Changes, warnings: list[str], send: Send) -> int:
    """Send each DAG and task that is new or changed; return how many there are."""
    made, waited = _assets(api, warnings)
    rows = 0
    for dag in api.items("dags", key="dags"):
        rows += 1
        name, about = str(dag["dag_id"]), dag.get("description")
        reads = waited.get(name, [])
        if changes.is_new(name, [about, reads]):
            send(_job((space, name), "DAG", now, about, reads=reads))
        for one in api.items("dags", name, "tasks", key="tasks"):
            rows += 1
            full = f"{name}.{one['task_id']}"
            writes = made.get((name, str(one["task_id"])), [])
            if changes.is_new(full, [one.get("doc_md"), writes]):
                send(_job((space, full), "TASK", now, one.get("doc_md"), writes=writes))
    return rows


def _assets(
    api: Airflow, warnings: list[str]
) -> tuple[dict[tuple[str, str], list[DatasetName]], dict[str, list[DatasetName]]]:
    """Return the assets that each task makes, and those that each DAG waits for."""
    made: dict[tuple[str, str], list[DatasetName]] = {}
    waited: dict[str, list[DatasetName]] = {}
    try:
        for one in api.items(api.assets, key=api.assets):
            uri = str(one.get("uri") or "")
            if "://" not in uri:
                continue
            name = from_location(uri)
            for task in one.get("producing_tasks") or []:
                made.setdefault((str(task["dag_id"]), str(task["task_id"])), []).append(name)
            for dag in one.get("scheduled_dags") or one.get("consuming_dags") or []:
                waited.setdefault(str(dag["dag_id"]), []).append(name)
    except Forbidden as error:
        warnings.append(f"assets were not read: {error.message}")
    return made, waited


def _job(
    job: tuple[str, str],
    kind: str,
    at: dt.datetime,
    text: str | None,
    *,
    reads: list[DatasetName] | None = None,
    writes: list[DatasetName] | None = None,
) -> dict[str, Any]:
    facets = {"jobType": event.job_type("BATCH", "AIRFLOW", kind)}
    if text:
        facets["documentation"] = event.documentation(text, of="Job")
    return event.job(
        job,
        inputs=[event.dataset(one.namespace, one.name) for one in reads or ()],
        outputs=[event.dataset(one.namespace, one.name) for one in writes or ()],
        job_facets=facets,
        event_time=at,
    )


def _send_run(api: Airflow, space: str, run: Mapping[str, Any], send: Send) -> int:
    """Send a run of a DAG and those of its tasks that began; return how many task instances were read."""
    dag, name = str(run["dag_id"]), str(run.get("dag_run_id") or run.get("run_id"))
    id_ = _run_id(space, dag, name)
    _send_states(send, (space, dag), id_, run, {}, "DAG")
    read = 0
    for one in api.items("dags", dag, "dagRuns", name, "taskInstances", key="task_instances"):
        read += 1
        task = f"{dag}.{one['task_id']}"
        place = f"{one.get('map_index', -1)}/{one.get('try_number', 1)}"
        parent = {"parent": event.parent(id_, (space, dag))}
        _send_states(send, (space, task), _run_id(space, task, f"{name}/{place}"), one, parent, "TASK")
    return read


def _send_states(
    send: Send, job: tuple[str, str], run_id: str, row: Mapping[str, Any], facets: dict[str, Any], kind: str
) -> None:
    if not row.get("start_date"):
        return
    about = {"jobType": event.job_type("BATCH", "AIRFLOW", kind)}
    send(event.run("START", run_id=run_id, job=job, run_facets=facets, job_facets=about, event_time=row["start_date"]))
    state = _ENDED.get(str(row.get("state")))
    if state and row.get("end_date"):
        send(event.run(state, run_id=run_id, job=job, run_facets=facets, event_time=row["end_date"]))


def _run_id(space: str, job: str, run: str) -> str:
    return str(uuid.uuid5(_RUNS, f"{len(space)}:{space}{len(job)}:{job}{run}"))
