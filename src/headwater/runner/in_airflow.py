"""The tasks of a DAG that a plan was exported as (`headwater backfill export`): one for each item, and one that says how the plan ended.

A task is a worker of the plan like any other, with one item to do: it asks the server for it, and has Airflow clear or start what makes it. Nothing
is kept in Airflow, so that a task may be killed, cleared and run again. Refuses to run in an Airflow of another name.
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
    """A task of an Airflow that is called `airflow` in `produced_by`. While the server does not answer it asks every half minute, without a slot."""

    ui_color = "#d3e7f5"

    def __init__(self, *, plan: str, airflow: str, **kwargs: Any) -> None:
        super().__init__(mode="reschedule", poke_interval=_ASKED_AGAIN, timeout=_WEEKS, **kwargs)
        self.plan = plan
        self.airflow = airflow

    def poke(self, context: Mapping[str, Any]) -> bool:
        """Whether it is over."""
        config = from_environment()
        if config.name != self.airflow:
            raise AirflowFailException(
                f"this plan is of the Airflow {self.airflow!r}, and this one is called {config.name!r} (HEADWATER_AIRFLOW_NAME)"
            )
        try:
            return self.ask(PlanOnServer(config.url, self.plan, config.api_key), context)
        except HeadwaterError as error:
            if error.permanent:
                raise AirflowFailException(error.message) from error
            self.log.warning("asked again later: %s", error.message)
            return False

    def ask(self, plan: PlanOnServer, context: Mapping[str, Any]) -> bool:
        """What `poke` asks."""
        raise NotImplementedError

    @property
    def worker(self) -> str:
        return f"airflow://{self.airflow}/{self.dag_id}"


class PlanItem(_OfPlan):
    """Item `number` of a plan. While the item runs, the task runs; while it is not its turn, the task takes no slot."""

    def __init__(self, *, number: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.number = number

    def ask(self, plan: PlanOnServer, context: Mapping[str, Any]) -> bool:
        """Whether the item is right. AirflowFailException where it will not be until a person acts."""
        turn = carry_out(
            plan,
            self.number,
            AirflowTasks(self.airflow, rest(_url())),
            name=self.worker,
            again=context["ti"].try_number > 1,
            told=lambda told: self.log.info("%s %s %s", told.what, told.run, told.note),
        )
        context["headwater_item"] = f"#{self.number} {turn.about}"[:_LABEL]  # type: ignore[index]
        if turn.came is Came.failed:
            raise AirflowFailException(turn.note)
        self.log.info("%s: %s %s", turn.about, turn.came, turn.note)
        return turn.came is Came.done


class PlanEnd(_OfPlan):
    """After all items: fails where the plan is not done, and says how far it came."""

    def ask(self, plan: PlanOnServer, context: Mapping[str, Any]) -> bool:
        """Asks for work, and takes none: a plan in which nothing more can be done is recognized when it is asked."""
        plan.take(self.worker, limit=1, lease=1.0, producers=[], actions=[RERUN])
        one = plan.progress()
        counts = {name: getattr(one, name) for name in ("done", "skipped", "failed", "running", "waiting")}
        said = f"the plan is {one.state}: {', '.join(f'{count} {name}' for name, count in counts.items() if count)}"
        if one.state != "done":
            raise AirflowFailException(said)
        self.log.info(said)
        return True


def _url() -> str:
    """Where Airflow's own API is."""
    url = os.environ.get("HEADWATER_AIRFLOW_URL") or conf.get("api", "base_url", fallback="")
    if not url:
        raise AirflowFailException("where is this Airflow's API? Set HEADWATER_AIRFLOW_URL, or [api] base_url")
    return str(url)
