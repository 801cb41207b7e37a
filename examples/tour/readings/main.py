"""Cut the delivery of each day into hours."""

import csv
import json
import os
from pathlib import Path

import headwater

DATA = Path(os.environ["HEADWATER_TOUR_DATA"])

days: dict[str, list[str]] = {}
for each in json.loads(os.environ["HEADWATER_INSTANCES"]):
    days.setdefault(each["instance"][:10], []).append(each["instance"])
for day, hours in days.items():
    delivery = DATA / "deliveries" / f"{day}.csv"
    with headwater.step("cut delivery", version="1.0") as step:
        step.input(delivery, fingerprint=True)
        with delivery.open(encoding="utf-8") as file:
            celsius = {row["hour"]: float(row["celsius"]) for row in csv.DictReader(file)}
        for hour in hours:
            out = DATA / "readings" / f"hour={hour}" / "celsius.csv"
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_text(f"hour,celsius\n{hour},{celsius[hour]}\n", encoding="utf-8")
            step.output(out, fingerprint=True)
