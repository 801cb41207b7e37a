"""The tutorial, carried out as a reader would: every file saved, every command run, what it says it prints."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from tests.fixtures.documents import Command, File, carry_out, steps
from tests.fixtures.processes import free_port

TUTORIAL = (Path(__file__).parents[2] / "docs/tutorial.md").read_text(encoding="utf-8")

pytestmark = pytest.mark.spark


def test_the_tutorial_works_as_printed(tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("HEADWATER_", "OPENLINEAGE_"))}
    env |= {"HEADWATER_HOME": str(tmp_path / "home"), "HEADWATER_SERVER__PORT": str(free_port())}
    try:
        ran = carry_out(
            TUTORIAL,
            tmp_path,
            env,
            {
                "INCIDENT": lambda printed: re.findall(r"^incident ([0-9a-f-]{36}):", printed, re.MULTILINE)[-1],
                "PLAN": lambda printed: re.findall(r"^plan ([0-9a-f-]{36})$", printed, re.MULTILINE)[-1],
            },
            seconds=120,
        )
    finally:
        subprocess.run(["headwater", "down"], env=env, check=False, capture_output=True)
    assert ran[0] == "headwater up"
    assert ran[-1] == "headwater down"


def test_documents_are_read_as_files_and_commands() -> None:
    text = "Save as `a/b.txt`:\n\n```text\nhello\n```\n\nThen\n\n```console\n$ cat a/b.txt\nhel…\n$ true\n```\n"
    assert list(steps(text)) == [File("a/b.txt", "hello\n"), Command("cat a/b.txt", ["hel…"]), Command("true", [])]


@pytest.mark.parametrize(
    ("block", "complaint"), [("$ false\n", r"\$ false"), ("$ echo one two\none three\n", "without\none three")]
)
def test_what_fails_or_prints_something_else_is_refused(tmp_path: Path, block: str, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        carry_out(f"```console\n{block}```\n", tmp_path, {"PATH": "/usr/bin:/bin"}, {}, seconds=10)
