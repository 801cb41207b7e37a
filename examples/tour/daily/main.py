"""The mean of each day's hours."""

import csv
import json
import os
from pathlib import Path

import headwater

DATA = Path(os.environ["HEADWATER_TOUR_DATA"])

for each in json.loads(os.environ["HEADWATER_INSTANCES"]):
    day = each["instance"]
    with headwater.step("average day", version="1.0") as step:
        celsius = []
        for hour in sorted((DATA / "readings").glob(f"hour={day}T*/celsius.csv")):
            step.input(hour, fingerprint=True)
            with hour.open(encoding="utf-8") as file:
                celsius += [float(row["celsius"]) for row in csv.DictReader(file)]
        out = DATA / "daily" / f"day={day}" / "mean.csv"
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(f"day,celsius\n{day},{sum(celsius) / len(celsius):.2f}\n", encoding="utf-8")
        step.output(out, fingerprint=True)
