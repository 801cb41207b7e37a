"""A signal's handler that speaks while its thread writes to the spool: nothing hangs, nothing is lost.

The signals come by the program's own processor time: by the clock, a loaded machine has the next one before the handler of the last has ended.
"""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import signal
from headwater.client import emitter_from_environment
emitter = emitter_from_environment()
heard = 0
def handler(*_):
    global heard
    heard += 1
    emitter.emit({"from": "signal", "number": heard})
signal.signal(signal.SIGPROF, handler)
signal.setitimer(signal.ITIMER_PROF, 0.0005, 0.0005)
for number in range(30_000):
    emitter.emit({"from": "main", "number": number})
signal.setitimer(signal.ITIMER_PROF, 0)
stats = emitter.stats()
assert stats.dropped == 0, stats
print(heard, stats.emitted, stats.pending)
"""


def test_a_handler_may_speak_while_its_thread_writes(tmp_path: Path) -> None:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("HEADWATER_", "OPENLINEAGE"))}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**kept, "HEADWATER_TRANSPORT": "spool", "HEADWATER_SPOOL": str(tmp_path)},
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    heard, emitted, pending = map(int, done.stdout.split())
    assert heard > 10
    assert emitted == 30_000 + heard
    assert pending == emitted
