"""The sensor before a task: it succeeds when the task's instances are ready, and passes on their inputs.

Waits in the triggerer, where a waiting task occupies no worker slot. The server knows the dependencies.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowFailException, AirflowSensorTimeout, TaskDeferred

from headwater.capture.airflow import outbox, period, readiness
from headwater.capture.airflow.config import from_environment
from headwater.capture.airflow.makes import Makes, read
from headwater.capture.airflow.trigger import LineageTrigger
from headwater.errors import HeadwaterError

WEEK = dt.timedelta(days=7)
_RESOLVING = 30.0
_RETRIES, _RETRY_DELAY = 3, dt.timedelta(seconds=10)


class LineageSensor(BaseOperator):
    """Wait until the run's instances of `entity` are ready.

    entity: a name, a `Makes`, or several of either: then all of them. timeout: how long to wait; then it fails without a retry or, with
    `fail_open`, succeeds with a log line and without recorded inputs. `retries` (default 3) is for errors of Airflow.
    Its XCom is `{"seq", "made": [{"entity", "instance", "state", "reads"}]}`.
    """

    ui_color = "#d3e7f5"

    def __init__(
        self,
        *,
        entity: str | Makes | Sequence[str | Makes],
        timeout: dt.timedelta | float = WEEK,
        fail_open: bool = False,
        **kwargs: Any,
    ) -> None:
        # Airflow may fail a sensor that resumes at once, mistaking its first half for the whole (3.3.2). Its own failures are never retried.
        super().__init__(**{"retries": _RETRIES, "retry_delay": _RETRY_DELAY, **kwargs})
        self.makes = read({self.task_id: entity})[self.task_id]
        self.waits = timeout if isinstance(timeout, dt.timedelta) else dt.timedelta(seconds=timeout)
        self.fail_open = fail_open

    def execute(self, context: Mapping[str, Any]) -> dict[str, Any] | None:
        """Ask once; if the instances are not ready, defer to the trigger."""
        config = from_environment()
        outbox.flush(config)
        until = dt.datetime.now(dt.UTC) + self.waits
        when = period.of(context["dag_run"])
        found: dict[str, list[str]] | None = None
        try:
            found = {
                one.entity: readiness.instances(config, one.entity, when, timeout=_RESOLVING) for one in self.makes
            }
            answer = readiness.posed(config, readiness.question(self.makes, found))
        except HeadwaterError as error:
            if error.permanent:
                raise AirflowFailException(f"Headwater cannot determine what to wait for: {error.message}") from error
            self.log.warning("Asking Headwater again: %s", error.message)
        else:
            if answer.ready:
                return self._ready(readiness.recorded(self.makes, answer))
        raise TaskDeferred(
            trigger=LineageTrigger(
                makes=[[one.entity, one.state] for one in self.makes],
                instances=found,
                kind=when.kind,
                start=when.start.timestamp(),
                end=when.end.timestamp(),
                until=until.timestamp(),
            ),
            method_name="resume",
        )

    def resume(self, context: Mapping[str, Any], event: Mapping[str, Any]) -> dict[str, Any] | None:
        """Handle the trigger's event."""
        if event["outcome"] == "ready":
            return self._ready(event["answer"])
        message = event["message"]
        if event["outcome"] == "refused":
            raise AirflowFailException(message)
        if not self.fail_open:
            raise AirflowSensorTimeout(message)
        self.log.warning("fail_open: the task runs although %s", message)
        return None

    def _ready(self, answer: dict[str, Any]) -> dict[str, Any]:
        for one in answer["made"]:
            reads = ", ".join(f"{pin['entity']} {' '.join(pin['instances'])}" for pin in one["reads"] or [])
            self.log.info(
                "%s %s is ready as %s, from: %s", one["entity"], one["instance"], one["state"], reads or "nothing"
            )
        return answer
