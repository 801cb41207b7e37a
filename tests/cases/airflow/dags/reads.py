"""Three DAGs of different periodicities. Between those tasks that make data nobody writes an order."""

import datetime as dt
import os
from pathlib import Path

from airflow.sdk import DAG, task
from airflow.timetables.interval import CronDataIntervalTimetable

from headwater.capture.airflow.entities import EntityDAG, Makes, link

BROKEN = Path(os.environ["AIRFLOW_HOME"]) / "broken"
START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
SENSOR = {"timeout": dt.timedelta(minutes=10)}


@task
def hour() -> None:
    """Fails in the hours that stand in a file."""
    from airflow.sdk import get_current_context

    begins = get_current_context()["dag_run"].data_interval_start
    if BROKEN.exists() and begins.strftime("%Y-%m-%dT%H") in BROKEN.read_text().split():
        raise RuntimeError("the source is broken")


@task
def report() -> None: ...


with EntityDAG(
    "hourly",
    schedule=CronDataIntervalTimetable("0 * * * *", "UTC"),
    start_date=START,
    catchup=False,
    entities={"hour": "reads_hourly"},
    sensor=SENSOR,
):
    hour()

with EntityDAG(
    "daily",
    schedule="30 6 * * *",
    start_date=START,
    catchup=False,
    # The second needs the first, which is said where they are declared.
    entities={"words": "words_count", "day": "reads_daily"},
    sensor=SENSOR,
):
    report.override(task_id="words")()
    report.override(task_id="day")()

with DAG("weekly", schedule=CronDataIntervalTimetable("0 0 * * 1", "UTC"), start_date=START, catchup=False) as weekly:
    report.override(task_id="guess")()
    report.override(task_id="week")()
    link(
        weekly,
        {"guess": Makes("reads_weekly", state="estimated"), "week": Makes("reads_weekly", state="completed")},
        sensor=SENSOR,
    )
