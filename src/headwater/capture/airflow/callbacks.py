"""Callbacks that report when a task has started, produced or failed what it makes. Airflow calls them; authors never do.

A callback never fails the task: errors are logged. The instances to report come from the task's sensor, by XCom; a task without a sensor,
or whose worker was killed, derives them from the run.
"""

import datetime as dt
import logging
from collections.abc import Callable, Mapping
from typing import Any

from headwater.capture.airflow import outbox, period, readiness, reports
from headwater.capture.airflow.config import Config, from_environment
from headwater.capture.airflow.died import died
from headwater.capture.airflow.makes import Makes
from headwater.errors import HeadwaterError

log = logging.getLogger("headwater")

XCOM = "headwater"
"""The XCom key with which a task may describe what it made: `{"rows": 7, "fingerprint": "…", "bytes": 7, "storage": {…}}`."""


class Callback:
    """One of a task's callbacks. `sensor`: the id of the task whose answer names the instances and inputs; None without a sensor."""

    def __init__(self, what: reports.What, makes: tuple[Makes, ...], sensor: str | None, reason: str = "") -> None:
        self.what: reports.What = what
        self.makes = makes
        self.sensor = sensor
        self.reason = reason
        self.__name__ = f"headwater_{what}"

    def __call__(self, context: Mapping[str, Any]) -> None:
        """Report the state. Never raises."""
        try:
            self._report(context)
        except HeadwaterError as error:
            log.error("headwater could not report that %s %s: %s", self._names, self.what, error)
        except Exception:
            # A task must not fail because its report cannot be delivered.
            log.exception("headwater could not report that %s %s", self._names, self.what)

    @property
    def _names(self) -> str:
        return ", ".join(one.entity for one in self.makes)

    def _report(self, context: Mapping[str, Any]) -> None:
        config = from_environment()
        instance = context["ti"]
        answer = self._answer(instance)
        made = answer["made"] if answer else self._worked_out(config, context)
        this = run(config, instance)
        found = reports.of(
            this,
            self.what,
            made,
            _at(self.what, instance),
            seq=answer["seq"] if answer else None,
            code=_code(instance),
            reason=self.reason or _reason(self.what, context),
            description=_pulled(instance, instance.task_id, XCOM) if self.what == "produced" else None,
        )
        if self.what != "started":
            outbox.deliver(config, found)
        # A start is worth reporting only now: a task does not wait for a server that does not answer.
        elif outbox.deliver(config, found, keep=False):
            outbox.deliver(config, died(config, this, made))

    def _answer(self, instance: Any) -> Mapping[str, Any] | None:
        answer = _pulled(instance, self.sensor, "return_value") if self.sensor else None
        return answer if answer and answer.get("made") else None

    def _worked_out(self, config: Config, context: Mapping[str, Any]) -> list[dict[str, Any]]:
        when = period.of(context["dag_run"])
        found = {one.entity: readiness.instances(config, one.entity, when, timeout=10.0) for one in self.makes}
        return reports.unwaited(self.makes, found)


def run(config: Config, instance: Any) -> reports.Run:
    """Describe a task instance as a run of Headwater."""
    return reports.Run(
        config.name,
        instance.dag_id,
        instance.run_id,
        instance.task_id,
        instance.try_number,
        -1 if instance.map_index is None else instance.map_index,
        str(getattr(instance, "id", None) or ""),
    )


def _at(what: str, instance: Any) -> dt.datetime:
    began = getattr(instance, "start_date", None)
    if what == "started" and began is not None:
        return dt.datetime.fromtimestamp(began.timestamp(), dt.UTC)
    return dt.datetime.now(dt.UTC)


def _code(instance: Any) -> str | None:
    """Return the DAG's version, which changes with its structure. A bundle's version changes with every commit, and would make unchanged
    code count as changed.
    """
    version = getattr(instance, "dag_version_id", None)
    return f"airflow-dag-version:{version}" if version else None


def _reason(what: str, context: Mapping[str, Any]) -> str:
    error = context.get("exception") if what == "failed" else None
    return f"{type(error).__name__}: {error}"[:500] if error is not None else ""


def _pulled(instance: Any, task: str, key: str) -> Any:
    """Pull an XCom. None if there is none, or no task runner to ask: callbacks of a killed worker run in another process."""
    pull: Callable[..., Any] | None = getattr(instance, "xcom_pull", None)
    if pull is None:
        return None
    try:
        return pull(task_ids=task, key=key)
    except Exception as error:  # noqa: BLE001 - what Airflow's own channel raises is of many kinds
        log.warning("headwater: XCom %s of task %s cannot be read: %s", key, task, error)
        return None
