"""The words of commands about entities for a server's answers: cut where they are long, and without libraries that are not installed."""

import json
import sys
from typing import Any, get_args

import pytest

from headwater.cli import main, server
from headwater.cli.status.instances import short
from headwater.cli.status.readiness import WHY, words
from headwater.entities.status.missing import Outcome, Why
from headwater.errors import NotInstalled


def lacking(**more: Any) -> dict[str, Any]:
    given = {"entity": "reads", "instances": ["2024-03-10"], "why": "late", "ref": "", "until": None}
    return {**given, "outcome": "blocks", **more}


def test_every_reason_has_words() -> None:
    assert set(get_args(Why)) == set(WHY)
    assert words(lacking()) == "2024-03-10 of reads: late: expected by now"
    assert words(lacking(why="wrong", ref="i1")) == "2024-03-10 of reads: wrong, incident i1"
    assert words(lacking(why="not_due", until="2024-03-11T06:00:00+00:00")) == (
        "2024-03-10 of reads: missing, expected from 2024-03-11 06:00:00 UTC on"
    )
    assert words(lacking(why="empty_window", instances=[])) == "reads: no instance of reads exists in the needed range"
    assert words(lacking(why="withheld", ref="{until}")) == "2024-03-10 of reads: withheld by {until}"
    assert words(lacking(why="something newer")) == "2024-03-10 of reads: something newer"
    said = {outcome: words(lacking(outcome=outcome)) for outcome in get_args(Outcome)}
    assert len(set(said.values())) == len(said)
    assert said["accepted"].endswith("; accepted without it")


def test_long_lists_are_cut() -> None:
    assert short(["a", "b"]) == "a, b"
    assert short([str(number) for number in range(1006)]) == "0, 1, 2, 3, 4, 5 and 1,000 more"


STATUS = {
    "entity": "reads", "seq": 7, "as_of": None, "asked": ["2024-03"], "more": 12,
    "counts": {"completed": 3, "wrong": 1, "not over": 1},
    "stretches": [
        {"instances": "2024-03-01..2024-03-03", "count": 3, "status": "completed", "states": ["completed"], "valid": True,
         "marks": [{"kind": "state", "ref": "completed"}]},
        {"instances": "2024-03-04", "count": 1, "status": "wrong", "states": ["completed"], "valid": False,
         "marks": [{"kind": "state", "ref": "completed"}, {"kind": "wrong", "ref": "incident-1"}]},
        {"instances": "2024-03-05", "count": 1, "status": "not over", "states": [], "valid": False, "marks": []},
    ],
}  # fmt: skip


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """`answered("status", "reads")` → what is printed when a server answers so."""

    def ask(_url: str | None, path: str, **_parameters: object) -> bytes:
        declared = {"declared": {"entity": "reads", "period": {"every": "day", "tz": "UTC"}}}
        return json.dumps(STATUS if path.endswith("/status") else declared).encode()

    monkeypatch.setattr(server, "ask", ask)

    def call(*given: str) -> str:
        monkeypatch.setattr(sys, "argv", ["headwater", *given])
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code
        return capsys.readouterr().out

    return call


def test_a_calendar_and_what_is_odd(answered: Any) -> None:
    told = answered("status", "reads", "2024-03")
    assert "2024-02-26              C  C  C" in told
    assert "2024-03-04  W  ." in told
    assert "2024-03-05" not in told
    assert "2024-03-01..2024-03-03" not in told  # simply completed
    assert "state completed, wrong incident-1" in told
    assert "12 stretches are not shown: name fewer instances" in told
    assert json.loads(answered("status", "reads", "2024-03", "--json")) == STATUS


def test_without_the_server_only_the_drawing_is_missing(answered: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(extra: str, what_for: str) -> None:
        raise NotInstalled(f"{what_for} needs {extra}")

    monkeypatch.setattr("headwater.cli.status.status.need", missing)
    told = answered("status", "reads")
    assert "the drawing of a calendar needs server" in told
    assert "2024-02-26" not in told
    assert "wrong incident-1" in told


def test_inputs_out_of_sight_are_not_named() -> None:
    lacking = {
        "entity": "",
        "instances": [],
        "count": 0,
        "why": "not_visible",
        "ref": "",
        "until": None,
        "outcome": "blocks",
    }
    assert words(lacking) == "needs inputs that you may not see"
