"""The tasks of an exported plan's DAG (`headwater backfill export`): one for each item, and one for the end of the plan.

A task is a worker of the plan with one item: it takes it from the server, and lets Airflow clear or start what makes it. Airflow stores
no state, so a task may be killed, cleared and run again. Refuses to run in an Airflow of another name.
"""

import datetime as dt
import os
from collections.abc import Mapping
from typing import Any

from airflow.sdk import BaseSensorOperator
from airflow.sdk.configuration import conf
from airflow.sdk.exceptions import AirflowFailException

from headwater.capture.airflow.config import from_environment, rest
from headwater.errors import HeadwaterError
from headwater.runner.executors.airflow import AirflowTasks
from headwater.runner.plan_item import Came, carry_out
from headwater.runner.plans import RERUN, PlanOnServer

_ASKED_AGAIN = dt.timedelta(seconds=30)
_WEEKS = dt.timedelta(weeks=52)
_LABEL = 200  # characters; Airflow keeps 250


class _OfPlan(BaseSensorOperator):
    """A task of the Airflow named `airflow` in `produced_by`. While the server does not answer, it asks every half minute, without a slot."""

    ui_color = "#d3e7f5"

    def __init__(self, *, plan: str, airflow: str, **kwargs: Any) -> None:
        super().__init__(mode="reschedule", poke_interval=_ASKED_AGAIN, timeout=_WEEKS, **kwargs)
        self.plan = plan
        self.airflow = airflow

    def poke(self, context: Mapping[str, Any]) -> bool:
        """Return whether the task is over."""
        config = from_environment()
        if config.name != self.airflow:
            raise AirflowFailException(
                f"this plan is of the Airflow {self.airflow!r}, and this one is named {config.name!r} (HEADWATER_AIRFLOW_NAME)"
            )
        try:
            return self.ask(PlanOnServer(config.url, self.plan, config.api_key), context)
        except HeadwaterError as error:
            if error.permanent:
                raise AirflowFailException(error.message) from error
            self.log.warning("asking again later: %s", error.message)
            return False

    def ask(self, plan: PlanOnServer, context: Mapping[str, Any]) -> bool:
        """Make one attempt for `poke`."""
        raise NotImplementedError

    @property
    def worker(self) -> str:
        return f"airflow://{self.airflow}/{self.dag_id}"


class PlanItem(_OfPlan):
    """Item `number` of a plan. The task runs while the item runs; before its turn, it takes no slot."""

    def __init__(self, *, number: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.number = number

    def ask(self, plan: PlanOnServer, context: Mapping[str, Any]) -> bool:
        """Return whether the item is right. Raises AirflowFailException if a person has to act first."""
        turn = carry_out(
            plan,
            self.number,
            AirflowTasks(self.airflow, rest(_url())),
            name=self.worker,
            again=context["ti"].try_number > 1,
            on_event=lambda event: self.log.info("%s %s %s", event.what, event.run, event.note),
        )
        context["headwater_item"] = f"#{self.number} {turn.about}"[:_LABEL]  # type: ignore[index]
        if turn.came is Came.failed:
            raise AirflowFailException(turn.note)
        self.log.info("%s: %s %s", turn.about, turn.came, turn.note)
        return turn.came is Came.done


class PlanEnd(_OfPlan):
    """The task after all items: it fails if the plan is not done, and reports the progress."""

    def ask(self, plan: PlanOnServer, context: Mapping[str, Any]) -> bool:
        """Ask for items without taking any: the server then notices if the plan can do nothing more."""
        plan.take(self.worker, limit=1, lease=1.0, producers=[], actions=[RERUN])
        one = plan.progress()
        counts = {name: getattr(one, name) for name in ("done", "skipped", "failed", "running", "waiting")}
        said = f"the plan is {one.state}: {', '.join(f'{count} {name}' for name, count in counts.items() if count)}"
        if one.state != "done":
            raise AirflowFailException(said)
        self.log.info(said)
        return True


def _url() -> str:
    """Return the address of Airflow's own API."""
    url = os.environ.get("HEADWATER_AIRFLOW_URL") or conf.get("api", "base_url", fallback="")
    if not url:
        raise AirflowFailException(
            "the address of this Airflow's API is not set; set HEADWATER_AIRFLOW_URL, or [api] base_url"
        )
    return str(url)
