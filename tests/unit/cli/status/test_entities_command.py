"""`headwater entities check` and `diff`: what they print, and how they end."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from headwater.cli import main

WORD_COUNT = Path(__file__).parents[3] / "cases/entities/declaration/word_count.yaml"


class Told(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Told]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*words: object) -> Told:
        monkeypatch.setattr(sys, "argv", ["headwater", "entities", *map(str, words)])
        try:
            main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        return Told(code, *capsys.readouterr())

    return call


def test_what_fits_together_is_shown(run: Run) -> None:
    told = run("check", WORD_COUNT, "--as-of", "2020-01-01")
    assert (told.code, told.err) == (0, "")
    lines = [line.split() for line in told.out.splitlines()]
    assert ["words_count", "timeseries", "day", "365"] in lines
    assert ["word_prominence", "completed", "words_count", "same", "2019-01"] in lines
    assert [
        "user_weekly_reads",
        "estimated",
        "word_prominence",
        "last_available",
        "within",
        "45",
        "days",
        "2019-W05",
    ] in lines
    assert told.out.endswith("\n5 entities, 7 dependencies, 0 warnings\n")


def test_all_mistakes_are_printed_with_their_place(run: Run, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/x.yaml").write_text("no entity")
    (tmp_path / "a.yaml").write_text("entity: a\nperiod: dai\ndue: soon\n")
    (tmp_path / "deep/b.yml").write_bytes(b"entity: b\nowner: \xff\n")
    (tmp_path / "notes.txt").write_text("no entity")
    told = run("check", tmp_path)
    assert (told.code, told.out) == (1, "")
    assert [line.partition(": ")[0].removeprefix(f"{tmp_path}/") for line in told.err.splitlines()] == [
        "a.yaml:2:9",
        "a.yaml:3:6",
        "deep/b.yml:2:8",
    ]
    told = run("check", tmp_path, "--json")
    problems = json.loads(told.out)["problems"]
    assert (told.code, [(each["line"], each["column"]) for each in problems]) == (1, [(2, 9), (3, 6), (2, 8)])


def test_what_is_odd_is_no_failure(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_text("entity: w\nperiod: week\n---\nentity: m\nperiod: month\ndepends_on: w\n")
    told = run("check", file, file)
    assert told.code == 0
    assert f"warning: {file}:6:13: m ← w (same): periods of every week (UTC) do not fit" in told.out
    assert told.out.endswith("2 entities, 1 dependency, 1 warning\n")
    [warning] = json.loads(run("check", file, "--json").out)["warnings"]
    assert (warning["line"], warning["column"]) == (6, 13)


def test_json_of_what_fits_together(run: Run) -> None:
    found = json.loads(run("check", WORD_COUNT, "--json", "--as-of", "2020-01-01").out)
    assert found["problems"] == []
    assert found["entities"][2] == {
        "entity": "word_prominence",
        "kind": "timeseries",
        "every": "month",
        "instances": 12,
        "needs": [{"state": "completed", "entity": "words_count", "dates": "same", "first": "2019-01"}],
    }


def test_paths_that_hold_nothing_are_refused(run: Run, tmp_path: Path) -> None:
    assert (run("check", tmp_path / "none.yaml").code, run("check", tmp_path).code) == (1, 2)


def test_names_do_not_reach_the_terminal_raw(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text('entity: a\nperiod: "\\e[2J"\n')
    told = run("check", file)
    assert (told.code, "\x1b" in told.err) == (1, False)


def test_what_changed(run: Run, tmp_path: Path) -> None:
    new = tmp_path / "new.yaml"
    text = WORD_COUNT.read_text(encoding="utf-8").replace("due: 6h", "due: 7h").replace("nb_read_exact", "reads_exact")
    new.write_text(text + "---\nentity: more\nperiod: day\n", encoding="utf-8")
    told = run("diff", WORD_COUNT, new)
    assert told.code == 0
    assert told.out.splitlines() == [
        "added    more",
        "removed  nb_read_exact",
        "added    reads_exact",
        'changed  user_weekly_reads  states.completed.nb_read_exact: {"dates":"same","wait":"6h"} → nothing',
        'changed  user_weekly_reads  states.completed.reads_exact: nothing → {"dates":"same","wait":"6h"}',
        "changed  words_count  due: 6h → 7h",
    ]
    new.write_text(
        text.replace("entity: reads_exact", "entity: reads_exact\nrenamed_from: nb_read_exact"), encoding="utf-8"
    )
    assert run("diff", WORD_COUNT, new).out.splitlines() == [
        "renamed  nb_read_exact → reads_exact",
        "changed  words_count  due: 6h → 7h",
    ]
    assert json.loads(run("diff", WORD_COUNT, new, "--json").out)["changes"][1] == {
        "what": "changed",
        "entity": "words_count",
        "path": "due",
        "old": "6h",
        "new": "7h",
    }
    assert run("diff", WORD_COUNT, WORD_COUNT).out == "no change\n"
