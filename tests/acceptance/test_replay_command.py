"""`headwater server replay` beside a running server, and a second server that answers from what it made."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.events import encoded, run_event
from tests.fixtures.machine import Machine

from headwater.client.ask import ask

LINEAGE = {"node": "dataset:file:/out", "depth": 5}


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    made = Machine(tmp_path_factory.mktemp("original"))
    made.up()
    yield made
    made.run("down")


def answers(url: str) -> dict[str, Any]:
    told = {
        "lineage": json.loads(ask(url, "/api/v2/lineage", LINEAGE)),
        "runs": json.loads(ask(url, "/api/v2/runs", {"limit": 100})),
        "receipts": json.loads(ask(url, "/api/v2/receipts", {"since": "2020-01-01T00:00:00Z"})),
    }
    told["lineage"]["as_of"] = None  # when it was asked
    return told


def test_another_database_answers_as_this_one_did(machine: Machine, tmp_path: Path) -> None:
    for number in range(3):
        machine.post(encoded(run_event("COMPLETE", number, f"job{number}", ["/in"], ["/out"])))
    then = answers(machine.url)
    at = max(one["received_at"] for one in then["receipts"]["receipts"])
    # Older by its own time than all before, and later by its arrival.
    machine.post(encoded(run_event("COMPLETE", 9, "job9", ["/other"], ["/out"], at="2025-01-01T00:00:00Z")))
    now = answers(machine.url)
    assert now["lineage"] != then["lineage"]

    done = machine.run("replay", "--until", at, "--into", "back then", "--check", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["events"], told["copied"], told["projected"], told["changed"], told["refused"]) == (
        3,
        True,
        True,
        [],
        0,
    )
    again = machine.run("replay", "--until", at, "--into", told["database"])
    assert (again.returncode, "3 events and 0 changes by people were already replayed" in again.stdout) == (0, True)

    second = Machine(tmp_path)
    second.env["HEADWATER_DATABASE__URL"] = told["database"]
    try:
        second.up()
        assert answers(second.url) == then
    finally:
        second.run("down")
    assert answers(machine.url) == now


def test_what_cannot_be_is_said_and_nothing_is_made(machine: Machine) -> None:
    machine.post(encoded(run_event("COMPLETE", 1, "job", ["/in"], ["/out"])))
    for until, code, words in (
        ("soon", 2, "'soon' is not a time"),
        ("2999-01-01", 1, "2999-01-01T00:00:00Z is in the future"),
        ("2020-01-01", 1, "the log has no event that had arrived by 2020-01-01T00:00:00Z"),
    ):
        done = machine.run("replay", "--until", until, "--into", "never")
        assert (done.returncode, words in done.stderr) == (code, True), done.stderr
        assert "Traceback" not in done.stderr
    url = json.loads((machine.home / "headwater/server.json").read_text())["database_url"]
    into = url.replace("/postgres?", "/never?")
    now = json.loads(ask(machine.url, "/api/v2/receipts"))["receipts"][0]["received_at"]
    absent = machine.run("replay", "--until", now, "--into", into)
    assert absent.returncode != 0
    assert "the database to replay into" in absent.stderr
