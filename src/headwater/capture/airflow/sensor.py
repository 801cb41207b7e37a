"""The gate before a task: it opens when the task's instances may be made, and hands on of exactly what.

Waits in the triggerer, where a waiting task costs no slot of a worker. Refuses to know dependencies: the server does.
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
    """Waits until what the run makes of `entity` may be made.

    entity: a name, a `Makes`, or several of either: then all of them. timeout: how long to wait; then it fails, whatever retries it has, or,
    with `fail_open`, goes on, which is logged and leaves what was read unrecorded. `retries`, 3 where nothing is said, is for what Airflow does.
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
        # Airflow may fail a sensor that is resumed at once, taking its first half for the whole (3.3.2). What it says itself is never tried again.
        super().__init__(**{"retries": _RETRIES, "retry_delay": _RETRY_DELAY, **kwargs})
        self.makes = read({self.task_id: entity})[self.task_id]
        self.waits = timeout if isinstance(timeout, dt.timedelta) else dt.timedelta(seconds=timeout)
        self.fail_open = fail_open

    def execute(self, context: Mapping[str, Any]) -> dict[str, Any] | None:
        """Asks once; when it is not the time yet, hands over to the trigger."""
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
                raise AirflowFailException(f"Headwater does not know what to wait for: {error.message}") from error
            self.log.warning("Headwater is asked again: %s", error.message)
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
        """What the trigger ended with."""
        if event["outcome"] == "ready":
            return self._ready(event["answer"])
        message = event["message"]
        if event["outcome"] == "refused":
            raise AirflowFailException(message)
        if not self.fail_open:
            raise AirflowSensorTimeout(message)
        self.log.warning("fail_open: the task goes on, though %s", message)
        return None

    def _ready(self, answer: dict[str, Any]) -> dict[str, Any]:
        for one in answer["made"]:
            reads = ", ".join(f"{pin['entity']} {' '.join(pin['instances'])}" for pin in one["reads"] or [])
            self.log.info(
                "%s %s may be made %s, of: %s", one["entity"], one["instance"], one["state"], reads or "nothing"
            )
        return answer
