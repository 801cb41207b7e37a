"""What commands print: numbers and nouns that agree, tables that fit."""

import re

import pytest

from headwater.cli import output
from headwater.cli.output import counted


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (0, "run", "0 runs"),
        (1, "entity", "1 entity"),
        (2, "entity", "2 entities"),
        (3, "day", "3 days"),
        (1_000, "query", "1,000 queries"),
    ],
)
def test_a_number_and_its_noun(number: int, noun: str, text: str) -> None:
    assert counted(number, noun) == text


def test_a_table_fits_the_terminal_and_breaks_no_id(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    id_ = "01a20914-1a43-7259-a493-f50f87a88a4f"
    row = [id_, "a_namespace:a_long_name_of_a_job.and_its_output", "COMPLETED", "2026-11-23 15:44:01", "2.9s", "", None]
    output.table(["run", "job", "state", "started (UTC)", "duration", "by", "error"], [row])
    lines = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()
    assert sum(id_ in line for line in lines) == 1
    assert max(map(len, lines)) <= 100
