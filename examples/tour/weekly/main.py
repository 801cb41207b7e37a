"""The mean of each week's days."""

import csv
import datetime as dt
import json
import os
from pathlib import Path

import headwater

DATA = Path(os.environ["HEADWATER_TOUR_DATA"])

(each,) = json.loads(os.environ["HEADWATER_INSTANCES"])
monday = dt.datetime.fromisoformat(each["start"]).date()
with headwater.step("average week", version="1.0") as step:
    celsius = []
    for number in range(7):
        day = DATA / "daily" / f"day={monday + dt.timedelta(days=number)}" / "mean.csv"
        step.input(day, fingerprint=True)
        with day.open(encoding="utf-8") as file:
            celsius += [float(row["celsius"]) for row in csv.DictReader(file)]
    out = DATA / "weekly" / f"week={each['instance']}" / "mean.csv"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(f"week,celsius\n{each['instance']},{sum(celsius) / len(celsius):.2f}\n", encoding="utf-8")
    step.output(out, fingerprint=True)
