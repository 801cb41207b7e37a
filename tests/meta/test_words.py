"""Words that docs/explanation/writing.md bans, and names that name nothing, are in no source, message or page."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
WORDS = re.compile(r"\b(somebody|nobody|whoever|anybody|everybody|so that nothing|has not to be)\b", re.IGNORECASE)
CLASSES = {"Told", "Known", "Kept", "Said", "Made", "Found", "Heard", "Spoken", "Given"}
FUNCTIONS = {"told", "known", "kept", "said", "made", "found", "shown", "work", "one", "heard", "spoken"}
# Applied migrations are never edited, and schema.sql is made of them.
UNTOUCHED = ("migrations", "schema.sql")


def sources() -> Iterator[Path]:
    for pattern in ("*.py", "*.sql"):
        yield from (path for path in (ROOT / "src").rglob(pattern) if not set(UNTOUCHED) & set(path.parts))


def pages() -> Iterator[Path]:
    yield from ROOT.glob("*.md")
    for folder in ("howto", "reference"):
        yield from (ROOT / "docs" / folder).rglob("*.md")
    yield ROOT / "docs/tutorial.md"


def test_the_actor_is_named() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted({*sources(), *pages()})
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if WORDS.search(line)
    ]
    assert not found, "name the actor instead (docs/explanation/writing.md)"


def definitions(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """Names of a module's classes and functions, and whether each is a class; a method's or an inner function's is not one that others read."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name, True
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, False


def test_names_name_something() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted((ROOT / "src").rglob("*.py"))
        for name, is_class in definitions(ast.parse(path.read_text(encoding="utf-8")))
        if name.lstrip("_") in (CLASSES if is_class else FUNCTIONS)
    ]
    assert not found, "a class is a noun phrase, a function a verb and its object (docs/explanation/writing.md)"


def test_it_can_see_them() -> None:
    assert WORDS.findall("Whoever asks, so that nothing is; one body") == ["Whoever", "so that nothing"]
    assert [*definitions(ast.parse("class Told: pass\ndef work(): pass"))] == [("Told", True), ("work", False)]
