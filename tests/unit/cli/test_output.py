"""The output of commands: numbers and nouns that agree, tables that fit."""

import re
from pathlib import Path
from typing import Any

import pytest
import typer

from headwater.cli import output
from headwater.cli.output import counted
from headwater.cli.program import program

CLI = Path(output.__file__).parent


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


def test_an_empty_table_says_what_to_do_next(capsys: pytest.CaptureFixture[str]) -> None:
    output.table(["run"], [], empty="No runs found. Record one with `headwater run DIR`.")
    assert capsys.readouterr().out == "No runs found. Record one with `headwater run DIR`.\n"


def test_what_empty_tables_advise_exists() -> None:
    hints = {
        text for path in CLI.rglob("*.py") for text in re.findall(r'empty="([^"]+)"', path.read_text(encoding="utf-8"))
    }
    assert len(hints) > 15
    commands: Any = typer.main.get_command(program)
    for hint in hints:
        for words in re.findall(r"`headwater ([^`]+)`", hint):
            command = commands
            for word in words.split():
                if word.isupper() or word.startswith("-"):
                    break
                command = command.commands[word]
