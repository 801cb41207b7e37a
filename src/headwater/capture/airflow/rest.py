"""Airflow's REST API: list runs, clear their tasks, start runs. Plain HTTP, without an import of Airflow.

    airflow = Airflow("http://airflow:8080", username="headwater", password="…")
    airflow.clear("daily", "scheduled__2024-03-10T00:00:00+00:00", ["day"])

This is `/api/v2` of Airflow 3. An address that ends with `/api/v1` is an Airflow 2; its requests follow its documentation.
Does not decide what to run: the plan does. Errors are those of `headwater.client.ask`: ServerUnavailable may be retried.
"""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from headwater.capture.airflow.makes import SENSOR_SUFFIX
from headwater.client.ask import ask
from headwater.errors import Unauthenticated

_PAGE = 100
_VERSION_1, _VERSION_2 = "/api/v1", "/api/v2"


class DagRun(msgspec.Struct, frozen=True):
    """One run of a DAG. A run that an asset or a partition started may have no logical date and no interval."""

    dag_id: str
    dag_run_id: str
    state: str
    logical_date: dt.datetime | None = None
    data_interval_start: dt.datetime | None = None
    data_interval_end: dt.datetime | None = None
    run_after: dt.datetime | None = None
    partition_key: str | None = None

    @property
    def at_rest(self) -> bool:
        """Return whether it has ended, in success or failure."""
        return self.state in {"success", "failed"}


class TaskInstance(msgspec.Struct, frozen=True):
    """One task of one run. `state` None: Airflow has not scheduled it yet, or cleared it (Airflow 2)."""

    dag_id: str
    dag_run_id: str
    task_id: str
    state: str | None = None
    try_number: int = 0
    map_index: int = -1


class _Runs(msgspec.Struct):
    dag_runs: list[DagRun]
    total_entries: int


class _Instances(msgspec.Struct):
    task_instances: list[TaskInstance]


class _Token(msgspec.Struct):
    access_token: str


class Airflow:
    """One Airflow. With a name and a password it requests a token, and a new one when that expires. Airflow 2 gets name and password with each
    request, if its `[api] auth_backends` has basic_auth.
    """

    def __init__(
        self,
        url: str,
        *,
        username: str | None = None,
        password: str | None = None,
        token: str | None = None,
        timeout: float = 60.0,
    ) -> None:
        self.url = url.rstrip("/").removesuffix(_VERSION_1)
        self._api = _VERSION_1 if url.rstrip("/").endswith(_VERSION_1) else _VERSION_2
        self.assets = "datasets" if self._api == _VERSION_1 else "assets"
        """The name of assets in this API."""
        self._credentials = (username, password or "") if username is not None else None
        self._token = token
        self._timeout = timeout

    def __repr__(self) -> str:
        return f"Airflow({self.url})"

    def runs(
        self,
        dag_id: str,
        *,
        logical_date_from: dt.datetime | None = None,
        logical_date_to: dt.datetime | None = None,
        states: Sequence[str] = (),
    ) -> Iterator[DagRun]:
        """Yield runs in the order of their creation, page by page; both dates are included."""
        date = "execution_date" if self._api == _VERSION_1 else "logical_date"
        asked: dict[str, object] = {
            "limit": _PAGE,
            "order_by": "id",
            "state": list(states),
            f"{date}_gte": logical_date_from.isoformat() if logical_date_from else None,
            f"{date}_lte": logical_date_to.isoformat() if logical_date_to else None,
        }
        offset = 0
        while True:
            answer = self._ask("GET", _path("dags", dag_id, "dagRuns"), asked | {"offset": offset})
            page = msgspec.json.decode(answer, type=_Runs)
            yield from page.dag_runs
            offset += len(page.dag_runs)
            if not page.dag_runs or offset >= page.total_entries:
                return

    def run(self, dag_id: str, run_id: str) -> DagRun:
        """Return a run. Raises NotFound."""
        return msgspec.json.decode(self._ask("GET", _path("dags", dag_id, "dagRuns", run_id)), type=DagRun)

    def trigger(
        self,
        dag_id: str,
        *,
        logical_date: dt.datetime | None,
        interval: tuple[dt.datetime, dt.datetime] | None = None,
        run_id: str | None = None,
        conf: Mapping[str, Any] | None = None,
        note: str | None = None,
        partition: str | None = None,
    ) -> DagRun:
        """Start a new run. `interval`: its data interval, if it differs from the schedule's for this date. Without a date the run has none;
        in Airflow 2, where every run has one, it is now. `partition`: its partition key, in Airflow 3.2 and later.
        """
        body: dict[str, Any] = {"logical_date": logical_date.isoformat() if logical_date else None}
        if logical_date is None and self._api == _VERSION_1:
            body = {}
        if interval is not None:
            body |= {"data_interval_start": interval[0].isoformat(), "data_interval_end": interval[1].isoformat()}
        for name, value in (("dag_run_id", run_id), ("conf", conf), ("note", note), ("partition_key", partition)):
            if value is not None:
                body[name] = value
        return msgspec.json.decode(self._ask("POST", _path("dags", dag_id, "dagRuns"), body=body), type=DagRun)

    def tasks(self, dag_id: str, run_id: str) -> list[TaskInstance]:
        """Return the task instances of one run."""
        found: list[TaskInstance] = []
        while True:
            asked: dict[str, object] = {"limit": _PAGE, "offset": len(found)}
            answer = self._ask("GET", _path("dags", dag_id, "dagRuns", run_id, "taskInstances"), asked)
            page = msgspec.json.decode(answer, type=_Instances).task_instances
            found += page
            if len(page) < _PAGE:
                return found

    def clear(
        self, dag_id: str, run_id: str, tasks: Sequence[str], *, dry_run: bool = False, note: str | None = None
    ) -> list[TaskInstance]:
        """Clear just these tasks of a run, each with the sensor before it, which asks for the inputs anew.

        Returns the task instances that are cleared, or with `dry_run` would be. Clear only ended runs: a run that Airflow is about to finish
        stays finished, and its cleared tasks never run (3.3.2); clear them again.
        """
        known = {each.task_id for each in self.tasks(dag_id, run_id)}
        gates = [gate for task in tasks if (gate := f"{task}{SENSOR_SUFFIX}") in known]
        body: dict[str, Any] = {
            "dry_run": dry_run,
            "dag_run_id": run_id,
            "task_ids": [*gates, *tasks],
            "only_failed": False,
            "reset_dag_runs": True,
        }
        if note is not None and self._api == _VERSION_2:  # Airflow 2 refuses it
            body["note"] = note
        answer = self._ask("POST", _path("dags", dag_id, "clearTaskInstances"), body=body)
        return msgspec.json.decode(answer, type=_Instances).task_instances

    def items(self, *segments: str, key: str, **parameters: object) -> Iterator[dict[str, Any]]:
        """Yield what a list of the API has under `key`, as it is, page by page."""
        offset = 0
        while True:
            asked = {**parameters, "limit": _PAGE, "offset": offset}
            page = msgspec.json.decode(self._ask("GET", _path(*segments), asked)).get(key) or []
            yield from page
            offset += len(page)
            if len(page) < _PAGE:
                return

    def version(self) -> str:
        """Return the version of Airflow."""
        return str(msgspec.json.decode(self._ask("GET", _path("version")))["version"])

    def unpause(self, dag_id: str) -> None:
        """Unpause a DAG: a paused one runs nothing that is triggered or cleared."""
        self._ask("PATCH", _path("dags", dag_id), body={"is_paused": False})

    def _ask(
        self,
        method: str,
        path: str,
        params: Mapping[str, object] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> bytes:
        given = None if body is None else msgspec.json.encode(body)
        path = self._api + path
        if self._api == _VERSION_1:
            basic = self._credentials
            return ask(self.url, path, params, self._token, self._timeout, method=method, body=given, basic=basic)
        fresh = self._token is None and self._credentials is not None
        if fresh:
            self._token = self._login()
        try:
            return ask(self.url, path, params, self._token, self._timeout, method=method, body=given)
        except Unauthenticated:
            if fresh or self._credentials is None:
                raise
        self._token = self._login()
        return ask(self.url, path, params, self._token, self._timeout, method=method, body=given)

    def _login(self) -> str:
        username, password = self._credentials or ("", "")
        body = msgspec.json.encode({"username": username, "password": password})
        answer = ask(self.url, "/auth/token", timeout=self._timeout, method="POST", body=body)
        return msgspec.json.decode(answer, type=_Token).access_token


def _path(*segments: str) -> str:
    return "/" + "/".join(quote(segment, safe="") for segment in segments)
