"""Servers, their workers and PostgreSQL are killed at random moments under load, again and again.

Every event that was acknowledged is in the log, once, and projected; what was not acknowledged is sent again and is new or a duplicate,
never lost; a rebuild ends with the tables it found. `python tests/acceptance/test_kill.py --rounds 25 --seed 1` does more of it.
"""

import argparse
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # as a script, too
from tests.acceptance.test_server import _below, _kill_postgres
from tests.events import dataset, encoded, facet, run_event, schema
from tests.fixtures.machine import HEADWATER, Machine
from tests.scale import full

WRITERS = 4


class Load:
    """Writers that send events of their own until told to stop, and again what got no answer."""

    def __init__(self, machine: Machine, seed: int) -> None:
        self.machine, self.seed = machine, seed
        self.acknowledged: dict[bytes, str] = {}  # body → digest
        self.unanswered: list[bytes] = []
        self.odd: list[str] = []
        self.stop = threading.Event()
        self.threads = [threading.Thread(target=self._write, args=(number,)) for number in range(WRITERS)]

    def __enter__(self) -> "Load":
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        for thread in self.threads:
            thread.join()

    def _write(self, writer: int) -> None:
        draw = random.Random(self.seed * 100 + writer)
        number = 0
        while not self.stop.is_set():
            number += 1
            batch = [self._event(draw, writer, number, part) for part in range(draw.choice([1, 1, 1, 5, 40]))]
            if not self.send(batch):
                self.unanswered += batch
                time.sleep(0.02)

    def _event(self, draw: random.Random, writer: int, number: int, part: int) -> bytes:
        links = facet(identifiers=[{"namespace": "hive", "name": f"t{draw.randrange(4)}", "type": "TABLE"}])
        run = self.seed * 10_000_000 + writer * 1_000_000 + number
        event = run_event(
            draw.choice(["START", "COMPLETE", "FAIL"]),
            run if draw.random() < 0.7 else draw.randrange(5),
            f"job{draw.randrange(3)}",
            [dataset(f"/in{draw.randrange(4)}", symlinks=links)],
            [dataset(f"/out{draw.randrange(4)}", **schema("a", f"c{draw.randrange(20)}"))],
            at=f"2026-0{draw.randrange(1, 7)}-01T00:00:00Z",
            run_facets={"which": facet(name=f"{self.seed} {writer} {number} {part}")},
        )
        if draw.random() < 0.1:
            del event["eventTime"]
        return encoded(event)

    def send(self, bodies: list[bytes]) -> bool:
        """Return whether the server acknowledged them. A refusal is never right: there is nothing wrong with them."""
        one = len(bodies) == 1
        path, body = (
            ("/api/v1/lineage", bodies[0]) if one else ("/api/v1/lineage/batch", b"[" + b",".join(bodies) + b"]")
        )
        connection = http.client.HTTPConnection("127.0.0.1", self.machine.port, timeout=30)
        try:
            connection.request("POST", path, body)
            reply = connection.getresponse()
            told = reply.read()
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
        if reply.status not in {200, 201}:
            if reply.status != 503 or not reply.getheader("retry-after"):
                self.odd.append(f"{reply.status} {told[:300]!r}")
            return False
        receipts = [json.loads(told)] if one else json.loads(told)["receipts"]
        if len(receipts) != len(bodies):
            self.odd.append(f"{len(receipts)} receipts for {len(bodies)} events")
        self.acknowledged |= {body: receipt["id"] for body, receipt in zip(bodies, receipts, strict=True)}
        return True


def postgres_of(machine: Machine) -> int:
    return int((machine.home / "headwater/postgres/postmaster.pid").read_text().splitlines()[0])


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def strike(machine: Machine, what: str, draw: random.Random) -> None:
    pid = machine.pid()
    if what == "worker":
        kill(draw.choice(_below(pid)[:1]))
    elif what == "master":
        kill(pid)
    elif what == "backend":
        # One of PostgreSQL's own processes: it takes all connections down and recovers by itself.
        children = psutil.Process(postgres_of(machine)).children()
        kill(draw.choice([child.pid for child in children if child.is_running()]))
        return
    elif what == "everything":
        for member in [pid, *_below(pid)]:
            kill(member)
        _kill_postgres(machine.home)
    else:
        kill(postgres_of(machine))
    time.sleep(draw.random() * 0.3)


STRIKES = ("everything", "worker", "postgres", "backend", "master")


def up_again(machine: Machine, what: str) -> None:
    """Bring the machine up as an operator would: wait for parts that recover by themselves, start the others."""
    if what == "backend":
        return
    family = []
    try:
        pid = machine.pid()
        family = [pid, *_below(pid)]
    except (FileNotFoundError, psutil.Error):
        pid = 0
    for member in family:
        kill(member)
    for orphan in orphans(machine):
        kill(orphan)
    began = time.monotonic()
    while time.monotonic() - began < 30 and any(map(alive, family)):
        time.sleep(0.02)
    machine.up()


def orphans(machine: Machine) -> list[int]:
    """Workers that outlived their master still listen at its port."""
    found = []
    for process in psutil.process_iter():
        try:
            if (
                process.environ().get("HEADWATER_HOME") == machine.env["HEADWATER_HOME"]
                and "headwater" in process.cmdline()
            ):
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def rounds(machine: Machine, count: int, seed: int) -> dict[str, int]:
    """Play so many rounds; what was seen. Raises AssertionError at the first thing that is not right."""
    draw = random.Random(seed)
    acknowledged: dict[bytes, str] = {}
    again = duplicates = 0
    for number in range(count):
        what = STRIKES[number % len(STRIKES)]
        with Load(machine, seed * 1000 + number) as load:
            while len(load.acknowledged) < 30:
                time.sleep(0.01)
            time.sleep(draw.random())
            strike(machine, what, draw)
        up_again(machine, what)
        assert not load.odd, (what, load.odd[:5])
        acknowledged |= load.acknowledged
        for body in load.unanswered:
            assert sent_in_the_end(load, body), (what, load.odd[:5])
            again += 1
        acknowledged |= load.acknowledged
        told = {bytes.fromhex(digest) for digest in acknowledged.values()}
        kept = in_log(machine)
        assert len(kept) == len(set(kept)), f"round {number}, {what}: an event is twice in the log"
        missing = told - set(kept)
        assert not missing, f"round {number}, {what}: {len(missing)} of {len(told)} acknowledged events are lost"
        # An event that is there and was never acknowledged was sent again, and is therefore acknowledged.
        assert set(kept) == told, f"round {number}, {what}: {len(set(kept) - told)} unreported events"
        duplicates = len(kept)
    check = machine.run("rebuild", "--check", "--json")
    assert json.loads(check.stdout)["equal"] is True, check.stdout
    return {"rounds": count, "events": duplicates, "sent_again": again}


def sent_in_the_end(load: Load, body: bytes) -> bool:
    began = time.monotonic()
    while time.monotonic() - began < 30:
        if load.send([body]):
            return True
        time.sleep(0.05)
    return False


def in_log(machine: Machine) -> list[bytes]:
    import psycopg

    url = json.loads((machine.home / "headwater/server.json").read_text())["database_url"]
    with psycopg.connect(url, autocommit=True) as asking:
        return [row[0] for row in asking.execute("select digest from events").fetchall()]


@pytest.fixture
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    made = Machine(tmp_path_factory.mktemp("killed"))
    made.up()
    yield made
    made.run("down")


def test_killed_again_and_again_nothing_acknowledged_is_lost(machine: Machine) -> None:
    seen = rounds(machine, full(5, 2), seed=1)
    assert seen["events"] > 60


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headwater-kill-") as folder:
        made = Machine(Path(folder))
        made.up()
        try:
            print(json.dumps({"seed": given.seed, **rounds(made, given.rounds, given.seed)}))
        finally:
            subprocess.run([*HEADWATER, "down"], env=made.env, check=False)


if __name__ == "__main__":
    main()
