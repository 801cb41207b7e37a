"""`headwater --help`: every command under one heading, in a line that fits and says what it does."""

import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from headwater.cli.groups import GROUPS, RENAMED, WIDTH
from headwater.cli.program import branch, program

COMMANDS = {name: each for name, each in typer.main.get_command(program).commands.items() if not each.hidden}  # type: ignore[attr-defined]
# The first words of questions; a help text says what the command does.
NO_VERBS = {
    "What",
    "Which",
    "Who",
    "Where",
    "Why",
    "How",
    "Whether",
    "The",
    "A",
    "An",
    "Datasets",
    "Runs",
    "Jobs",
    "Events",
    "Rules",
}


def test_each_command_is_in_one_group() -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_its_first_line_is_an_imperative_that_fits(name: str) -> None:
    first = (COMMANDS[name].help or "").split("\n\n", maxsplit=1)[0]
    assert first.split()[0].rstrip(":,") not in NO_VERBS
    assert first.endswith(".")
    assert "\n" not in first
    assert len(first) <= 80


def test_no_line_is_cut_or_too_long() -> None:
    text = CliRunner().invoke(program, ["--help"], terminal_width=WIDTH).output
    assert "..." not in text.split("Look:")[1]
    assert max(map(len, text.splitlines())) <= WIDTH
    assert [line[:-1] for line in text.splitlines() if line.rstrip(":") in GROUPS] == list(GROUPS)


def test_completion_of_a_shell() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.argv[0] = 'headwater'; from headwater.cli import main; main()"],
        env={"PATH": "/usr/bin:/bin", "_HEADWATER_COMPLETE": "complete_bash", "COMP_WORDS": "headwater tai", "COMP_CWORD": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.split() == ["taint"], done.stderr


@pytest.mark.parametrize("name", ["serve", "describe", "sql", "run", "server", "receipts", "history"])
def test_a_command_alone_is_what_it_is_among_all(name: str) -> None:
    """Named by a word, by its function, as a group, hidden: only the branch of the first word is read."""
    alone = CliRunner().invoke(branch([name, "--help"]), [name, "--help"])
    assert (alone.exit_code, alone.output) == (0, CliRunner().invoke(program, [name, "--help"]).output)
    assert list(typer.main.get_command(branch([name])).commands) == [name]  # type: ignore[attr-defined]


@pytest.mark.parametrize("words", [[], ["--help"], ["serv"]])
def test_what_names_no_command_is_answered_by_all(words: list[str]) -> None:
    assert branch(words) is program


@pytest.mark.parametrize("old", RENAMED)
def test_an_old_name_works_and_says_the_new_one(old: str) -> None:
    new = RENAMED[old].partition(" --")[0].split()
    renamed, found = CliRunner().invoke(program, [old, "--help"]), CliRunner().invoke(program, [*new, "--help"])
    assert (renamed.exit_code, found.exit_code) == (0, 0)
    assert f"`headwater {old}` is now `headwater {RENAMED[old]}`" in renamed.stderr
    assert not found.stderr
    assert old not in COMMANDS
