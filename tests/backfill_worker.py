"""A worker of a plan that kills itself with SIGKILL after its N-th step of a kind: `worker.py URL PLAN PACKAGES LOGS STEP N`; N 0: never.

Steps: taken, renewed, begun, over (a run ended, and was not reported), ended, given_back.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from headwater.runner.backfill import Worker
from headwater.runner.executors.packages import Packages
from headwater.runner.plans import PlanOnServer

url, plan, packages, logs, step, count = sys.argv[1:]
seen = {"steps": 0}


def dies_after(owner: Any, name: str, kind: str, *, before: bool = False) -> None:
    does = getattr(owner, name)

    def done(*args: Any, **more: Any) -> Any:
        found = None if before else does(*args, **more)
        if kind == step and getattr(found, "items", True):
            seen["steps"] += 1
            if seen["steps"] == int(count):
                os.kill(os.getpid(), signal.SIGKILL)
        return does(*args, **more) if before else found

    setattr(owner, name, done)


dies_after(PlanOnServer, "take", "taken")
dies_after(PlanOnServer, "renew", "renewed")
dies_after(Packages, "start", "begun")
dies_after(PlanOnServer, "end", "over", before=True)
dies_after(PlanOnServer, "end", "ended")
dies_after(PlanOnServer, "give_back", "given_back")
command = [sys.executable, str(Path(__file__).with_name("backfill_run.py"))]
executor = Packages(Path(packages), Path(logs), command=command, environ={"HEADWATER_URL": url})
print(Worker(PlanOnServer(url, plan), [executor], name=str(os.getpid()), lease=0.3).run_items(), flush=True)
