"""Airflow's REST API: DAGs and tasks as jobs, their runs with partition keys, and the assets that tasks make and DAGs wait for.

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
from headwater.errors import Forbidden, NotFound
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
    made, waited = _assets(api, warnings)
    rows = _send_jobs(api, space, now, changes, made, waited, send)
    events = _AssetEvents(api, {dag for dag, _ in made}, warnings)
    since = str(before.get("until") or event.timestamp(now - dt.timedelta(days=_FIRST_DAYS)))
    until, newest = since, None
    found = api.items("dags", "~", "dagRuns", key="dag_runs", updated_at_gte=since, order_by="updated_at")
    for number, run in enumerate(found):
        if number >= MOST_RUNS:
            warnings.append(f"only {MOST_RUNS:,} runs were read; the next pull reads on from there")
            break
        rows += 1 + _send_run(api, space, run, events, send)
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


def _send_jobs(
    api: Airflow,
    space: str,
    now: dt.datetime,
    changes: Changes,
    made: Mapping[tuple[str, str], list[DatasetName]],
    waited: Mapping[str, list[DatasetName]],
    send: Send,
) -> int:
    """Send each DAG and task that is new or changed; return how many there are."""
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


class _AssetEvents:
    """Reads the assets that runs wrote and read, with the partition keys that Airflow 3.2 and later report.

    `makers`: the DAGs with tasks that make assets. The others are not asked for events that they made.
    """

    def __init__(self, api: Airflow, makers: set[str], warnings: list[str]) -> None:
        self._api, self._makers, self._warnings = api, makers, warnings
        self._key = f"{api.assets.removesuffix('s')}_events"

    def load_outputs(self, dag: str, run: str) -> dict[tuple[str, int], list[dict[str, Any]]]:
        """Return the outputs of each task instance of a run, by task and map index."""
        found: dict[tuple[str, int], list[dict[str, Any]]] = {}
        if dag in self._makers:
            for one in self._read(self._api.assets, "events", source_dag_id=dag, source_run_id=run):
                place = str(one.get("source_task_id")), int(one.get("source_map_index", -1))
                found.setdefault(place, []).append(one)
        return {place: _parts(some, "output") for place, some in found.items()}

    def load_inputs(self, dag: str, run: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
        """Return the inputs of a run of a DAG: the assets whose events triggered it."""
        if not str(run.get("run_type") or "").endswith("_triggered"):
            return []
        kind = self._api.assets.removesuffix("s").title()
        return _parts(self._read("dags", dag, "dagRuns", name, f"upstream{kind}Events"), "input")

    def _read(self, *path: str, **asked: object) -> list[dict[str, Any]]:
        try:
            return list(self._api.items(*path, key=self._key, **asked))
        except (Forbidden, NotFound) as error:
            text = f"events of assets were not read: {error.message}"
            if text not in self._warnings:
                self._warnings.append(text)
            return []


def _parts(events: list[dict[str, Any]], side: str) -> list[dict[str, Any]]:
    """Return the datasets of events of assets, each with the partitions that their keys name."""
    keys: dict[DatasetName, dict[str, None]] = {}
    for one in events:
        uri = str(one.get("uri") or one.get("asset_uri") or one.get("dataset_uri") or "")
        if "://" in uri:
            some = keys.setdefault(from_location(uri), {})
            some |= dict.fromkeys(filter(None, [one.get("partition_key")]))
    found = []
    for name, some in keys.items():
        listed = [{"identifier": str(key)} for key in some]
        condition = {f"{side}Condition": {"type": "partition", "partitions": listed}}
        facets = {"subset": event.facet("BaseSubsetDatasetFacet/1-0-0", **condition)} if listed else {}
        found.append(event.dataset(name.namespace, name.name, **{f"{side}_facets": facets}))
    return found


def _dag_run(dag: str, name: str, run: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the OpenLineage provider's facet says of a run of a DAG: its partition and its dates."""
    fields = ("run_type", "partition_key", "partition_date", "data_interval_start", "data_interval_end", "logical_date")
    named = {key: run[key] for key in fields if run.get(key)}
    if (date := run.get("execution_date")) and "logical_date" not in named:
        named["logical_date"] = date
    return event.facet("RunFacet/2-0-2", dagRun={"dag_id": dag, "run_id": name, **named})


def _send_run(api: Airflow, space: str, run: Mapping[str, Any], events: _AssetEvents, send: Send) -> int:
    """Send a run of a DAG and those of its tasks that began; return how many task instances were read."""
    dag, name = str(run["dag_id"]), str(run.get("dag_run_id") or run.get("run_id"))
    id_ = _run_id(space, dag, name)
    about = _dag_run(dag, name, run)
    _send_states(
        send, (space, dag), id_, run, {"airflowDagRun": about}, "DAG", inputs=events.load_inputs(dag, run, name)
    )
    read, made = 0, events.load_outputs(dag, name)
    for one in api.items("dags", dag, "dagRuns", name, "taskInstances", key="task_instances"):
        read += 1
        task = f"{dag}.{one['task_id']}"
        place = f"{one.get('map_index', -1)}/{one.get('try_number', 1)}"
        facets = {"parent": event.parent(id_, (space, dag)), "airflow": about}
        outputs = made.get((str(one["task_id"]), int(one.get("map_index", -1))), [])
        run_id = _run_id(space, task, f"{name}/{place}")
        _send_states(send, (space, task), run_id, one, facets, "TASK", outputs=outputs)
    return read


def _send_states(
    send: Send,
    job: tuple[str, str],
    run_id: str,
    row: Mapping[str, Any],
    facets: dict[str, Any],
    kind: str,
    *,
    inputs: list[dict[str, Any]] | None = None,
    outputs: list[dict[str, Any]] | None = None,
) -> None:
    if not row.get("start_date"):
        return
    about = {"jobType": event.job_type("BATCH", "AIRFLOW", kind)}
    began = event.run(
        "START",
        run_id=run_id,
        job=job,
        inputs=inputs or (),
        run_facets=facets,
        job_facets=about,
        event_time=row["start_date"],
    )
    send(began)
    state = _ENDED.get(str(row.get("state")))
    if state and row.get("end_date"):
        ended = event.run(
            state,
            run_id=run_id,
            job=job,
            outputs=(outputs or ()) if state == "COMPLETE" else (),
            run_facets=facets,
            event_time=row["end_date"],
        )
        send(ended)


def _run_id(space: str, job: str, run: str) -> str:
    return str(uuid.uuid5(_RUNS, f"{len(space)}:{space}{len(job)}:{job}{run}"))
