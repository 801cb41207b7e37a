"""A job known by its events alone, for tests of `headwater repair --apply`: says that it begins, waits for a file if one is named, reports, and ends.

python repeated_job.py URL FOLDER JOB READS WRITES [GATE]
"""

import datetime as dt
import json
import sys
import time
import urllib.request
import uuid
from pathlib import Path


def main(url: str, folder: str, job: str, reads: str, writes: str, gate: str = "") -> None:
    log = Path(folder) / "runs.txt"
    with log.open("a") as file:
        file.write(f"begin {job}\n")
    while gate and not Path(gate).exists():
        time.sleep(0.05)
    name = {"namespace": "file"}
    event = {
        "eventType": "COMPLETE",
        "eventTime": dt.datetime.now(dt.UTC).isoformat(),
        "producer": "https://example.test",
        "run": {"runId": str(uuid.uuid4())},
        "job": {"namespace": "test", "name": job},
        "inputs": [name | {"name": each} for each in reads.split(",")],
        "outputs": [name | {"name": each} for each in writes.split(",")],
    }
    request = urllib.request.Request(
        f"{url}/api/v1/lineage", json.dumps(event).encode(), {"Content-Type": "application/json"}
    )
    urllib.request.urlopen(request, timeout=30).close()
    with log.open("a") as file:
        file.write(f"end {job}\n")


main(*sys.argv[1:])
