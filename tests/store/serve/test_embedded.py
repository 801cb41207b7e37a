"""The embedded PostgreSQL of processes that come and go, also by kill -9."""

import signal
import subprocess
import sys
from pathlib import Path

import psutil

HOLD = """
import sys, time
from pathlib import Path
from headwater.store.embedded import EmbeddedPostgres
server = EmbeddedPostgres(Path(sys.argv[1]))
data = Path(server._server.pgdata)
print((data / "postmaster.pid").read_text().split()[0], flush=True)
sys.stdin.read()
server.stop()
"""


def hold(folder: Path) -> tuple["subprocess.Popen[str]", int]:
    """Start a process that holds the server until its input ends; also the number of PostgreSQL's process."""
    command = [sys.executable, "-c", HOLD, str(folder)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def runs(pid: int) -> bool:
    """Return whether the process is there, and has not merely to be collected."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_the_last_holder_stops_it_though_another_was_killed(tmp_path: Path) -> None:
    killed, first = hold(tmp_path / "postgres")
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    holder, postmaster = hold(tmp_path / "postgres")
    assert postmaster == first
    holder.communicate()
    assert holder.returncode == 0
    assert not runs(postmaster)


def test_it_stays_while_another_process_holds_it(tmp_path: Path) -> None:
    one, postmaster = hold(tmp_path / "postgres")
    other, same = hold(tmp_path / "postgres")
    assert same == postmaster
    one.communicate()
    assert runs(postmaster)
    other.communicate()
    assert not runs(postmaster)
