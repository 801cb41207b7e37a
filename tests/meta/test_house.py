"""House rules that a tool can check."""

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
BANNED = {"utils", "util", "common", "helpers", "helper", "base", "core", "services", "manager", "misc"}


def test_names_say_what_things_are() -> None:
    for path in SOURCES:
        assert path.stem not in BANNED, path
        assert not BANNED & set(path.relative_to(ROOT).parts), path


def test_files_hold_one_concept() -> None:
    long = {str(path): count for path in SOURCES if (count := len(path.read_text(encoding="utf-8").splitlines())) > 450}
    assert not long


def test_every_module_says_why_it_exists() -> None:
    silent = [
        str(path) for path in SOURCES if not path.read_text(encoding="utf-8").startswith(('"""', 'r"""', "from", "#"))
    ]
    assert not silent


def test_sql_lives_in_sql_files() -> None:
    """Outside store/ no string looks like a statement; columns/, `headwater sql` and the reader of dbt speak of SQL, and run none."""
    statement = re.compile(r'(?<!")"(?:select|insert into|update|delete from) ', re.IGNORECASE)
    found = [
        str(path)
        for path in SOURCES
        if not {"store", "columns", "sql", "dbt"} & set(path.parts)
        and statement.search(path.read_text(encoding="utf-8"))
    ]
    assert not found


def test_light_rooms_import_nothing_heavy() -> None:
    """The client runs in other people's processes; the command line's help must be quick."""
    heavy = {
        "psycopg",
        "litestar",
        "granian",
        "pyspark",
        "pydantic",
        "pydantic_settings",
        "yaml",
        "requests",
        "httpx",
        "pandas",
        "sqlglot",
    }
    for module in ("headwater.client", "headwater.cli.program"):
        told = subprocess.run(
            [sys.executable, "-c", f"import sys, {module}; print(*sys.modules)"],
            capture_output=True,
            text=True,
            check=True,
        )
        loaded = {name.split(".")[0] for name in told.stdout.split()}
        assert not heavy & loaded, module


def test_no_address_of_a_registry_is_kept() -> None:
    """Locks are written without the place they came from."""
    for path in [*(ROOT / "requirements").glob("*.txt"), ROOT / "web/package-lock.json"]:
        text = path.read_text(encoding="utf-8")
        assert '"resolved"' not in text, path
        assert "index-url" not in text, path
        assert "find-links" not in text, path


def test_test_files_have_names_of_their_own() -> None:
    """Two of one name in folders that are no packages cannot be collected together."""
    names = sorted(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert len(names) == len(set(names)), {name for name in names if names.count(name) > 1}


def test_a_test_lies_in_the_wing_of_what_it_tests() -> None:
    """CONTRIBUTING's wings below tests/api and tests/store; below tests/unit the folders of src/headwater."""
    table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("| wing |")[1].split("\n\n")[0]
    wings = {name for line in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", line.split("|")[1])}
    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    lost = []
    for room in ("api", "store"):
        folder = ROOT / "tests" / room
        lost += [path for path in tests if folder in path.parents and path.relative_to(folder).parts[0] not in wings]
    unit = ROOT / "tests/unit"
    for path in (path for path in tests if unit in path.parents):
        room = ROOT / "src/headwater" / path.parent.relative_to(unit)
        if not (room.is_dir() and list(room.glob("*.py"))) or room.name in {"entities", "intake", "answer"}:
            lost.append(path)
    assert not lost, "move each below the folder of its subject"


def test_there_is_one_http_client_and_outside_of_it_a_library() -> None:
    """Decision 003: the standard library's in other people's processes, httpx in the server and in Airflow's triggerer."""
    homes = {
        "http.client": {"client/connection.py", "client/ask.py"},  # ask.py: the exception for a text that is no address
        "urllib.request": set(),
        "requests": set(),
        "aiohttp": set(),
        "urllib3": set(),
        "httpx": {"api/oidc.py", "api/routes/mcp.py", "intake/listeners/posting.py", "capture/airflow/trigger.py"},
    }
    used: dict[str, set[str]] = {name: set() for name in homes}
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            else:
                continue
            for name in homes.keys() & set(imported):
                used[name].add(path.relative_to(ROOT / "src/headwater").as_posix())
    assert used == homes
