"""One set of words for the state of an instance: in the answer, the calendar of the command line, the page, the reference and the glossary."""

import re
from pathlib import Path
from typing import get_args

from headwater.answer.status.instances import MARK_WORDS, WORDS
from headwater.answer.status.open_incidents import KINDS
from headwater.cli.status.calendar_drawing import SYMBOLS
from headwater.cli.status.readiness import WHY
from headwater.entities.status.marks import Kind
from headwater.entities.status.missing import Why

ROOT = Path(__file__).parents[2]
STATES = {
    "withheld",
    "wrong",
    "doubted",
    "completed",
    "estimated",
    "partial",
    "running",
    "deleted",
    "missing",
    "not over",
}


def row(file: str, beginning: str) -> set[str]:
    (line,) = [one for one in (ROOT / file).read_text(encoding="utf-8").splitlines() if one.startswith(beginning)]
    return set(re.findall(r"`([^`]+)`", line.partition("is the first that applies")[2] or line))


def test_every_place_has_the_same_words() -> None:
    assert row("docs/reference/glossary.md", "| **state**") == STATES
    assert row("docs/reference/api-v2.md", "`status` is the first that applies") == STATES - {"estimated", "partial"}
    assert set(SYMBOLS) == STATES - {"estimated", "partial"}, "a declared state has a letter of its own"
    assert set(WORDS.values()) == {"withheld", "wrong", "doubted"}
    assert set(WORDS) <= set(get_args(Kind))
    assert {"wrong", "doubted"} <= set(KINDS), "an incident has the word of what it makes of an instance"


def test_marks_and_readiness_have_the_same_words() -> None:
    kinds, reasons = set(get_args(Kind)), set(get_args(Why))
    assert set(MARK_WORDS) <= kinds
    assert {MARK_WORDS.get(kind, kind) for kind in kinds} - kinds == {"withheld", "wrong", "doubted", "outdated"}
    assert not reasons & set(MARK_WORDS), "readiness has the words of states, and no kind of mark behind them"
    assert set(WHY) == reasons
    text = (ROOT / "docs/reference/api-v2.md").read_text(encoding="utf-8")
    (line,) = [one for one in text.splitlines() if "`why`: `before_start`" in one]
    assert reasons <= set(re.findall(r"`([a-z_]+)`", line))


def test_the_page_has_a_mark_for_each() -> None:
    looks = dict(
        re.findall(
            r'^  "?([a-z_ ]+)"?: { word: "([^"]+)"', (ROOT / "web/src/parts/state.tsx").read_text("utf-8"), re.MULTILINE
        )
    )
    assert {state: looks.get(state) for state in STATES - {"partial", "not over"}} == {
        state: state for state in STATES - {"partial", "not over"}
    }
