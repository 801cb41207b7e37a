"""The tasks of a DAG that a plan was exported as (`headwater backfill export`): one for each item, and one that says how the plan ended.

A task is a worker of the plan like any other, with one item to do: it asks the server for it, and has Airflow clear or start what makes it. Nothing
is kept in Airflow, so that a task may be killed, cleared and run again. Refuses to run in an Airflow of another name.
"""

import datetime as dt
import os
from collections.abc import Mapping
from typing import Any

from airflow.sdk import BaseOperator, BaseSensorOperator
from airflow.sdk.configuration import conf
from airflow.sdk.exceptions import AirflowFailException

from headwater.capture.airflow.config import Config, from_environment, rest
from headwater.errors import HeadwaterError
from headwater.runner.backfill import Told
from headwater.runner.executors.airflow import AirflowTasks
from headwater.runner.plan_item import Came, Turn, carry_out
from headwater.runner.plans import PlanOnServer

_ASKED_AGAIN = dt.timedelta(seconds=30)
_WEEKS = dt.timedelta(weeks=52)
_LABEL = 200  # characters; Airflow keeps 250


class PlanItem(BaseSensorOperator):
    """Item `number` of a plan, of an Airflow that is called `airflow` in `produced_by`.

    While the item runs, the task runs. While it is not its turn, the task takes no slot and asks every half minute; so it does while the server does
    not answer.
    """

    ui_color = "#d3e7f5"

    def __init__(self, *, plan: str, airflow: str, number: int, **kwargs: Any) -> None:
        super().__init__(mode="reschedule", poke_interval=_ASKED_AGAIN, timeout=_WEEKS, **kwargs)
        self.plan = plan
        self.airflow = airflow
        self.number = number

    def poke(self, context: Mapping[str, Any]) -> bool:
        """Whether the item is over and right."""
        config = _config(self.airflow)
        try:
            turn = self._turn(config, again=context["ti"].try_number > 1)
        except HeadwaterError as error:
            if error.permanent:
                raise AirflowFailException(error.message) from error
            self.log.warning("asked again later: %s", error.message)
            return False
        context["headwater_item"] = f"#{self.number} {turn.about}"[:_LABEL]  # type: ignore[index]
        if turn.came is Came.failed:
            raise AirflowFailException(turn.note)
        self.log.info("%s: %s %s", turn.about, turn.came, turn.note)
        return turn.came is Came.done

    def _turn(self, config: Config, *, again: bool) -> Turn:
        return carry_out(
            PlanOnServer(config.url, self.plan, config.api_key),
            self.number,
            AirflowTasks(self.airflow, rest(os.environ.get("HEADWATER_AIRFLOW_URL") or conf.get("api", "base_url"))),
            name=f"airflow://{self.airflow}/{self.dag_id}",
            again=again,
            told=self._say,
        )

    def _say(self, told: Told) -> None:
        self.log.info("%s %s %s", told.what, told.run, told.note)


class PlanEnd(BaseOperator):
    """After all items: fails where the plan is not done, and says how far it came."""

    def __init__(self, *, plan: str, airflow: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.plan = plan
        self.airflow = airflow

    def execute(self, context: Mapping[str, Any]) -> None:
        """Asks for work, and takes none: a plan in which nothing more can be done is found to be so when somebody asks."""
        config = _config(self.airflow)
        plan = PlanOnServer(config.url, self.plan, config.api_key)
        plan.take(f"airflow://{self.airflow}/{self.dag_id}", limit=1, lease=1.0, producers=[])
        one = plan.progress()
        counts = {"done": one.done, "skipped": one.skipped, "failed": one.failed, "running": one.running, "waiting": one.waiting}  # fmt: skip
        said = f"the plan is {one.state}: {', '.join(f'{count} {name}' for name, count in counts.items() if count)}"
        if one.state != "done":
            raise AirflowFailException(said)
        self.log.info(said)


def _config(airflow: str) -> Config:
    config = from_environment()
    if config.name != airflow:
        raise AirflowFailException(
            f"this plan is of the Airflow {airflow!r}, and this one is called {config.name!r} (HEADWATER_AIRFLOW_NAME)"
        )
    return config
