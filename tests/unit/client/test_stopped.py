"""Signals that end a program: its steps are aborted, its own handlers decide, its exit status is what it would have been."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PLAIN = "pass"
GRACEFUL = "signal.signal(signal.SIGTERM, lambda *_: done.append(1))"
REFUSING = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))"
IGNORING = "signal.signal(signal.SIGTERM, signal.SIG_IGN); threading.Timer(0.3, lambda: done.append(1)).start()"
# Passes the signal on to what was there before, then ends as it likes.
LATER = "before = signal.signal(signal.SIGTERM, lambda n, f: (callable(before) and before(n, f), sys.exit(4)))"

PROGRAM = """
import os, signal, sys, threading, time
import headwater
done = []
{before}
outer = headwater.start_step("outer", inputs=["/data/in"])
with headwater.step("inner") as step:
    step.output("/data/out")
    {after}
    print("ready", flush=True)
    while not done:
        time.sleep(0.01)
outer.complete()
"""


def stopped(tmp_path: Path, number: signal.Signals, before: str, after: str) -> tuple[int, dict[str, tuple[str, str]]]:
    """The exit status, and by step its last event and its message."""
    events = tmp_path / "events.ndjson"
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("HEADWATER_", "OPENLINEAGE"))}
    env = {**kept, "HEADWATER_TRANSPORT": "file", "HEADWATER_EVENTS_FILE": str(events)}
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(before=before, after=after)], env=env, stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        program.send_signal(number)
        code = program.wait(30)
    last = {}
    for line in events.read_text().splitlines():
        event = json.loads(line)
        assert event["job"]["name"] not in last or last[event["job"]["name"]][0] == "START"
        message = event["run"].get("facets", {}).get("errorMessage", {}).get("message", "")
        last[event["job"]["name"]] = (event["eventType"], message)
        if event["job"]["name"] == "inner" and event["eventType"] != "START":
            assert [each["name"] for each in event["outputs"]] == ["/data/out"]
    return code, last


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_aborts_what_is_open(tmp_path: Path, number: signal.Signals) -> None:
    code, last = stopped(tmp_path, number, PLAIN, "pass")
    assert code == -number
    assert last == dict.fromkeys(("inner", "outer"), ("ABORT", f"the program was stopped by {number.name}"))


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    ("handler", "code", "state"),
    [(GRACEFUL, 0, "COMPLETE"), (REFUSING, 3, "ABORT"), (IGNORING, 0, "COMPLETE"), (LATER, 4, "ABORT")],
)
def test_a_handler_of_the_program_decides(tmp_path: Path, handler: str, code: int, state: str, first: bool) -> None:
    found, last = stopped(tmp_path, signal.SIGTERM, *((handler, "pass") if first else (PLAIN, handler)))
    assert found == code
    assert {name: each[0] for name, each in last.items()} == {"inner": state, "outer": state}


WORKERS = """
import multiprocessing as mp, signal
import headwater
def caught():
    return signal.getsignal(signal.SIGTERM) != signal.SIG_DFL
def work(n):
    before = caught()
    with headwater.step("work"):
        within = caught()
    return before, within, caught()
if __name__ == "__main__":
    for kind in ("fork", "spawn"):
        with headwater.step(kind), mp.get_context(kind).Pool(1) as pool:
            print(kind, *pool.apply(work, (1,)), caught())
"""


def test_a_worker_catches_signals_while_it_has_something_to_report(tmp_path: Path) -> None:
    """An idle one waits for a lock of the pool: with a handler in Python it may not see the signal that ends it, and the pool waits for ever."""
    script = tmp_path / "workers.py"
    script.write_text(WORKERS)
    env = {**os.environ, "HEADWATER_TRANSPORT": "file", "HEADWATER_EVENTS_FILE": str(tmp_path / "events.ndjson")}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=60, env=env)  # fmt: skip
    assert (done.stdout, done.stderr) == ("fork False True False True\nspawn False True False True\n", "")
