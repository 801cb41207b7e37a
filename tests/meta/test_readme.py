"""README promises nothing that no test shows: tests/cases/readme.yaml names the tests of each claim. Commands are ones that exist."""

import ast
import re
import shlex
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CLAIMS: list[dict[str, Any]] = yaml.safe_load((ROOT / "tests/cases/readme.yaml").read_text(encoding="utf-8"))
_PLAIN = r"(?<![\w./:`*-])\d[\d.,]*\+?(?= |$)"


def promises(text: str) -> list[str]:
    """The lines that hold a command, a figure or a picture, or begin a bullet."""
    found, fenced = [], False
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif fenced:
            if re.match(r"(\$ )?(headwater|make|pip) ", line):
                found.append(line)
        elif (
            re.search(r"`(headwater|make) [^`]*`", line)
            or line.startswith(("- **", "!["))
            or re.search(_PLAIN, re.sub(r"`[^`]*`|\]\([^)]*\)", "", line))
        ):
            found.append(line)
    return found


def commands(text: str) -> list[str]:
    spans = re.findall(r"`(headwater [^`]+)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))
    blocks = "\n".join(re.findall(r"^```\n(.*?)^```", text, flags=re.M | re.S))
    lines = re.findall(r"^(?:\$ )?(headwater .*?)(?:  +#.*|; .*)?$", blocks, flags=re.M)
    return sorted({*spans, *(line.split("  ")[0] for line in lines)})


@cache
def functions(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))


def test_each_promise_is_mapped_to_tests() -> None:
    silent = [line for line in promises(README) if not any(claim["says"] in line for claim in CLAIMS)]
    assert not silent, "name the tests that show it in tests/cases/readme.yaml"


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim["says"][:40])
def test_a_claim_is_in_readme_and_its_tests_exist(claim: dict[str, Any]) -> None:
    assert claim["says"] in README
    assert claim["tests"]
    for name in claim["tests"]:
        file, _, function = name.partition("::")
        assert function in functions(ROOT / "tests" / file), name
    if "measured" in claim:
        assert claim["measured"] in (ROOT / "benchmarks/RESULTS.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("line", commands(README))
def test_a_command_can_be_typed(line: str) -> None:
    """The command and its options exist, and its arguments are as many as it takes. The tests named above run it."""
    from typer.main import get_command

    from headwater.cli.program import branch

    words = shlex.split(line)[1:]
    command: Any = get_command(branch(words))
    context = click.Context(command, info_name="headwater")
    while isinstance(command, click.Group):
        name, command, words = command.resolve_command(context, words)
        assert command is not None, line
        if isinstance(command, click.Group):
            context = click.Context(command, info_name=name, parent=context)
    command.make_context(command.name, words, parent=context)


def test_python_is_the_packages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"Python {project['requires-python'].removeprefix('>=')}+" in README


def test_the_picture_is_made_by_the_script() -> None:
    pictures = re.findall(r"!\[[^]]*\]\((docs/images/[^)]+)\)", README)
    assert pictures
    script = (ROOT / "web/tests/pictures.mjs").read_text(encoding="utf-8")
    assert all(f'file: "{Path(picture).name}"' in script for picture in pictures)


def test_it_can_see_what_is_not_mapped() -> None:
    text = "- **New.** Nothing.\n\nIt takes 5 minutes.\n\n```\nheadwater nosuch\n```\n\nPlain `3` of x.\n"
    assert promises(text) == ["- **New.** Nothing.", "It takes 5 minutes.", "headwater nosuch"]
    assert commands(text) == ["headwater nosuch"]
