"""Three DAGs of different periodicities. No order is written between the tasks that make data."""

import datetime as dt
import os
import signal
from pathlib import Path

from airflow.sdk import DAG, task
from airflow.timetables.interval import CronDataIntervalTimetable

from headwater.capture.airflow.entities import EntityDAG, Makes, link

BROKEN = Path(os.environ["AIRFLOW_HOME"]) / "broken"
# Over long ago: only runs that a test starts are run.
WHEN = {
    "start_date": dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
    "end_date": dt.datetime(2024, 3, 1, tzinfo=dt.UTC),
    "catchup": False,
}
SENSOR = {"timeout": dt.timedelta(minutes=10), "retry_delay": dt.timedelta(seconds=1)}


@task
def hour() -> None:
    """Fails, or dies, in the hours that stand in a file."""
    from airflow.sdk import get_current_context

    context = get_current_context()
    begins = context["dag_run"].data_interval_start.strftime("%Y-%m-%dT%H")
    broken = BROKEN.read_text().split() if BROKEN.exists() else []
    if begins in broken:
        raise RuntimeError("the source is broken")
    if f"{begins}:dies" in broken:
        os.kill(os.getpid(), signal.SIGKILL)
    context["ti"].xcom_push("headwater", {"rows": 7})


@task
def report() -> None: ...


with EntityDAG(
    "hourly",
    schedule=CronDataIntervalTimetable("0 * * * *", "UTC"),
    **WHEN,
    entities={"hour": "reads_hourly"},
    sensor=SENSOR,
):
    hour()

with EntityDAG(
    "daily",
    schedule="30 6 * * *",
    **WHEN,
    # The second needs the first, which is said where they are declared.
    entities={"words": "words_count", "day": "reads_daily"},
    sensor=SENSOR,
):
    report.override(task_id="words")()
    report.override(task_id="day")()

with DAG("weekly", schedule=CronDataIntervalTimetable("0 0 * * 1", "UTC"), **WHEN) as weekly:
    report.override(task_id="guess")()
    report.override(task_id="week")()
    link(
        weekly,
        {"guess": Makes("reads_weekly", state="estimated"), "week": Makes("reads_weekly", state="completed")},
        sensor=SENSOR,
    )
