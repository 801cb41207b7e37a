"""Entities from a terminal, against a real server: declared, reported, drawn, ready or not, wrong and right again."""

import datetime as dt
import json
import re
import sys
import urllib.request
from pathlib import Path
from typing import Any, get_args

import pytest

from headwater.cli import main
from headwater.cli.status.instances import WHAT
from headwater.intake.status.request import What

YAML = """
entity: reads
description: What was read, by day.
period: {every: day, from: 2024-01-01}
tags: {team: data-eng}
owner: ann
---
entity: weekly
period: {every: week, from: 2024-01-01}
depends_on: {reads: all_week}
"""
UNREACHABLE = "http://127.0.0.1:9"


class Terminal:
    """The command in this process: a process for each would take most of a test's time."""

    def __init__(self, url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.url = url
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *words: str, code: int = 0) -> str:
        self._monkeypatch.setenv("HEADWATER_URL", self.url)
        self._monkeypatch.delenv("HEADWATER_API_KEY", raising=False)
        self._monkeypatch.setattr(sys, "argv", ["headwater", *words])
        with pytest.raises(SystemExit) as end:
            main()
        told = self._capsys.readouterr()
        assert (end.value.code or 0) == code, told
        return told.out + told.err

    def json(self, *words: str, code: int = 0) -> Any:
        return json.loads(self(*words, "--json", code=code))


@pytest.fixture
def terminal(server_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(server_url, monkeypatch, capsys)


@pytest.fixture
def declared(terminal: Terminal, tmp_path: Path) -> Terminal:
    """`reads` by day and `weekly` from it, as of files on a disk."""
    (tmp_path / "entities.yaml").write_text(YAML)
    terminal("entities", "apply", str(tmp_path))
    return terminal


def made(terminal: Terminal, entity: str, *instances: str) -> None:
    """Said over HTTP: `report` has tests of its own."""
    body = {"reports": [{"entity": entity, "what": "produced", "instances": list(instances), "ref": "run-1"}]}
    request = urllib.request.Request(f"{terminal.url}/api/v2/instances", json.dumps(body).encode())
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=10) as reply:
        assert json.load(reply)["results"][0]["seq"]


def lines(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_declarations_are_applied_and_shown(terminal: Terminal, tmp_path: Path) -> None:
    file = tmp_path / "entities.yaml"
    file.write_text(YAML)
    tried = terminal("entities", "apply", str(file), "--dry-run")
    assert ["added", "reads"] in lines(tried)
    assert "2 entities, 2 changes; nothing was written" in tried
    assert terminal.json("entities", "list")["total"] == 0
    applied = terminal("entities", "apply", str(tmp_path), "--as", "ada")
    assert re.search(r"2 entities, 2 changes; declaration \d+", applied)
    assert "no change" in terminal("entities", "apply", str(file))
    listed = lines(terminal("entities", "list", "--tag", "team=data-eng"))
    assert ["reads", "timeseries", "day,", "UTC", "team=data-eng"] in listed
    assert len(listed) == 2
    assert "1 of 2; --limit and --offset show more" in terminal("entities", "list", "--limit", "1")
    file.write_text(YAML.replace("all_week", "last 14 days"))
    changed = terminal("entities", "apply", str(file), "--json")
    assert [each["path"] for each in json.loads(changed)["changes"]] == ["states.completed.reads.dates"]
    shown = terminal("entities", "show", "weekly")
    assert ["reads", "completed", "last", "14", "days", "completed"] in lines(shown)
    assert "What was read, by day." in terminal("entities", "show", "reads")
    history = terminal("entities", "history", "weekly")
    assert "changed  weekly  states.completed.reads.dates: all_week → last 14 days" in history
    assert "by ada" in history
    assert ["added", "weekly"] in lines(history)
    assert "older ones are not shown" in terminal("entities", "history", "weekly", "--limit", "1")
    file.write_text("entity: reads\nperiod: {every: day, from: 2024-01-01}\n")
    assert ["removed", "weekly"] in lines(terminal("entities", "apply", str(file), "--prune"))


def test_mistakes_in_declarations_have_their_place(terminal: Terminal, tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text("entity: a\nperiod: day\ndepends_on: {b: same}\n---\nentity: c\nperiod: dya\n")
    told = terminal("entities", "apply", str(file), code=1)
    assert f"{file}:6:" in told
    assert terminal.json("entities", "apply", str(file), code=1)["problems"][0]["line"] == 6
    file.write_bytes(b"entity: a\nperiod: \xff\n")
    assert "is not UTF-8" in terminal("entities", "apply", str(file), code=1)
    assert "no such file or folder" in terminal("entities", "apply", str(tmp_path / "nothing"), code=1)


def test_the_calendar_of_states(declared: Terminal) -> None:
    made(declared, "reads", "2024-03-01..2024-03-05")
    declared("report", "reads", "started", "2024-03-06", "--ref", "run-6")
    told = declared("report", "reads", "doubted", "2024-03-02", "--ref", "not_null", "--reason", "nulls")
    assert "reads 2024-03-02: doubted, report " in told
    shown = declared("status", "reads", "2024-03-01..2024-03-07")
    assert "2024-03    Mo Tu We Th Fr Sa Su" in shown
    assert "2024-02-26              C  ?  C" in shown
    assert "2024-03-04  C  C  R  -" in shown
    assert ["C", "completed", "4"] in lines(shown)
    assert "state completed, doubted not_null" in shown
    assert ["2024-03-06", "1", "running", "running", "run-6"] in lines(shown)
    found = declared.json("status", "reads", "2024-03-01..2024-03-07")
    assert found["counts"] == {"completed": 4, "doubted": 1, "running": 1, "missing": 1}
    assert "31 instances before" in declared("status", "reads", "2024-03-01..2024-04-06", "--limit", "1")
    one = declared("status", "reads", "2024-03-02")
    assert ["status", "doubted"] in lines(one)
    assert ["doubted", "not_null"] in [line[1:3] for line in lines(one)], "the report"
    assert "current" in one
    assert one == declared("status", "reads", "--one", "2024-03-02")
    assert declared.json("status", "reads", "--one", "2024-03-02")["instance"] == "2024-03-02"
    assert "server" in declared("status")


def test_what_is_not_over_is_not_missing(declared: Terminal) -> None:
    today = dt.datetime.now(dt.UTC).date()
    days = [str(today + dt.timedelta(days=each)) for each in (-2, 3)]
    assert declared.json("status", "reads", "..".join(days))["counts"] == {"missing": 2, "not over": 4}
    told = declared("status", "reads", f"{days[0]}..")
    assert ["-", "missing", "2"] in lines(told)
    assert re.search(r"^[\d,]+ instances after, none of them over$", told, re.MULTILINE)
    drawn = "".join(line[10:] for line in told.splitlines() if re.match(r"\d{4}-\d\d-\d\d  ", line))
    assert (drawn.count("."), drawn.count("-")) == (31, 2)


def test_days_of_23_and_25_hours(terminal: Terminal, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(
        "entity: hourly\nperiod: {every: hour, tz: Europe/Paris, from: 2024-01-01}\n---\n{entity: cities, kind: static}\n"
    )
    terminal("entities", "apply", str(file))
    made(terminal, "hourly", "2024-03-31", "2024-10-27")
    told = lines(terminal("status", "hourly", "2024-03-31", "2024-10-27"))
    assert [len(line) for line in told if line[:1] == ["2024-03-31"]] == [1 + 23 + 3]
    assert [len(line) for line in told if line[:1] == ["2024-10-27"]] == [1 + 25 + 3]
    assert ["C", "completed", "48"] in told
    assert ["-", "missing", "1"] in lines(terminal("status", "cities"))
    assert "cities static: ready as completed" in terminal("ready", "cities")


def test_as_it_was_known(declared: Terminal) -> None:
    made(declared, "reads", "2024-03-01..2024-03-05")
    at = declared.json("status", "reads", "--one", "2024-03-01")["history"][0]["recorded_at"]
    declared("report", "reads", "deleted", "2024-03-01..2024-03-03", "--ref", "retention")
    assert "C  C  C" in declared("status", "reads", "2024-03-01..2024-03-05", "--as-of", at)
    assert "D  D  D" in declared("status", "reads", "2024-03-01..2024-03-05")


def test_ready_or_not_and_why(declared: Terminal) -> None:
    made(declared, "reads", "2024-03-04..2024-03-09")
    told = declared("ready", "weekly", "2024-W10", code=1)
    assert "weekly 2024-W10: not ready" in told
    assert "2024-03-10 of reads: late: expected by now" in told
    assert declared.json("ready", "weekly", "2024-W10", code=1)["ready"] is False
    assert "not ready" in declared("ready", "weekly", "2024-W10", "--wait", "0.5", code=1)
    made(declared, "reads", "2024-03-10")
    told = declared("ready", "weekly", "2024-W10", "--wait", "30")
    assert "weekly 2024-W10: ready as completed" in told
    assert "2024-03-04..2024-03-10 of reads: there" in told
    assert "1 of 4 instances ready" in declared("ready", "weekly", "2024-W08..2024-W11", "--limit", "2", code=1)
    assert "write instances, or start and end" in declared("ready", "weekly", code=2)
    seq = str(declared.json("ready", "weekly", "2024-W10")["seq"])
    read = ("--read", "reads=2024-03-04..2024-03-10", "--seq", seq)
    declared("report", "weekly", "produced", "2024-W10", "--ref", "run-w", *read, "--key", "w10")
    again = declared("report", "weekly", "produced", "2024-W10", "--ref", "run-w", *read, "--key", "w10")
    assert "was already reported" in again
    assert f"reads 2024-03-04..2024-03-10 as of {seq}" in declared("status", "weekly", "2024-W10")


def test_wrong_and_right_again(declared: Terminal) -> None:
    made(declared, "reads", "2024-03-04..2024-03-10")
    made(declared, "weekly", "2024-W10")
    words = ("taint", "reads", "2024-03-06", "2024-05-01", "--reason", "half of it is missing")
    tried = declared(*words, "--dry-run")
    assert "2 instances of 2 entities would be wrong; nothing was written; it would be 2 runs of marks" in tried
    told = declared(*words)
    (id_,) = re.findall(r"^incident (\S+): 2 instances of 2 entities are wrong", told, re.MULTILINE)
    assert "ignored, because these instances do not exist: reads 2024-05-01" in told
    hit = next(line for line in lines(told) if line[:2] == ["weekly", "2024-W10"])
    assert hit[2:5] == ["1", "declared", "1"]
    assert hit[-3:] == ["reads", "→", "weekly"], "the path"
    assert "ann" in next(line for line in lines(told) if line[:2] == ["reads", "2024-03-06"])
    assert "data-eng" in next(line for line in lines(told) if line[:2] == ["reads", "2024-03-06"])
    assert f"headwater incident fix {id_}" in told
    suspects = next(line for line in lines(declared("suspects", "weekly", "2024-W10")) if line[:1] == ["reads"])
    assert suspects[-5:] == ["known", "to", "be", "wrong", "2024-03-06"]
    several = declared("suspects", "weekly", "2024-W10", "2024-W12")
    assert "weekly 2024-W10, 2024-W12" in several
    assert "└─ reads 2024-03-04..2024-03-10  known to be wrong" in several
    assert f"2024-03-06 of reads: wrong, incident {id_}" in declared("ready", "weekly", "2024-W10", code=1)
    assert ["2024-03-06", "1", "wrong"] in [line[:3] for line in lines(declared("status", "reads", "2024-03"))]
    assert [id_, "open", "2", "2"] in [line[:4] for line in lines(declared("incident", "list"))]
    shown = declared("incident", "show", id_)
    assert "about      reads 2024-03-06" in shown
    assert ["weekly", "2024-W10"] in lines(shown)
    assert "changed: weekly 2024-W10" in declared("incident", "confirm", id_, "weekly", "2024-W10")
    assert f"incident {id_}: fixed" in declared("incident", "fix", id_, "--note", "reloaded", "--at", "2024-04-01")
    assert "began at 2024-04-01 00:00:00 UTC" in declared("incident", "show", id_)
    assert declared.json("incident", "retract", id_)["state"] == "retracted"
    assert "retracted" in declared("incident", "retract", id_, code=2)
    assert declared.json("incident", "list", "--state", "open")["total"] == 0
    assert declared.json("incident", "show", id_)["incident"]["wrong"] == 0


def test_some_columns_are_wrong(declared: Terminal) -> None:
    made(declared, "reads", "2024-03-04..2024-03-10")
    made(declared, "weekly", "2024-W10")
    told = declared("taint", "reads", "2024-03-06", "--reason", "x", "--column", "page", "--column", "Country")
    (id_,) = re.findall(r"^incident (\S+):", told, re.MULTILINE)
    hits = {line[0]: line for line in lines(told) if line and line[0] in {"reads", "weekly"}}
    assert hits["reads"][-2:] == ["country,", "page"]
    assert hits["weekly"][-1] == "all"  # its inputs were not reported
    assert (
        hits["reads"][-2:]
        == next(line for line in lines(declared("incident", "show", id_)) if line[:1] == ["reads"])[-2:]
    )


def test_what_is_not_there_is_said(declared: Terminal) -> None:
    for words in (
        ("status", "raeds"),
        ("entities", "show", "raeds"),
        ("entities", "history", "raeds"),
        ("ready", "raeds", "2024-W10"),
        ("suspects", "raeds", "2024-W10"),
        ("taint", "raeds", "2024-W10", "--reason", "x"),
        ("report", "raeds", "produced", "2024-03-10"),
    ):
        assert "did you mean 'reads'?" in declared(*words, code=1), words
    assert "2024-13-01" in declared("status", "reads", "2024-13-01", code=2)
    assert "2024-13-01" in declared("report", "reads", "produced", "2024-13-01", code=2)
    assert "one of started, produced" in declared("report", "reads", "exploded", "2024-03-10", code=2)
    assert "needs a ref" in declared("report", "reads", "started", "2024-03-10", code=2)
    assert "ENTITY=INSTANCES" in declared("report", "weekly", "produced", "2024-W10", "--read", "reads", code=2)
    assert "None of these instances exists yet" in declared("taint", "reads", "2024-03-10", "--reason", "x", code=2)
    assert "no incident" in declared("incident", "show", "0190a000-0000-7000-8000-000000000000", code=1)
    assert "is not an incident's id" in declared("incident", "show", "nonsense", code=2)
    assert "open, fixed, retracted" in declared("incident", "list", "--state", "wrong", code=2)
    assert "is not a time" in declared("status", "reads", "--as-of", "soon", code=2)
    assert "name it" in declared("status", "--one", "2024-03-10", code=2)
    assert "give only one" in declared("status", "reads", "2024-03", "--one", "2024-03-10", code=2)


def test_all_that_can_be_said_is_known() -> None:
    assert get_args(What) == WHAT


def test_no_server_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    unreachable = Terminal(UNREACHABLE, monkeypatch, capsys)
    (tmp_path / "a.yaml").write_text(YAML)
    for words in (
        ("entities", "apply", str(tmp_path)),
        ("entities", "list"),
        ("status", "reads"),
        ("ready", "weekly", "2024-W10"),
        ("report", "reads", "produced", "2024-03-10"),
        ("taint", "reads", "2024-03-10", "--reason", "x"),
        ("incident", "list"),
    ):
        assert "no Headwater server answers" in unreachable(*words, code=75), words


def test_what_others_said_does_not_drive_the_terminal(declared: Terminal) -> None:
    made(declared, "reads", "2024-03-10")
    declared("report", "reads", "doubted", "2024-03-10", "--ref", "\x1b[2Jcheck", "--reason", "\x1b]0;x\x07")
    told = declared("taint", "reads", "2024-03-10", "--reason", "\x1b[31mred")
    (id_,) = re.findall(r"^incident (\S+):", told, re.MULTILINE)
    for words in (
        ("status", "reads", "2024-03-09..2024-03-10"),
        ("status", "reads", "2024-03-10"),
        ("incident", "list"),
        ("incident", "show", id_),
        ("suspects", "weekly", "2024-W10"),
    ):
        shown = declared(*words)
        assert "\x1b" not in shown, words
        assert "\\x1b" in shown or words[0] == "suspects", words
