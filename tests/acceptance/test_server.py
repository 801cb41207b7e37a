"""The installed program: started, killed, started again. Nothing that was acknowledged is lost."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.events import RUN, encoded, run_event
from tests.fixtures.machine import Machine

from headwater.client.ask import ask
from headwater.errors import HeadwaterError


@pytest.fixture
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    made = Machine(tmp_path_factory.mktemp("machine"))
    yield made
    made.run("down")


def test_up_status_down_and_up_again(machine: Machine) -> None:
    machine.up()
    again = machine.run("up", "--port", str(machine.port))
    assert (again.returncode, "is up already" in again.stdout) == (0, True)
    machine.post(encoded(run_event("COMPLETE", 1, "job", ["/in"], ["/out"])))
    status = json.loads(machine.run("status", "--json").stdout)
    assert status["counts"] == {"datasets": 2, "jobs": 1, "runs": 1}
    assert machine.run("dev", "down").stdout == "Headwater is down.\n"
    gone = machine.run("status")
    assert gone.returncode == 75
    assert "headwater up" in gone.stderr
    machine.up()
    assert json.loads(machine.run("status", "--json").stdout)["counts"]["runs"] == 1


def test_a_port_in_use_is_said_with_the_way_out(machine: Machine) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", machine.port))
        other.listen()
        done = machine.run("up", "--port", str(machine.port))
    assert done.returncode == 1
    assert f"port {machine.port}" in done.stderr
    assert f"--port {machine.port + 1}" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.soak
def test_kill_in_mid_load_loses_nothing_acknowledged(machine: Machine) -> None:
    machine.up()
    acknowledged: list[int] = []
    stop = threading.Event()

    def load(first: int) -> None:
        for number in range(first, first + 100_000):
            if stop.is_set():
                return
            try:
                machine.post(encoded(run_event("COMPLETE", number, f"job{number % 7}", ["/in"], [f"/out{number % 5}"])))
            except HeadwaterError:
                return
            acknowledged.append(number)

    threads = [threading.Thread(target=load, args=(start,)) for start in (0, 1_000_000)]
    for thread in threads:
        thread.start()
    while len(acknowledged) < 60:
        time.sleep(0.01)
    # The server, its worker and its PostgreSQL at once: as if the machine's power were cut, short of its disk.
    pid = machine.pid()
    family = [pid, *_below(pid)]
    for member in family:
        try:
            os.kill(member, signal.SIGKILL)
        except ProcessLookupError:
            continue
    stop.set()
    for thread in threads:
        thread.join()
    _kill_postgres(machine.home)
    machine.up()
    kept = {run["id"] for run in json.loads(ask(machine.url, "/api/v2/runs", {"limit": 10_000}))["runs"]}
    assert {RUN.format(number) for number in acknowledged} <= kept
    check = machine.run("rebuild", "--check", "--json")
    assert json.loads(check.stdout)["equal"] is True


def _below(pid: int) -> list[int]:
    told = subprocess.run(["ps", "-e", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    parents = dict(map(int, line.split()) for line in told.splitlines())
    found, level = [], {pid}
    while level:
        level = {child for child, parent in parents.items() if parent in level} - set(found)
        found += level
    return found


def _kill_postgres(home: Path) -> None:
    pid_file = home / "headwater/postgres/postmaster.pid"
    if pid_file.exists():
        try:
            os.kill(int(pid_file.read_text().splitlines()[0]), signal.SIGKILL)
        except ProcessLookupError:
            return
        time.sleep(0.5)


def test_names_resolve_and_misses_help(machine: Machine) -> None:
    machine.up()
    for number, name in enumerate(("/data/clean/flights", "/data/raw/flights", "/data/marts/traffic")):
        machine.post(encoded(run_event("COMPLETE", number, f"write-{number}", [], [name])))
    unique = machine.run("lineage", "clean/flights")
    assert (unique.returncode, "write-0" in unique.stdout) == (0, True)
    ambiguous = machine.run("lineage", "flights")
    assert ambiguous.returncode == 2
    assert ambiguous.stderr.count("dataset:file:/data/") == 2
    unknown = machine.run("lineage", "marts/trafic")
    assert unknown.returncode == 1
    assert "/data/marts/traffic" in unknown.stderr.splitlines()[1]
    for format_ in ("json", "mermaid", "dot"):
        assert machine.run("lineage", "traffic", "--format", format_).returncode == 0
    assert "write-1" in machine.run("runs").stdout
    assert "run_id" in machine.run("run", "show", "--help").stdout
    assert machine.run("datasets", "traffic").returncode == 0


def test_help_has_examples_and_is_quick_to_import(machine: Machine) -> None:
    for command in ("lineage", "runs", "datasets", "rebuild", "doctor", "up"):
        told = machine.run(command, "--help")
        assert (told.returncode, "Examples:" in told.stdout) == (0, True), command


def test_missing_parts_are_said_with_what_installs_them(machine: Machine, tmp_path: Path) -> None:
    """The machine is as after `pip install headwater` without extras: the parts' names lead nowhere."""
    hide = "import sys; [sys.modules.__setitem__(n, None) for n in ('litestar', 'psycopg')]; import importlib.util as u; f = u.find_spec\n"
    hide += "u.find_spec = lambda name, *a: None if name in ('litestar', 'psycopg') else f(name, *a)\n"
    hide += "from headwater.cli import main; sys.argv = ['headwater', 'up']; main()"
    done = subprocess.run(
        [sys.executable, "-c", hide], capture_output=True, text=True, env=machine.env, timeout=60, check=False
    )
    assert done.returncode == 1
    assert "pip install 'headwater[server]'" in done.stderr
    assert "Traceback" not in done.stderr
