"""Words that docs/explanation/writing.md bans, and names that name nothing, are in no source, message or page."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
WORDS = re.compile(r"\b(somebody|nobody|whoever|anybody|everybody|so that nothing|has not to be)\b", re.IGNORECASE)
CLASSES = {"Told", "Known", "Kept", "Said", "Made", "Found", "Heard", "Spoken", "Given"}
FUNCTIONS = {"told", "known", "kept", "said", "made", "found", "shown", "work", "one", "heard", "spoken"}
FRONTED = re.compile(r"""^\s*(?:r?\"{3}|#:? |-- )?Of [a-z]""")
ASKED = re.compile(r"""^\s*(?:r?\"{3}|-- )(?:What|Who|Whom|Whose|Which|Whether|Where|When|How|Why)\b""")
CODE = ("src", "tests", "benchmarks", "docs", "scripts", "examples")
# Beside `many`, it fetches one row.
ALLOWED = {"src/headwater/store/sqlfile.py: one"}
# Applied migrations are never edited; comments of schema.sql are.
UNTOUCHED = "migrations"


def sources() -> Iterator[Path]:
    for pattern in ("*.py", "*.sql"):
        yield from (path for path in (ROOT / "src").rglob(pattern) if UNTOUCHED not in path.parts)


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
    """Names of a module's classes, functions and methods, and whether each is a class; an inner function's is not one that others read."""
    methods = [inner for node in tree.body if isinstance(node, ast.ClassDef) for inner in node.body]
    for node in [*tree.body, *methods]:
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
    assert set(found) == ALLOWED, (
        "a class is a noun phrase, a function a verb and its object (docs/explanation/writing.md)"
    )


def test_the_subject_comes_first() -> None:
    """No docstring, comment or sentence of a page begins with "Of ..." before its subject."""
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted(
            {*sources(), *pages(), *(ROOT / "docs/explanation").glob("*.md")} - {ROOT / "docs/explanation/writing.md"}
        )
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if FRONTED.search(line) and not continues(path, number)
    ]
    assert not found, "put the subject first (docs/explanation/writing.md)"


def test_a_docstring_names_or_states() -> None:
    """A docstring, or a comment in SQL, names its thing or begins with a verb; none begins as half a question ("Whether a job is ...")."""
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted({*sources(), *(path for folder in CODE for path in (ROOT / folder).rglob("*.py"))})
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if ASKED.match(line)
    ]
    assert not found, 'write "Return whether ...", "The edges that ..." (docs/explanation/writing.md)'


def continues(path: Path, number: int) -> bool:
    """Return whether a line goes on with the sentence of the line above."""
    above = path.read_text(encoding="utf-8").splitlines()[number - 2].strip() if number > 1 else ""
    return bool(above) and above[-1] not in '.:"`|)(]' and not above.endswith(">") and "Of" not in above.split()[:1]


def test_it_can_see_them() -> None:
    assert FRONTED.search('    """Of a plan, the items."""')
    assert FRONTED.search("    # Of these the first.")
    assert not FRONTED.search("    # Office hours")
    assert ASKED.match('    """Whether a job is hidden."""')
    assert ASKED.match("-- What runs left behind.")
    assert not ASKED.match('    """Return whether a job is hidden."""')
    assert WORDS.findall("Whoever asks, so that nothing is; one body") == ["Whoever", "so that nothing"]
    assert [*definitions(ast.parse("class Told: pass\ndef work(): pass"))] == [("Told", True), ("work", False)]
