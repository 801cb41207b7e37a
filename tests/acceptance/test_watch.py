"""The watcher against a real server: quiet when all is right, through a kill and a restart; loud about every planted bug."""

import json
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.acceptance.test_server import _below, _kill_postgres
from tests.fixtures.machine import HEADWATER, Machine
from tests.liar import Forward, Lie, Reply, honest, standing_before

from headwater.client.watch import CHECKS, Check, Kind, Report, Watch, World

# Checks of missing features of the server. Remove a name when the server has it; change nothing else.
NOT_YET: tuple[Check, ...] = ()
SKIPPED = [word for name in NOT_YET for word in ("--skip", name)]


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    made = Machine(tmp_path_factory.mktemp("watched"))
    made.up()
    yield made
    made.run("down")


@pytest.fixture
def own_machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path)
    made.up()
    yield made
    made.run("down")


def lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def test_all_is_right(machine: Machine) -> None:
    done = machine.run("watch", "--for", "5s", "--rate", "200", "--interval", "2", "--seed", "7", "--json", *SKIPPED)
    assert done.returncode == 0, done.stdout + done.stderr
    *between, end = lines(done.stdout)
    assert len(between) >= 2
    assert (end["done"], end["ok"], end["verified"], end["seed"]) == (True, True, True, 7)
    # How many there are in five seconds is the machine's affair.
    assert end["count"]["scenes"] > 0
    assert end["count"]["asked"] > end["count"]["scenes"]
    assert end["count"]["mismatches"] == 0
    status = json.loads(machine.run("status", "--json").stdout)
    assert status["counts"]["datasets"] < 150


def test_killed_and_started_again_nothing_is_missing(own_machine: Machine) -> None:
    watching = watch_until_killed(own_machine, patience="20")
    own_machine.up()
    told, complaints = watching.communicate(timeout=120)
    end = lines(told)[-1]
    assert (watching.returncode, end["ok"]) == (0, True), (end["examples"], complaints)
    assert end["count"]["unreachable"] > 0


@pytest.mark.soak
def test_a_server_that_forgets_is_found_out(own_machine: Machine, tmp_path_factory: pytest.TempPathFactory) -> None:
    """After the restart another database answers at the same address: nothing that was acknowledged is in it."""
    watching = watch_until_killed(own_machine, patience="3")
    other = Machine(tmp_path_factory.mktemp("empty"))
    other.port, other.url = own_machine.port, own_machine.url
    other.up()
    try:
        told, _ = watching.communicate(timeout=120)
    finally:
        other.run("down")
    end = lines(told)[-1]
    assert watching.returncode == 1
    assert {"lost_event", "lost_run"} <= end["count"]["by_kind"].keys()


def watch_until_killed(machine: Machine, patience: str) -> "subprocess.Popen[str]":
    """A watch in mid-load, its server and database just killed."""
    watching = subprocess.Popen(
        [*HEADWATER, "watch", "--for", "10s", "--rate", "150", "--interval", "0.2", "--json", "--patience", patience, *SKIPPED],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=machine.env,
    )  # fmt: skip
    assert watching.stdout is not None
    while json.loads(watching.stdout.readline())["count"]["scenes"] < 15:
        continue
    pid = machine.pid()
    for member in [pid, *_below(pid)]:
        try:
            os.kill(member, signal.SIGKILL)
        except ProcessLookupError:
            continue
    _kill_postgres(machine.home)
    return watching


def test_without_a_server_the_exit_code_is_75(tmp_path: Path) -> None:
    nowhere = Machine(tmp_path)
    done = nowhere.run("watch", "--for", "0.5s", "--patience", "0.5", "--json")
    assert done.returncode == 75
    assert (lines(done.stdout)[-1]["verified"], lines(done.stdout)[-1]["count"]["mismatches"]) == (False, 0)
    assert "did not answer at the end" in done.stderr


def test_words_that_are_no_check_and_no_duration(machine: Machine) -> None:
    for arguments in (("--only", "edges"), ("--for", "soon")):
        done = machine.run("watch", *arguments)
        assert done.returncode == 2
        assert arguments[1] in done.stderr


def test_a_line_for_people_and_a_signal_ends_it_well(machine: Machine) -> None:
    watching = subprocess.Popen(
        [*HEADWATER, "watch", "--rate", "100", "--interval", "0.3", *SKIPPED],
        stdout=subprocess.PIPE, text=True, env=machine.env,
    )  # fmt: skip
    assert watching.stdout is not None
    assert "mismatches: none" in watching.stdout.readline()
    watching.send_signal(signal.SIGTERM)
    told, _ = watching.communicate(timeout=60)
    assert watching.returncode == 0
    assert "no mismatch; wrote to namespace headwater-watch" in told


# -- planted bugs --


def watched(url: str, *, kinds: tuple[Kind, ...] | None = None, seconds: float = 30.0) -> Report:
    """A quick watch that ends at the first mismatch of these kinds."""
    world = World(namespace="headwater-watch", mark=secrets.token_hex(4), checks=set(CHECKS) - set(NOT_YET))
    more: dict[str, Any] = {} if kinds is None else {"kinds": kinds, "fail_fast": True}
    return Watch(url, world, rate=1000, concurrency=2, patience=0.2, **more).run(seconds)


def on_get(start: str, change: Any) -> Lie:
    """Every answer below `start` is changed."""

    def lie(target: str, body: bytes | None, forward: Forward) -> Reply:
        status, reply = forward(body)
        if body is None and status == 200 and urlsplit(target).path.startswith(start):
            told = json.loads(reply)
            change(told)
            reply = json.dumps(told).encode()
        return status, reply

    return lie


def drops_one_event() -> Lie:
    """One acknowledged end of a run never reaches the server."""
    dropped: list[bytes] = []

    def lie(target: str, body: bytes | None, forward: Forward) -> Reply:
        if body and not dropped and target.endswith("/lineage") and b'"COMPLETE"' in body and b"-pipeline" in body:
            dropped.append(body)
            return 201, b'{"id": "0", "kind": "run", "duplicate": false, "created": [], "warnings": []}'
        return forward(body)

    return lie


def overlooks_outputs() -> Lie:
    def lie(_target: str, body: bytes | None, forward: Forward) -> Reply:
        return forward(body and body.replace(b'"outputs":[', b'"elsewhere":['))

    return lie


def sends_everything_twice() -> Lie:
    def lie(target: str, body: bytes | None, forward: Forward) -> Reply:
        if body and target.endswith("/lineage"):
            forward(body)
        return forward(body)

    return lie


def fails_what_completed() -> Lie:
    """A run that ended well is reported a second time, as failed."""

    def lie(target: str, body: bytes | None, forward: Forward) -> Reply:
        if body and target.endswith("/lineage") and b'"COMPLETE"' in body:
            forward(body.replace(b'"COMPLETE"', b'"FAIL"'))
        return forward(body)

    return lie


def answers_datasets_from_a_cache() -> Lie:
    kept: dict[str, Reply] = {}

    def lie(target: str, body: bytes | None, forward: Forward) -> Reply:
        if target.startswith("/api/v2/datasets/") and "as_of" not in target:
            if target not in kept:
                kept[target] = forward(body)
            return kept[target]
        return forward(body)

    return lie


def sees_only_at_the_second_look() -> Lie:
    looked: set[str] = set()

    def lie(target: str, body: bytes | None, forward: Forward) -> Reply:
        status, reply = forward(body)
        if target.startswith("/api/v2/runs?job") and target not in looked:
            looked.add(target)
            return status, b'{"total": 0, "runs": []}'
        return status, reply

    return lie


def answers(status: int) -> Lie:
    def lie(target: str, body: bytes | None, forward: Forward) -> Reply:
        return (status, b'{"code": "x", "message": "no"}') if body and target.endswith("/lineage") else forward(body)

    return lie


LINEAGE, RUNS, DATASETS = "/api/v2/lineage", "/api/v2/runs", "/api/v2/datasets"
BUGS: list[tuple[Kind, Lie]] = [
    ("lost_event", drops_one_event()),
    ("missing_edge", overlooks_outputs()),
    ("doubled_event", sends_everything_twice()),
    ("wrong_state", fails_what_completed()),
    ("doubled_run", on_get(RUNS, lambda told: told.get("runs", []).extend(told.get("runs", [])[:1]))),
    ("lost_run", on_get(RUNS, lambda told: "runs" in told and told["runs"].clear())),
    ("wrong_time", on_get(RUNS + "/", lambda told: told.update(ended_at=None))),
    ("wrong_datasets", on_get(RUNS + "/", lambda told: told["inputs"].clear())),
    ("wrong_family", on_get(RUNS + "/", lambda told: told["children"].clear())),
    ("wrong_id", on_get(RUNS + "/", lambda told: told.update(external_id=None))),
    ("missing_edge", on_get(LINEAGE, lambda told: told["edges"] and told["edges"].pop())),
    ("extra_edge", on_get(LINEAGE, lambda told: told["edges"].append({"source": "a", "target": "b"}))),
    ("missing_node", on_get(LINEAGE, lambda told: told["nodes"].pop())),
    ("missing_column_edge", on_get(LINEAGE, lambda told: told["column_edges"] and told["column_edges"].pop())),
    ("extra_column_edge", on_get(LINEAGE, lambda told: told["column_edges"].extend(told["column_edges"][:1]))),
    ("stale_schema", answers_datasets_from_a_cache()),
    ("wrong_versions", answers_datasets_from_a_cache()),
    ("wrong_total", on_get(DATASETS, lambda told: "total" in told and told.update(total=0))),
    ("not_searchable", on_get("/api/v2/search", lambda told: told["results"].clear())),
    ("slow_visibility", sees_only_at_the_second_look()),
    ("wrong_reply", on_get(LINEAGE, lambda told: told.clear())),
    ("refused", answers(400)),
    ("refused", answers(500)),
]


# One that hides an event, one that adds, one that answers from before, one that refuses: the others are the same ways at other routes.
TAKEN = (0, 1, 3, 11, 15, 22)


@pytest.mark.parametrize(
    ("kind", "lie"),
    [
        pytest.param(kind, lie, id=f"{number}-{kind}", marks=() if number in TAKEN else pytest.mark.soak)
        for number, (kind, lie) in enumerate(BUGS)
    ],
)
def test_a_planted_bug_is_caught(machine: Machine, kind: Kind, lie: Lie) -> None:
    with standing_before(machine.url, lie) as url:
        report = watched(url, kinds=(kind,))
    assert report.count.by_kind.get(kind, 0) >= 1
    assert report.count.seconds < 30
    assert not report.ok


@pytest.mark.soak
def test_through_an_honest_proxy_nothing_is_found(machine: Machine) -> None:
    with standing_before(machine.url, honest) as url:
        report = watched(url, seconds=4)
    assert (report.ok, report.examples) == (True, [])


@pytest.mark.soak
def test_a_reply_that_never_came_is_no_bug(machine: Machine) -> None:
    """The event arrived, its receipt did not: it is sent again, and its being known already is no fault."""
    seen: set[bytes] = set()

    def lie(target: str, body: bytes | None, forward: Forward) -> Reply | None:
        reply = forward(body)
        if body and target.endswith("/lineage") and body not in seen and len(seen) < 10:
            seen.add(body)
            return None
        return reply

    with standing_before(machine.url, lie) as url:
        report = watched(url, seconds=4)
    assert (report.ok, report.examples) == (True, [])
    assert report.count.unreachable >= 10


def test_a_key_that_is_not_taken_ends_it(machine: Machine) -> None:
    from headwater.errors import HeadwaterError

    began = time.monotonic()
    with standing_before(machine.url, answers(401)) as url, pytest.raises(HeadwaterError, match="no"):
        watched(url, seconds=30)
    assert time.monotonic() - began < 25
