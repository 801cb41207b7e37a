"""Stands for `headwater run FOLDER --period A..B --json` where many runs are wanted: reports to the server as that does, and makes nothing.

FOLDER/runs.txt gets a line for each run. FOLDER/hold: it waits until that is gone. FOLDER/fail: a period that fails. FOLDER/same: one whose bug is
still there, so that it reports the old code.
"""

import json
import os
import signal
import sys
import time
import urllib.request
import uuid
from pathlib import Path
from types import FrameType

folder, period = Path(sys.argv[1]), sys.argv[3]
entity = folder.name
run = str(uuid.uuid4())


def has(name: str) -> bool:
    return (folder / name).exists() and period in (folder / name).read_text().split()


def say(what: str, **more: object) -> None:
    one = {"entity": entity, "what": what, "instances": [period], "ref": run, "key": f"{run} {what}", **more}
    request = urllib.request.Request(
        f"{os.environ['HEADWATER_URL']}/api/v2/instances",
        json.dumps({"reports": [one]}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as reply:
        refused = json.load(reply)["results"][0].get("refused")
    if refused:
        sys.exit(str(refused))


def stopped(_number: int, _frame: FrameType | None) -> None:
    say("failed")
    sys.exit(143)


signal.signal(signal.SIGTERM, stopped)
with (folder / "runs.txt").open("a") as file:
    file.write(f"{period}\n")
say("started")
while (folder / "hold").exists():
    time.sleep(0.01)
if has("fail"):
    say("failed")
    print(json.dumps({"run_id": run, "state": "FAIL", "error": "the source is empty"}), flush=True)
    sys.exit(3)
say("produced", code="v1" if has("same") else "v2")
print(json.dumps({"run_id": run, "state": "COMPLETE"}), flush=True)
