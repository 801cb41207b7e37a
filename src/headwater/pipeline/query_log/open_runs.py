"""The runs of a sync that are open, noted in its store, so that the next sync ends those of one that was killed.

A process that is killed outright (SIGKILL, the kernel's out-of-memory killer, a lost machine) reports nothing. Its runs would stay RUNNING for good.
"""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from headwater.client import event
from headwater.client.output import emitter
from headwater.client.recording import Step
from headwater.pipeline.folder import Folder

_PLACE: Final = "_open"
_REASON: Final = "the sync was killed before it could report its end"


@contextmanager
def noted(folder: Folder, store: str, step: Step) -> Iterator[None]:
    """Note the step's run in the store while the block runs, however it ends."""
    path = f"{store}/{_PLACE}/run-{step.id}.json"
    told = {"run": step.id, "job": step.job, "host": socket.gethostname(), "pid": os.getpid()}
    folder.create(path, json.dumps(told))
    try:
        yield
    finally:
        folder.remove(path)


def abort_killed_runs(folder: Folder, store: str) -> list[str]:
    """Report ABORT for each noted run whose process is gone; return their ids.

    A process of another machine counts as gone: one store has one sync at a time.
    """
    ended = []
    for name in folder.names(f"{store}/{_PLACE}"):
        if not name.startswith("run-"):
            continue
        path = f"{store}/{_PLACE}/{name}"
        told = json.loads(folder.read(path))
        if told["host"] == socket.gethostname() and _is_alive(told["pid"]):
            continue
        facets = {"errorMessage": event.error_message(_REASON, language="python")}
        emitter().emit(event.run("ABORT", run_id=told["run"], job=tuple(told["job"]), run_facets=facets))
        folder.remove(path)
        ended.append(told["run"])
    return ended


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's
        return True
    return True
