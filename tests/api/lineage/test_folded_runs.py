"""Lists of runs: a run stands for those that are part of it until it is opened, with their number."""

import json
from typing import Any

import pytest
from tests.events import RUN, parent, run_event
from tests.fixtures.app import Client
from typer.testing import CliRunner

from headwater.cli.program import program


def day(hour: int) -> str:
    return f"2026-01-01T{hour:02}:00:00Z"


@pytest.fixture
def nightly(client: Client) -> Client:
    """A DAG with two tasks, one of which is two statements; a run whose parent sent nothing itself; a run of its own."""
    events = [
        run_event("COMPLETE", 1, "dag", at=day(1)),
        run_event("COMPLETE", 2, "dag.load", [], ["/a"], at=day(2), run_facets=parent(1, "dag")),
        run_event("FAIL", 3, "dag.clean", ["/a"], ["/b"], at=day(3), run_facets=parent(1, "dag")),
        run_event("COMPLETE", 4, "dag.clean.1", ["/a"], ["/b"], at=day(4), run_facets=parent(3, "dag.clean")),
        run_event("COMPLETE", 5, "dag.clean.2", ["/a"], ["/b"], at=day(5), run_facets=parent(3, "dag.clean")),
        run_event("COMPLETE", 7, "silent.step", [], ["/c"], at=day(6), run_facets=parent(6, "silent")),
        run_event("COMPLETE", 8, "alone", [], ["/d"], at=day(7)),
    ]
    for event in events:
        assert client.post("/api/v1/lineage", json.dumps(event).encode()).status_code == 201
    return client


def listed(client: Client, **question: Any) -> tuple[list[int], int, dict[int, int]]:
    """The numbers of the runs, how many there are in all, and how many are below each."""
    reply = client.get("/api/v2/runs", **question)
    assert reply.status_code == 200, reply.text
    answer = reply.json()
    counts = {int(id_[-12:]): count for id_, count in answer["children"].items()}
    return [int(one["id"][-12:]) for one in answer["runs"]], answer["total"], counts


def test_runs_that_are_part_of_no_other(nightly: Client) -> None:
    assert listed(nightly, parent="none") == ([8, 6, 1], 3, {6: 1, 1: 2})


def test_what_is_below_a_run_says_what_is_below_it(nightly: Client) -> None:
    assert listed(nightly, parent=RUN.format(1)) == ([3, 2], 2, {3: 2})
    assert listed(nightly, parent=RUN.format(3)) == ([5, 4], 2, {})


def test_a_run_counts_the_children_that_it_does_not_list(nightly: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"/api/v2/runs/{RUN.format(1)}"
    assert nightly.get(url).json()["more_children"] == 0
    monkeypatch.setattr("headwater.answer.lineage.runs._MOST_CHILDREN", 1)
    found = nightly.get(url).json()
    assert (len(found["children"]), found["more_children"]) == (1, 1)
    monkeypatch.setattr("headwater.cli.server.get", lambda _url, path, **question: nightly.get(path, **question).json())
    shown = CliRunner().invoke(program, ["run", "show", RUN.format(1)], catch_exceptions=False).output
    assert shown.splitlines()[-1] == "  and 1 more"


def test_a_page_counts_all_of_its_kind(nightly: Client) -> None:
    assert listed(nightly, parent="none", limit=1, offset=1) == ([6], 3, {6: 1})
    assert listed(nightly, limit=1)[1] == 8


def test_runs_that_name_each_other_or_themselves_are_not_lost(client: Client) -> None:
    events = [
        run_event("COMPLETE", 1, "a", at=day(1), run_facets=parent(2, "b")),
        run_event("COMPLETE", 2, "b", at=day(2), run_facets=parent(1, "a")),
        run_event("COMPLETE", 3, "c", at=day(3), run_facets=parent(3, "c")),
    ]
    for event in events:
        assert client.post("/api/v1/lineage", json.dumps(event).encode()).status_code == 201
    numbers, total, counts = listed(client, parent="none")
    assert (sorted(numbers), total, counts) == ([1, 2, 3], 3, {1: 1, 2: 1})


def test_stalled_runs_are_listed_one_by_one(nightly: Client) -> None:
    reply = nightly.get("/api/v2/runs", parent="none", stalled=True)
    assert reply.status_code == 400
    assert "parent=none cannot be combined with stalled" in reply.json()["message"]


def test_the_command_folds_until_children_are_asked_for(nightly: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(_base: str, path: str, params: Any = None, **_options: Any) -> bytes:
        given = {key: value for key, value in (params or {}).items() if value is not None}
        return bytes(nightly.get(path, **given).content)

    monkeypatch.setattr("headwater.client.ask.ask", ask)

    def numbers(*words: str) -> list[int]:
        result = CliRunner().invoke(program, ["runs", *words, "--json"], catch_exceptions=False)
        return [int(one["id"][-12:]) for one in json.loads(result.stdout)["runs"]]

    assert numbers() == [8, 6, 1]
    assert sorted(numbers("--children")) == list(range(1, 9))
    assert numbers("--state", "FAILED") == [3]
    assert numbers("job:test:dag.load") == [2]
    shown = CliRunner().invoke(program, ["runs"], catch_exceptions=False).stdout
    assert "runs below" in shown
