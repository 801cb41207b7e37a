"""A command that an error, a help text, a document or the page tells a person to type exists, and is not one that is hidden for old scripts."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
# What begins with the program's name and is no sentence about it: quoted, in backticks or on a line of its own.
_QUOTED = re.compile(r"`(headwater [a-z][^`\n]*)")
_WHOLE = re.compile(r"^(?:\$ )?(headwater [a-z].*)$", re.M)
_INDENTED = re.compile(r"^(?: {2,}|\$ )(headwater [a-z].*)$", re.M)


# A row of the table of older names, docs/reference/cli.md.
_OLD_NAME = re.compile(r"^\| `headwater [^|]*` \| `headwater [^|]*` \|$", re.M)


@cache
def program() -> Any:
    from typer.main import get_command

    from headwater.cli.program import program

    return get_command(program)


def fault_of(text: str, own: bool = False) -> str | None:
    """Return the fault of the words after `headwater`, as far as they name commands: up to an option, an argument or a placeholder.

    `own`: the text may be the help of a hidden command.
    """
    command, path = program(), "headwater"
    for word in text.split()[1:]:
        if not hasattr(command, "commands"):
            return None
        if not re.fullmatch(r"[a-z][a-z-]*", word):
            return None
        child = command.commands.get(word)
        if child is None:
            return f"{path} has no command {word!r}"
        if child.hidden and not own:
            return f"{path} {word} is hidden"
        command, path = child, f"{path} {word}"
    return None


def in_python(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from _QUOTED.findall(node.value)
            yield from _INDENTED.findall(node.value)


def in_typescript(source: str) -> Iterator[str]:
    for text in re.findall(r"""["'`>](headwater [a-z][^"`<\n]*)""", source):
        yield re.sub(r"\$?\{.*", "X", text)


def in_markdown(source: str) -> Iterator[str]:
    yield from _QUOTED.findall(source)
    for block in re.findall(r"^```(?:sh|console|bash)?\n(.*?)^```", source, flags=re.M | re.S):
        yield from _WHOLE.findall(block)


READERS = {".py": in_python, ".ts": in_typescript, ".tsx": in_typescript, ".md": in_markdown}


def mentions() -> list[Any]:
    found = []
    files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    for folder in ("src/headwater", "web/src", "docs/howto", "docs/explanation", "docs/reference"):
        files += [file for file in (ROOT / folder).rglob("*") if file.suffix in READERS]
    for file in sorted(files):
        if file.name.endswith((".test.ts", ".d.ts")) or "static" in file.parts:
            continue
        source = _OLD_NAME.sub("", file.read_text(encoding="utf-8"))
        commands = {text.strip() for text in READERS[file.suffix](source)}
        if commands:
            own = ROOT / "src/headwater/cli" in file.parents
            found.append(pytest.param(sorted(commands), own, id=str(file.relative_to(ROOT))))
    return found


@pytest.mark.parametrize(("commands", "own"), mentions())
def test_commands_that_people_are_told_to_type_exist(commands: list[str], own: bool) -> None:
    assert {text: fault for text in commands if (fault := fault_of(text, own))} == {}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("headwater keys create NAME", "headwater keys is hidden"),
        ("headwater query-log import", "headwater has no command 'query-log'"),
        ("headwater server keys create NAME --role read", None),
        ("headwater server keyz", "headwater server has no command 'keyz'"),
        ("headwater --help", None),
        ("headwater up && headwater status", None),
    ],
)
def test_a_command_that_is_none_is_found(text: str, fault: str | None) -> None:
    assert fault_of(text) == fault


def test_commands_are_found_in_each_kind_of_file() -> None:
    assert list(in_python('raise X("run `headwater nosuch A` first")')) == ["headwater nosuch A"]
    assert list(in_typescript('<Command text="headwater nosuch A" />')) == ["headwater nosuch A"]
    assert list(in_typescript("text={`headwater nosuch ${id} --now`}")) == ["headwater nosuch X"]
    assert list(in_markdown("Run `headwater nosuch`.\n```sh\nheadwater other\n```\n")) == [
        "headwater nosuch",
        "headwater other",
    ]
