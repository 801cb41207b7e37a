"""Several producers, a server that comes and goes, and kill -9: every event whose `emit` returned arrives."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent

from collector import running
from headwater.client import emitter_from_environment

PRODUCER = dedent(
    """
    import os, sys, time
    from headwater.client import emitter_from_environment, event
    out = emitter_from_environment()
    said = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for n in range(int(sys.argv[2])):
        out.emit(event.run("OTHER", run_id=event.run_id(), job=("tests", f"{sys.argv[1]}-{n}")))
        os.write(said, b"%d\\n" % n)
        time.sleep(0.002)
    """
)


def test_every_event_arrives(tmp_path: Path) -> None:
    with running() as collector:
        env = os.environ | {"HEADWATER_URL": collector.url, "HEADWATER_SPOOL": str(tmp_path / "spool")}
        env["HEADWATER_FLUSH_SECONDS"] = "1"
        logs = [tmp_path / f"said-{n}" for n in range(4)]
        producers = [
            subprocess.Popen([sys.executable, "-c", PRODUCER, str(log), "400"], env=env, stderr=subprocess.DEVNULL)
            for log in logs
        ]
        victims = producers[:2]
        deadline = time.monotonic() + 20
        while not all(log.exists() and log.stat().st_size > 200 for log in logs):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        collector.stop()
        time.sleep(0.2)
        for process in victims:
            process.send_signal(signal.SIGKILL)
        time.sleep(0.2)
        collector.start()
        for process in producers:
            process.wait(30)
        assert [process.returncode for process in producers] == [-9, -9, 0, 0]

        heir = emitter_from_environment(url=collector.url, spool=tmp_path / "spool")
        assert heir.flush(20)
        heir.close()
        emitted = {f"{log}-{n}" for log in logs for n in log.read_text().split()}
        arrived = {event["job"]["name"] for event in collector.events}
        assert emitted - arrived == set()
        assert len(emitted) > 900
        assert list((tmp_path / "spool").glob("*.segment")) == []
