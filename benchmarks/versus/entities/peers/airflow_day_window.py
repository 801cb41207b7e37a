"""Airflow's side of `airflow_day_window.py`, run where Airflow is: the hours that `DayWindow` gives a day, gathered and fanned out.

{zone, days} on standard input as JSON; on standard output {version, answers: {"gathered" | "fanned out": {day: hours}}}.
"""

import contextlib
import importlib.metadata
import json
import os
import sys
import tempfile


def main() -> None:
    case = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
        # Importing Airflow writes its configuration.
        os.environ["AIRFLOW_HOME"] = folder
        from airflow.partition_mappers.base import RollupMapper
        from airflow.partition_mappers.temporal import FanOutMapper, StartOfDayMapper
        from airflow.partition_mappers.window import DayWindow

        # Hours are written with their offset, so that both passes of 02:00 have a key of their own.
        hours_of_day = StartOfDayMapper(timezone=case["zone"], input_format="%Y-%m-%dT%H%z")
        gather = RollupMapper(upstream_mapper=hours_of_day, window=DayWindow())
        days = StartOfDayMapper(timezone=case["zone"], input_format="%Y-%m-%d")
        fan_out = FanOutMapper(upstream_mapper=days, window=DayWindow())
        answers = {
            "gathered": {day: sorted(gather.to_upstream(day)) for day in case["days"]},
            "fanned out": {day: list(fan_out.to_downstream(day)) for day in case["days"]},
        }
    print(json.dumps({"version": importlib.metadata.version("apache-airflow-core"), "answers": answers}))


if __name__ == "__main__":
    main()
